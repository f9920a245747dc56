import csv
import json
import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import pytest
import torch

from annotated_transformer import evaluation, training_runs
from annotated_transformer.checkpoints import load_checkpoint
from annotated_transformer.corpora import Corpus
from annotated_transformer.errors import InputError
from annotated_transformer.recipes import MODELS, Recipe
from annotated_transformer.runs import Run
from annotated_transformer.tokens import UNK
from annotated_transformer.training import Trainer
from annotated_transformer.training_runs import train

LETTERS = "abcdefgh"
PAIRS = [
    (" ".join(LETTERS[i : i + n]), " ".join(LETTERS[i : i + n][::-1]))
    for n in range(1, 7)
    for i in range(len(LETTERS) - n + 1)
]
CORPUS = Corpus("letters", ("a", "b"), {"train": PAIRS, "val": PAIRS[::4], "test": [("x", "y")]})
RECURRENT = {"d_model": 8, "hidden_dim": 8, "dropout": 0.2}
SIZES = dict.fromkeys(MODELS, RECURRENT) | {
    "transformer": {"d_model": 8, "num_layers": 1, "num_heads": 2, "d_ff": 8, "dropout": 0.2}
}


def recipe(model="seq2seq", **changes):
    settings = {"steps": 12, "batch_tokens": 40, "validate_every": 5, "warmup": 4}
    return Recipe(model, "letters", **settings | {"sizes": SIZES[model]} | changes)


def begin(folder, model="seq2seq", **changes):
    return Run.create(folder, recipe(model, **changes), CORPUS)


def assert_same_end(first, second):
    """Both runs stand at the same step with the same bits, and tell the same learning curve."""
    (ours, progress), (theirs, expected) = map(
        load_checkpoint, (first.checkpoint, second.checkpoint)
    )
    assert progress | {"seconds": 0} == expected | {"seconds": 0}
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in ours.items())
    assert curve(first) == curve(second)


def curve(run):
    with (run.folder / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(float(row.pop("seconds")) >= 0 for row in rows)
    return rows


def ctrl_c_after(monkeypatch, steps):
    """Send this process the signal of Ctrl-C at the end of that step."""
    update = Trainer.update

    def interrupted(self, parts):
        result = update(self, parts)
        if self.steps == steps:
            signal.raise_signal(signal.SIGINT)
        return result

    monkeypatch.setattr(Trainer, "update", interrupted)


@pytest.mark.parametrize("model", MODELS)
def test_a_run_is_a_folder_that_understands_itself(tmp_path, model):
    run = begin(tmp_path / "a" / "run", model)
    assert train(run, CORPUS)
    names = {path.name for path in run.folder.iterdir()}
    assert names == {
        "recipe.json",
        "vocabulary.src.json",
        "vocabulary.tgt.json",
        "checkpoint.safetensors",
        "metrics.csv",
    }
    again = Run.open(run.folder)
    assert again.recipe == run.recipe
    assert again.encode(PAIRS) == run.encode(PAIRS)
    averages, _ = load_checkpoint(run.checkpoint, "average.")
    trained = again.model()
    assert not trained.training
    for name, parameter in trained.named_parameters():
        assert torch.equal(parameter, averages[name])
    fresh = dict(run.new_model().named_parameters())
    assert any((p != fresh[name]).any() for name, p in trained.named_parameters())


def test_the_learning_curve(tmp_path):
    run = begin(tmp_path / "run")
    train(run, CORPUS)
    rows = curve(run)
    assert [row["step"] for row in rows] == ["5", "10", "12"]
    for row in rows:
        assert float(row["rate"]) == run.recipe.make_schedule()(int(row["step"]))
        assert 0 < float(row["train_loss"]) < 5
        assert float(row["gradient_norm"]) > 0
    value = training_runs.perplexity(run.model(), run.encode(CORPUS.split("val")))
    assert float(rows[-1]["val_perplexity"]) == pytest.approx(value, rel=1e-6)


def test_vocabularies_are_learned_from_the_training_text_alone(tmp_path):
    words = begin(tmp_path / "words")
    assert words.encode(CORPUS.split("test")) == [([UNK], [UNK])]
    subwords = begin(tmp_path / "subwords", subwords=30)
    assert subwords.src_vocabulary.to_json() == subwords.tgt_vocabulary.to_json()
    assert UNK in subwords.src_vocabulary.encode("x")


@pytest.mark.parametrize(
    ("model", "steps"), [("seq2seq", 2), ("seq2seq", 5), ("seq2seq", 12), ("transformer", 7)]
)
def test_interrupted_and_resumed_is_not_interrupted(tmp_path, monkeypatch, model, steps):
    straight, run = begin(tmp_path / "straight", model), begin(tmp_path / "run", model)
    assert train(straight, CORPUS)
    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        ctrl_c_after(patch, steps)
        assert train(run, CORPUS) is (steps == 12)
    assert signal.getsignal(signal.SIGINT) is before
    assert load_checkpoint(run.checkpoint)[1]["steps"] == steps
    torch.manual_seed(99)
    assert train(Run.open(run.folder), CORPUS)
    assert_same_end(run, straight)


def test_a_run_that_was_killed_goes_on_from_its_last_checkpoint(tmp_path, monkeypatch):
    straight, run = begin(tmp_path / "straight"), begin(tmp_path / "run")
    train(straight, CORPUS)
    save = training_runs.save_checkpoint

    def killed(path, tensors, progress):
        if progress["steps"] == 10:
            raise SystemExit("killed between the metrics and the checkpoint")
        save(path, tensors, progress)

    with monkeypatch.context() as patch:
        patch.setattr(training_runs, "save_checkpoint", killed)
        with pytest.raises(SystemExit, match="killed between"):
            train(run, CORPUS)
    assert [row["step"] for row in curve(run)] == ["5", "10"]
    assert train(run, CORPUS)
    assert_same_end(run, straight)


def test_a_finished_run_can_be_trained_longer(tmp_path):
    longer, run = begin(tmp_path / "longer", steps=20), begin(tmp_path / "run", steps=10)
    train(longer, CORPUS)
    train(run, CORPUS)
    assert train(replace(run, recipe=replace(run.recipe, steps=20)), CORPUS)
    assert_same_end(run, longer)


def test_another_seed_is_another_run(tmp_path):
    one, other = (begin(tmp_path / str(seed), seed=seed) for seed in (1, 2))
    for run in (one, other):
        train(run, CORPUS)
    assert curve(one) != curve(other)


def test_a_second_ctrl_c_interrupts(tmp_path, monkeypatch):
    before = signal.getsignal(signal.SIGINT)
    ctrl_c_after(monkeypatch, 4)
    ctrl_c_after(monkeypatch, 4)
    with pytest.raises(KeyboardInterrupt):
        train(begin(tmp_path / "run"), CORPUS)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_run_can_be_trained_in_another_thread(tmp_path):
    run = begin(tmp_path / "run")
    thread = threading.Thread(target=train, args=(run, CORPUS))
    thread.start()
    thread.join()
    assert load_checkpoint(run.checkpoint)[1]["steps"] == 12


def test_ctrl_c_in_the_command_line(tmp_path):
    """A real process, a real signal: exit code 130, a checkpoint, and the same end later on."""
    texts = tmp_path / "texts"
    texts.mkdir()
    for split in ("train", "val"):
        for side, language in enumerate(CORPUS.languages):
            lines = "\n".join(pair[side] for pair in CORPUS.split(split))
            (texts / f"{split}.{language}").write_text(lines + "\n")
    endless = replace(recipe(steps=10**6), corpus=str(texts))
    run = Run.create(tmp_path / "run", endless, CORPUS)
    env = os.environ | {"OMP_NUM_THREADS": "1"}  # as many threads as in this process
    command = [sys.executable, "-m", "annotated_transformer", "resume", str(run.folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    with process:
        progress = b""
        while not re.search(rb"[1-9]\d*/1000000", progress):
            progress += process.stderr.read1()
            assert process.poll() is None, progress
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert f"Saved. Go on with: annotated-transformer resume {run.folder}" in output.decode()
    assert b"Traceback" not in errors
    to_the_end = replace(endless, steps=load_checkpoint(run.checkpoint)[1]["steps"] + 7)
    assert train(replace(run, recipe=to_the_end))
    straight = Run.create(tmp_path / "straight", to_the_end, CORPUS)
    assert train(straight)
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


def test_a_folder_without_a_run(tmp_path):
    with pytest.raises(InputError, match=r"holds no run: there is no recipe\.json in it"):
        Run.open(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("recipe.json", "{"),
        ("recipe.json", "[]"),
        ("recipe.json", '{"model": "seq2seq", "corpus": "toy", "speed": 3}'),
        ("vocabulary.src.json", "{}"),
        ("vocabulary.tgt.json", None),
    ],
)
def test_a_damaged_run(tmp_path, name, content):
    run = begin(tmp_path / "run")
    (run.folder / name).unlink()
    if content is not None:
        (run.folder / name).write_text(content)
    with pytest.raises(InputError, match="holds a damaged run"):
        Run.open(run.folder)


def test_a_checkpoint_of_another_model(tmp_path):
    run = begin(tmp_path / "run")
    with pytest.raises(InputError, match="the run has not saved one yet"):
        run.model()
    train(run, CORPUS)
    settings = json.loads((run.folder / "recipe.json").read_text())
    (run.folder / "recipe.json").write_text(json.dumps(settings | {"model": "bahdanau"}))
    with pytest.raises(InputError, match=r"checkpoint\.safetensors does not fit .*recipe\.json"):
        Run.open(run.folder).model()


@pytest.mark.parametrize(
    ("model", "changes", "longest"),
    [("seq2seq", {"batch_tokens": 6}, 5), ("transformer", {"sizes": "max_length"}, 3)],
)
def test_a_sentence_that_does_not_fit_is_named_before_anything_is_written(
    tmp_path, model, changes, longest
):
    if "sizes" in changes:
        changes = {"sizes": SIZES[model] | {"max_length": 4}}
    with pytest.raises(
        InputError, match=rf"pair \d+ of train has {longest + 1} tokens .* takes {longest}"
    ):
        begin(tmp_path / "run", model, **changes)
    assert not (tmp_path / "run").exists()


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    run = begin(tmp_path / "run", "seq2seq")
    other = begin(tmp_path / "other", "bahdanau")
    train(other, CORPUS)
    other.checkpoint.rename(run.checkpoint)
    with pytest.raises(InputError, match="does not fit"):
        run.model()
    with pytest.raises(InputError, match="does not fit"):
        train(run, CORPUS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "foo"}, "model is 'foo', it must be one of"),
        ({"sizes": {"width": 3}}, "unexpected keyword argument 'width'"),
        ({"schedule": "cosine"}, "schedule is 'cosine', it must be 'paper' or 'linear'"),
        ({"colour": "red"}, "unexpected keyword argument 'colour'"),
    ],
)
def test_a_damaged_recipe_is_told(tmp_path, change, message):
    run = begin(tmp_path / "run")
    path = run.folder / "recipe.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=f"holds a damaged run .*{message}"):
        Run.open(run.folder)


def test_a_checkpoint_of_another_size_is_refused(tmp_path):
    run = begin(tmp_path / "run")
    train(run, CORPUS)
    larger = replace(run, recipe=replace(run.recipe, sizes=RECURRENT | {"hidden_dim": 9}))
    with pytest.raises(InputError, match="does not fit"):
        larger.model()


@pytest.mark.parametrize("table", ["", "step,seconds\n5,1\n", "half a row"])
def test_a_damaged_learning_curve_is_told(tmp_path, table):
    run = begin(tmp_path / "run")
    train(run, CORPUS)
    (run.folder / "metrics.csv").write_text(table)
    with pytest.raises(InputError, match=r"metrics\.csv is not a learning curve"):
        train(run, CORPUS)


# --- exported to translate with -------------------------------------------------------------------


def trained(folder, **changes):
    run = begin(folder, **changes)
    assert train(run, CORPUS)
    return run


@pytest.mark.parametrize("model", MODELS)
def test_an_exported_run_has_the_average_in_half_precision(tmp_path, model):
    run = trained(tmp_path / "run", model=model)
    exported = run.export(tmp_path / "exported")
    assert Run.open(tmp_path / "exported").recipe == run.recipe
    assert exported.src_vocabulary.to_json() == run.src_vocabulary.to_json()
    assert exported.tgt_vocabulary.to_json() == run.tgt_vocabulary.to_json()
    wanted = run.model().state_dict()
    for name, tensor in exported.model().state_dict().items():
        assert tensor.dtype == torch.float32
        assert torch.equal(tensor, wanted[name].half().float()), name
    stored, progress = load_checkpoint(exported.checkpoint)
    assert progress == {"steps": 12}
    assert {tensor.dtype for tensor in stored.values()} == {torch.float16}
    names = {path.name for path in (tmp_path / "exported").iterdir()}
    assert names == {
        "recipe.json", "vocabulary.src.json", "vocabulary.tgt.json", "checkpoint.safetensors"
    }  # fmt: skip


def test_what_was_exported_cannot_be_trained_further(tmp_path):
    exported = trained(tmp_path / "run").export(tmp_path / "exported")
    with pytest.raises(InputError, match="was exported to translate with, its training cannot go"):
        train(exported, CORPUS)


def test_nothing_is_exported_into_a_folder_that_holds_something(tmp_path):
    run = trained(tmp_path / "run")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"full is not empty: choose another place\."):
        run.export(tmp_path / "full")
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["notes.txt"]


def test_a_run_without_a_checkpoint_is_not_exported(tmp_path):
    with pytest.raises(InputError, match="has not saved one yet"):
        begin(tmp_path / "run").export(tmp_path / "exported")
    assert not (tmp_path / "exported").exists()


def test_a_run_searches_as_its_recipe_says_unless_something_else_is_asked_for(tmp_path):
    learning = {"steps": 60, "peak_rate": 2e-2, "average_decay": 0.0, "validate_every": 60}
    run = begin(tmp_path / "run", "luong", beam=3, alpha=9.0, **learning)
    train(run, CORPUS)
    texts = [source for source, _ in PAIRS]
    vocabularies = run.src_vocabulary, run.tgt_vocabulary

    def found(beam, alpha):
        return evaluation.translate(run.model(), texts, *vocabularies, beam, alpha)

    assert found(3, 9.0) != found(1, 9.0)
    assert found(3, 9.0) != found(3, -5.0)
    before = (run.folder / "recipe.json").read_bytes()
    assert run.searching(None, None).translate(texts) == run.translate(texts) == found(3, 9.0)
    assert run.searching(1, None).translate(texts) == found(1, 9.0)
    assert run.searching(None, -5.0).translate(texts) == found(3, -5.0)
    assert (run.folder / "recipe.json").read_bytes() == before
    with pytest.raises(InputError, match="beam is 0, it must be at least 1"):
        run.searching(0, None)
