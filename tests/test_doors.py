"""The doors of the library, found by its signatures: numbers, paths and searches."""

import importlib
import inspect
import os
import pkgutil
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from types import GeneratorType, NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
import torch
from torch import nn

import annotated_transformer
import transformer_workbook
from annotated_transformer.batches import Batch, TextBatch, batch_of
from annotated_transformer.corpora import LinesOfFiles, TsvSplit, load_corpus
from annotated_transformer.decoding import Search, beam_search, draw, greedy
from annotated_transformer.errors import InputError
from annotated_transformer.evaluation import perplexity
from annotated_transformer.examples import Examples
from annotated_transformer.exchange import PublishedModel
from annotated_transformer.layers import FeedForward
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.run import Recipe, Run
from annotated_transformer.tokens import Vocabularies
from annotated_transformer.training import Trainer, linear_schedule
from annotated_transformer.transfer import width_groups
from annotated_transformer.transformer import TransformerConfig
from annotated_transformer.translation import translate, translate_ids
from small_models import random_examples, small_model

pytestmark = pytest.mark.usefixtures("as_readers_do")


def public(package: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Go through all classes, constructors and functions that a package has for its readers."""
    for found in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{found.name}")
        own = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__]
        for name in getattr(module, "__all__", own):
            thing = getattr(module, name)
            if name.startswith("_") or not (inspect.isclass(thing) or inspect.isfunction(thing)):
                continue
            yield f"{found.name}.{name}", thing
            for method in vars(thing) if inspect.isclass(thing) else ():
                if inspect.isroutine(getattr(thing, method)) and not method.startswith("_"):
                    yield f"{found.name}.{name}.{method}", getattr(thing, method)


def hints(thing: Callable[..., Any]) -> dict[str, set[Any]]:
    """Return, for every parameter, the types that it may have."""
    try:
        names = inspect.signature(thing).parameters
    except ValueError:  # an exception
        return {}
    given = get_type_hints(thing.__init__ if inspect.isclass(thing) else thing)
    unions = {n: get_args(k) if get_origin(k) in (Union, UnionType) else (k,) for n, k in given.items()}
    return {name: {*unions[name]} for name in names if name in given}


# --- numbers --------------------------------------------------------------------------------------

NO_DOORS = {
    "costs.Cost", "cross_attention.rank", "decoding.Hypothesis", "evaluation.Score",
    "fast.PackedBatch", "paged_cache.Request", "run.Processes", "toy.Pair",
    "training.require_converging",
}  # fmt: skip
"""Made or called by the package alone; as the checks of ``inputs`` are."""
CONFIG = small_model("language", norm_position="pre").config
PAIRS = [("a", "b")]
VALUES: dict[str, Any] = {
    **dict.fromkeys(("d_model", "d_k", "d_v", "d_ff", "d_latent", "d_rotary"), 4),
    **dict.fromkeys(("query_dim", "memory_dim", "hidden_dim", "input_dim"), 4),
    **dict.fromkeys(("max_length", "length", "max_tokens", "total", "vocab", "subwords"), 12),
    **dict.fromkeys(("src_vocab", "tgt_vocab"), 11),
    **dict.fromkeys(("tgt_length", "src_length", "num_experts", "extra_length"), 3),
    **dict.fromkeys(("rows", "pages", "page_size", "new", "rank", "num_heads", "k"), 2),
    **dict.fromkeys(("lr", "peak", "decay", "dropout", "smoothing"), 0.1),
    **dict.fromkeys(("warmup", "seed"), 1), "capacity": 1.0, "base": 500.0, "factor": 2.0,
    "t": 1.0, "alpha": 1.0, "pairs": 20, "activation": "relu", "norm_position": "pre",
    "name": "layer", "cell": "gru", "corpus": "toy", "model": small_model("language"),
    "config": CONFIG, "loss": smoothed_cross_entropy, "schedule": linear_schedule(0.1, 9),
    "experts": [FeedForward(4, 4)] * 3, "layer": nn.Linear(4, 4), "module": nn.GRU(4, 4),
    "src": torch.tensor([[4, 5, 2]]), "tgt_in": torch.tensor([[1, 5]]), "prefixes": None,
    "logits": torch.zeros(1, 2, 11), "target": torch.tensor([[4, 2]]), "weights": torch.eye(3),
    "examples": random_examples(3), "sources": [[4, 5]], "texts": ["a"], "search": Search(),
    "vocabularies": Vocabularies.learn([("a b c d e f g", "a b c d e f g")], 0),
    "gold": [frozenset({(0, 0)})] * 3, "matrices": [nn.Parameter(torch.eye(2))],
}  # fmt: skip
"""A right value of every parameter, by its name."""
OTHERS: dict[str, dict[str, Any]] = {
    "bert": {"config": small_model("transformer").config},
    "fast": {"model": small_model("transformer")},
    "fast.pack": {"pairs": random_examples(3), "rows": [[0]]},
    "linear_attention": dict.fromkeys(("queries", "keys", "values"), torch.ones(1, 2, 3, 4))
    | {"state": torch.zeros(1, 2, 4, 4)},
    "lora.add_lora": {"module": nn.Sequential(nn.Linear(4, 4))},
    "luong": {"name": "general"},
    "models": {"model": "language", "sizes": {}},
    "recurrent": {"name": "gru"},
    "rotary": {"frequencies": torch.ones(2), "rows": torch.eye(4), "sizes": (4, 2)},
    "run": {"model": "transformer", "sizes": {}, "steps": 12},
    "speculative": {"logits": torch.zeros(2, 11), "target": small_model("language"),
                    "draft": small_model("language")},
    "tokens": {"pairs": PAIRS},
    "transfer": {"model": small_model("language", norm_position="pre"), "base": CONFIG},
    "transformer": {"config": small_model("transformer").config},
}  # fmt: skip
"""Where a name means something else in a module, or in one function."""
HOSTILE = [float("nan"), float("inf"), -1, 0, 1.5, True, "3", None]
ZERO = (
    "Recipe.warmup Search.alpha average_decay causal_mask.length decay dropout extra_length "
    "length_penalty.alpha length_penalty.length linear_schedule.warmup lr make_norm.epsilon "
    "max_depth min_p momentum paper_adam.eps paper_schedule.factor past peak random_draws.length "
    "Residual.epsilon seed skip smoothing speculate.temperature src_length start subwords t "
    "tgt_length"
)
RIGHT = {
    0: ZERO.split(),
    -1: ["Search.alpha", "length_penalty.alpha"],
    float("inf"): ["Trainer.clip"],
}
"""The numbers, by their name, for which such a value is right."""


def numbers() -> Iterator[Any]:
    """Every number of a constructor or a function, and the values that it must refuse."""
    for name, thing in public(annotated_transformer):
        is_method = name.count(".") > 1 and not inspect.ismethod(thing)
        if is_method or name in NO_DOORS or name.startswith("inputs."):
            continue
        for parameter, kinds in hints(thing).items():
            if kinds & {int, float} and kinds <= {int, float, NoneType}:
                right = {None} if NoneType in kinds else set()
                wrong = [v for v in HOSTILE if v not in (right if int in kinds else {1.5, *right})]
                marks = [pytest.mark.verify] if name == "toy.toy_corpus" else []  # it draws long
                given = name, thing, parameter, wrong
                yield pytest.param(*given, id=f"{name} {parameter}", marks=marks)


def call(name: str, thing: Callable[..., Any], parameter: str, **changed: Any) -> None:
    """Call a function with right values, except for those that are given."""
    known = VALUES | OTHERS.get(name.partition(".")[0], {}) | OTHERS.get(name, {})
    parameters = inspect.signature(thing).parameters.values()
    more = [each for p in parameters if p.kind is p.VAR_POSITIONAL for each in known[p.name]]
    needed = [p.name for p in parameters if p.default is p.empty and p.kind < p.VAR_KEYWORD]
    given = {name: deepcopy(known[name]) for name in needed if name != "sizes" or not more}
    made = thing(*more, **given | changed)
    if isinstance(made, GeneratorType):
        next(made)


@pytest.mark.parametrize(("name", "thing", "parameter", "hostile"), [*numbers()])
def test_a_number_out_of_its_range_is_refused_where_it_comes_in(name, thing, parameter, hostile):
    call(name, thing, parameter)
    for value in hostile:
        right = RIGHT.get(value, ()) if not isinstance(value, bool) else ()
        if parameter in right or f"{name.partition('.')[2]}.{parameter}" in right:
            call(name, thing, parameter, **{parameter: value})
        else:
            with pytest.raises(InputError, match=re.escape(str(value))):
                call(name, thing, parameter, **{parameter: value})
