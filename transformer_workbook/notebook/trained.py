"""Trained models that are stored, for the cells that ask for exactly their training."""

import ast
import dis
import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from hashlib import sha256
from math import isclose
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn

from annotated_transformer.ground.devices import same_randomness
from annotated_transformer.ground.errors import InputError
from annotated_transformer.run.checkpoint import load_checkpoint, save_checkpoint
from annotated_transformer.weights import load_tensors, tensors_of
from transformer_workbook.places import course_file

T = TypeVar("T")

ANEW = "TRAIN"
"""The environment variable with which stored results are ignored."""


def train_once(name: str, model: nn.Module, train: Callable[[], T] | None = None) -> T:
    """Train a model, or load the stored weights of exactly this training; print which.

    It is another training if the untrained model gives other logits, or if ``train``, or what it
    uses of the notebook, has other code or values. Comments do not count. Without ``train``, any
    training of this model will do. With the environment variable ``TRAIN``, the model is trained.

    What is trained is stored in ``records/trained``, in 32 bits, with what ``train`` returned,
    which must be JSON, unless there is something of this name.

    Returns:
        What ``train`` returned.

    Raises:
        InputError: if there is no ``train``, and no stored weights of this model.
    """
    try:
        path = course_file("records/trained") / f"{name}.safetensors"
    except InputError:
        path = None
    seed = torch.initial_seed()  # of what is drawn in training
    asked = sha256(repr((_described(train), seed)).encode()).hexdigest()
    why = f"{ANEW} is set" if ANEW in os.environ else "nothing is stored"
    if path and path.exists() and (train is None or ANEW not in os.environ):
        weights, told = load_checkpoint(path)
        same = "given" in told and _shapes(weights) == _shapes(tensors_of(model))
        if not (same and _alike(_beginning(model, told["given"]), told["beginning"])):
            why = "what is stored is of another model"
        elif train and told["asked"] != asked:
            why = "what is stored is of another training"
        else:
            load_tensors(model, weights)
            print(f"{name}: loaded the stored weights of this {'training' if train else 'model'}.")
            return cast(T, told["returned"])
    if train is None:
        raise InputError(f"{name}: {why}, and nothing says how to train it.")
    print(f"{name}: {why}, so the model is trained now.", flush=True)
    given, untrained = list[Any](), deepcopy(model)

    def keep_the_first(_: nn.Module, inputs: tuple[Any, ...]) -> None:
        if not given and inputs and all(isinstance(x, Tensor) for x in inputs):
            given.append([x.tolist() for x in inputs])

    with model.register_forward_pre_hook(keep_the_first):
        returned = train()
    weights = {name: tensor.float() for name, tensor in tensors_of(model).items()}
    if path and given and not path.exists():
        told = {"given": given[0], "beginning": _beginning(untrained, given[0]), "asked": asked}
        save_checkpoint(path, weights, {"returned": returned} | told)
    load_tensors(model, weights)  # rounded like the stored ones
    return returned


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    return {name: tensor.shape for name, tensor in tensors.items()}


def _beginning(model: nn.Module, given: Sequence[Any]) -> list[Any]:
    """What tells an untrained model from another, however its code is written.

    What it computes for a batch and the length of the gradient; what is trained, in which
    precision; and dropout, which is random.
    """
    training = model.training
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    with torch.enable_grad(), same_randomness():
        torch.manual_seed(0)  # of a model that drops here as well
        p = model.eval()(*map(torch.tensor, given)).softmax(dim=-1).flatten()
        made = p.square() @ torch.linspace(1, 2, len(p), dtype=p.dtype)  # no two places are alike
        gradient = torch.autograd.grad(made, [*trained.values()], allow_unused=True)
    model.train(training)
    length = torch.stack([g.norm() for g in gradient if g is not None]).norm()
    dropout = [part.p for part in model.modules() if isinstance(part, nn.Dropout)]
    return [f"{made:.6g}", f"{length:.6g}", str(p.dtype), [*trained], dropout]


def _alike(found: Sequence[Any], stored: Sequence[Any]) -> bool:
    """Compare two beginnings: processors round differently."""
    numbers = zip(map(float, found[:2]), map(float, stored[:2]), strict=True)
    return found[2:] == stored[2:] and all(isclose(*pair, rel_tol=1e-4) for pair in numbers)


def _described(thing: Any, inside: tuple[int, ...] = ()) -> Any:
    """The code and the values on which a training depends, equal if they are.

    The code counts where the notebook, ``__main__``, has it; elsewhere the name stands for it. A
    model is known by what it computes.
    """
    if isinstance(thing, float):
        return f"{thing:.6g}"
    if thing is None or isinstance(thing, str | bytes | int):
        return thing
    if id(thing) in inside:
        return "above"
    ours, parts = getattr(thing, "__module__", "") == "__main__", list[Any]()
    if isinstance(thing, FunctionType):
        values = [cell.cell_contents for cell in thing.__closure__ or ()]
        parts = [thing.__qualname__, thing.__defaults__, thing.__kwdefaults__, *values]
        parts += [_source(thing), *_globals(thing)] if ours else []
    elif isinstance(thing, type):
        own = {k: v for k, v in vars(thing).items() if callable(v) or not k.startswith("__")}
        parts = [thing.__qualname__, *([thing.__bases__, own] if ours else [])]
    elif isinstance(thing, partial):
        parts = [thing.func, thing.args, thing.keywords]
    elif hasattr(thing, "tolist"):
        parts = [thing.tolist()]
    elif isinstance(thing, Mapping):
        parts = [*thing.items()]
    elif isinstance(thing, Sequence):
        parts = [*thing]
    else:
        fields = getattr(thing, "__dataclass_fields__", ())
        told = vars(thing) if ours and not isinstance(thing, nn.Module) else fields
        parts = [type(thing), *((name, getattr(thing, name)) for name in told)]
    return [_described(part, (*inside, id(thing))) for part in parts]


def _source(function: FunctionType) -> list[str]:
    """The code of a function in a cell, without its comments and docstrings."""
    first, found = function.__code__.co_firstlineno, []
    try:
        lines, _ = inspect.findsource(function)
    except OSError:  # a program wrote it
        return [function.__code__.co_code.hex()]
    for node in ast.walk(ast.parse("".join(lines))):
        if isinstance(body := getattr(node, "body", None), list):
            told = [isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) for s in body]
            body[:] = [s for s, only_told in zip(body, told, strict=True) if not only_told]
        begin = [node, *getattr(node, "decorator_list", [])]
        if isinstance(node, ast.FunctionDef | ast.Lambda) and first == min(b.lineno for b in begin):
            found.append(node)
    return [ast.unparse(node) for node in found]


def _globals(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The names of the notebook that a function uses, with their values."""
    codes, names = [function.__code__], set[str]()
    for code in codes:
        names |= {step.argval for step in dis.get_instructions(code) if "GLOBAL" in step.opname}
        codes += [part for part in code.co_consts if isinstance(part, CodeType)]
    return ((name, function.__globals__[name]) for name in sorted(names & {*function.__globals__}))
