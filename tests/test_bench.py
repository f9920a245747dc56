"""The bench: all contestants do the same work, and are told apart by nothing but their time."""

import sys

import pytest
import torch
from safetensors.torch import save_file
from torch.nn import functional as F

from annotated_transformer.batches import Batch
from annotated_transformer.errors import InputError
from annotated_transformer.transformer import Transformer, TransformerConfig
from bench import rounds, training
from bench.task import load_contest, require_equal
from small_models import random_examples

VOCAB = 11
SIZES = {"d_model": 8, "num_layers": 2, "num_heads": 2, "d_ff": 12}
BATCHES = [Batch.of(random_examples(6, seed=seed)) for seed in range(3)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What `prepare` writes, small."""
    monkeypatch.setattr(training, "SIZES", SIZES)
    parts = {f"{i}.{part}": t for i, b in enumerate(BATCHES) for part, t in vars(b).items()}
    save_file(parts, tmp_path / "batches.safetensors")
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(VOCAB, VOCAB, **SIZES, share_embeddings=True))
    save_file(dict(model.named_parameters()), tmp_path / "weights.safetensors")
    return tmp_path


def test_all_contestants_begin_with_the_same_losses(folder):
    model = training.read_model(folder).eval()
    expected = [
        F.cross_entropy(
            model(b.src, b.tgt_in).transpose(1, 2), b.tgt_out, ignore_index=0, label_smoothing=0.1
        ).item()
        for b in BATCHES[:2]
    ]
    for name, make in training.CONTESTANTS.items():
        within = 0.02 if "bfloat16" in name else 1e-5
        assert make(folder).answer() == pytest.approx(expected, rel=within), name
    torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize("name", training.CONTESTANTS)
def test_a_contestant_learns(folder, name, monkeypatch):
    monkeypatch.setattr(training, "RATE", 0.01)
    contestant = training.CONTESTANTS[name](folder)
    before = contestant.answer()
    for turn in range(12):
        assert contestant.work(turn % 2) == BATCHES[turn % 2].num_tokens
    assert all(new < old - 0.1 for new, old in zip(contestant.answer(), before, strict=True))
    torch.set_float32_matmul_precision("highest")


def test_answers_that_differ_are_refused():
    require_equal({"a": [1.0, 2.0], "b": [1.0, 2.00001]}, 1e-4)
    require_equal({"a": ["x"], "b": ["x"]}, 1e-4)
    with pytest.raises(InputError, match=r"b answers \[1.0, 2.1\]…, it must be \[1.0, 2.0\]…, as"):
        require_equal({"a": [1.0, 2.0], "b": [1.0, 2.1]}, 1e-4)
    with pytest.raises(InputError, match=r"b answers .*'y'"):
        require_equal({"a": ["x"], "b": ["y"]}, 1e-4)


def test_an_unknown_contest_is_refused():
    with pytest.raises(InputError, match="contest is 'swimming', it must be one of training"):
        load_contest("swimming")


def test_ratios_are_taken_within_a_round():
    def took(seconds):
        return {"wall": seconds, "cpu": seconds / 2, "units": 100, "peak": 7}

    turns = [[took(2.0), took(1.0)], [took(30.0), took(10.0)], [took(8.0), took(2.0)]]
    row = rounds.summary("b", [turn[1] for turn in turns], turns)
    assert (row["seconds"], row["cpu_seconds"]) == (2.0, 1.0)
    assert row["per_second"] == 50
    assert row["times_as_fast"] == row["times_as_fast_cpu"] == 3.0  # of 2, 3 and 4
    assert (row["peak_mib"], row["rounds"]) == (7, 3)


CONTEST = """
import os, sys
class Contestant:
    def __init__(self, name): self.name = name
    def answer(self):
        print("this line is no answer")
        return [1.0 if self.name != "other" else 2.0]
    def work(self, turn):
        if self.name == "dies": sys.exit(3)
        return turn + os.getpid()
CONTESTANTS = {name: lambda folder, name=name: Contestant(name)
               for name in ("a", "b", "other", "dies")}
TOLERANCE = 1e-4
def prepare(folder): pass
"""


@pytest.fixture
def toy_contest(tmp_path, monkeypatch):
    """A contest that takes no time, in the place of the one that trains."""
    package = tmp_path / "bench"
    package.mkdir()
    for name in ("__init__", "task", "worker"):
        source = (rounds.ROOT / "tools" / "bench" / f"{name}.py").read_text(encoding="utf-8")
        (package / f"{name}.py").write_text(source, encoding="utf-8")
    (package / "training.py").write_text(CONTEST, encoding="utf-8")
    (tmp_path / "annotated_transformer").symlink_to(rounds.ROOT / "annotated_transformer")
    monkeypatch.setattr(rounds, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("toy_contest")
def test_every_contestant_is_a_process_of_its_own(monkeypatch):
    monkeypatch.setattr(rounds, "load_contest", lambda _: sys.modules["bench.training"])
    monkeypatch.setattr(training, "prepare", lambda folder: None)
    rows, versions = rounds.race("training", ["a", "b"], threads=1, rounds=3)
    assert [row["contestant"] for row in rows] == ["a", "b"]
    assert {row["rounds"] for row in rows} == {3}
    assert all(row["peak_mib"] > 50 for row in rows)
    assert versions["torch"] == torch.__version__
    with pytest.raises(InputError, match="other answers"):
        rounds.race("training", ["a", "other"], threads=1, rounds=1)
    with pytest.raises(InputError, match="the contestant dies ended with status 3"):
        rounds.race("training", ["a", "dies"], threads=1, rounds=1)
