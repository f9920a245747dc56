"""A GPU computes what the CPU computes; tested only on a machine that has one."""

import csv
import os
import subprocess
import sys
from copy import deepcopy
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import distributed as dist

from annotated_transformer.batches import Batch
from annotated_transformer.decoding import Search
from annotated_transformer.evaluation import perplexity
from annotated_transformer.fast import FastTrainer
from annotated_transformer.ground.devices import choose_device, device_of, move
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.models import MODELS
from annotated_transformer.run.processes import BACKENDS, Processes, SharedTrainer
from annotated_transformer.training import Trainer, paper_schedule
from annotated_transformer.translation import search_all
from small_models import (
    TRANSFORMERS,
    assert_going_on_is_exact,
    random_examples,
    small_model,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU"),
]

EXAMPLES = random_examples(24)
SLICES = [slice(0, 1), slice(1, 4), slice(4, 24)]
RATE = paper_schedule(d_model=16, warmup=3, factor=0.02)
SMOOTHED = partial(smoothed_cross_entropy, smoothing=0.1)
PLACES = [torch.device("cpu"), choose_device()]


def parts(device):
    return [Batch.of(EXAMPLES[part], device) for part in SLICES]


def trainers(make, **changes):
    """The same trainer on the processor and on the accelerator."""
    torch.manual_seed(0)
    model = small_model(changes.pop("name", "transformer"), **{"dropout": 0.0} | changes)
    return [make(move(deepcopy(model), place)) for place in PLACES]


def readable(model):
    return Trainer(model, SMOOTHED, RATE, average_decay=0.9)


def fast(model, precision="float32"):
    return FastTrainer(model, 0.1, RATE, precision=precision, average_decay=0.9)


def assert_same_steps(one, other, count=4, rel=1e-9):
    for _ in range(count):
        ours, theirs = (each.update(parts(device_of(each.model))) for each in (one, other))
        assert ours == pytest.approx(theirs, rel=rel)


@pytest.mark.parametrize("name", MODELS)
def test_readable_steps_are_those_of_the_processor(name):
    here, there = trainers(readable, name=name)
    assert_same_steps(there, here)
    for key, tensor in here.tensors().items():
        if not key.startswith("random"):
            assert there.tensors()[key].device == device_of(there.model)
            torch.testing.assert_close(there.tensors()[key].cpu(), tensor, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("changes", TRANSFORMERS)
def test_fast_steps_are_those_of_the_readable_trainer(changes):
    assert_same_steps(trainers(fast, **changes)[1], trainers(readable, **changes)[0])


@pytest.mark.parametrize("engine", [fast, partial(Trainer, loss=SMOOTHED, schedule=RATE)])
def test_sixteen_bits_give_nearly_the_same_step(engine):
    torch.manual_seed(0)
    model = small_model("transformer").float().to(PLACES[1])
    rounded, exact = engine(deepcopy(model), precision="bfloat16"), readable(model)
    ours, theirs = (each.update(parts(PLACES[1])) for each in (rounded, exact))
    assert ours == pytest.approx(theirs, rel=0.03)
    assert ours != pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_searches_and_perplexity_are_those_of_the_processor(name):
    search = Search(3, best=2, extra_length=4)
    here, there = (each.model.eval() for each in trainers(readable, name=name))
    sources = [src for src, _ in EXAMPLES]
    for ours, theirs in zip(
        search_all(there, sources, search), search_all(here, sources, search), strict=True
    ):
        assert [h.tokens for h in ours] == [h.tokens for h in theirs]
        assert [h.log_prob for h in ours] == pytest.approx([h.log_prob for h in theirs], rel=1e-9)
    assert perplexity(there, EXAMPLES) == pytest.approx(perplexity(here, EXAMPLES), rel=1e-9)


@pytest.mark.parametrize(("engine", "steps"), [(readable, 0), (fast, 3)])
def test_going_on_is_exact_to_the_bit(engine, steps):
    def begin():
        torch.manual_seed(1)
        return engine(small_model("transformer", dropout=0.3).to(PLACES[1]))

    assert_going_on_is_exact(begin, parts(PLACES[1]), steps)


def test_gradients_go_through_the_library_of_the_accelerator(tmp_path):
    """Of one process: NCCL gives no two processes one device."""
    alone, shared = trainers(readable)[1], trainers(readable)[1]
    store = dist.FileStore(str(tmp_path / "store"), 1)
    dist.init_process_group(BACKENDS[PLACES[1].type], store=store, rank=0, world_size=1)
    try:
        shared = SharedTrainer(shared, Processes(0, 1))
        assert_same_steps(shared, alone)
        assert shared.tensors().keys() == alone.tensors().keys()
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize("engine", ["readable", "fast"])
def test_the_command_line_trains_goes_on_and_translates(engine, tmp_path):
    def command(*arguments, given=None):
        done = subprocess.run(
            [sys.executable, "-m", "annotated_transformer", *map(str, arguments)],
            capture_output=True, text=True, check=False, input=given,
            cwd=Path(__file__).parents[1], env=os.environ | {"TMPDIR": str(tmp_path)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    options = ["--engine", engine, "--precision", "bfloat16", "--device", PLACES[1].type]
    run = tmp_path / "run"
    command("train", "--corpus", "toy", "--steps", 40, "--out", run, *options)
    command("resume", run, "--steps", 200, "--device", PLACES[1].type)
    with (run / "learning_curve.csv").open(newline="", encoding="utf-8") as file:
        curve = list(csv.DictReader(file))
    losses = [float(row["train_loss"]) for row in curve]
    assert int(curve[-1]["step"]) == 200
    assert losses[-1] < 0.7 * losses[0]
    translate = ["translate", run, "--device", PLACES[1].type, *options[2:4]]
    assert command(*translate, given="the child sees a dog\n").strip()
