import io
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from annotated_transformer import __version__, corpora
from annotated_transformer.cli import app, options
from annotated_transformer.cli.outputs import translate_stream
from annotated_transformer.corpora.multi30k import DATA_VARIABLE
from annotated_transformer.decoding import Search
from annotated_transformer.fast import fast_translator
from annotated_transformer.ground.errors import InputError
from annotated_transformer.models import MODELS
from annotated_transformer.run import (
    PRESETS,
    Line,
    LineTranslator,
    Recipe,
    Run,
    engines,
    lines,
    preset,
)
from annotated_transformer.run.checkpoint import load_checkpoint, load_progress, save_checkpoint
from annotated_transformer.toy import toy_corpus
from annotated_transformer.translation import translate, translations
from screens import BrokenScreen

STACK = {"d_model": 8, "num_layers": 1, "num_heads": 2, "d_ff": 8}
TINY = {name: {"d_model": 8, "hidden_dim": 8} for name in MODELS} | {
    "transformer": STACK,
    "language": STACK,
}


def call(*arguments, stdin=None):
    return CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)


def done(*arguments, stdin=None):
    """What a command says that has done what it should."""
    result = call(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result


def make_medium_small(patch):
    for model, kind in MODELS.items():
        patch.setitem(MODELS, model, kind._replace(sizes=kind.sizes | {"medium": TINY[model]}))


@pytest.fixture(autouse=True)
def _small_and_cut_off(monkeypatch, tmp_path):
    """Tiny models, a tiny toy corpus, an empty folder to work in, and no network."""

    def no_network(*args, **kwargs):
        raise OSError("Network is unreachable")

    small = toy_corpus(pairs=40, max_length=8)
    monkeypatch.setattr(corpora, "toy_corpus", lambda: small)
    make_medium_small(monkeypatch)
    monkeypatch.setattr(socket.socket, "connect", no_network)
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    monkeypatch.setattr(
        "annotated_transformer.corpora.cache.user_cache_dir", lambda name: tmp_path / "cache"
    )
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
        make_medium_small(patch)
        done("train", "--corpus", tsv, "--steps", 3, "--out", out, "--seed", 5)
    return out


@pytest.mark.parametrize(
    ("options", "rate"),
    [([], 5e-5), (["--recipe", "medium.json", "--model", "transformer"], 2e-3)],
)
def test_a_training_begins_with_the_weights_of_another(trained, tsv, tmp_path, options, rate):
    Path("medium.json").write_text(done("recipes", "finetune").stdout.replace("5e-05", "2e-3"))
    given = ["--from", trained, "--corpus", tsv, "--steps", 2, "--set", "freeze=decoder"]
    done("train", *given, *options, "--out", tmp_path / "tuned")
    tuned, start = Run.open(tmp_path / "tuned"), Run.open(trained)
    assert (tuned.recipe.sizes, tuned.recipe.peak_rate) == (start.recipe.sizes, rate)
    assert [v.to_json() for v in tuned.vocabularies] == [v.to_json() for v in start.vocabularies]
    change = {name: (start.read(start.weights)[name] - weight).abs().max() for name, weight in
              tuned.read(tuned.weights).items()}  # fmt: skip
    assert all((moved == 0) == name.startswith("decoder") for name, moved in change.items()
               if "key.bias" not in name)  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
def test_training_needs_nothing_but_the_name_of_the_model(model):
    result = done("train", "--model", model, "--steps", 1)
    assert f"Trained. Try: annotated-transformer translate runs/{model}-toy-1" in result.stdout
    run = Run.open(Path(f"runs/{model}-toy-1"))
    assert (run.recipe.model, run.recipe.corpus, run.recipe.seed) == (model, "toy", 0)
    done("translate", run.folder, "I am a student")


def test_a_run_translates_with_its_engine_unless_another_is_named(monkeypatch):
    steps = ["train", "--steps", 1, "--set", "d_model=8", "--set", "num_layers=1"]
    done(*steps, "--recipe", "tiny", "--engine", "fast", "--out", "run")
    made = []

    def fast(model, precision):
        made.append(precision)
        return fast_translator(model, precision)

    monkeypatch.setattr(engines, "fast_translator", fast)
    translate = ["translate", "run", "I am", "--beam", 1]
    said = [call(*translate, *engine) for engine in ([], ["--engine", "readable"])]
    assert [each.exit_code for each in said] == [0, 0]
    assert said[0].stdout == said[1].stdout
    assert made == ["float32"]
    done(*translate, "--precision", "bfloat16")
    assert made == ["float32", "bfloat16"]
    done("train", "--model", "luong", "--steps", 1, "--out", "luong")
    refused = call("translate", "luong", "I am", "--engine", "fast")
    assert refused.exit_code == 2
    assert "engine is 'fast' and model is 'luong', it must be a" in refused.stderr


def test_with_a_package_of_ones_own_its_modules_translate(monkeypatch):
    """A fast twin would have our own in their place."""
    given = []
    monkeypatch.setattr(options, "launcher", lambda: lambda _, __, asked: given.append(asked))
    for engine in ([], ["--engine", "fast"]):
        call("translate", "run", "I am", "--package", "own", *engine)
    assert [asked["engine"] for asked in given] == ["readable", "fast"]


def test_a_run_remembers_how_it_multiplies():
    done("train", "--model", "luong", "--steps", 1, "--precision", "bfloat16")
    assert Run.open(Path("runs/luong-toy-1")).recipe.precision == "bfloat16"
    for command in (["translate", "runs/luong-toy-1", "I am"], ["evaluate", "runs/luong-toy-1"]):
        done(*command, "--precision", "bfloat16", "--beam", 1)


# --- any setting ----------------------------------------------------------------------------------


def settings_of(*options):
    done("train", "--set", "model=luong", "--steps", 1, "--out", "run", *options)
    return Run.open(Path("run")).recipe


def test_any_setting_can_be_set():
    recipe = settings_of(
        "--set", "d_model=12", "--set", "score=dot", "--set", "peak_rate=1e-3",
        "--set", "clip=null", "--set", "search.beam=7", "--set", 'optimizer="AdamW"',
        "--set", "sizes.dropout=0.25",
    )  # fmt: skip
    assert recipe.sizes == {"d_model": 12, "hidden_dim": 128, "score": "dot", "dropout": 0.25}
    assert (recipe.peak_rate, recipe.clip, recipe.optimizer) == (1e-3, None, "AdamW")
    assert recipe.search == Search(7)


def test_a_recipe_by_name_and_one_from_a_file(tmp_path):
    medium = settings_of("--recipe", "medium")
    assert (medium.subwords, medium.sizes) == (5000, TINY["luong"])
    printed = json.loads(call("recipes", "tiny", "--model", "luong").stdout)
    (tmp_path / "mine.json").write_text(json.dumps(printed | {"seed": 4, "warmup": 0}))
    call("train", "--model", "luong", "--steps", 1, "--out", "a", "--recipe", "mine.json")
    recipe = Run.open(Path("a")).recipe
    assert (recipe.seed, recipe.warmup, recipe.sizes) == (4, 0, printed["sizes"])
    # The recipe of a run is such a file, too.
    done("train", "--recipe", "a/recipe.json", "--out", "b", "--seed", 5)
    other = Run.open(Path("b")).recipe
    assert (other.seed, other.steps, other.model) == (5, 1, "luong")


def test_the_corpus_of_a_recipe_is_trained_on_unless_another_is_asked_for(tsv, tmp_path):
    printed = json.loads(call("recipes", "tiny", "--model", "luong").stdout) | {"corpus": str(tsv)}
    (tmp_path / "mine.json").write_text(json.dumps(printed))
    options = ["train", "--steps", 1, "--recipe", "mine.json"]
    done(*options, "--out", "a")
    assert Run.open(Path("a")).recipe.corpus == str(tsv.resolve())
    done(*options, "--out", "b", "--corpus", "toy")
    done(*options, "--out", "c", "--set", "corpus=toy")
    assert [Run.open(Path(name)).recipe.corpus for name in "bc"] == ["toy", "toy"]


@pytest.mark.parametrize(("settings", "warmup"), [([], 2), (["--set", "warmup=7"], 7)])
def test_warm_up_is_cut_with_the_steps_unless_it_is_set(settings, warmup):
    assert settings_of("--steps", 8, *settings).warmup == warmup


def test_standard_input_may_begin_with_a_mark_and_have_blank_lines(trained):
    plain = call("translate", trained, "--beam", 2, "--best", 2, stdin=b"eins\n\nzwei\n")
    marked = call(
        "translate", trained, "--beam", 2, "--best", 2, stdin=b"\xef\xbb\xbfeins\r\n\r\nzwei"
    )
    assert plain.stdout == marked.stdout
    assert len(plain.stdout.splitlines()) == 6
    assert plain.stdout.splitlines()[2:4] == ["", ""]
    assert plain.stderr == marked.stderr == ""
    one, same = (call("translate", trained, mark + "eins").stdout for mark in ("", "\ufeff"))
    assert one == same == call("translate", trained, stdin=b"\xef\xbb\xbfeins").stdout


def test_recipes_are_listed_and_printed():
    listed = call("recipes").stdout
    assert [line.split()[0] for line in listed.splitlines()] == list(PRESETS)
    for name in PRESETS:
        printed = json.loads(call("recipes", name).stdout)
        assert Recipe.of_settings(printed).sizes == preset("transformer", "x", name).sizes
    assert "model is 'luong', it must be one of transformer" in (
        call("recipes", "base", "--model", "luong").stderr
    )


def test_a_corpus_that_moved(tsv, tmp_path):
    moved = tmp_path / "elsewhere.tsv"
    moved.write_bytes(tsv.read_bytes())
    old = tmp_path / "old.tsv"
    old.write_bytes(tsv.read_bytes())
    call("train", "--model", "luong", "--corpus", old, "--steps", 2, "--out", "run")
    old.unlink()
    assert "there is no corpus" in call("resume", "run", "--steps", 3).stderr
    result = done("resume", "run", "--steps", 3, "--corpus", moved)
    assert Run.open(Path("run")).recipe.corpus == str(moved)
    changed = tmp_path / "changed.tsv"
    changed.write_text(moved.read_text() + "sechs\tsechs\n")
    result = call("resume", "run", "--steps", 4, "--corpus", changed)
    assert result.exit_code == 2
    assert re.fullmatch(
        r"Error: .*changed\.tsv has changed since run was started: [^\n]*\n", result.stderr
    )
    assert Run.open(Path("run")).recipe.corpus == str(moved)


def test_pairs_that_are_too_long_are_left_out_or_refused(tmp_path):
    path = tmp_path / "pairs.tsv"
    lines = [f"eins {i}\t{i} eins" for i in range(200)] + ["", "lang " * 900 + "\tlang"] * 3
    path.write_text("\n".join(lines) + "\n")
    options = ["train", "--model", "luong", "--corpus", path, "--steps", 1, "--set", "subwords=0",
               "--set", "batch_tokens=500"]  # fmt: skip
    strict = call(*options, "--strict", "--out", "strict")
    assert strict.exit_code == 2
    assert "3 training pairs have more than 499 tokens on a side, the first is " in strict.stderr
    assert f"{path.resolve()}, line 202: shorten them, " in strict.stderr
    assert not Path("strict").exists()
    shown = done(*options, "--out", "run")
    assert re.search(r"^3 of \d+ training pairs are left out: they have more", shown.stderr, re.M)


def test_two_trainings_begun_at_once_have_folders_of_their_own(monkeypatch):
    """The second takes the first's folder between the look and the writing."""
    create, taken = Run.create.__func__, []

    def late(cls, folder, *args, **kwargs):
        if not taken:
            taken.append(create(cls, folder, *args, **kwargs))
        return create(cls, folder, *args, **kwargs)

    monkeypatch.setattr(Run, "create", classmethod(late))
    done("train", "--model", "luong", "--steps", 1)
    assert [run.folder for run in taken] == [Path("runs/luong-toy-1")]
    assert Path("runs/luong-toy-2/model.safetensors").exists()
    assert not Path("runs/luong-toy-1/model.safetensors").exists()


def test_resume(tsv, tmp_path):
    out = tmp_path / "run"
    call("train", "--model", "luong", "--corpus", tsv, "--steps", 4, "--out", out)
    done("resume", out)
    done("resume", out, "--steps", 6)
    assert Run.open(out).recipe.steps == 6
    assert load_progress(out / "checkpoint.safetensors")["steps"] == 6
    steps = [line.split(",")[0] for line in (out / "learning_curve.csv").read_text().splitlines()]
    assert steps == ["step", "4", "6"]


@pytest.mark.parametrize("beam", [1, 3])
def test_translate(trained, beam):
    lines = ["eins zwei drei", "", "fünf", "vier eins"]
    run = Run.open(trained)
    expected = translate(run.model, lines, run.vocabularies, Search(beam))
    assert expected[1] == ""
    result = done("translate", trained, "--beam", beam, stdin=" \r\n ".join(lines) + "\n")
    assert result.stdout == "".join(line + "\n" for line in expected)
    [alone] = translate(run.model, ["fünf"], run.vocabularies, Search(beam))
    assert call("translate", trained, "fünf", "--beam", beam).stdout == alone + "\n"


@pytest.mark.parametrize(
    ("options", "search", "prefix"),
    [
        (["--beam", 3, "--best", 2], Search(3, best=2), None),
        (["--sample", "--seed", 5, "--top-k", 4], Search(sample=True, seed=5, top_k=4), None),
        (["--sample", "--best", 2, "--top-p", 0.9], Search(sample=True, best=2, top_p=0.9), None),
        (["--sample", "--temperature", 2], Search(sample=True, temperature=2.0), None),
        (["--beam", 2, "--prefix", "drei zwei"], Search(2), "drei zwei"),
    ],
)
def test_every_search_of_the_package_is_one_of_the_command_line(trained, options, search, prefix):
    run, texts = Run.open(trained), ["eins zwei drei", "fünf"]
    prefixes = None if prefix is None else [prefix] * 2
    expected = translations(run.model, texts, run.vocabularies, search, prefixes)
    result = done("translate", trained, *options, stdin="\n".join(texts))
    assert result.stdout.splitlines() == [text for best in expected for text in best]
    assert prefix is None or all(line.startswith(prefix) for line in result.stdout.splitlines())


@pytest.mark.parametrize("split", [None, "val"])
def test_evaluate(trained, tsv, split):
    result = done("evaluate", trained, *(["--split", split] if split else []), "--beam", 1)
    corpus = corpora.load_corpus(str(tsv))
    name = split or "test"
    heading, *lines = result.stdout.splitlines()
    number = len(corpus.sides(name)[0])
    assert heading == f"{corpus.name} {name}: {number} sentences, src-tgt, beam 1, alpha 0.6"
    assert lines == [str(s) for s in Run.open(trained).evaluate(corpus, name, Search())]


def test_evaluate_says_that_a_recipe_draws_samples(trained, tmp_path):
    copy = shutil.copytree(trained, tmp_path / "run")
    run = Run.open(copy)
    run.with_recipe(replace(run.recipe, search=Search(sample=True, temperature=2.0, seed=5)))
    result = done("evaluate", copy)
    assert "sentences, src-tgt, samples at temperature 2.0, seed 5" in result.stdout


ERRORS = {
    "network": (["train", "--corpus", "multi30k"], "could not be downloaded"),
    "value": (["train", "--set", "steps=many"], "steps is 'many', it must be an integer"),
    "two values": (["train", "--steps", "3", "--set", "steps=4"], "given as 3 and as 4"),
    "two names": (
        ["train", "--set", "d_model=8", "--set", "sizes.d_model=9"],
        "d_model is given as 8 and as 9",
    ),
    "no device": (["translate", "RUN", "a", "--device", "mps"], "but PyTorch finds none here"),
    "top p": (["translate", "RUN", "a", "--top-p", "0.5"], "are settings of sampling: set sample"),
    "prefix": (["translate", "RUN", "eins", "--prefix", "eins " * 99], "and the prefix has"),
    "unknown": (["translate", "RUN", "한국어"], "the text has no token that the vocabulary knows"),
    "out is no place": (["train", "--out", "RUN/recipe.json/x"], "Not a directory"),
    "empty folder": (["train", "--corpus", "."], "has training text in no language"),
    "evaluate nothing": (["evaluate", "nowhere"], "nowhere holds no run"),
    "checkpoint": (["translate", "UNTRAINED", "Hallo"], "the run has not saved it yet"),
    "too long": (["translate", "RUN", "eins " * 3000], "the model takes 1024: shorten it"),
    "schedule": (["resume", "WARM", "--steps", "10"], "warmup=10 must be below total=10"),
    "unknown prefix": (
        ["translate", "RUN", "eins", "--prefix", "eins neun"],
        "prefix is 'eins neun', the vocabulary must know all its tokens: it does not know 'neun'.",
    ),
    "own modules": (
        ["translate", "RUN", "eins", "--package", "own", "--workers", "2"],
        "workers is 2, it must be 1 with --package.",
    ),
    "other bytes": (["translate", "RUN", "x\udcff"], "is not UTF-8 text."),
    "other bytes of a prefix": (["translate", "RUN", "x", "--prefix", "\udcff"], "is not UTF-8"),
    "other bytes of a path": (["train", "--out", "o\udcff"], "is not UTF-8 text."),
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


BAD_LINES = [
    (b"f\xfcnf eins", "is not UTF-8 text"),
    (b" \t", "has only white space"),
    ("한국어 文".encode(), "has no token that the vocabulary knows"),
    (
        b"eins " * 3000,
        "has 3001 tokens with its end symbol, the model takes 1024: shorten it, "
        "or train with a larger max_length",
    ),
    (b"eins " * 30000, "has more than 100,000 bytes"),
]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_bad_line_costs_one_line(trained, end):
    good = [call("translate", trained, text).stdout for text in ("eins zwei", "drei")]
    text = end.join([b"eins zwei", *(line for line, _ in BAD_LINES), b"drei"])
    result = done("translate", trained, stdin=text)
    assert result.stdout == good[0] + "\n" * len(BAD_LINES) + good[1]
    assert good[0].strip()
    assert result.stderr == "".join(
        f"Line {number} {fault}; its translation is empty.\n"
        for number, (_, fault) in enumerate(BAD_LINES, 2)
    )
    several = call("translate", trained, "--beam", 2, "--best", 2, stdin=b" " + end + b"drei")
    assert several.stdout.startswith("\n\n")
    assert len(several.stdout.splitlines()) == 4


def test_a_line_that_is_too_short_for_the_prefix_costs_itself(trained):
    words = "eins zwei " * 28
    room = len(Run.open(trained).vocabularies.tgt.encode(words))
    short, long = "drei", "drei " * 20
    result = done("translate", trained, "--prefix", words, stdin=f"{short}\n{long}\n")
    assert result.stdout.splitlines()[0] == ""
    assert result.stdout.splitlines()[1].startswith(words.strip())
    assert re.fullmatch(
        rf"Line 1 may have a translation of 5\d tokens, and the prefix has {room}; its [^\n]*\n",
        result.stderr,
    )


@pytest.mark.parametrize("text", ["", "eins\n", "\n", "\n\neins", "eins\n\n"])
def test_there_are_as_many_translations_as_lines(trained, text):
    result = done("translate", trained, stdin=text)
    assert len(result.stdout.splitlines()) == len(text.splitlines())
    assert result.stderr == ("" if text else f"{EMPTY}\n")


@pytest.mark.parametrize(("workers", "cores", "ahead"), [(1, 2, 2), (None, 2, 4), (None, 1, 2)])
def test_a_text_is_read_as_it_is_translated(trained, monkeypatch, workers, cores, ahead):
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    monkeypatch.setattr(
        LineTranslator, "by_processes", lambda self, chunks, workers: map(self, chunks)
    )
    monkeypatch.setattr(lines, "CHUNK", 2)
    monkeypatch.setattr(lines, "MANY", 4)
    read = []

    def text():
        for number in range(12):
            read.append(number)
            yield b"eins zwei" if number % 3 else b"\xff"

    translator = LineTranslator(Run.open(trained), Search())
    found = translator.translate(text(), workers)
    first = next(found)
    assert len(read) == ahead
    assert first == Line([""], "is not UTF-8 text")
    rest = list(found)
    assert len(read) == 12
    assert [line.fault is None for line in (first, *rest)] == [n % 3 > 0 for n in range(12)]


class Terminal(io.TextIOWrapper):
    def isatty(self):
        return True


@pytest.mark.parametrize("kind", [io.TextIOWrapper, Terminal])
@pytest.mark.parametrize("broken", [False, True])
def test_progress_is_shown_on_a_terminal_and_never_among_translations(
    trained, monkeypatch, kind, broken
):
    translator = LineTranslator(Run.open(trained), Search())
    out, screen = kind(io.BytesIO()), Terminal(io.BytesIO())
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", BrokenScreen() if broken else screen)
    translate_stream(translator, iter([b"eins", b"\xff", b"zwei"]), workers=1)
    made, shown = (stream.buffer.getvalue().decode() for stream in (out, screen))
    expected = [line.translations for line in translator([b"eins", b"\xff", b"zwei"])]
    assert made.splitlines() == list(chain.from_iterable(expected))
    if not broken:
        assert "Line 2 is not UTF-8 text; its translation is empty.\n" in shown
        assert ("3 lines" in shown) == (kind is not Terminal)


@pytest.mark.slow
def test_processes_give_what_one_gives_until_one_is_killed(trained, monkeypatch):
    monkeypatch.setattr(lines, "CHUNK", 3)
    monkeypatch.setattr(lines, "MANY", 6)
    text = [b"eins zwei", b"\xff", b"drei", b"", b"vier eins drei", b" ", b"zwei"] * 3
    translator = LineTranslator(Run.open(trained), Search(2, best=2))
    alone = list(translator.translate(text, workers=1))
    together = translator.translate(chain(text, killing(), text), workers=2)
    found = []
    with pytest.raises(InputError, match="a process that translates was killed: use --workers 1"):
        found.extend(together)
    assert found == alone[: len(found)]
    assert len(found) >= 7  # each text once
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    begun = []
    monkeypatch.setattr(
        LineTranslator,
        "by_processes",
        lambda self, chunks, workers: begun.append(workers) or map(self, chunks),
    )
    for length, expected in ((5, []), (21, [2])):
        begun.clear()
        assert list(translator.translate(text[:length])) == alone[:length]
        assert begun == expected


def killing():
    """Give no line, but kill the processes that translate."""
    for process in psutil.Process().children(recursive=True):
        if "spawn_main" in " ".join(process.cmdline()):
            process.kill()
    yield from ()


@pytest.mark.slow
def test_processes_that_translate_end_with_the_one_that_began_them(trained):
    command = [sys.executable, "-m", "annotated_transformer", "translate", trained]
    given = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*command, "--workers", "2"], **given) as begun:
        begun.stdin.write(b"eins zwei\n" * 6000)
        begun.stdin.flush()
        assert begun.stdout.readline()  # they are at work, and wait for more
        others = psutil.Process(begun.pid).children(recursive=True)
        assert len(others) >= 2
        begun.kill()
    assert psutil.wait_procs(others, timeout=20)[1] == []


def test_a_reader_that_closes_early_is_no_error(trained, monkeypatch):
    def closed(*args, **kwargs):
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("annotated_transformer.cli.outputs.LineTranslator", closed)
    assert "Error" not in call("translate", trained, "eins").stderr


def test_help():
    said = done("--help").stdout
    for name in ("train", "resume", "translate", "evaluate", "export", "import", "recipes"):
        assert name in said
        text = call(name, "--help").stdout
        assert "RUN" in text or name in ("train", "import", "recipes")
        assert "--device" in text or name in ("export", "import", "recipes")
    assert all(model in call("train", "--help").stdout for model in MODELS)


def test_a_second_run_has_a_folder_of_its_own():
    Path("toy").mkdir()  # which is not taken for the corpus
    for number in (1, 2):
        done("train", "--model", "luong", "--steps", 1)
        assert Path(f"runs/luong-toy-{number}/learning_curve.csv").exists()
    assert Run.open(Path("runs/luong-toy-1")).recipe.corpus == "toy"


@pytest.mark.parametrize("subwords", [0, 300])
def test_attention_to_words_is_scored_against_the_gold_alignment(subwords):
    settings_of("--set", f"subwords={subwords}")
    shown = call("evaluate", "run", "--beam", 1).stdout
    assert "BLEU" in shown
    scored = re.search(r"^AER 0\.\d\d  attention, mean of heads$", shown, re.MULTILINE)
    assert bool(scored) == ("AER" in shown) == (not subwords)


def of_other_processes(folder):
    tensors, progress = load_checkpoint(folder / "checkpoint.safetensors")
    save_checkpoint(folder / "checkpoint.safetensors", tensors, progress | {"processes": 2})


def without_patience(folder):
    recipe = json.loads((folder / "recipe.json").read_text()) | {"patience": 1}
    (folder / "recipe.json").write_text(json.dumps(recipe))
    tensors, progress = load_checkpoint(folder / "checkpoint.safetensors")
    save_checkpoint(folder / "checkpoint.safetensors", tensors, progress | {"waited": 1})


EMPTY = "Standard input is empty: there was nothing to translate."
OTHER_TEXT = "".join(f"eins {i}\tzwei {i}\n" for i in range(60))
IN_THE_WAY = {
    "another number of processes": (of_other_processes, "is trained by 2 processes, it cannot be"),
    "another corpus": (lambda folder: Path("pairs.tsv").write_text("a\tb\n"), "has 0 pairs in"),
    "another text": (lambda folder: Path("pairs.tsv").write_text(OTHER_TEXT), "has changed since"),
    "another table": (
        lambda folder: (folder / "learning_curve.csv").write_text("x"),
        "is not a learning curve",
    ),
    "the end of patience": (without_patience, "stopped early, at step 2: it waited"),
}


@pytest.mark.parametrize(("spoil", "message"), IN_THE_WAY.values(), ids=IN_THE_WAY)
def test_a_refused_resume_leaves_the_recipe_as_it_is(tsv, spoil, message):
    Path("pairs.tsv").write_bytes(tsv.read_bytes())
    call("train", "--model", "luong", "--corpus", "pairs.tsv", "--steps", 2, "--out", "run")
    spoil(Path("run"))
    before = Path("run/recipe.json").read_bytes()
    result = call("resume", "run", "--steps", 4)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert Path("run/recipe.json").read_bytes() == before


def test_a_command_that_is_proposed_can_be_typed_as_it_stands(tsv, tmp_path):
    out = tmp_path / "my runs; it's"
    options = ["--model", "luong", "--corpus", tsv, "--steps", 1, "--out", out]
    trained, again = call("train", *options).stdout, call("train", *options).stderr
    exported = call("export", out, tmp_path / "a copy").stdout
    assert shlex.split(trained)[-3:] == ["translate", str(out), "…"]
    assert shlex.split(again.split("`")[1]) == ["annotated-transformer", "resume", str(out)]
    assert shlex.split(exported)[-3:] == ["translate", str(tmp_path / "a copy"), "…"]


def test_the_version():
    assert call("--version").stdout == f"{__version__}\n"


# --- in a process of its own ----------------------------------------------------------------------


def started(arguments, closed=""):
    """What the true command line says, with some of its streams closed."""
    command = [sys.executable, "-m", "annotated_transformer", *map(str, arguments)]
    line = " ".join(map(shlex.quote, command)) + "".join(f" {number}>&-" for number in closed)
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_no_argument_may_be_other_bytes():
    shown = started(["resume", "x\udcff"])
    assert shown.returncode == 2
    assert re.fullmatch(r"Error: '[^\n]*' is not UTF-8 text\.\n", shown.stderr)


@pytest.mark.slow
def test_what_is_written_is_utf8_whatever_the_locale_says(trained):
    command = [sys.executable, "-m", "annotated_transformer", "translate", trained, "fünf ☃"]
    other = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command, env=other, capture_output=True, check=True)
    assert done.stdout.decode("utf-8") == call("translate", trained, "fünf ☃").stdout
    assert "'☃'" in done.stderr.decode("utf-8")


@pytest.mark.verify
def test_a_locale_without_letters_changes_nothing(trained, tmp_path):
    """Of arguments, of names of files, or of text; nor in the processes that are begun."""
    run = tmp_path / "größe 한"
    shutil.copytree(trained, run)
    command = [sys.executable, "-m", "annotated_transformer", "translate", run]
    bare = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = partial(subprocess.run, env=bare, capture_output=True, check=True)
    expected = call("translate", trained, "fünf ☃").stdout.encode()
    assert done([*command, "fünf ☃"]).stdout == expected
    assert done([*command, "--workers", "2"], input="fünf ☃\n".encode()).stdout == expected


@pytest.mark.verify
def test_without_what_posix_alone_has_a_run_and_a_lesson_are_made(tmp_path):
    sizes = ["--set", "d_model=8", "--set", "d_ff=8"]
    for command in (
        ["train", "--model", "transformer", "--steps", "2", "--out", "run", *sizes],
        ["resume", "run", "--steps", "3"],
        ["translate", "run", "I am a student"],
        ["export", "run", "web", "--to", "web"],
        ["start", "mine"],
        ["lessons", "to do", "05"],
        ["progress", "to do"],
    ):
        program = [sys.executable, Path(__file__).with_name("without_posix.py"), *command]
        subprocess.run(program, cwd=tmp_path, env=os.environ, check=True)
    assert {path.name for path in tmp_path.iterdir()} == {"run", "web", "mine", "to do"}


@pytest.mark.slow
def test_ctrl_c_while_the_program_begins_is_silent(tmp_path):
    """As often as it takes: some come before anything of ours is there."""
    command = [sys.executable, "-m", "annotated_transformer", "train", "--out", tmp_path / "run"]
    for seconds in (0.1, 0.5, 1.5):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as begun:
            time.sleep(seconds)
            begun.send_signal(signal.SIGINT)
            said = begun.communicate(timeout=60)
        assert begun.returncode in (-signal.SIGINT, 130)
        assert not re.search(rb"Traceback|Error", said[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "closed",
    [
        pytest.param("0", marks=pytest.mark.main),  # a whole training, in a process of its own
        *(pytest.param(streams, marks=pytest.mark.verify) for streams in ("2", "02")),
    ],
)
def test_closed_streams_are_as_good_as_empty_ones(trained, tsv, closed):
    """And a whole training, with nothing replaced."""
    sizes = ["--set", "d_model=8", "--set", "hidden_dim=8"]
    options = ["--model", "luong", "--corpus", tsv, "--steps", 2, "--out", "run", *sizes]
    begun = started(["train", *options], closed)
    assert begun.returncode == 0, begun.stderr
    assert "Trained." in begun.stdout
    assert load_progress(Path("run/checkpoint.safetensors"))["steps"] == 2
    nothing = started(["translate", trained], "0" + closed)
    said = "Error: standard input is closed: give a text, or a file with <.\n" * ("2" not in closed)
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (2, "", said)


@pytest.mark.slow
def test_an_output_without_room_is_told_in_one_sentence():
    command = [sys.executable, "-m", "annotated_transformer", "train", "--help"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert re.fullmatch(r"Error: [^\n]*No space left on device[^\n]*\n", done.stderr)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["translate"], "RUN"),
        (["translate", "run", "--workers", "65"], "--workers': '65' should be less than or equal"),
        (["translate", "run", "--nope"], "--nope"),
        (["nope"], "nope"),
    ],
)
def test_a_wrong_use_is_told_in_one_sentence(arguments, names):
    result = call(*arguments)
    assert result.exit_code == 2
    assert re.fullmatch(rf"Error: [^\n]*{names}[^\n]*\n", result.stderr)


def test_without_the_workbook_one_sentence_says_what_to_install(tmp_path):
    program = (
        "import importlib.metadata, importlib.util, sys\n"
        "importlib.metadata.entry_points = lambda **_: ()\n"
        "importlib.util.find_spec = lambda name: None\n"
        "from annotated_transformer.cli import main\n"
        "for arguments in (['check', 'mine'], ['translate', 'run', '--package', 'mine']):\n"
        "    sys.argv[1:] = arguments\n"
        "    try:\n"
        "        main()\n"
        "    except SystemExit as ended:\n"
        "        assert ended.code == 2\n"
        "assert not any(module.startswith('transformer_workbook') for module in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stderr == "".join(
        f"Error: {name} comes with the package transformer_workbook, which is not installed here: "
        "pip install annotated-transformer.\n"
        for name in ("check", "--package")
    )


def test_what_the_vocabulary_does_not_know_is_said_beside_the_translation(trained):
    result = call("translate", trained, "eins wolke zwei mond wolke")
    assert result.stderr == "Unknown to the vocabulary: 'wolke', 'mond'.\n"
    assert result.stdout
    result = call("translate", trained, stdin="eins\nzwei wolke\n☃")
    assert result.stderr.splitlines() == [
        "Line 2: unknown to the vocabulary: 'wolke'.",
        "Line 3 has no token that the vocabulary knows; its translation is empty.",
    ]


class Upper(LineTranslator):
    """Translates into capitals, and cannot translate what has a star."""

    def whole(self, lines):
        texts = [line.decode(errors="replace") for line in lines]
        return [
            Line([""], "has a star") if "*" in text else Line([text.upper()], None, ("x",))
            for text in texts
        ]


def test_a_line_is_split_into_sentences(trained):
    upper = Upper(Run.open(trained), Search(), split="de")
    for line, translation in {
        "Herr Dr. Eins kam.  Am 3. Mai? Ja!": "HERR DR. EINS KAM. AM 3. MAI? JA!",
        ">>fra<< Eins. Zwei.": ">>FRA<<EINS. >>FRA<<ZWEI.",
        "": "",
    }.items():
        assert upper([line.encode()]) == [Line([translation], None, ("x",))]
    assert upper([b"Eins. Zw*i. Drei."]) == [Line([""], "has a star")]
    done = call("translate", trained, "eins zwei", "--split-sentences", "de")
    assert (done.exit_code, done.stdout) == (0, call("translate", trained, "eins zwei").stdout)
    assert [
        line.fault
        for line in LineTranslator(Run.open(trained), Search(), split="de")(
            [b"eins\0zwei. drei", b"eins. zwei" * 20_000, b"eins. \xff", b""]
        )
    ] == [
        "contains a NUL character (it may be UTF-16)",
        "has more than 100,000 bytes",
        "is not UTF-8 text",
        None,
    ]
    for more, told in {
        ("--split-sentences", "german"): "the language is 'german', it must be",
        (
            "--split-sentences",
            "de",
            "--beam",
            "2",
            "--best",
            "2",
        ): "best is 2: with lines",
    }.items():
        assert told in call("translate", trained, "eins", *more).stderr


def test_a_text_of_several_lines_and_the_name_of_a_file_are_noticed(trained, tmp_path):
    result = call("translate", trained, "eins\nzwei")
    assert "Error: the text has 2 lines, it must be one sentence: several come" in result.stderr
    (tmp_path / "eins").write_text("zwei")
    assert (
        "is a file; its name was translated" in call("translate", trained, tmp_path / "eins").stderr
    )
    result = call("translate", trained, "- eins")
    assert "A text that begins with a dash comes after --." in result.stderr
    assert call("translate", trained, "--", "- eins").exit_code == 0


def test_pairs_that_were_trained_on_are_counted(trained, tsv, tmp_path):
    path = tmp_path / "twice.tsv"
    lines = tsv.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*lines, *lines]) + "\n", encoding="utf-8")
    folder = tmp_path / "folder"
    folder.mkdir()
    pairs = [line.split("\t") for line in lines[:6]]
    for name in ("train", "val", "test"):
        for side, language in enumerate(("src", "tgt")):
            text = "".join(f"{pair[side]}\n" for pair in pairs[:3])
            (folder / f"{name}.{language}").write_text(text, encoding="utf-8")
    result = call("evaluate", trained, "--corpus", folder, "--beam", 1)
    assert "3 of 3 different pairs in test are also in train." in result.stderr
    assert "also in train" not in call("evaluate", trained, "--beam", 1).stderr


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_recipe_may_have_a_mark_of_its_bytes(tmp_path, monkeypatch, encoding):
    monkeypatch.chdir(tmp_path)
    Path("mine.json").write_text('{"steps": "many"}', encoding=encoding)
    assert "steps is 'many'" in call("train", "--recipe", "mine.json").stderr
    assert "there is no file 'no.json'" in call("train", "--recipe", "no.json").stderr
