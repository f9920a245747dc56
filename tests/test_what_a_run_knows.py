"""What a run knows, every command takes from there: languages, vocabulary, what kind of model."""

import csv
import re
import shutil
import sys
import unicodedata

import pytest
import torch
import typer
from typer.testing import CliRunner

from annotated_transformer.cli import app
from annotated_transformer.corpora import load_corpus
from annotated_transformer.ground.errors import InputError
from annotated_transformer.run import Run, recipe_of
from annotated_transformer.run.checkpoint import load_checkpoint
from annotated_transformer.text.cleaning import clean
from annotated_transformer.tokens import UNK

SMALL = [part for size in ("d_model=8", "num_layers=1", "num_heads=2", "d_ff=8", "max_length=24")
         for part in ("--set", size)]  # fmt: skip
NOUNS = {"cat": "고양이", "dog": "개", "robot": "로봇", "cake": "빵"}
PAIRS = [(f"{a} sees {b} {i}", f"{NOUNS[a]} {NOUNS[b]} 보다 {i}")
         for a in NOUNS for b in NOUNS for i in range(9)]  # fmt: skip


def call(*arguments, stdin=None):
    return CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)


def write(folder, pairs, names=("en", "ko")):
    """A folder of a corpus: the last ten pairs are val, the ten before them test."""
    folder.mkdir()
    splits = {"train": pairs[:-20], "test": pairs[-20:-10], "val": pairs[-10:]}
    for split, part in splits.items():
        for side, name in enumerate(names):
            text = "".join(f"{pair[side]}\n" for pair in part)
            (folder / f"{split}.{name}").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A corpus, a run from Korean to English, and one that continues text of a plain file."""
    place = tmp_path_factory.mktemp("place")
    texts = write(place / "texts", PAIRS)
    (place / "input.txt").write_text("".join(f"{en}\n\n" for en, _ in PAIRS), encoding="utf-8")
    given = ["--recipe", "tiny", "--steps", 2, *SMALL]
    ways = {"run": [texts, "--languages", "ko-en"],
            "alone": [place / "input.txt", "--model", "language"]}  # fmt: skip
    for name, corpus in ways.items():
        made = call("train", "--corpus", *corpus, "--out", place / name, *given)
        assert made.exit_code == 0, made.output
    return place


# --- languages ------------------------------------------------------------------------------------


def test_where_nothing_says_the_direction_it_is_asked_for(place, tmp_path):
    tsv = tmp_path / "pairs.tsv"
    tsv.write_text("".join(f"{ko}\t{en}\n" for en, ko in PAIRS), encoding="utf-8")
    run = tmp_path / "run"
    given = ["--recipe", "tiny", "--steps", 1, *SMALL]
    assert call("train", "--corpus", tsv, "--out", run, *given).exit_code == 0
    said = "does not know its languages, and .*texts has en and ko: give --languages SRC-TGT"
    for command in (["train", "--from"], ["evaluate"]):
        asked = [*command, run, "--corpus", place / "texts"]
        refused = call(*asked, *(["--out", tmp_path / "no"] if command[0] == "train" else []))
        assert (refused.exit_code, bool(re.search(said, refused.output))) == (2, True)
    found = call("evaluate", run, "--corpus", place / "texts", "--languages", "ko-en", "--force")
    assert found.exit_code == 0, found.output
    assert "sentences, ko-en" in found.stdout


def test_a_fine_tuning_goes_on_with_the_text_of_its_start(place, tmp_path):
    for start in ("run", "alone"):
        made = call("train", "--from", place / start, "--steps", 1, "--out", tmp_path / start)
        assert made.exit_code == 0, made.output
        before, after = (Run.open(where / start).recipe for where in (place, tmp_path))
        assert (after.corpus, after.languages) == (before.corpus, before.languages)


OPENING = {
    "train": ("--from", "RUN", "--out", "OUT", "--steps", "1"),
    "resume": ("RUN", "--steps", "3"),
    "evaluate": ("RUN", "--beam", "1"),
}
"""The commands that open a run and a corpus, and how."""


def commands(*wanted):
    """The commands with these options or arguments, as the program has them."""
    found = typer.main.get_command(app).commands.items()
    return {name for name, command in found
            if {*wanted} <= {parameter.name for parameter in command.params}}  # fmt: skip


def test_no_command_that_opens_a_run_and_a_corpus_is_forgotten():
    assert commands("run", "corpus") | commands("start", "corpus") == set(OPENING)
    assert commands("languages") == {"train", "evaluate", "import"}
    assert commands("force") == {"train", "evaluate"}


@pytest.mark.parametrize("command", OPENING)
def test_the_direction_is_that_of_the_run(command, place, tmp_path):
    """By the alphabet, it would be from English to Korean."""
    out = tmp_path / "out"
    words = {"RUN": str(place / "run"), "OUT": str(out)}
    given = [command, *(words.get(word, word) for word in OPENING[command])]
    given += ["--corpus", str(place / "texts")]
    for languages in (["--languages", "ko-en"] * (command in commands("languages")), []):
        done = call(*given, *languages)
        assert done.exit_code == 0, done.output
        head = (done.stdout if command == "evaluate" else done.stderr).splitlines()[0]
        assert re.match(rf"{place}/texts (train|test): .*\bko-en, ", head)
        if out.exists():
            assert Run.open(out).recipe.languages == "ko-en"
            shutil.rmtree(out)
    if command in commands("languages"):
        other = call(*given, "--languages", "en-ko")
        assert re.fullmatch(r"Error: .*en-ko.*ko-en[^\n]*\n", other.stderr)
        assert (other.exit_code, out.exists()) == (2, False)
    fixed = call(*given[:-1], "toy")  # it has no other direction than its own
    assert re.fullmatch(r"Error: .*ko-en[^\n]*\n", fixed.stderr) or command == "resume"
    assert (fixed.exit_code, out.exists()) == (2, False)


def test_functions_refuse_other_languages_too(place, tmp_path):
    run, other = Run.open(place / "run"), load_corpus(str(place / "texts"))
    with pytest.raises(InputError, match="is read in en-ko, the model needs ko-en"):
        run.evaluate(other, "test")
    with pytest.raises(InputError, match="is read in en-ko, the model needs ko-en"):
        Run.create(tmp_path / "new", recipe_of("finetune", None, "x"), other, start=run)
    exported = run.export(tmp_path / "small")
    assert Run.open(exported.folder).recipe.languages == "ko-en"


# --- unknown tokens -------------------------------------------------------------------------------


def of_unknown(run, corpus, split):
    """The shares of unknown tokens, counted one by one."""
    for side, vocabulary in zip(corpus.sides(split), run.vocabularies, strict=True):
        ids = [i for text in side for i in vocabulary.encode(text)]
        yield f"{sum(i == UNK for i in ids) / len(ids):.0%}"


def test_unknown_tokens_are_told_before_the_first_step(place, tmp_path):
    run = Run.open(place / "run")
    some = [(f"{en} wolf" if i % 3 else en, ko) for i, (en, ko) in enumerate(PAIRS)]
    corpus = str(write(tmp_path / "some", some))
    start = call("train", "--from", place / "run", "--corpus", corpus, "--out", tmp_path / "new",
                 "--steps", 1)  # fmt: skip
    scored = call("evaluate", place / "run", "--corpus", corpus)
    told = start.stderr.partition("step/s")[0] + scored.stderr
    for split in ("train", "val", "test"):
        src, tgt = of_unknown(run, load_corpus(corpus, "ko-en"), split)
        assert (src, tgt != "0%") == ("0%", True)
        line = f"{src} of the source's and {tgt} of the target's tokens in {split} are unknown"
        assert line in told
    curly = call("translate", place / "run", "고양이’s 개 보다").stderr
    assert curly == "Unknown to the vocabulary: '고양이’s'.\n"
    same = call("evaluate", place / "run", "--corpus", place / "texts").stderr
    assert "unknown" not in same


def test_text_that_is_mostly_unknown_is_used_by_force_alone(place, tmp_path):
    odd = write(tmp_path / "odd", [(f"Hund Baum{i}", f"chien arbre{i}") for i in range(40)])
    new = write(tmp_path / "mixed", [*PAIRS, *[(f"x{i}", f"y{i}") for i in range(10)]])
    tune = ["train", "--from", place / "run", "--corpus", odd, "--set", "peak_rate=0.1",
            "--steps", 60, "--out", tmp_path / "tuned"]  # fmt: skip
    fresh = ["train", "--corpus", new, "--recipe", "tiny", "--steps", 1, "--out", tmp_path / "new"]
    score = ["evaluate", place / "run", "--corpus", odd, "--beam", 1]
    for given, split in ((tune, "train"), (fresh, "val"), (score, "test")):
        refused = call(*given)
        assert re.fullmatch(
            rf"Error: 100% of the source's and 100% of the target's tokens in {split} are unknown "
            r"to the vocabulary, at most 50% may be: [^\n]*--force\.\n", refused.stderr
        )  # fmt: skip
        assert refused.exit_code == 2
    assert not (tmp_path / "tuned").exists()
    assert not (tmp_path / "new").exists()
    assert call(*tune, "--force").exit_code == call(*score, "--force").exit_code == 0
    said = call("translate", tmp_path / "tuned", "개 보다", "--beam", 1)
    assert said.stdout.split() == ["<unk>"] * len(said.stdout.split()) != []
    assert said.stderr == "The translation is only <unk>, the token of unknown words.\n"
    assert "Line 1: the tran" in call("translate", tmp_path / "tuned", stdin="개 보다\n").stderr


# --- a model of text alone ------------------------------------------------------------------------


def test_a_plain_text_file_is_split_by_its_lines(place):
    corpus = load_corpus(str(place / "input.txt"))
    lines = [(en,) for en, _ in PAIRS]
    few = len(lines) // 20
    assert list(corpus.split("train")) == lines[: -2 * few]
    assert list(corpus.split("val")) == lines[-2 * few : -few]
    assert list(corpus.split("test")) == lines[-few:]
    assert corpus.place("val", 0).endswith(f"input.txt, line {2 * (len(lines) - 2 * few) + 1:,}")
    assert load_corpus(str(place / "input.txt"), "en").languages == ("en",)
    with pytest.raises(InputError, match="line 1: 1 columns, 2"):
        list(load_corpus(str(place / "input.txt"), "en-ko").split("train"))
    (place / "short.txt").write_text("one\ntwo\n")
    with pytest.raises(InputError, match=r"has 0 sentences in its split 'train', it needs some: t"):
        load_corpus(str(place / "short.txt")).split("train")


def test_what_is_said_of_a_model_of_text_alone_fits_it(place, tmp_path):
    alone = place / "alone"
    exported = call("export", alone, tmp_path / "small").stdout
    assert exported.endswith(f' Try: annotated-transformer generate {tmp_path}/small "…"\n')
    scored = call("evaluate", alone).stdout.splitlines()
    assert scored[0] == f"{place}/input.txt test: {len(PAIRS) // 20} sentences, text"
    assert [line.split()[0] for line in scored[1:]] == ["perplexity"]
    refused = {
        ("translate", alone, "cat"): "does not translate: `annotated-transformer generate",
        ("evaluate", alone, "--corpus", place / "texts"): "read in en-ko, the model needs one lan",
        ("generate", alone, "cat wolf"): "it does not know 'wolf'",
        ("generate", alone, "cat\ndog"): "the prompt has 2 lines, it must be one sentence",
        ("generate", alone, "cat " * 600): "the prompt has 600 tokens, the model takes 24.",
        ("train", "--corpus", place / "input.txt"): "needs model 'language'|two columns",
        ("train", "--corpus", place, "--model", "language"): "train.en and val.en",
        ("train", "--from", alone, "--corpus", place / "texts"): "the model needs one language",
    }
    for given, message in refused.items():
        said = call(*given)
        assert re.fullmatch(rf"Error: .*({message})[^\n]{{0,120}}\n", said.stderr)
        assert (said.stdout, said.exit_code) == ("", 2)
    assert call("evaluate", alone, "--corpus", place / "texts", "--languages", "en").exit_code == 0


def test_prompts_come_from_standard_input_a_line_each(place):
    alone, length = place / "alone", ["--length", 3]
    one = [call("generate", alone, text, *length).stdout for text in ("cat", "", "dog sees")]
    said = call("generate", alone, *length, stdin=b"cat\n\nwolf cat\ndog sees")
    assert said.stdout == "".join([*one[:2], "\n", one[2]])
    assert re.fullmatch(r"Line 3: .* does not know 'wolf'\. Its text is empty\.\n", said.stderr)
    assert said.exit_code == 0
    assert call("generate", alone, *length, stdin=b"").stdout == one[1]
    assert "is not UTF-8 text" in call("generate", alone, *length, stdin=b"\xff\n").stderr


# --- a training that goes on from another ---------------------------------------------------------


def test_a_training_that_gets_worse_keeps_its_start_and_says_so(place, tmp_path):
    given = ["train", "--from", place / "run", "--corpus", place / "texts", "--steps", 8,
             "--set", "validate_every=2", "--set", "average_decay=0"]  # fmt: skip
    for rate, better in ((9.0, False), (1e-2, True)):
        out = tmp_path / f"{rate}"
        said = call(*given, "--out", out, "--set", f"peak_rate={rate}")
        rows = list(csv.DictReader((out / "learning_curve.csv").read_text().splitlines()))
        assert [row["step"] for row in rows] == ["0", "2", "4", "6", "8"]
        assert [rows[0][name] for name in ("rate", "train_loss", "gradient_norm")] == [""] * 3
        first, *others = (float(row["val_perplexity"]) for row in rows)
        assert (min(others) < first) == better
        told = f"No validation was better than the start, of perplexity {first:.4g}: "
        assert (told in said.stderr) != better
        start, kept = (load_checkpoint(Run.open(run).weights)[0] for run in (place / "run", out))
        assert all(torch.equal(start[name], kept[name]) for name in start) != better
    worse = Run.open(tmp_path / "9.0")
    worse.weights.unlink()  # they are made again from the start
    call("resume", worse.folder)
    again, _ = load_checkpoint(worse.weights)
    assert all(torch.equal(start[name], again[name]) for name in start)


def test_pairs_of_the_training_in_other_splits_are_counted_before_it(tmp_path):
    twice = write(tmp_path / "texts", [*PAIRS, *PAIRS[:15]])
    said = call("train", "--corpus", twice, "--recipe", "tiny", "--steps", 1, *SMALL)
    assert "5 of 10 different pairs in test are also in train." in said.stderr
    assert "10 of 10 different pairs in val are also in train." in said.stderr


# --- text -----------------------------------------------------------------------------------------


def test_a_line_in_which_nothing_shows_is_empty(tmp_path):
    """Every mark and every invisible character of Unicode, and the fillers."""
    every = [chr(i) for i in range(sys.maxunicode + 1)]
    unseen = [c for c in every if unicodedata.category(c) in ("Mn", "Mc", "Me", "Cf", "Zs")]
    unseen += ["\u115f\u1160", "\u2800", "\u3164", "\uffa0", "\U000e0041\U000e01f5"]
    assert [c for c in unseen if clean(c) or clean(f" {c}\u200d {c}\ufe0f")] == []
    for text in ("क्ष", "❤️", "👩‍👩‍👧", "é", "می‌خواهم", "ᄒ", "0", "…", "\U0001fae9"):
        assert clean(text) == unicodedata.normalize("NFC", text)
    pairs = [*PAIRS, ("\u200d\ufe0f", "개"), ("cat", "\u2800")]
    folder = write(tmp_path / "texts", pairs)
    assert list(load_corpus(str(folder)).split("val")) == PAIRS[-8:]


def test_what_is_wrong_with_a_folder_is_named(tmp_path):
    folder = write(tmp_path / "texts", PAIRS)
    with (folder / "train.en").open("a") as file:
        file.write("\x1a")
    with pytest.raises(InputError, match=rf"which has {len(PAIRS) - 20}: .* line is '\\x1a'\.$"):
        list(load_corpus(str(folder)).split("train"))
    (folder / "train.en").rename(folder / "train.en.GZ")
    with pytest.raises(InputError, match=r"train\.en\.GZ is compressed: .*, or let it end in \.gz"):
        load_corpus(str(folder))
