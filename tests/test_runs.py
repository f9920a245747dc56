import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors import SafetensorError
from typer.testing import CliRunner

from annotated_transformer.cli import app
from annotated_transformer.corpora import Corpus, load_corpus
from annotated_transformer.decoding import Search
from annotated_transformer.evaluation import evaluate, perplexity
from annotated_transformer.ground.errors import DivergedError, InputError
from annotated_transformer.models import MODELS
from annotated_transformer.run import Recipe, Run, checkpoint, files, interruption, loop, train
from annotated_transformer.run.checkpoint import load_checkpoint, load_progress, save_checkpoint
from annotated_transformer.run.encoded import (
    CACHE_VARIABLE,
    FILES,
    read_vocabularies,
    training_pairs,
    write_vocabularies,
)
from annotated_transformer.run.files import FolderTakenError, locked
from annotated_transformer.run.interruption import PATIENCE
from annotated_transformer.run.learning_curve import COLUMNS, LearningCurve
from annotated_transformer.tokens import UNK, Vocabularies
from annotated_transformer.training import Trainer
from annotated_transformer.transformer import Transformer
from annotated_transformer.translation import translate
from screens import BrokenScreen
from small_models import choices_of

LETTERS = "abcdefgh"
PAIRS = [
    (" ".join(LETTERS[i : i + n]), " ".join(LETTERS[i : i + n][::-1]))
    for n in range(1, 7)
    for i in range(len(LETTERS) - n + 1)
]
CORPUS = Corpus("letters", ("a", "b"), {"train": PAIRS, "val": PAIRS[::4], "test": [("x", "y")]})
RECURRENT = {"d_model": 8, "hidden_dim": 8, "dropout": 0.2}
STACK = {"d_model": 8, "num_layers": 1, "num_heads": 2, "d_ff": 8, "dropout": 0.2}
SIZES = dict.fromkeys(MODELS, RECURRENT) | {"transformer": STACK, "language": STACK}


def recipe(model="seq2seq", **changes):
    settings = {"steps": 12, "batch_tokens": 40, "validate_every": 5, "warmup": 4}
    return Recipe(model, "letters", **settings | {"sizes": SIZES[model]} | changes)


def begin(folder, model="seq2seq", **changes):
    return Run.create(folder, recipe(model, **changes), CORPUS)


def trained(folder, model="seq2seq", **changes):
    run = begin(folder, model, **changes)
    assert train(run, CORPUS) is None
    return run


def assert_same_end(first, second):
    """Both runs stand at the same step with the same bits, and tell the same learning curve."""
    best, other = (load_checkpoint(run.weights)[0] for run in (first, second))
    assert best.keys() == other.keys()
    assert all(torch.equal(tensor, other[name]) for name, tensor in best.items())
    (ours, progress), (theirs, expected) = map(
        load_checkpoint, (first.checkpoint, second.checkpoint)
    )
    assert progress | {"seconds": 0} == expected | {"seconds": 0}
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in ours.items())
    assert curve(first) == curve(second)


def written(corpus, folder):
    """The corpus as somebody has it who gives the name of a folder."""
    folder.mkdir()
    for split in ("train", "val"):
        for side, language in enumerate(corpus.languages):
            lines = "\n".join(pair[side] for pair in corpus.split(split))
            (folder / f"{split}.{language}").write_text(lines + "\n")
    return load_corpus(str(folder))


def curve(run):
    with run.learning_curve.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(float(row.pop("seconds")) >= 0 for row in rows)
    return rows


def stop_after(monkeypatch, steps, signum=signal.SIGINT):
    """Send this process a signal, that of Ctrl-C, at the end of that step."""
    update = Trainer.update

    def interrupted(self, parts):
        result = update(self, parts)
        if self.steps == steps:
            signal.raise_signal(signum)
        return result

    monkeypatch.setattr(Trainer, "update", interrupted)


def test_a_training_of_which_nobody_reads_the_progress_goes_on(tmp_path, monkeypatch):
    long = CORPUS.splits | {"train": [*PAIRS, ("a " * 60, "b " * 60)]}  # of which a warning tells
    corpus = replace(CORPUS, splits=long)
    run = Run.create(tmp_path / "run", recipe(), corpus)
    monkeypatch.setattr(sys, "stderr", BrokenScreen())
    assert train(run, corpus) is None
    assert load_progress(run.checkpoint)["steps"] == 12


def test_a_run_does_not_take_the_place_of_the_folder_in_which_we_are(tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    for folder in (Path(), here):
        message = f"^{re.escape(str(folder))} is the current folder: name a new one\\.$"
        with pytest.raises(FolderTakenError, match=message):
            Run.create(folder, recipe(), CORPUS)
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize("model", MODELS)
def test_a_run_is_a_folder_that_understands_itself(tmp_path, model):
    run = trained(tmp_path / "a" / "run", model)
    names = {path.name for path in run.folder.iterdir()}
    assert names - {".lock"} == {
        "recipe.json",
        "vocabulary.json",
        "checkpoint.safetensors",
        "model.safetensors",
        "learning_curve.csv",
    }
    again = Run.open(run.folder)
    assert (again.recipe, again.checksum) == (run.recipe, CORPUS.checksum)
    assert again.vocabularies.encode(PAIRS) == run.vocabularies.encode(PAIRS)
    weights, _ = load_checkpoint(run.weights)
    found = again.model
    assert found is again.model  # loaded once
    assert not found.training
    for name, parameter in found.named_parameters():
        assert torch.equal(parameter, weights[name])
    fresh = dict(run.recipe.make_model(run.vocabularies).named_parameters())
    assert any((p != fresh[name]).any() for name, p in found.named_parameters())


def test_the_learning_curve(tmp_path):
    run = trained(tmp_path / "run")
    rows = curve(run)
    assert [row["step"] for row in rows] == ["5", "10", "12"]
    for row in rows:
        assert float(row["rate"]) == run.recipe.make_schedule()(int(row["step"]))
        assert 0 < float(row["train_loss"]) < 5
        assert float(row["gradient_norm"]) > 0
    value = perplexity(run.model, run.vocabularies.encode(CORPUS.split("val")))
    best = min(float(row["val_perplexity"]) for row in rows)
    assert best == pytest.approx(value, rel=1e-6)


def test_the_seconds_of_a_step_are_those_before_it_is_measured(tmp_path, monkeypatch):
    """Where processes share the training, one of them measures, and the others wait."""

    clock = [0.0]

    def slow(*given):
        clock[0] += 100
        return 7.0

    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(loop, "perplexity", slow)
    run = trained(tmp_path / "run")
    with run.learning_curve.open(newline="") as file:
        assert [row["seconds"] for row in csv.DictReader(file)] == ["0.0", "100.0", "200.0"]


def test_the_weights_that_translate_are_those_of_the_best_validation(tmp_path):
    """Trained with a rate that soon is far too high, the last weights are not the best."""
    run = trained(tmp_path / "run", steps=40, peak_rate=0.3, warmup=20, average_decay=0.0, clip=1e6)
    rows = [float(row["val_perplexity"]) for row in curve(run)]
    assert min(rows) < 0.95 * rows[-1]
    value = perplexity(run.model, run.vocabularies.encode(CORPUS.split("val")))
    assert value == pytest.approx(min(rows), rel=1e-6)
    assert load_progress(run.checkpoint)["best"] == min(rows)
    last, _ = load_checkpoint(run.checkpoint)
    assert any(not torch.equal(p, last[f"average.{n}"]) for n, p in run.model.named_parameters())


def test_a_training_that_gets_no_better_stops_early(tmp_path):
    patience = 3
    settings = {"steps": 400, "peak_rate": 0.3, "warmup": 20, "average_decay": 0.0, "clip": 1e6}
    run = trained(tmp_path / "run", patience=patience, **settings)
    rows = [float(row["val_perplexity"]) for row in curve(run)]
    assert len(rows) < 80
    lowest = rows.index(min(rows[:-patience]))
    assert lowest == len(rows) - 1 - patience
    best = [min(rows[: i + 1]) for i in range(len(rows))]
    waited = [i - rows.index(best[i]) for i in range(len(rows))]
    assert max(waited[:-1]) < patience == waited[-1]
    steps = load_progress(run.checkpoint)["steps"]
    message = rf"stopped early, at step {steps}: it waited for {patience}"
    with pytest.raises(InputError, match=message):
        train(Run.open(run.folder), CORPUS)
    assert load_progress(run.checkpoint)["steps"] == steps < 400


def test_accumulated_batches_are_one_step(tmp_path, monkeypatch):
    given = []
    update = Trainer.update
    monkeypatch.setattr(
        Trainer, "update", lambda self, parts: given.append(len(parts)) or update(self, parts)
    )
    train(begin(tmp_path / "run", accumulate=3), CORPUS)
    assert given == [3] * 12


def test_vocabularies_are_learned_from_the_training_text_alone(tmp_path):
    words = begin(tmp_path / "words")
    assert words.vocabularies.encode(CORPUS.split("test")) == [([UNK], [UNK])]
    subwords = begin(tmp_path / "subwords", subwords=30).vocabularies
    assert subwords.src.to_json() == subwords.tgt.to_json()
    assert UNK in subwords.src.encode("x")


def test_the_fast_engine_makes_the_same_run(tmp_path):
    """Without dropout, which draws other random numbers; to rounding."""
    sizes = {"sizes": SIZES["transformer"] | {"dropout": 0.0}, "smoothing": 0.1}
    fast, readable = (
        trained(tmp_path / engine, "transformer", engine=engine, **sizes)
        for engine in ("fast", "readable")
    )
    for one, other in zip(curve(fast), curve(readable), strict=True):
        for column, value in one.items():
            assert float(value) == pytest.approx(float(other[column]), rel=1e-3), column


@pytest.mark.parametrize(
    ("model", "steps", "changes"),
    [
        ("seq2seq", [2], {"optimizer": "AdamW", "optimizer_settings": {"weight_decay": 0.1}}),
        ("seq2seq", [5], {"optimizer": "SGD", "optimizer_settings": {"momentum": 0.9}}),
        ("seq2seq", [12], {}),
        *(
            ("transformer", [6, 8], {field.name: name})
            for field, names in choices_of(Recipe)
            for name in names
            if field.name != "model" and name != field.default
        ),
        ("transformer", [6, 8], {"accumulate": 2}),
        ("transformer", [6, 8], {"engine": "fast", "precision": "bfloat16"}),
    ],
)
def test_interrupted_and_resumed_is_not_interrupted(tmp_path, monkeypatch, model, steps, changes):
    """A resumed optimiser has taken one step, to show what its state is: 5 and 7 less than before.

    Whatever it keeps elsewhere and repeats is out of step once, since no period divides both.
    """
    straight, run = (begin(tmp_path / name, model, **changes) for name in ("straight", "run"))
    assert train(straight, CORPUS) is None
    before = signal.getsignal(signal.SIGINT)
    for step in steps:
        with monkeypatch.context() as patch:
            stop_after(patch, step)
            assert train(run, CORPUS) is (None if step == 12 else signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is before
        assert load_progress(run.checkpoint)["steps"] == step
        assert run.weights.exists()  # it translates, even before its first validation
        torch.manual_seed(99)
    assert train(Run.open(run.folder), CORPUS) is None
    assert_same_end(run, straight)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_other_signals_save_as_ctrl_c_does(tmp_path, monkeypatch, name):
    straight, run = trained(tmp_path / "straight"), begin(tmp_path / "run")
    ours = signal.signal(signal.Signals[name], signal.SIG_DFL)  # nohup would have it ignored
    try:
        with monkeypatch.context() as patch:
            stop_after(patch, 7, signal.Signals[name])
            assert train(run, CORPUS) is signal.Signals[name]
        assert signal.getsignal(signal.Signals[name]) is signal.SIG_DFL
    finally:
        signal.signal(signal.Signals[name], ours)
    assert load_progress(run.checkpoint)["steps"] == 7
    train(run, CORPUS)
    assert_same_end(run, straight)


def test_a_signal_that_was_ignored_stays_ignored(tmp_path, monkeypatch):
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        stop_after(monkeypatch, 7, signal.SIGHUP)
        assert train(begin(tmp_path / "run"), CORPUS) is None
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_run_that_was_killed_goes_on_from_its_last_checkpoint(tmp_path, monkeypatch):
    straight, run = trained(tmp_path / "straight"), begin(tmp_path / "run")
    save = loop.save_checkpoint

    def killed(path, tensors, progress=None):
        if progress and progress["steps"] == 10:
            raise SystemExit("killed between the learning curve and the checkpoint")
        save(path, tensors, progress)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "save_checkpoint", killed)
        with pytest.raises(SystemExit, match="killed between"):
            train(run, CORPUS)
    assert [row["step"] for row in curve(run)] == ["5", "10"]
    assert train(run, CORPUS) is None
    assert_same_end(run, straight)


def test_a_finished_run_can_be_trained_longer(tmp_path):
    longer, run = trained(tmp_path / "longer", steps=20), trained(tmp_path / "run", steps=10)
    longer_run = run.with_recipe(replace(run.recipe, steps=20))
    assert train(longer_run, CORPUS) is None
    assert_same_end(run, longer)
    for backwards in (lambda: run.with_recipe(run.recipe), lambda: train(run, CORPUS)):
        message = "is at step 20, it cannot be trained up to step 10"
        with pytest.raises(InputError, match=message):
            backwards()
    assert Run.open(run.folder).recipe.steps == 20


def test_another_seed_is_another_run(tmp_path):
    one, other = (trained(tmp_path / str(seed), seed=seed) for seed in (1, 2))
    assert curve(one) != curve(other)


def test_a_second_signal_within_the_step_saves_once(tmp_path, monkeypatch):
    straight, run, saved = trained(tmp_path / "straight"), begin(tmp_path / "run"), []
    save = loop.save_checkpoint
    with monkeypatch.context() as patch:
        patch.setattr(loop, "save_checkpoint", lambda *a: saved.append(a[0].name) or save(*a))
        stop_after(patch, 4)
        stop_after(patch, 4, signal.SIGTERM)
        assert train(run, CORPUS) in (signal.SIGINT, signal.SIGTERM)
    assert saved == ["checkpoint.safetensors", "model.safetensors"]
    assert load_progress(run.checkpoint)["steps"] == 4
    train(run, CORPUS)
    assert_same_end(run, straight)


def test_many_signals_let_it_save(tmp_path, monkeypatch):
    run, save = begin(tmp_path / "run"), loop.save_checkpoint

    def impatient(*args):
        for _ in range(5):
            signal.raise_signal(signal.SIGINT)
        save(*args)

    stop_after(monkeypatch, 4)
    monkeypatch.setattr(loop, "save_checkpoint", impatient)
    assert train(run, CORPUS) is signal.SIGINT
    assert load_progress(run.checkpoint)["steps"] == 4
    assert run.weights.exists()


def test_a_signal_long_after_the_first_gives_up_at_once(tmp_path, monkeypatch):
    run, before = begin(tmp_path / "run"), signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(interruption, "monotonic", iter([0.0, PATIENCE, PATIENCE + 0.1]).__next__)
    for _ in range(3):
        stop_after(monkeypatch, 4)
    with pytest.raises(KeyboardInterrupt):
        train(run, CORPUS)
    assert signal.getsignal(signal.SIGINT) is before
    assert not run.checkpoint.exists()


def test_a_run_can_be_trained_in_another_thread(tmp_path):
    run = begin(tmp_path / "run")
    thread = threading.Thread(target=train, args=(run, CORPUS))
    thread.start()
    thread.join()
    assert load_checkpoint(run.checkpoint)[1]["steps"] == 12


@pytest.mark.slow
def test_ctrl_c_in_the_command_line(tmp_path):
    """A real process, a real signal: exit code 130, a checkpoint, and the same end later on."""
    corpus = written(CORPUS, tmp_path / "texts")
    endless = replace(recipe(steps=10**6), corpus=corpus.name)
    run = Run.create(tmp_path / "run", endless, corpus)
    command = [sys.executable, "-m", "annotated_transformer", "resume", str(run.folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process:
        progress = b""
        while not re.search(rb"[1-9]\d*/1000000", progress):
            progress += process.stderr.read1()
            assert process.poll() is None, progress
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert f"Saved. Resume with: annotated-transformer resume {run.folder}" in output.decode()
    assert b"Traceback" not in errors
    to_the_end = replace(endless, steps=load_progress(run.checkpoint)["steps"] + 7)
    assert train(run.with_recipe(to_the_end)) is None
    straight = Run.create(tmp_path / "straight", to_the_end, corpus)
    assert train(straight) is None
    assert_same_end(run, straight)


def test_a_folder_that_is_not_empty(tmp_path):
    begin(tmp_path / "run")
    (tmp_path / "file").write_text("occupied")
    for place in ("run", "file"):
        with pytest.raises(InputError, match=rf"{place} is not empty: choose another place, or"):
            begin(tmp_path / place)


@pytest.mark.parametrize("split", ["train", "val"])
def test_nothing_is_begun_without_text(tmp_path, split):
    corpus = replace(CORPUS, splits=CORPUS.splits | {split: []})
    with pytest.raises(InputError, match=f"letters has 0 pairs in its split '{split}'"):
        Run.create(tmp_path / "run", recipe(), corpus)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("recipe.json", "{"),
        ("recipe.json", "[]"),
        ("recipe.json", "[" * 100_000),
        ("recipe.json", '{"model": "seq2seq", "corpus": "toy"}'),
        ("vocabulary.json", "{}"),
        ("vocabulary.json", None),
    ],
)
def test_a_damaged_run(tmp_path, name, content):
    run = begin(tmp_path / "run")
    (run.folder / name).unlink()
    if content is not None:
        (run.folder / name).write_text(content)
    with pytest.raises(InputError, match=r"holds a damaged run|vocabulary\.json cannot be read"):
        Run.open(run.folder)


@pytest.mark.parametrize(
    ("sizes", "translates", "trains"),
    [
        ({"d_model": 10**9}, "does not fit", "this training needs at least"),
        ({"d_model": 10**9, "num_heads": 8, "d_k": 10**9}, "cannot be built", "cannot be built"),
    ],
)
def test_sizes_written_by_hand_are_refused_before_anything_is_built(
    tmp_path, sizes, translates, trains
):
    run = trained(tmp_path / "run", "transformer")
    path = run.folder / "recipe.json"
    settings = json.loads(path.read_text())
    settings["sizes"] |= sizes
    path.write_text(json.dumps(settings))
    with pytest.raises(InputError, match=translates):
        _ = Run.open(run.folder).model
    with pytest.raises(InputError, match=trains):
        train(Run.open(run.folder), CORPUS)


@pytest.mark.parametrize(
    ("model", "changes", "longest"),
    [("seq2seq", {"batch_tokens": 6}, 5), ("transformer", {"sizes": "max_length"}, 5)],
)
def test_training_pairs_that_are_too_long_are_left_out_and_counted(
    tmp_path, capsys, model, changes, longest
):
    if "sizes" in changes:
        changes = {"sizes": SIZES[model] | {"max_length": 6}}
    short = [pair for pair in PAIRS if len(pair[0].split()) <= longest]
    left_out = len(PAIRS) - len(short)
    corpus = replace(CORPUS, splits={"train": PAIRS, "val": short[::4]})
    message = f"{left_out} training pairs have more than {longest} tokens on a side"
    with pytest.raises(InputError, match=message):
        Run.create(tmp_path / "strict", recipe(model, **changes), corpus, strict=True)
    assert not (tmp_path / "strict").exists()
    run = Run.create(tmp_path / "run", recipe(model, **changes), corpus)
    train(run, corpus)
    assert f"{left_out} of {len(PAIRS)} training pairs are left out" in capsys.readouterr().err
    kept, number = training_pairs(corpus, run.vocabularies, run.recipe.longest)
    assert list(kept) == run.vocabularies.encode(short)
    assert number == left_out
    with pytest.raises(InputError, match="training pairs have more than 1 tokens on a side"):
        Run.create(
            tmp_path / "none",
            recipe(model, batch_tokens=2),
            replace(corpus, splits={"train": PAIRS[8:], "val": PAIRS[:1]}),
        )


def test_a_validation_sentence_is_never_left_out(tmp_path):
    """A model that cannot read it refuses in one sentence, before anything is written."""
    sizes = SIZES["transformer"] | {"max_length": 6}
    with pytest.raises(
        InputError,
        match=r"pair \d+ of val has 7 tokens .* the model takes 6",
    ):
        begin(tmp_path / "run", "transformer", sizes=sizes)
    assert not (tmp_path / "run").exists()
    run = begin(tmp_path / "recurrent", "seq2seq", batch_tokens=6)  # reads any length
    train(run, CORPUS)
    value = perplexity(run.model, run.vocabularies.encode(CORPUS.split("val")), max_tokens=6)
    assert float(curve(run)[-1]["val_perplexity"]) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize(
    ("model", "changes", "message"),
    [
        ("transformer", {"sizes": {"d_model": 10, "num_heads": 4}}, "a multiple of num_heads=4"),
        ("transformer", {"sizes": {"d_model": 9, "num_heads": 3}}, "d_model is 9, it must be even"),
        ("luong", {"sizes": {"hidden_dim": 10**7}}, "needs at least .* GB of memory"),
    ],
)
def test_a_model_that_cannot_be_built_leaves_no_folder(tmp_path, model, changes, message):
    with pytest.raises(InputError, match=message):
        begin(tmp_path / "run", model, **changes)
    assert [*tmp_path.iterdir()] == []


def test_vocabularies_of_equal_size_share_no_embeddings(tmp_path):
    """Two vocabularies of eight letters each mean different things."""
    pairs = [(letter, letter.upper()) for letter in LETTERS] * 4
    corpus = replace(CORPUS, splits={"train": pairs, "val": pairs[:4]})
    run = Run.create(tmp_path / "run", recipe("transformer"), corpus)
    assert len(run.vocabularies.src) == len(run.vocabularies.tgt)
    train(run, corpus)
    src, tgt = run.model.src_embedding.tokens.weight, run.model.tgt_embedding.tokens.weight
    assert src is not tgt
    assert not torch.equal(src, tgt)


def test_two_processes_do_not_train_one_run(tmp_path):
    run = begin(tmp_path / "run")
    with locked(run.folder), pytest.raises(InputError, match="is being trained by another process"):
        train(run, CORPUS)
    with locked(run.folder), pytest.raises(InputError, match="is being trained by another process"):
        run.with_recipe(replace(run.recipe, steps=99))
    assert Run.open(run.folder).recipe.steps == 12
    assert not run.checkpoint.exists()
    assert train(run, CORPUS) is None


def test_a_corpus_that_has_changed_is_told(tmp_path):
    run = begin(tmp_path / "run")
    other = replace(CORPUS, splits=CORPUS.splits | {"train": [*PAIRS, ("a", "b")]})
    message = (
        r"letters has changed since .*run was started: its checksum is \w{12}…, it was \w{12}…"
    )
    with pytest.raises(InputError, match=message):
        train(run, other)
    same = replace(CORPUS, splits=CORPUS.splits | {"test": []})  # it is not trained on
    assert train(run, same) is None


def test_text_is_encoded_once_and_shared(tmp_path, monkeypatch):
    """By all runs on the same text; another text, or vocabulary, has ids of its own."""
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_CACHE", str(tmp_path / "cache"))

    def kept():
        return {path.name for path in (tmp_path / "cache" / "encoded").iterdir() if path.is_dir()}

    begin(tmp_path / "one")
    first = kept()
    assert len(first) == 2  # the vocabularies and the ids
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.ids")}
    begin(tmp_path / "two", "transformer", seed=3)
    assert kept() == first
    assert before == {path: path.stat().st_mtime_ns for path in before}
    begin(tmp_path / "three", subwords=30)
    assert len(kept()) == 4
    Run.create(
        tmp_path / "four", recipe(), replace(CORPUS, splits=CORPUS.splits | {"train": PAIRS[1:]})
    )
    assert len(kept()) == 6


def test_a_run_evaluates_itself(tmp_path):
    run = trained(tmp_path / "run", "luong")
    pairs = CORPUS.split("val")
    found = run.evaluate(CORPUS, "val")
    assert found == evaluate(run.model, run.vocabularies, pairs, run.recipe.search)
    names = ["BLEU", "BLEU, lower-cased", "chrF", "exact sentences", "perplexity"]
    assert [score.name for score in found] == names
    gold = [frozenset({(0, 0)}) for _ in pairs]
    scored = run.evaluate(replace(CORPUS, alignments={"val": gold}), "val", Search())
    assert [score.name for score in scored] == [*names, "AER"]


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    run = begin(tmp_path / "run", "seq2seq")
    other = trained(tmp_path / "other", "bahdanau")
    other.checkpoint.rename(run.checkpoint)
    other.weights.rename(run.weights)
    with pytest.raises(InputError, match="does not fit"):
        _ = run.model
    with pytest.raises(InputError, match="does not fit"):
        train(run, CORPUS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "foo"}, "model is 'foo', it must be one of"),
        ({"corpus_checksum": 3}, "corpus_checksum is 3, it must be a text"),
        (
            {"format": 2, "version": "9.9"},
            r"format is 2, written by version 9\.9; .* install a newer",
        ),
        ({"format": -1}, "format is -1, it must be an integer, at least 1"),
        ({"format": None}, "recipe.json has no format: it is not that of a run, or older than"),
    ],
)
def test_a_damaged_recipe_is_told(tmp_path, change, message):
    run = begin(tmp_path / "run")
    path = run.folder / "recipe.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=f"holds a damaged run .*{message}"):
        Run.open(run.folder)


def test_a_model_that_has_no_fast_twin_begins_no_fast_run(tmp_path, monkeypatch):
    monkeypatch.setattr(Transformer, "auxiliary_loss", lambda self: 0.0, raising=False)
    with pytest.raises(InputError, match="Transformer has an auxiliary loss, or"):
        begin(tmp_path / "run", "transformer", engine="fast")
    assert not (tmp_path / "run").exists()


# --- with the weights of another run --------------------------------------------------------------


FROZEN = {"seq2seq": "src_embedding,encoder", "transformer": "encoder.0.self, output"}
"""By the name of a model; the output of a Transformer is the embedding of its target, too."""


def fine_tuned(folder, start, **changes):
    """A run that was begun with the weights of another, and not trained yet."""
    settings = {"steps": 12, "batch_tokens": 40, "validate_every": 5, "warmup": 4}
    changed = Recipe(start.recipe.model, "letters", seed=7, **settings | changes)
    return Run.create(folder, changed, CORPUS, start=start)


@pytest.mark.parametrize(
    ("model", "engine", "exported"),
    [
        ("seq2seq", "readable", True),
        ("transformer", "readable", False),
        ("transformer", "fast", True),
    ],
)
def test_a_run_goes_on_with_the_weights_of_another(tmp_path, monkeypatch, model, engine, exported):
    start = trained(tmp_path / "start", model)
    if exported:
        start = start.export(tmp_path / "exported")
    before = {path: path.read_bytes() for path in start.folder.iterdir()}
    whole, parts = (
        fine_tuned(tmp_path / name, start, engine=engine, freeze=FROZEN[model])
        for name in ("whole", "parts")
    )
    assert before == {path: path.read_bytes() for path in start.folder.iterdir()}
    weights = start.read(start.weights)
    for name, tensor in loop.new_trainer(whole).average.weights.items():
        assert torch.equal(tensor, weights[name].float())
    train(whole, CORPUS)
    shutil.rmtree(start.folder)
    stop_after(monkeypatch, 7)
    assert train(Run.open(parts.folder), CORPUS) is signal.SIGINT
    train(Run.open(parts.folder), CORPUS)
    assert_same_end(whole, parts)
    described = json.loads((parts.folder / "recipe.json").read_text())
    assert described["start"] == sha256(before[start.weights]).hexdigest()
    frozen = tuple(FROZEN[model].replace("output", "output,tgt_embedding.tokens").split(","))
    for name, weight in load_checkpoint(whole.checkpoint)[0].items():
        kind, _, name = name.partition(".")
        if kind in ("model", "average") and not name.endswith("key.bias"):
            is_frozen = name.startswith(tuple(part.strip() for part in frozen))
            assert torch.equal(weight, weights[name].float()) == is_frozen


def test_weights_to_begin_with_that_are_not_what_they_were(tmp_path):
    run = fine_tuned(tmp_path / "run", trained(tmp_path / "start"), steps=1)
    with pytest.raises(
        InputError, match=r"start is '[0-9a-f]*', the SHA-256 of weights to start from: give"
    ):
        Run.create(tmp_path / "other", run.recipe, CORPUS)
    shutil.copy(trained(tmp_path / "another", seed=3).weights, run.start)
    with pytest.raises(InputError, match=r"start\.safetensors is not the file from which .*run"):
        train(run, CORPUS)
    run.start.unlink()
    with pytest.raises(InputError, match=r"there is no .*start\.safetensors"):
        train(run, CORPUS)


def test_a_recipe_for_other_words_begins_with_no_weights_of_another(tmp_path):
    start = trained(tmp_path / "start", "transformer", subwords=20)
    assert fine_tuned(tmp_path / "run", start).recipe.subwords == 20
    assert (
        fine_tuned(tmp_path / "dry", start, sizes={"dropout": 0.5}).recipe.sizes["dropout"] == 0.5
    )
    with pytest.raises(
        InputError, match="subwords is 30, it must be that of the run to start from, 20, to"
    ):
        fine_tuned(tmp_path / "other", start, subwords=30)
    for name in ("inside", "../start", "."):
        with pytest.raises(InputError, match="is in the run to start from: choose another place"):
            fine_tuned(start.folder / name, start)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("optimizer", ["Adam", "SGD", "Adafactor"])
def test_a_checkpoint_that_lacks_a_tensor_or_has_another_is_refused(tmp_path, optimizer):
    settings = {"momentum": 0.9} if optimizer == "SGD" else {}
    run = trained(tmp_path / "run", optimizer=optimizer, optimizer_settings=settings)
    tensors, progress = load_checkpoint(run.checkpoint)

    def assert_refused(wrong, message):
        save_checkpoint(run.checkpoint, wrong, progress)
        with pytest.raises(InputError, match=message):
            train(run, CORPUS)

    for name in ("model.", "average.", "optimizer.", "random"):
        changed = next(key for key in sorted(tensors) if key.startswith(name) and tensors[key].ndim)
        tensor, fits = tensors[changed], rf"does not fit .*: its {re.escape(changed)} is"
        others = {key: tensor for key, tensor in tensors.items() if key != changed}
        assert_refused(others, f"{fits} missing, it must be")
        twice = tensor.repeat(2, *[1] * (tensor.dim() - 1))
        found = rf"{fits} .* \[{2 * len(tensor)}\b.*, it must be"
        assert_refused(others | {changed: twice}, found)
        assert_refused(others | {changed: tensor.double()}, f"{fits} float64 .*, it must be")
    more = tensors | {"more": torch.ones(3)}
    assert_refused(more, r"its more is float32 \[3\], it must be missing")


def test_progress_that_no_training_can_have_is_refused(tmp_path):
    run = trained(tmp_path / "run")
    tensors, progress = load_checkpoint(run.checkpoint)
    wrong = [
        ({"steps": -1}, "steps is -1, it must be an integer, at least 0"),
        ({"losses": [1, "x"]}, r"losses is \[1, 'x'\], it must be a list, of which each is a numb"),
        ({"losses": [float("inf")]}, r"losses is \[inf\], it must be a list, of which each is"),
        ({"norms": [float("nan")]}, r"norms is \[nan\], it must be a list, of which each is"),
        ({"best": float("nan")}, "best is nan, it must be a number, at least"),
        ({"seconds": 1e308}, r"seconds is 1e\+308, it must be a number, at least 0 and at most"),
        ({"waited": None}, "waited is None, it must be an integer"),
        ({"setps": 7}, "there is no setting 'setps': did you mean steps"),
    ]
    told = [(progress | change, message) for change, message in wrong]
    for name in progress:
        others = {key: value for key, value in progress.items() if key != name}
        told.append((others, f"{name} is missing, it must"))
    for changed, message in told:
        save_checkpoint(run.checkpoint, tensors, changed)
        with pytest.raises(InputError, match=rf"is not that of a run \({message}"):
            train(run, CORPUS)


def test_a_step_that_breaks_the_weights_is_not_saved(tmp_path, monkeypatch):
    """Its loss is that of the weights before it: nothing else tells of it when a signal comes."""
    run = begin(tmp_path / "run", steps=12, validate_every=6)
    update = Trainer.update

    def breaking(trainer, parts):
        done = update(trainer, parts)
        if trainer.steps == 9:
            with torch.no_grad():
                next(trainer.model.parameters()).view(-1)[0] = torch.nan
        return done

    monkeypatch.setattr(Trainer, "update", breaking)
    stop_after(monkeypatch, 9)
    with pytest.raises(
        DivergedError, match=r"after step 9 the weights are no longer finite: train"
    ):
        train(run, CORPUS)
    monkeypatch.undo()
    assert load_checkpoint(run.checkpoint)[1]["steps"] == 6
    assert train(run, CORPUS) is None


def test_a_sentence_that_is_too_long_to_be_scored_is_named_by_its_line(tmp_path):
    run = trained(tmp_path / "run", "transformer", sizes=SIZES["transformer"] | {"max_length": 16})
    texts = {"train": "a\n", "test": "\n\na\n\n" + "a " * 30 + "\n"}
    for name, text in texts.items():
        for language in ("a", "b"):
            (tmp_path / f"{name}.{language}").write_text(text, encoding="utf-8")
    corpus = load_corpus(str(tmp_path))
    with pytest.raises(InputError, match=r"test\.a, line 5 has 31 tokens with its end symbol"):
        run.evaluate(corpus, "test")


def test_a_run_goes_on_without_the_random_numbers_of_another_device(tmp_path):
    run = trained(tmp_path / "run")
    tensors, progress = load_checkpoint(run.checkpoint)
    names = ("random.cuda", "process.1.random", "process.1.random.cuda")
    cuda, other, others = ({name: tensors["random"].clone()} for name in names)
    save_checkpoint(run.checkpoint, tensors | cuda | others, progress)
    assert train(run, CORPUS) is None
    save_checkpoint(run.checkpoint, tensors | other, progress)
    with pytest.raises(InputError, match=r"its process\.1\.random is uint8 .*, it must be missing"):
        train(run, CORPUS)


def test_a_random_state_that_is_none_is_refused(tmp_path):
    run = trained(tmp_path / "run")
    tensors, progress = load_checkpoint(run.checkpoint)
    noise = torch.full_like(tensors["random"], 255)
    save_checkpoint(run.checkpoint, tensors | {"random": noise}, progress)
    message = r"checkpoint\.safetensors is damaged: its random number generators are invalid \("
    with pytest.raises(InputError, match=message):
        train(run, CORPUS)


def test_a_row_of_the_curve_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "learning_curve.csv"
    table, row = LearningCurve(path, 0), dict.fromkeys(COLUMNS, 1)
    table.append(row)
    before = path.read_text()
    assert before == ",".join(COLUMNS) + "\n1,1,1,1,1,1\n"

    def full(*args, **kwargs):
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "sync_to_disk", full)
        with pytest.raises(OSError, match=r"learning_curve\.csv could not be written \(No space"):
            table.append(row | {"step": 2})
    assert path.read_text() == before
    LearningCurve(path, 1).append(row | {"step": 3})
    assert path.read_text() == before + "3,1,1,1,1,1\n"


def test_a_damaged_learning_curve_is_told(tmp_path):
    run, header = trained(tmp_path / "run"), ",".join(COLUMNS) + "\n"
    for table in (
        "",
        "step,seconds\n5,1\n",
        "a" * 200_000,
        f'{header}5,"0,1","0,00126","2,896","0,5","9,1"\n',
        f"{header}{'9' * 5000},1,1,1,1,1\n",
        f"{header}٣,1,1,1,1,1\n",
        f"{header}3,1,1,nan,1,1\n",
        f"{header}\n",
    ):
        run.learning_curve.write_text(table)
        with pytest.raises(InputError, match=r"learning_curve\.csv is not a learning curve"):
            train(run, CORPUS)


# --- exported to translate with -------------------------------------------------------------------


def test_an_exported_run_has_its_best_weights_in_half_precision(tmp_path):
    run = trained(tmp_path / "run", "transformer")
    exported = run.export(tmp_path / "exported")
    assert Run.open(tmp_path / "exported").recipe == run.recipe
    for ours, theirs in zip(exported.vocabularies, run.vocabularies, strict=True):
        assert ours.to_json() == theirs.to_json()
    wanted = run.model.state_dict()
    for name, tensor in exported.model.state_dict().items():
        assert tensor.dtype == torch.float32
        if name in dict(run.model.named_parameters()):
            assert torch.equal(tensor, wanted[name].half().float()), name
    stored, progress = load_checkpoint(exported.weights)
    assert progress == {"exported": True}
    assert {tensor.dtype for tensor in stored.values()} == {torch.float16}
    names = {path.name for path in (tmp_path / "exported").iterdir()}
    assert names == {"recipe.json", "vocabulary.json", "model.safetensors"}


def test_an_export_stays_as_it_is(tmp_path):
    exported = trained(tmp_path / "run").export(tmp_path / "exported")
    with pytest.raises(InputError, match="was exported to translate with, its training cannot"):
        train(exported, CORPUS)
    before = {path: path.read_bytes() for path in exported.folder.iterdir()}
    result = CliRunner().invoke(app, ["resume", str(exported.folder), "--steps", "99"])
    assert result.exit_code == 2
    assert "was exported to translate with" in result.stderr
    assert before == {path: path.read_bytes() for path in exported.folder.iterdir()}


def test_a_run_killed_within_its_first_save_goes_on(tmp_path, monkeypatch):
    straight, run = trained(tmp_path / "straight"), begin(tmp_path / "run")
    with monkeypatch.context() as patch:
        stop_after(patch, 5)
        train(run, CORPUS)
    run.weights.unlink()  # its checkpoint is written first
    train(run, CORPUS)
    assert_same_end(run, straight)


def test_weights_that_are_gone_are_replaced_and_told(tmp_path, capsys):
    settings = {"steps": 40, "peak_rate": 0.3, "warmup": 20, "average_decay": 0.0, "clip": 1e6}
    run = trained(tmp_path / "run", **settings)  # its last weights are not the best
    before, _ = load_checkpoint(run.checkpoint)
    run.weights.unlink()
    assert train(run, CORPUS) is None
    assert f"{run.weights} is gone: step 40 replaces it." in capsys.readouterr().err
    for name, tensor in load_checkpoint(run.weights)[0].items():
        assert torch.equal(tensor, before[f"average.{name}"])
    assert load_progress(run.checkpoint)["best"] is None  # the next validation is better


def test_a_training_whose_checkpoint_is_gone_does_not_begin_anew(tmp_path):
    run = trained(tmp_path / "run")
    run.checkpoint.unlink()
    kept = run.weights.read_bytes()
    with pytest.raises(
        InputError, match=r"checkpoint\.safetensors is gone, .* put it back, or also del"
    ):
        train(run, CORPUS)
    assert run.weights.read_bytes() == kept


@pytest.mark.parametrize("name", ["checkpoint", "weights"])
def test_what_belongs_to_another_run_of_the_same_shapes_is_refused(tmp_path, name):
    run, other = (trained(tmp_path / str(seed), seed=seed) for seed in (1, 2))
    getattr(run, name).write_bytes(getattr(other, name).read_bytes())
    with pytest.raises(InputError, match=r"does not fit .*recipe\.json: it belongs to another"):
        train(run, CORPUS) if name == "checkpoint" else run.translate(["a"])


@pytest.mark.parametrize("name", ["vocabulary.json", *FILES])
def test_a_vocabulary_whose_ids_were_changed_is_refused(tmp_path, name):
    """In the one file of both sides, or in one of the two that there always were before 0.3."""
    run = begin(tmp_path / "run")
    joint = run.folder / "vocabulary.json"
    if name != joint.name:
        for one in FILES:
            shutil.copy(joint, run.folder / one)
        joint.unlink()
    assert Run.open(run.folder).vocabularies.encode(PAIRS) == run.vocabularies.encode(PAIRS)
    path = run.folder / name
    described = json.loads(path.read_text())
    ids = described["model"]["vocab"]
    one, other = list(ids)[-2:]
    ids[one], ids[other] = ids[other], ids[one]
    path.write_text(json.dumps(described))
    with pytest.raises(InputError, match=r"holds a damaged run \(a vocabulary was changed: "):
        Run.open(run.folder)


@pytest.mark.parametrize("subwords", [0, 60])
def test_a_vocabulary_of_both_sides_is_one_file_and_one_object(tmp_path, subwords):
    written = Vocabularies.learn([("ein Hund", "a dog")], subwords)
    write_vocabularies(written, tmp_path)
    names = ["vocabulary.json"] if subwords else [*FILES]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    read = read_vocabularies(tmp_path)
    assert (read.src is read.tgt) == bool(subwords)
    for ours, theirs in zip(read, written, strict=True):
        assert ours.to_json() == theirs.to_json()


@pytest.mark.parametrize("name", ["src.ids", "tgt.starts", "vocabulary.json"])
@pytest.mark.parametrize("damage", ["rotated", "zeros", "deleted"])
def test_what_is_damaged_in_the_cache_is_told_and_made_again(
    tmp_path, monkeypatch, capsys, name, damage
):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    begin(tmp_path / "first")
    [file] = (tmp_path / "cache").rglob(name)
    kept = file.read_bytes()
    file.write_bytes(kept[4:] + kept[:4] if damage == "rotated" else bytes(len(kept)))
    if damage == "deleted":
        file.unlink()
    run = begin(tmp_path / "again")
    if damage != "deleted":
        assert capsys.readouterr().err == f"{file.parent} is damaged: it is made again.\n"
    assert file.read_bytes() == kept
    assert list(run.prepared.train) == run.vocabularies.encode(PAIRS)


def test_a_cache_that_cannot_be_written_is_named_with_its_variable(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, os.devnull)
    with pytest.raises(InputError, match=rf"\(.*{os.devnull}.*\): let {CACHE_VARIABLE} name a fol"):
        begin(tmp_path / "run")
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "")
    monkeypatch.setattr(
        pytest.importorskip("pwd"), "getpwuid", {}.__getitem__
    )  # as `docker -u 12345` has no entry
    with pytest.raises(
        InputError, match=f"there is no home folder .*: set HOME or {CACHE_VARIABLE}"
    ):
        begin(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_full_disk_is_told_in_one_sentence(tmp_path, monkeypatch):
    run = trained(tmp_path / "run")

    def full(*args, **kwargs):
        raise SafetensorError("No space left on device")

    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.raises(OSError, match=r"exported could not be written \(No space left"):
        run.export(tmp_path / "exported")
    assert {path.name for path in tmp_path.iterdir()} == {"run"}


def test_using_a_run_draws_no_random_number(tmp_path):
    run = trained(tmp_path / "run")
    before = torch.get_rng_state()
    run.translate(["a b"])
    assert torch.equal(torch.get_rng_state(), before)


def test_a_run_without_a_checkpoint_is_not_exported(tmp_path):
    with pytest.raises(InputError, match="has not saved it yet"):
        begin(tmp_path / "run").export(tmp_path / "exported")
    assert not (tmp_path / "exported").exists()


def test_a_run_searches_as_its_recipe_says_unless_something_else_is_asked_for(tmp_path):
    learning = {"steps": 60, "peak_rate": 2e-2, "average_decay": 0.0, "validate_every": 60}
    run = trained(tmp_path / "run", "luong", search=Search(3, 9.0), **learning)
    texts = [source for source, _ in PAIRS]

    def found(*search):
        return translate(run.model, texts, run.vocabularies, Search(*search))

    assert found(3, 9.0) != found(1, 9.0)
    assert found(3, 9.0) != found(3, -5.0)
    assert run.translate(texts) == found(3, 9.0)
    assert Run.open(run.folder).translate(texts) == found(3, 9.0)
    assert run.translate(texts, Search(1)) == found(1)
    assert run.translate(texts, Search(3, -5.0)) == found(3, -5.0)
