"""Break every reference of the exercises in every small way, and report the verdicts.

    .venv/bin/python tools/mutate_exercises.py            one line for every broken reference
    .venv/bin/python tools/mutate_exercises.py shift      … of one exercise

The mutations are those of Cosmic Ray (another operator, another number, a loop that does not run)
and four more: a function is not called, `@` becomes `*`, a list lacks an
entry, two parameters are swapped. A mutant that is judged right must be equivalent: it is listed
with its reason in tests/equivalent_mutants.csv, and tests/test_exercises.py compares.
"""

import ast
import itertools
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

from transformer_workbook import exercises
from transformer_workbook.judge.catalogue import source_of
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.judge.tasks import Verdict

# The first two draw random numbers. Whether equal numbers are identical is up to Python.
LEFT_OUT = ("VariableReplacer", "VariableInserter", "_Is", "_IsNot")


@dataclass(frozen=True)
class Mutant:
    """A reference with one mutation."""

    exercise: str
    change: str  # the lines that are not in the reference
    verdict: Verdict

    @property
    def told(self) -> str:
        """Return how the check judged it: "by name", "by case", or "judged right"."""
        if self.verdict.passed:
            return "judged right"
        known = [mistake.says for mistake in getattr(exercises, self.exercise).mistakes]
        named = self.verdict.mistake in known
        return "by name" if named else "by case"


def plain_source(exercise: Exercise) -> str:
    """Return the source of a reference without the types of parameters, also inside it."""
    tree = ast.parse(source_of(exercise.reference))
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef():
                node.returns = None
            case ast.arg():
                node.annotation = None
    return ast.unparse(tree)


def mutants_by_cosmic_ray(source: str) -> Iterator[str]:
    """Iterate over the results of every operator of Cosmic Ray, at every place of the source."""
    nodes = list(ast_nodes(get_ast(source)))  # read once, not for every operator
    for name in plugins.operator_names():
        if not name.endswith(LEFT_OUT):
            operator = plugins.get_operator(name)()
            places = sum(len(list(operator.mutation_positions(node))) for node in nodes)
            yield from (mutate_code(source, operator, place) for place in range(places))


def splice(source: str, node: ast.expr | ast.arg, new: ast.expr | ast.arg) -> str:
    """Replace a node in the source; `ast.unparse` has put every statement on one line."""
    lines = source.splitlines()
    line = lines[node.lineno - 1]
    text = ast.unparse(new) if isinstance(new, ast.arg) else f"({ast.unparse(new)})"
    lines[node.lineno - 1] = line[: node.col_offset] + text + line[node.end_col_offset :]
    return "\n".join(lines)


def mutants_of_our_own(source: str) -> Iterator[str]:
    """Iterate over four more mutations: no call, `@` as `*`, a shorter list, swapped parameters."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("torch" | "math")), args=[first, *_]):
                yield splice(source, node, first)
            case ast.Call(func=ast.Attribute(value=receiver)):
                yield splice(source, node, receiver)
            case ast.BinOp(left, ast.MatMult(), right):
                yield splice(source, node, ast.BinOp(left, ast.Mult(), right))
            case ast.List(elts=entries):
                for entry in entries:
                    others = [other for other in entries if other is not entry]
                    yield splice(source, node, ast.List(others))
            case ast.arguments(args=parameters):
                for a, b in itertools.combinations(parameters, 2):
                    yield splice(splice(source, b, a), a, b)


def mutants(name: str) -> Iterator[Mutant]:
    """Iterate over the judged mutants of the reference of an exercise."""
    exercise = getattr(exercises, name)
    source = plain_source(exercise)
    made = itertools.chain(mutants_by_cosmic_ray(source), mutants_of_our_own(source))
    for code in dict.fromkeys(filter(None, map(tidy, made))):
        names = dict(vars(sys.modules[exercise.reference.__module__]))
        exec(compile(code, name, "exec"), names)
        changed = [line.strip() for line in code.splitlines() if line not in source.splitlines()]
        verdict = exercise(names[exercise.reference.__name__])
        yield Mutant(name, "; ".join(changed), verdict)


def tidy(code: str) -> str | None:
    """Format code as Python itself writes it, or return None if it is not Python."""
    try:
        return ast.unparse(ast.parse(code))
    except SyntaxError:
        return None


def main() -> None:
    """Print the verdict on every mutant, then the totals."""
    totals: Counter[str] = Counter()
    every = [name for name, task in exercises.TASKS.items() if isinstance(task, Exercise)]
    for name in sys.argv[1:] or every:
        for mutant in mutants(name):
            totals[mutant.told] += 1
            print(f"{name} | {mutant.change} | {mutant.told} | {mutant.verdict.mistake}")
    print(f"{totals.total()} tried:", ", ".join(f"{n} {told}" for told, n in totals.items()))


if __name__ == "__main__":
    main()
