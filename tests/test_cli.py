import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from annotated_transformer import corpora, recipes
from annotated_transformer.checkpoints import load_checkpoint
from annotated_transformer.cli import app
from annotated_transformer.corpora import DATA_VARIABLE
from annotated_transformer.evaluation import perplexity, score_translations, translate
from annotated_transformer.recipes import MODELS
from annotated_transformer.runs import Run
from annotated_transformer.toy import toy_corpus

TINY = {name: {"d_model": 8, "hidden_dim": 8} for name in MODELS} | {
    "transformer": {"d_model": 8, "num_layers": 1, "num_heads": 2, "d_ff": 8}
}


def call(*arguments, stdin=None):
    return CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)


@pytest.fixture(autouse=True)
def _small_and_cut_off(monkeypatch, tmp_path):
    """Tiny models, a tiny toy corpus, an empty folder to work in, and no network."""

    def no_network(*args, **kwargs):
        raise OSError("Network is unreachable")

    small = toy_corpus(pairs=20, max_length=8)
    monkeypatch.setattr(corpora, "toy_corpus", lambda: small)
    monkeypatch.setattr(recipes, "medium_sizes", TINY.get)
    monkeypatch.setattr(socket.socket, "connect", no_network)
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache")
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def tsv(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "pairs.tsv"
    words = ["eins", "zwei", "drei", "vier", "fünf"]
    lines = [f"{a} {b} {c}\t{c} {b} {a}" for a in words for b in words for c in words[:3]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def trained(tsv, tmp_path_factory):
    """A run that nobody may change."""
    out = tmp_path_factory.mktemp("runs") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipes, "medium_sizes", TINY.get)
        result = call("train", "--corpus", tsv, "--steps", 3, "--out", out, "--seed", 5)
    assert result.exit_code == 0, result.output
    return out


@pytest.mark.parametrize("model", MODELS)
def test_training_needs_nothing_but_the_name_of_the_model(model):
    result = call("train", "--model", model, "--steps", 1)
    assert result.exit_code == 0, result.output
    assert f"Trained. Try: annotated-transformer translate runs/{model}-toy-1" in result.stdout
    run = Run.open(Path(f"runs/{model}-toy-1"))
    assert (run.recipe.model, run.recipe.corpus, run.recipe.seed) == (model, "toy", 0)
    assert call("translate", run.folder, "I am a student").exit_code == 0


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("corpus", ["toy", "tsv"])
def test_any_number_of_steps_can_be_trained(tsv, corpus, steps):
    result = call(
        "train", "--model", "luong", "--corpus", tsv if corpus == "tsv" else "toy", "--steps", steps
    )
    assert result.exit_code == 0, result.output
    assert (
        load_checkpoint(next(Path("runs").glob("luong-*-1")) / "checkpoint.safetensors")[1]["steps"]
        == steps
    )


@pytest.mark.parametrize("options", [[], ["--bfloat16"]])
def test_a_run_remembers_how_it_multiplies(options):
    assert call("train", "--model", "luong", "--steps", 1, *options).exit_code == 0
    assert Run.open(Path("runs/luong-toy-1")).recipe.bfloat16 == bool(options)


def test_a_run_remembers_how_it_was_made(trained, tsv):
    recipe = Run.open(trained).recipe
    assert (recipe.steps, recipe.seed, recipe.model) == (3, 5, "transformer")
    assert recipe.corpus == str(tsv.resolve())


def test_a_folder_named_like_a_corpus_is_not_taken_for_it(tmp_path):
    (tmp_path / "toy").mkdir()
    assert call("train", "--model", "luong", "--steps", 1).exit_code == 0
    assert Run.open(tmp_path / "runs/luong-toy-1").recipe.corpus == "toy"


def test_resume(tsv, tmp_path):
    out = tmp_path / "run"
    call("train", "--model", "luong", "--corpus", tsv, "--steps", 4, "--out", out)
    finished = call("resume", out)
    assert finished.exit_code == 0
    longer = call("resume", out, "--steps", 6)
    assert longer.exit_code == 0, longer.output
    assert Run.open(out).recipe.steps == 6
    assert load_checkpoint(out / "checkpoint.safetensors")[1]["steps"] == 6
    steps = [line.split(",")[0] for line in (out / "metrics.csv").read_text().splitlines()]
    assert steps == ["step", "4", "6"]


@pytest.mark.parametrize("beam", [1, 3])
def test_translate(trained, beam):
    lines = ["eins zwei drei", "", "fünf", "vier eins"]
    run = Run.open(trained)
    expected = translate(run.model(), lines, run.src_vocabulary, run.tgt_vocabulary, beam)
    assert expected[1] == ""
    result = call("translate", trained, "--beam", beam, stdin=" \r\n ".join(lines) + "\n")
    assert result.exit_code == 0, result.output
    assert result.stdout == "".join(line + "\n" for line in expected)
    [alone] = translate(run.model(), ["fünf"], run.src_vocabulary, run.tgt_vocabulary, beam)
    assert call("translate", trained, "fünf", "--beam", beam).stdout == alone + "\n"


@pytest.mark.parametrize("split", [None, "val"])
def test_evaluate(trained, tsv, split):
    result = call("evaluate", trained, *(["--split", split] if split else []), "--beam", 1)
    assert result.exit_code == 0, result.output
    corpus = corpora.load_corpus(str(tsv))
    pairs = corpus.split(split or "test")
    heading, *lines = result.stdout.splitlines()
    assert heading == f"{corpus.name} {split or 'test'}: {len(pairs)} sentences, beam 1, alpha 0.6"
    run = Run.open(trained)
    vocabularies = run.src_vocabulary, run.tgt_vocabulary
    translations = translate(run.model(), [s for s, _ in pairs], *vocabularies)
    scores = score_translations(translations, [t for _, t in pairs])
    assert lines[:-1] == [str(score) for score in scores]
    value = perplexity(run.model(), run.encode(pairs))
    assert lines[-1].startswith(f"perplexity {value:.2f}  teacher-forced")


def test_evaluate_on_another_corpus(trained):
    result = call("evaluate", trained, "--corpus", "toy", "--split", "val", "--beam", 1)
    assert result.exit_code == 0, result.output
    assert "toy val: 1 sentences" in result.stdout


ERRORS = {
    "model": (["train", "--model", "lstm"], "model is 'lstm', it must be one of seq2seq"),
    "corpus": (["train", "--corpus", "none.tsv"], "there is no corpus 'none.tsv': give toy"),
    "languages": (["train", "--languages", "de-en"], "the toy corpus has only 'en-ko'"),
    "network": (["train", "--corpus", "multi30k"], "could not be downloaded"),
    "out": (["train", "--out", "RUN"], "is not empty: choose another place"),
    "out is no place": (["train", "--out", "RUN/recipe.json/x"], "Not a directory"),
    "empty folder": (["train", "--corpus", "."], "has training text in no language"),
    "no run": (["translate", "nowhere", "Hallo"], "nowhere holds no run"),
    "resume nothing": (["resume", "nowhere"], "nowhere holds no run"),
    "evaluate nothing": (["evaluate", "nowhere"], "nowhere holds no run"),
    "split": (["evaluate", "RUN", "--split", "dev"], "has no split 'dev'; it has test, train, val"),
    "other corpus": (["evaluate", "RUN", "--corpus", "none"], "there is no corpus 'none'"),
    "checkpoint": (["translate", "UNTRAINED", "Hallo"], "the run has not saved one yet"),
    "too long": (["translate", "RUN", "eins " * 3000], "tokens with its end symbol"),
    "schedule": (["resume", "WARM", "--steps", "10"], "warmup=10 must be at least 0 and below"),
}


@pytest.mark.parametrize(("arguments", "message"), ERRORS.values(), ids=ERRORS)
def test_an_error_is_one_sentence(trained, tmp_path, arguments, message):
    settings = json.loads((trained / "recipe.json").read_text())
    for name in ("UNTRAINED", "WARM"):
        (tmp_path / name).mkdir()
        for file in trained.glob("*.json"):
            (tmp_path / name / file.name).write_bytes(file.read_bytes())
    warm = json.dumps(settings | {"warmup": 10, "steps": 40})
    (tmp_path / "WARM" / "recipe.json").write_text(warm)
    result = call(*(a.replace("RUN", str(trained)) for a in arguments))
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert re.fullmatch(r"Error: [^\n]*\n", result.stderr)
    assert message in result.stderr
    assert (tmp_path / "WARM" / "recipe.json").read_text() == warm
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("arguments", [["train", "--steps", "0"], ["translate"], ["fly"]])
def test_a_wrong_call(arguments):
    result = call(*arguments)
    assert result.exit_code == 2
    assert "Usage:" in result.stderr


def test_standard_input_that_is_not_utf8(trained):
    result = call("translate", trained, stdin=b"eins\nf\xfcnf\n")
    assert result.exit_code == 2
    assert "standard input is not UTF-8 text" in result.stderr


def test_a_reader_that_closes_early_is_no_error(trained, monkeypatch):
    def closed(*args, **kwargs):
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(Run, "translate", closed)
    assert "Error" not in call("translate", trained, "eins").stderr


def test_help_from_the_shell():
    command = [sys.executable, "-m", "annotated_transformer", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for name in ("train", "resume", "translate", "evaluate"):
        assert name in done.stdout
        text = call(name, "--help").stdout
        assert "RUN" in text or name == "train"
    assert all(model in call("train", "--help").stdout for model in MODELS)
    assert done.stderr == ""


def test_a_second_run_has_a_folder_of_its_own():
    for number in (1, 2):
        assert call("train", "--model", "luong", "--steps", 1).exit_code == 0
        assert Path(f"runs/luong-toy-{number}/metrics.csv").exists()


def test_attention_is_scored_against_the_gold_alignment():
    call("train", "--model", "luong", "--steps", 1, "--out", "run")
    shown = call("evaluate", "run", "--beam", 1).stdout
    assert re.search(r"^AER 0\.\d\d  attention, mean of heads$", shown, re.MULTILINE)


def test_a_run_is_not_trained_backwards(tsv):
    call("train", "--model", "luong", "--corpus", tsv, "--steps", 4, "--out", "run")
    result = call("resume", "run", "--steps", 2)
    assert result.exit_code == 2
    assert "stands at step 4, it cannot be trained up to step 2" in result.stderr
    assert Run.open(Path("run")).recipe.steps == 4
