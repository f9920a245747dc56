"""The doors of the library, found by its signatures: numbers, paths and searches."""

import importlib
import os
import pkgutil
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from inspect import isclass, isfunction, ismethod, signature
from pathlib import Path
from tempfile import TemporaryDirectory
from types import GeneratorType, NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
import torch
from torch import nn

import annotated_transformer
import transformer_workbook
from annotated_transformer import corpora, exchange
from annotated_transformer.batches import Batch, TextBatch, batch_of
from annotated_transformer.corpora import Corpus, load_corpus
from annotated_transformer.decoding import Search, beam_search, decode, greedy
from annotated_transformer.evaluation import evaluate, forced_attention, perplexity
from annotated_transformer.exchange import PublishedModel, export_to_web
from annotated_transformer.ground.errors import InputError
from annotated_transformer.layers import FeedForward
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.run import Recipe, Run
from annotated_transformer.speculative import speculate
from annotated_transformer.text import examples
from annotated_transformer.text.examples import Examples
from annotated_transformer.tokens import Vocabularies, Vocabulary
from annotated_transformer.training import Trainer, linear_schedule
from annotated_transformer.translation import translate_ids
from annotated_transformer.weights import tensors_of
from small_models import random_examples, small_model
from transformer_workbook import own
from transformer_workbook.lessons import progress_by_lesson, write_lessons
from transformer_workbook.notebook import comparisons

pytestmark = pytest.mark.usefixtures("as_readers_do")


def public(package: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Go through all classes, constructors and functions that a package has for its readers."""
    for found in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{found.name}")
        own = [
            n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__
        ]
        for name in getattr(module, "__all__", own):
            thing = getattr(module, name)
            if name.startswith("_") or not (isclass(thing) or isfunction(thing)):
                continue
            yield f"{found.name}.{name}", thing
            for method in vars(thing) if isclass(thing) else ():
                is_method = any(kind(getattr(thing, method)) for kind in (isfunction, ismethod))
                if is_method and not method.startswith("_"):
                    yield f"{found.name}.{name}.{method}", getattr(thing, method)
        if found.ispkg and not hasattr(module, "__all__") and package is annotated_transformer:
            yield from ((f"{found.name}.{name}", thing) for name, thing in public(module))


def hints(thing: Callable[..., Any]) -> dict[str, set[Any]]:
    """Return, for every parameter, the types that it may have."""
    try:
        names = signature(thing).parameters
    except ValueError:  # an exception
        return {}
    given = get_type_hints(thing.__init__ if isclass(thing) else thing)
    unions = {
        n: get_args(k) if get_origin(k) in (Union, UnionType) else (k,) for n, k in given.items()
    }
    return {name: {*unions[name]} for name in names if name in given}


PAIRS = [("a", "b")]
SIZES = {"d_model": 4, "num_layers": 1, "num_heads": 2, "d_ff": 4}
RECIPE = Recipe("transformer", "pairs", steps=1, sizes=SIZES)
WORDS = Vocabularies.learn(PAIRS, 0)
WEIGHTS = tensors_of(RECIPE.make_model(WORDS))
CORPUS = Corpus("pairs", ("en", "ko"), {"train": PAIRS, "val": PAIRS})
with TemporaryDirectory() as folder:
    RUN = Run.from_weights(Path(folder, "run"), RECIPE, WORDS, WEIGHTS)
    assert RUN.model is RUN.model  # it is kept
"""A run that has its model, and no folder any more."""


# --- numbers --------------------------------------------------------------------------------------

NO_DOORS = {
    "costs.Cost", "cross_attention.rank", "decoding.Hypothesis", "evaluation.Score",
    "paged_cache.Request", "run.Processes", "toy.Pair",
    "training.require_converging", "exchange.halves", "rotary.pairs_from_halves",
    "decoding.next_log_probs", "decoding.random_draws", "speculative.probabilities",
    "corpora.FileSplit", "corpora.LinesOfFiles", "corpora.TsvSplit",
}  # fmt: skip
"""What the package makes or calls with what it checked before; so it does with ``inputs``."""
CONFIG = small_model("language", norm_position="pre").config
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
    "decoding.draw": {"log_probs": torch.zeros(1, 3), "number": torch.zeros(1)},
    "lora.add_lora": {"module": nn.Sequential(nn.Linear(4, 4))},
    "luong": {"name": "general"},
    "models": {"model": "language", "sizes": {}},
    "recurrent": {"name": "gru"},
    "rotary": {"frequencies": torch.ones(2), "rows": torch.eye(4), "sizes": (4, 2)},
    "run": {"model": "transformer", "sizes": {}, "steps": 12, "prompt": "a", "split": "train",
            "self": RUN, "run": RUN},
    "run.Run.evaluate": {"corpus": CORPUS},
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
        is_method = name.count(".") > 1 and not ismethod(thing)
        if is_method or name in NO_DOORS or name.startswith("inputs."):
            continue
        for parameter, kinds in hints(thing).items():
            if kinds & {int, float} and kinds <= {int, float, NoneType}:
                right = {None} if NoneType in kinds else set()
                wrong = [v for v in HOSTILE if v not in (right if int in kinds else {1.5, *right})]
                marks = [pytest.mark.verify] if name == "toy.toy_corpus" else []  # it draws long
                given = name, thing, parameter, wrong
                yield pytest.param(*given, id=f"{name} {parameter}", marks=marks)


def known_of(name: str) -> dict[str, Any]:
    """Return a right value of every parameter of a function."""
    return VALUES | OTHERS.get(name.partition(".")[0], {}) | OTHERS.get(name, {})


def call(name: str, thing: Callable[..., Any], parameter: str, **changed: Any) -> None:
    """Call a function with right values, except for those that are given."""
    known = known_of(name)
    parameters = signature(thing).parameters.values()
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


# --- paths ----------------------------------------------------------------------------------------


class Place:
    """A path of another library."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)


MODEL = PublishedModel("someone/small", "0" * 40, {"config.json": ""})
PATHS: dict[str, Callable[[Any], Any]] = {
    "corpora.load_corpus": load_corpus,
    "corpora.read_folder": corpora.read_folder,
    "corpora.read_tsv": lambda path: corpora.read_tsv(path).split("train"),
    "text.examples.read_examples": examples.read_examples,
    "text.examples.write_examples": lambda path: examples.write_examples(path, [[([4], [5])]]),
    "exchange.PublishedModel.verify": MODEL.verify,
    "exchange.export_to_ctranslate2": lambda path: exchange.export_to_ctranslate2(RUN, path),
    "exchange.export_to_marian": lambda path: exchange.export_to_marian(RUN, path),
    "exchange.import_marian": lambda path: exchange.import_marian(path, path),
    "exchange.load_model": exchange.load_model,
    "lessons.progress_by_lesson": progress_by_lesson,
    "lessons.write_lessons": lambda path: write_lessons(path, ["5"]),
    "run.Run": lambda path: Run(path, RECIPE, "", WORDS).weights,
    "run.Run.create": lambda path: Run.create(path, RECIPE, CORPUS),
    "run.Run.export": lambda path: RUN.export(path),
    "run.Run.from_weights": lambda path: Run.from_weights(path, RECIPE, WORDS, WEIGHTS),
    "run.Run.open": Run.open,
    "run.Run.read": lambda path: RUN.read(path),
    "exchange.export_to_web": lambda path: export_to_web(RUN, path),
    "notebook.comparisons": comparisons,
    "own.alone": lambda path: own.alone(path, "tokens"),
    "own.check_package": own.check_package,
    "own.findings": lambda path: own.findings(path, ["tokens"]),
    "own.question": lambda path: own.question(path, "pad"),
    "own.start": own.start,
    "own.with_package": lambda path: own.with_package(path, print, {}),
}
"""How each of them is called."""


def outcome(function: Callable[[Any], Any], path: Any) -> str:
    """Tell what a function returns for a path, or refuses it with."""
    try:
        return type(function(path)).__name__
    except (InputError, OSError) as error:
        return f"{type(error).__name__}: {error}"


def test_all_that_takes_a_path_is_known():
    members = (*public(annotated_transformer), *public(transformer_workbook))
    taking = {
        name
        for name, thing in members
        if name not in NO_DOORS
        and not name.startswith(
            ("commands.", "ground.inputs.")
        )  # the command line makes paths of words
        and any({Path, os.PathLike[str]} & kinds for kinds in hints(thing).values())
    }
    assert taking == PATHS.keys()


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("state", ["nothing", "a file", "a folder"])
def test_a_text_and_any_other_path_are_taken_like_a_path(name, state, tmp_path, monkeypatch):
    found = []
    for kind in (Path, str, Place):
        (folder := tmp_path / kind.__name__).mkdir()
        monkeypatch.chdir(folder)
        if state == "a file":
            Path("it").write_text("a\tb\n")
        elif state == "a folder":
            Path("it").mkdir()
        found.append(outcome(PATHS[name], kind(Path("it"))))
    assert found == found[:1] * 3
    if name != "notebook.comparisons":  # it has a folder of its own
        with pytest.raises(InputError, match="None, it must be a path"):
            PATHS[name](None)


# --- searches, batches, and models that cannot do it ----------------------------------------------

SEARCHING = [
    pytest.param(name, thing, id=name)
    for name, thing in public(annotated_transformer)
    if Search in hints(thing).get("search", ())
]


@pytest.mark.parametrize(("name", "thing"), SEARCHING)
def test_a_search_that_is_a_dictionary_is_refused(name, thing):
    known = known_of(name) | {"pairs": PAIRS}
    needed = [p.name for p in signature(thing).parameters.values() if p.default is p.empty]
    given = {parameter: known[parameter] for parameter in needed} | {"search": {"beam": 4}}
    with pytest.raises(InputError, match=r"search is {'beam': 4}, it must be "):
        thing(**given)


LISTS = (Batch.of, TextBatch.of, batch_of, Examples.of, Vocabularies.learn, WORDS.encode,
         WORDS.src.encode_all, Vocabulary.words)  # fmt: skip


@pytest.mark.parametrize("given", [None, 5, "ab", [None], [[None]], [5]])
@pytest.mark.parametrize("function", LISTS)
def test_what_is_no_list_of_sentences_is_refused(function, given):
    with pytest.raises(InputError, match=r"(it must|there must|must be|needs|is needed)\b"):
        function(given, *([0] if function == Vocabularies.learn else []))


SRC, TGT_IN = torch.tensor([[4, 5, 2]]), torch.tensor([[1, 5]])
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "greedy": greedy, "sampling": lambda model, src: greedy(model, src, Search(sample=True)),
    "beam_search": lambda model, src: beam_search(model, src, Search(beam=2)),
    "decode": lambda model, src: decode(model, src, Search(beam=2)),
    "speculate": lambda model, src: speculate(model, model, src),
    "forced_attention": lambda model, src: forced_attention(model, src, TGT_IN),
}  # fmt: skip


@pytest.mark.parametrize("function", CALLS)
@pytest.mark.parametrize("src", [SRC[0], SRC[None], SRC.to("meta"), SRC.float(), SRC[:, :0], None])
def test_a_source_without_its_axes_or_values_is_refused(function, src):
    with pytest.raises(InputError, match=r"src (has|is)"):
        CALLS[function](small_model("transformer").float(), src)


@pytest.mark.parametrize("function", [
    *CALLS.values(),
    lambda model, _: perplexity(model, random_examples(3)),
    lambda model, _: translate_ids(model, [[4, 5]]),
    lambda model, _: evaluate(model, WORDS, PAIRS, Search()),
])  # fmt: skip
def test_a_model_on_meta_is_refused(function):
    with pytest.raises(InputError, match="model is on the device meta, it must be"):
        function(small_model("transformer").to("meta"), SRC)


def test_nothing_to_train_is_refused():
    model = small_model("transformer").requires_grad_(False)
    for kind, few in ((model, len([*model.parameters()])), (nn.ReLU(), 0)):
        with pytest.raises(InputError, match=f"model has {few} parameters and none is trained"):
            Trainer(kind, smoothed_cross_entropy, linear_schedule(0.1, 9))
