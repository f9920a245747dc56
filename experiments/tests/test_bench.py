"""The bench: all contestants do the same work, and are told apart by nothing but their time."""

import json
import subprocess
from dataclasses import asdict

import pytest
import torch
from safetensors.torch import save_file
from torch.nn import functional as F

from annotated_transformer.batches import Batch
from annotated_transformer.corpora import Corpus
from annotated_transformer.exchange import export_to_ctranslate2
from annotated_transformer.ground.errors import InputError
from annotated_transformer.run import Recipe, Run
from annotated_transformer.run.checkpoint import save_checkpoint
from annotated_transformer.transformer import Transformer, TransformerConfig
from bench import (
    accelerator,
    beam,
    earlier,
    greedy,
    levers,
    rounds,
    training,
    translating,
)
from bench.task import load_contest, require_equal
from oracles import randomise
from small_models import random_examples

VOCAB = 11
SIZES = {"d_model": 8, "num_layers": 2, "num_heads": 2, "d_ff": 12}
BATCHES = [Batch.of(random_examples(6, seed=seed)) for seed in range(3)]


@pytest.fixture
def folder(tmp_path):
    """What `prepare` writes, small."""
    parts = {f"{i}.{part}": t for i, b in enumerate(BATCHES) for part, t in vars(b).items()}
    save_file(parts, tmp_path / "batches.safetensors")
    torch.manual_seed(0)
    config = TransformerConfig(VOCAB, VOCAB, **SIZES, share_embeddings=True)
    (tmp_path / "config.json").write_text(json.dumps(asdict(config)), encoding="utf-8")
    model = Transformer(config)
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
        within = 0.01 if "bfloat16" in name else 1e-5
        assert make(folder).answer() == pytest.approx(expected, rel=within), name
    torch.set_float32_matmul_precision("highest")


def test_the_operations_of_a_step_are_those_of_its_products(folder):
    d, ff, layers = SIZES["d_model"], SIZES["d_ff"], SIZES["num_layers"]
    count = accelerator.operations_of(folder)
    for batch in BATCHES:
        (rows, src), tgt = batch.src.shape, batch.tgt_in.size(1)
        encoder = src * (4 * d * d + 2 * d * ff) + 2 * src * src * d
        decoder = tgt * (6 * d * d + 2 * d * ff) + 2 * src * d * d + 2 * tgt * (tgt + src) * d
        forwards = 2 * rows * (layers * (encoder + decoder) + tgt * d * VOCAB)
        assert count(batch) == 3 * forwards


def test_without_an_accelerator_there_is_no_such_contest(tmp_path, monkeypatch):
    monkeypatch.setattr(accelerator, "choose_device", lambda: torch.device("cpu"))
    with pytest.raises(InputError, match="this machine has no GPU for CUDA, which"):
        accelerator.prepare(tmp_path)
    assert not [*tmp_path.iterdir()]


def test_fast_training_without_a_lever_has_the_same_losses(folder, monkeypatch):
    expected = training.Ours(folder).answer()
    losses = {}
    for name, make in levers.CONTESTANTS.items():
        with monkeypatch.context() as patch:
            for replaced in levers.REPLACED.values():
                for module, part, _ in replaced:  # so that it is put back
                    patch.setattr(module, part, getattr(module, part))
            contestant = make(folder)
            losses[name] = contestant.answer()
            assert contestant.work(0) == sum(batch.num_tokens for batch in BATCHES)
        within = 0.01 if "bfloat16" in name else 1e-5
        assert losses[name] == pytest.approx(expected, rel=within), name
    levers.judge(losses)
    assert {levers.reference(name) for name in losses} == {"all levers", "all levers, bfloat16"}


@pytest.mark.parametrize("lever", levers.REPLACED)
def test_a_lever_that_is_left_out_is_not_used(lever, folder, monkeypatch):
    def refuse(*_args, **_keywords):
        raise AssertionError(lever)

    for module, part, _ in levers.REPLACED[lever]:
        monkeypatch.setattr(module, part, refuse)
    with pytest.raises(AssertionError, match=lever):
        levers.without("", "float32", folder).work(0)
    levers.without(lever, "float32", folder).work(0)


PAIRS = [("ein Hund rennt", "a dog runs"), ("der Hund, der lacht", "the dog that laughs")]


def has_history():
    """Whether git knows the first edition: a checkout may be without the past."""
    asked = ["git", "cat-file", "-e", earlier.COMMIT]
    return subprocess.run(asked, cwd=rounds.ROOT, capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_engines(tmp_path, monkeypatch):
    """What `prepare` writes, of a model with random weights."""
    sizes = SIZES | {"norm_position": "pre", "share_embeddings": True, "max_length": 100}
    recipe = Recipe("transformer", "letters", subwords=60, sizes=sizes)
    corpus = Corpus("letters", ("de", "en"), {"train": PAIRS, "val": PAIRS})
    run = Run.create(tmp_path / "run", recipe, corpus)
    model = randomise(recipe.make_model(run.vocabularies))
    save_checkpoint(run.weights, dict(model.named_parameters()))
    export_to_ctranslate2(run, tmp_path / "ctranslate2")
    ids = run.vocabularies.src.encode_all([src for src, _ in PAIRS])
    (tmp_path / "sources.json").write_text(json.dumps(ids), encoding="utf-8")
    monkeypatch.setattr(translating, "CHECKPOINT", tmp_path / "run")
    monkeypatch.setattr(earlier, "SIZES", SIZES | {"norm": "pre", "max_length": 100})
    if has_history():
        earlier.write_earlier(tmp_path / "earlier")
    return tmp_path


@pytest.mark.usefixtures("as_readers_do")
@pytest.mark.parametrize("contest", [greedy, beam])
def test_all_engines_translate_as_we_do(contest, small_engines):
    made = {
        name: make(small_engines)
        for name, make in contest.CONTESTANTS.items()
        if has_history() or name != "ours, earlier"
    }
    answers = {name: each.answer() for name, each in made.items()}
    judged = contest.judge(answers)
    assert judged["ours"] == judged["Hugging Face"] == {"equal": 2, "sentences": 2}
    for name in {"ours, fast", "ours, earlier", "CTranslate2"} & made.keys():
        assert judged[name] == {"equal": 2, "sentences": 2}
    assert {each.work(0) for each in made.values()} == {2}


def test_answers_that_differ_are_refused():
    require_equal({"a": [1.0, 2.0], "b": [1.0, 2.00001]}, 1e-4)
    with pytest.raises(InputError, match=r"b answers \[1.0, 2.1\]…, it must be \[1.0, 2.0\]…, as"):
        require_equal({"a": [1.0, 2.0], "b": [1.0, 2.1]}, 1e-4)
    with pytest.raises(InputError, match=r"b answers .*'y'"):
        require_equal({"a": ["x"], "b": ["y"]}, 1e-4)
    require_equal({"a": [1.0], "b, bfloat16": [1.005]}, 1e-4, in_16_bits=0.01)
    for name, value in (("b, bfloat16", 1.02), ("b", 1.005)):
        with pytest.raises(InputError, match=f"{name} answers"):
            require_equal({"a": [1.0], name: [value]}, 1e-4, in_16_bits=0.01)
    answers = {"ours": ["1 2", "3"], "CTranslate2": ["1 2", "4"], "CTranslate2, int8": ["1", "3"]}
    with pytest.raises(InputError, match=r"CTranslate2 answers \['1 2', '4'\]…, it must be"):
        greedy.judge(answers)
    assert beam.judge(answers)["CTranslate2"] == {"equal": 1, "sentences": 2}
    with pytest.raises(InputError, match="contest is 'swimming', it must be one of training,"):
        load_contest("swimming")


def test_ratios_are_taken_within_a_round():
    def took(seconds):
        return {"wall": seconds, "cpu": seconds / 2, "units": 100, "peak": 7}

    turns = [[took(2.0), took(1.0)], [took(30.0), took(10.0)], [took(8.0), took(2.0)]]
    row = rounds.summary("b", [turn[1] for turn in turns], [turn[0] for turn in turns])
    assert row["per_second"] == 23  # 300 in 13 seconds
    assert row["times_as_fast"] == row["times_as_fast_cpu"] == 3.0  # of 2, 3 and 4
