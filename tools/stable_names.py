"""Print what 1.x promises to keep: the names of the lessons' modules, the commands, the settings.

A line is a name; of what can be called, with its parameters (``=`` where there is a default).
Modules of the first room, and what the other rooms export.

    python tools/stable_names.py > tests/kept/stable.txt
"""

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import GenericAlias, ModuleType

from torch import nn
from typer.main import get_command

import annotated_transformer
from annotated_transformer.cli import app
from annotated_transformer.corpora import CORPORA
from annotated_transformer.models import MODELS
from annotated_transformer.run.presets import PRESETS


def called(made: object) -> str:
    """Return the parameters of what can be called; of anything else nothing.

    >>> called(lambda x, mask=None, *, scale: x)
    '(x, mask=, *, scale)'
    """
    is_called = inspect.isclass(made) or (inspect.isroutine(made) and callable(made))
    if not is_called or isinstance(made, GenericAlias):
        return ""
    if getattr(made, "__init__", None) is nn.Module.__init__:
        return "()"
    signs = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    found: list[str] = []
    for name, each in inspect.signature(made).parameters.items():
        if each.kind is each.KEYWORD_ONLY and not any(one.startswith("*") for one in found):
            found.append("*")
        if name != "self":
            found.append(signs.get(each.kind, "") + name + "=" * (each.default is not each.empty))
    return f"({', '.join(found)})"


def names_of(module: ModuleType) -> Iterator[str]:
    """Yield the public names of a module, and what its classes define."""
    place = module.__name__.partition(".")[2]
    for name in getattr(module, "__all__", None) or written_in(module):
        made = getattr(module, name)
        if inspect.ismodule(made):
            continue
        yield f"{place}.{name}{called(made)}"
        for member, each in vars(made).items() if inspect.isclass(made) else ():
            if member[0] != "_" and (inspect.isroutine(each) or isinstance(each, property)):
                yield f"{place}.{name}.{member}{called(getattr(made, member))}"


def written_in(module: ModuleType) -> Iterator[str]:
    """Yield the public names that the source of a module gives, not those that it imports."""
    for each in ast.parse(inspect.getsource(module)).body:
        match each:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names = [name]
            case ast.Assign(targets=targets):
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names = [name]
            case _:
                names = []
        yield from (name for name in names if not name.startswith("_"))


def lines() -> Iterator[str]:
    """Yield all that is promised."""
    for found in pkgutil.iter_modules(annotated_transformer.__path__):
        if found.name != "__main__":
            module = importlib.import_module(f"annotated_transformer.{found.name}")
            if not found.ispkg or hasattr(module, "__all__"):
                yield from names_of(module)
    for name, command in get_command(app).commands.items():
        yield from (f"$ {name} {spelling}" for each in command.params for spelling in each.opts)
    for kind, table in (("model", MODELS), ("recipe", PRESETS), ("corpus", CORPORA)):
        yield from (f"{kind} {name}" for name in table)


if __name__ == "__main__":
    print("\n".join(lines()))
