"""Everything follows the model's device; shown on machines that have none but the processor.

No tensor is made without saying where, while a model is trained, resumed, searched and evaluated.
And a device of our own, over the processor's memory, gives the processor's results.
"""

import ast
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.overrides import TorchFunctionMode

import annotated_transformer
from annotated_transformer.batches import Batch
from annotated_transformer.corpora import Corpus
from annotated_transformer.decoding import Search, decode
from annotated_transformer.ground import devices
from annotated_transformer.ground.devices import choose_device, computing_in, device_of, move
from annotated_transformer.ground.errors import InputError
from annotated_transformer.models import MODELS
from annotated_transformer.run import Recipe, Run, train
from small_models import random_examples, small_model

PACKAGE = Path(annotated_transformer.__file__).parent
ROOT = PACKAGE.parent
FACTORIES = {
    getattr(torch, name)
    for name in (
        "arange", "as_tensor", "empty", "eye", "full", "linspace", "ones", "rand", "randint",
        "randn", "randperm", "tensor", "zeros",
    )
}  # fmt: skip
LETTERS = "abcdefgh"
PAIRS = [(" ".join(LETTERS[i : i + n]), LETTERS[i]) for n in range(1, 5) for i in range(5)]
CORPUS = Corpus("letters", ("a", "b"), {"train": PAIRS, "val": PAIRS[::3], "test": PAIRS[::4]})
RECURRENT = {"d_model": 8, "hidden_dim": 8, "dropout": 0.2}
STACK = {"d_model": 8, "num_layers": 1, "num_heads": 2, "d_ff": 8, "dropout": 0.2}
SIZES = dict.fromkeys(MODELS, RECURRENT) | {"transformer": STACK, "language": STACK}
SEARCHES = {
    "greedy": Search(extra_length=4),
    "beam": Search(3, best=2, extra_length=4),
    "sample": Search(sample=True, top_k=5, top_p=0.9, extra_length=4),
}


class SaysWhere(TorchFunctionMode):
    """Refuses to make a tensor of which nobody has said where it is to be."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in FACTORIES and kwargs.get("device") is None:
            raise AssertionError(f"{func.__name__} is called without a device")
        return func(*args, **kwargs)


@pytest.mark.parametrize(
    ("model", "precision"), [*((name, "float32") for name in MODELS), ("transformer", "bfloat16")]
)
def test_training_resuming_decoding_and_evaluating_say_where(tmp_path, model, precision):
    recipe = Recipe(
        model, "letters", steps=6, batch_tokens=30, validate_every=3, sizes=SIZES[model],
        precision=precision,
    )  # fmt: skip
    where = torch.device("cpu")
    run = Run.create(tmp_path / "run", recipe, CORPUS, device=where)
    make_model = Recipe.make_model

    def built(self, vocabularies):
        """Weights are drawn before a model is moved: the one place that need not say where."""
        with where:
            return make_model(self, vocabularies)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Recipe, "make_model", built)
        small = small_model(model).to(where)
        with SaysWhere():
            train(run, CORPUS)
            longer = Run.open(run.folder, where)
            train(longer.with_recipe(replace(recipe, steps=9)), CORPUS)
            for search in SEARCHES.values():
                assert longer.translate([src for src, _ in PAIRS], search)
            with computing_in(precision, where):
                gold = {"test": [frozenset({(0, 0)})] * len(CORPUS.split("test"))}
                assert longer.evaluate(replace(CORPUS, alignments=gold), "test")
            src = Batch.of(random_examples(3), where).src
            found = decode(small, src, SEARCHES["beam"], [[4], [], [5, 6]])
    assert [hypotheses[0].tokens[:1] for hypotheses in found][::2] == [[4], [5]]


def test_only_one_module_names_the_processor():
    named = [
        (path.relative_to(PACKAGE).as_posix(), node.value)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in ("cpu", "cuda", "mps")
    ]
    # One more knows through what the processes of each device speak to each other.
    assert {path for path, _ in named} == {"ground/devices.py", "run/processes.py"}
    assert [value for _, value in named].count("cpu") == 1


# --- choosing -------------------------------------------------------------------------------------


def test_the_device_is_the_accelerator_if_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda check_available: None)
    assert choose_device() == choose_device("auto") == torch.device("cpu")
    there = torch.device("cuda")
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda check_available: there)
    assert choose_device() == there
    assert choose_device("cpu") == torch.device("cpu")


def test_a_device_that_is_not_there():
    for name in ("cuda", "mps"):
        if not torch.accelerator.is_available():
            with pytest.raises(
                InputError, match=f"device is '{name}', but PyTorch finds none here"
            ):
                choose_device(name)


def test_a_precision_that_is_not_there():
    with (
        pytest.raises(InputError, match="precision is 'half', it must be one of float32, bfloat16"),
        computing_in("half", torch.device("cpu")),
    ):
        pass


@pytest.mark.parametrize(
    ("precision", "dtype"), [("float32", torch.float32), ("bfloat16", torch.bfloat16)]
)
def test_the_precision_is_that_of_products(precision, dtype):
    layer, x = torch.nn.Linear(2, 2), torch.ones(1, 2)
    with computing_in(precision, x.device):
        assert layer(x).dtype == dtype
    assert layer(x).dtype == layer.weight.dtype == torch.float32


def test_a_model_without_numbers_is_where_new_tensors_are_made():
    assert device_of(torch.nn.ReLU()) == torch.get_default_device()
    with torch.device("meta"):
        assert device_of(torch.nn.ReLU()) == torch.device("meta")
        assert device_of(torch.nn.Linear(1, 1)) == torch.device("meta")


def test_numbers_are_rounded_only_where_they_must_be(monkeypatch):
    """Sinusoids are kept in float64, which the GPU of a Mac does not know."""
    model = small_model("transformer").float()
    table = model.src_embedding.positions
    table.table = table.table.double()
    assert move(model, torch.device("cpu")).src_embedding.positions.table.dtype == torch.float64
    moved = {}
    monkeypatch.setattr(torch.nn.Module, "to", lambda self, *to: moved.update(to=to) or self)
    devices.move(model, torch.device("mps"))
    assert moved["to"] == (torch.device("mps"), torch.float32)


# --- a device of our own --------------------------------------------------------------------------


@pytest.mark.slow
def test_another_device_gives_the_processors_results():
    """In a process of its own, because a device can be registered only once."""
    program = Path(__file__).with_name("own_device.py")
    result = subprocess.run(
        [sys.executable, str(program)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr[-3000:]
    assert result.stdout.split() == ["losses", "greedy", "beam", "perplexity", "resumed"]
