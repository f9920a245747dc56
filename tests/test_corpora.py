import bz2
import gzip
import hashlib
import io
import lzma
import os
import shutil
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain
from pathlib import Path
from threading import Thread

import pytest

from annotated_transformer import corpora, toy
from annotated_transformer.corpora import (
    Corpus,
    cache,
    drawn,
    load_corpus,
    multi30k,
    read_folder,
    read_tsv,
)
from annotated_transformer.corpora.multi30k import (
    DATA_VARIABLE,
    multi30k_folder,
)
from annotated_transformer.ground.errors import InputError
from annotated_transformer.toy import EXAMPLES, toy_corpus

TEXT = {
    "train.de": "Grüße!\nEin Hund läuft.\n\nZwei Katzen\n",
    "train.en": "Greetings!\nA dog runs.\n\nTwo cats\n",
    "val.de": "Eins\n",
    "val.en": "One\n",
    "test_2016_flickr.de": "Zwei\n",
    "test_2016_flickr.en": "Two\n",
}
TRAIN = [("Grüße!", "Greetings!"), ("Ein Hund läuft.", "A dog runs."), ("Zwei Katzen", "Two cats")]


def zipped_alone(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("text", content)
    return file.getvalue()


def write(folder, texts, zipped=False):
    folder.mkdir(exist_ok=True, parents=True)
    for name, text in texts.items():
        content = text.encode()
        path = folder / (name + ".gz" if zipped else name)
        path.write_bytes(gzip.compress(content, mtime=0) if zipped else content)
    return folder


@pytest.mark.parametrize("zipped", [False, True])
def test_a_folder(tmp_path, zipped):
    folder = write(tmp_path / "texts", TEXT | {"README.md": "about", "notes": "x"}, zipped)
    corpus = load_corpus(str(folder))
    assert corpus.name == str(folder)
    assert corpus.languages == ("de", "en")
    assert list(corpus.split("train")) == TRAIN
    assert list(corpus.split("train")) == TRAIN  # as often as one likes
    assert corpus.sides("train") == ([s for s, _ in TRAIN], [t for _, t in TRAIN])
    assert corpus.splits.keys() == {"train", "val", "test_2016_flickr"}
    assert corpus.test_split == "test_2016_flickr"
    turned = load_corpus(str(folder), "en-de")
    assert turned.languages == ("en", "de")
    assert list(turned.split("train")) == [(target, source) for source, target in TRAIN]


def test_line_ends_and_byte_order_marks_are_no_text(tmp_path):
    windows = {name: "\ufeff" + text.replace("\n", "\r\n") for name, text in TEXT.items()}
    assert list(read_folder(write(tmp_path, windows)).split("train")) == TRAIN


def test_languages_are_chosen_among_several(tmp_path):
    folder = write(tmp_path, TEXT | {"train.fr": "Salut !\nUn chien\n\nDeux chats\n"})
    first, *_ = read_folder(folder, "fr-en").split("train")
    assert first == ("Salut !", "Greetings!")
    with pytest.raises(InputError, match=r"has training text in de, en, fr: .*\(here None\)"):
        read_folder(folder)


def test_one_language_of_a_folder_is_a_corpus_of_sentences_without_a_source(tmp_path):
    corpus = load_corpus(str(write(tmp_path, TEXT)), "en")
    assert corpus.languages == ("en",)
    assert list(corpus.split("train")) == [(target,) for _, target in TRAIN]
    assert corpus.sides("val") == (["One"],)
    assert corpus.place("train", 2) == f"{tmp_path / 'train.en'}, line 4"
    other = load_corpus(str(tmp_path), "de")
    assert other.checksum not in (corpus.checksum, load_corpus(str(tmp_path)).checksum)
    (tmp_path / "train.en").write_text("One more\n")  # no longer as many lines as in German
    assert list(corpus.split("train")) == [("One more",)]


def test_the_toy_corpus_is_drawn_again_only_by_another_grammar(tmp_path, monkeypatch):
    small, drawing = toy_corpus(pairs=40), []
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(toy, "toy_corpus", lambda: drawing.append(1) or small)
    grammar = Path(shutil.copytree(drawn.GRAMMAR, tmp_path / "toy"))
    monkeypatch.setattr(drawn, "GRAMMAR", grammar)
    assert [drawn.toy_corpus() for _ in range(3)] == [small] * 3
    assert len(drawing) == 1
    words = grammar / "lexicon.py"
    words.write_text(words.read_text(encoding="utf-8").replace("student", "pupil"), "utf-8")
    assert [drawn.toy_corpus() for _ in range(2)] == [small] * 2
    assert len(drawing) == 2
    for kept in (tmp_path / "cache" / "toy").iterdir():
        kept.write_bytes(kept.read_bytes().replace(b"robot", b"robat"))
    assert drawn.toy_corpus() == small
    assert len(drawing) == 3
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_CACHE", os.devnull)
    assert drawn.toy_corpus() == small


def test_one_language_of_the_toy_corpus(monkeypatch):
    small = toy_corpus(pairs=40)
    monkeypatch.setattr(corpora, "toy_corpus", lambda: small)
    pairs = load_corpus("toy")
    for side, language in enumerate(pairs.languages):
        alone = load_corpus("toy", language)
        assert list(alone.split("val")) == [(pair[side],) for pair in pairs.split("val")]
        assert alone.alignments == {}


def test_a_language_is_not_translated_into_itself(tmp_path):
    message = "languages is 'de-de', source and target must be different"
    with pytest.raises(InputError, match=message):
        read_folder(write(tmp_path, TEXT), "de-de")
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    with pytest.raises(InputError, match=message):
        load_corpus(str(tmp_path / "pairs.tsv"), "de-de")


@pytest.mark.parametrize("languages", ["nonsense", "de-", "-en", ""])
def test_the_languages_of_a_tsv_file_are_two(tmp_path, languages):
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    with pytest.raises(InputError, match=f"languages is '{languages}', it must be SRC-TGT"):
        load_corpus(str(tmp_path / "pairs.tsv"), languages)


def test_a_folder_that_cannot_be_read_as_pairs_is_told(tmp_path):
    for languages in ("de-fr", "fr", "deen", ""):
        message = rf"text in de, en: .* \(here '{languages}'\) as SRC-TGT"
        with pytest.raises(InputError, match=message):
            read_folder(write(tmp_path / "texts", TEXT), languages)
    with pytest.raises(InputError, match="has training text in no language"):
        read_folder(write(tmp_path / "none", {"val.de": "Eins\n", "val.en": "One\n"}))
    write(tmp_path / "texts", {"train.de.gz": "eins\n"})
    with pytest.raises(InputError, match=r"has both train\.de and train\.de\.gz: keep the one"):
        read_folder(tmp_path / "texts")


@pytest.mark.parametrize("longer", ["de", "en"])
def test_files_of_different_length(tmp_path, longer):
    folder = write(tmp_path, TEXT | {f"val.{longer}": "One\nTwo\nThree\n"})
    shorter = {"de": "en", "en": "de"}[longer]
    message = rf"/val\.{longer} has more lines than .*/val\.{shorter}, which has 1: line by line"
    with pytest.raises(InputError, match=message):
        list(read_folder(folder).split("val"))
    blank = write(tmp_path / "blank", {"train.de": "Eins\n\n", "train.en": "One\n"})
    with pytest.raises(InputError, match=r"train\.de has more lines than .*en, which has 1"):
        list(read_folder(blank).split("train"))


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    corpus, other = read_folder(write(tmp_path, TEXT)), "Ein Hund\tx\nGrüße!\tx".encode("latin-1")
    (tmp_path / "train.de").write_bytes(other)
    with pytest.raises(InputError, match=r"train\.de, line 2 cannot be read as UTF-8 text"):
        list(corpus.split("train"))
    (tmp_path / "pairs.tsv").write_bytes(other)
    with pytest.raises(InputError, match=r"pairs\.tsv, line 2 cannot be read as UTF-8 text"):
        list(read_tsv(tmp_path / "pairs.tsv").split("train"))
    (tmp_path / "pairs.tsv").write_bytes("a\tb\n".encode("utf-16"))
    with pytest.raises(InputError, match=r"pairs\.tsv is UTF-16 text, it must be UTF-8"):
        list(read_tsv(tmp_path / "pairs.tsv").split("train"))
    (tmp_path / "val.de").unlink()
    with pytest.raises(InputError, match=r"val\.de cannot be read \(.*No such file"):
        list(corpus.split("val"))


def test_a_split_is_read_line_by_line_and_only_when_it_is_asked_for(tmp_path):
    folder = write(tmp_path, TEXT | {"val.en": "One\nTwo\n"})
    corpus = read_folder(folder)  # what is wrong with val has no bearing on train
    assert list(corpus.split("train")) == TRAIN
    pairs = iter(corpus.split("val"))
    assert next(pairs) == ("Eins", "One")
    with pytest.raises(InputError, match="has more lines than"):
        next(pairs)
    (folder / "train.de").write_text("Eins\n")
    (folder / "train.en").write_text("One\n")
    assert list(corpus.split("train")) == [("Eins", "One")]


@pytest.mark.parametrize("name", ["train.de", "pairs.tsv"])
def test_a_word_that_is_none_is_refused_with_its_line(tmp_path, name):
    path, longest = tmp_path / name, "x" * 10_000
    end = "\ty" if path.suffix == ".tsv" else ""
    long = " ".join([longest] * 3)
    path.write_text(f"a{end}\n{long}{end}\nb{end}\n")
    path.with_suffix(".en").write_text("y\n" * 3)

    def read():
        corpus = load_corpus(str(path if path.suffix == ".tsv" else tmp_path))
        return [pair for split in corpus.splits.values() for pair in split]

    assert len(read()) == 3
    path.write_text(f"a{end}\n{long}x{end}\nb{end}\n")
    with pytest.raises(
        InputError, match=rf"{name}, line 2: a word has 10,001 characters, it must have at"
    ):
        read()


def test_the_checksum_is_that_of_what_a_training_sees(tmp_path):
    plain = read_folder(write(tmp_path / "plain", TEXT))
    lines = [f"train\t{s}\t{t}\n" for s, t in TRAIN] + ["val\tEins\tOne\n"]
    assert plain.checksum == hashlib.sha256("".join(lines).encode()).hexdigest()
    zipped = read_folder(write(tmp_path / "zipped", TEXT, zipped=True))
    other_test = TEXT | {"test_2016_flickr.de": "Drei\n"}
    others = [
        TEXT | {"train.de": TEXT["train.de"].replace("Hund", "Hase")},
        TEXT | {"val.en": "Two\n"},
        TEXT | {"train.de": TEXT["val.de"], "train.en": TEXT["val.en"]},
    ]
    assert zipped.checksum == plain.checksum
    assert read_folder(write(tmp_path / "test", other_test)).checksum == plain.checksum
    sums = {read_folder(write(tmp_path / str(i), t)).checksum for i, t in enumerate(others)}
    assert len(sums | {plain.checksum}) == 4
    assert read_folder(tmp_path / "plain", "en-de").checksum != plain.checksum
    odd = [("a\tb", "c"), ("a", "b\tc"), ("a\0tb", "c"), ("a", "b\ntrain\tc"), ("a\0", "tb\0tc")]
    split = [Corpus("own", ("a", "b"), {"train": [pair], "val": [("d", "e")]}) for pair in odd]
    assert len({corpus.checksum for corpus in split}) == len(odd)
    without = read_folder(write(tmp_path / "without", {k: TEXT[k] for k in list(TEXT)[:2]}))
    with pytest.raises(InputError, match="has no split 'val'"):
        _ = without.checksum


def test_every_single_byte_of_an_archive_counts(tmp_path):
    folder = write(tmp_path, TEXT, zipped=True)
    whole = (folder / "train.en.gz").read_bytes()
    flipped = [bytearray(whole) for _ in range(10, len(whole))]
    for i, damaged in enumerate(flipped, 10):  # the ten bytes before are the header
        damaged[i] ^= 0xFF
    for damaged in (*flipped, whole[:-9], b"A dog\n"):
        (folder / "train.en.gz").write_bytes(damaged)
        with pytest.raises(
            InputError, match=r"train\.en\.gz(, line \d)? (cannot be read|contains)"
        ):
            list(read_folder(folder).split("train"))


def test_splits_that_are_not_there(tmp_path):
    empty = {"val.de": "\n", "val.en": "\n"}
    corpus = read_folder(write(tmp_path, {k: TEXT[k] for k in ("train.de", "train.en")} | empty))
    with pytest.raises(InputError, match=r"has no split 'dev'; it has train, val\."):
        corpus.split("dev")
    with pytest.raises(InputError, match="has 0 pairs in its split 'val'"):
        corpus.split("val")
    with pytest.raises(InputError, match="has no test split; it has train, val"):
        _ = corpus.test_split


def tsv(path, lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_tsv_file(tmp_path):
    pairs = [(f"Quelle {i}", f"target {i}") for i in range(400)]
    lines = [f"{s}{' ' * (i % 2)}\t{t}" for i, (s, t) in enumerate(pairs + pairs)]
    corpus = load_corpus(str(tsv(tmp_path / "pairs.tsv", [*lines, "", ""])), "de-en")
    assert corpus.languages == ("de", "en")
    assert sorted(chain(*corpus.splits.values())) == sorted(pairs + pairs)
    sizes = {name: len(list(split)) for name, split in corpus.splits.items()}
    assert sum(sizes.values()) == 800
    assert all(20 <= sizes[name] <= 60 for name in ("val", "test"))
    sources = {name: {source for source, _ in split} for name, split in corpus.splits.items()}
    assert not sources["train"] & (sources["val"] | sources["test"])
    assert not sources["val"] & sources["test"]


@pytest.mark.parametrize(
    ("line", "columns"), [("one", "1"), ("a\tb\tc", "3"), ("a\t", "1"), ("\ta", "2")]
)
def test_a_tsv_line_without_two_columns(tmp_path, line, columns):
    path = tsv(tmp_path / "pairs.tsv", ["a\tb", "", line])
    message = rf"line 3: {columns} columns, 2 with text are needed"
    if line == "one":
        message += "; a file whose first line has a tab is one of pairs"
    if columns == "3":  # often a licence
        message += r".*: `cut -f1,2 pairs\.tsv > two\.tsv`"
    for split in read_tsv(path).splits.values():
        with pytest.raises(InputError, match=message):
            list(split)


@pytest.mark.parametrize("lines", [["a\tb"], []])
def test_a_tsv_file_that_is_too_small(tmp_path, lines):
    corpus = read_tsv(tsv(tmp_path / "pairs.tsv", lines))
    sizes = {name: len(list(pairs)) for name, pairs in corpus.splits.items()}
    assert sum(sizes.values()) == len(lines)
    for name in (name for name, size in sizes.items() if not size):
        with pytest.raises(InputError, match=rf"pairs\.tsv has 0 pairs in its split '{name}'"):
            corpus.split(name)
    with pytest.raises(InputError, match="has 0 pairs in its split"):
        _ = corpus.checksum
    with pytest.raises(InputError, match="0 pairs in its split 'val', it needs some: a twent"):
        corpus.split("val")


def test_the_toy_corpus(monkeypatch):
    small = toy_corpus(pairs=40)
    monkeypatch.setattr(corpora, "toy_corpus", lambda: small)
    corpus = load_corpus("toy")
    assert corpus.languages == ("en", "ko")
    assert corpus.splits.keys() == {"train", "val", "test", "unseen", "longer", "deeper"}
    assert corpus.split("val") == [(" ".join(p.src), " ".join(p.tgt)) for p in small["val"]]
    assert corpus.test_split == "test"
    assert " ".join(EXAMPLES[0].src) == "I am a student"
    with pytest.raises(InputError, match=r"languages is 'ko-en', the toy corpus has 'en-ko', 'en'"):
        load_corpus("toy", "ko-en")


class Host:
    """A host for the stand-in for Multi30k; first of all it gives ``answers``, if there are any."""

    def __init__(self, folder):
        self.folder, self.answers, self.requests = folder, [], []
        host = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                host.requests.append(self.path)
                path = host.folder / self.path.removeprefix("/")
                content = path.read_bytes() if path.is_file() else None
                status = 200 if content is not None else 404
                if host.answers:
                    status, content = host.answers.pop(0)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"


@pytest.fixture
def host(tmp_path, monkeypatch):
    """The host; the package asks it, and knows the checksums of its files."""
    host = Host(write(tmp_path / "host", TEXT, zipped=True))
    checksums = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(host.folder.iterdir())
    }
    monkeypatch.setattr(multi30k, "MULTI30K_URL", host.url)
    monkeypatch.setattr(multi30k, "MULTI30K_SHA256", checksums)
    monkeypatch.setattr(cache, "user_cache_dir", lambda name: tmp_path / "cache" / name)
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    thread = Thread(target=host.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield host
    host.server.shutdown()
    thread.join()
    host.server.server_close()


def kept(tmp_path):
    return sorted(path.name for path in (tmp_path / "cache").rglob("*") if path.is_file())


def test_multi30k_is_downloaded_once(host, tmp_path):
    corpus = load_corpus("multi30k")
    kept_there = read_folder(tmp_path / "cache" / "annotated-transformer" / "multi30k")
    assert corpus == Corpus("multi30k", ("de", "en"), kept_there.splits)
    for name, split in read_folder(host.folder).splits.items():
        assert list(corpus.split(name)) == list(split)
    assert sorted(host.requests) == sorted(f"/{name}.gz" for name in TEXT)
    assert kept(tmp_path) == sorted(f"{name}.gz" for name in TEXT)
    host.requests.clear()
    assert list(load_corpus("multi30k", "en-de").split("val")) == [("One", "Eins")]
    assert not host.requests


@pytest.mark.parametrize("first", [(503, b""), (200, b"half a fi")])
def test_a_failed_download_is_tried_again(host, first):
    host.answers = [first]
    assert list(load_corpus("multi30k").split("train")) == TRAIN
    assert len(host.requests) == len(TEXT) + 1


def test_a_wrong_checksum_is_not_kept(host, tmp_path):
    (host.folder / "train.de.gz").write_bytes(gzip.compress(b"something else"))
    message = r"train\.de\.gz arrived with a wrong SHA-256 checksum and was not kept"
    with pytest.raises(InputError, match=message):
        load_corpus("multi30k")
    assert host.requests.count("/train.de.gz") > 1
    assert "train.de.gz" not in kept(tmp_path)


def test_a_file_that_the_host_does_not_have(host):
    (host.folder / "train.de.gz").unlink()
    with pytest.raises(InputError, match=r"train\.de\.gz could not be downloaded \(HTTPError\)"):
        load_corpus("multi30k")


def test_a_dead_host(host):
    host.server.socket.close()
    message = r"downloaded \(ConnectionError\): check the network, or set ANNOTATED_TRANSFORMER_DA"
    with pytest.raises(InputError, match=message):
        load_corpus("multi30k")


def test_a_folder_of_ones_own_asks_no_host(host, tmp_path, monkeypatch):
    write(tmp_path / "data" / "multi30k", TEXT, zipped=True)
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "data"))
    assert list(load_corpus("multi30k").split("train")) == TRAIN
    (tmp_path / "data/multi30k/val.en.gz").unlink()
    with pytest.raises(InputError, match=r"val\.en\.gz is missing: put it there, or unset ANNOT"):
        load_corpus("multi30k")
    assert not host.requests


@pytest.mark.parametrize("own", [True, False])
def test_a_file_that_was_damaged_later(host, tmp_path, monkeypatch, own):
    folder = tmp_path / "cache" / "annotated-transformer" / "multi30k"
    if own:
        folder = tmp_path / "data" / "multi30k"
        monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "data"))
    write(folder, TEXT, zipped=True)
    (folder / "val.de.gz").write_bytes(gzip.compress(b"something else"))
    with pytest.raises(InputError, match=r"val\.de\.gz is damaged \(its SHA-256 is wrong\)"):
        multi30k_folder()


def test_the_true_multi30k(multi30k):
    sizes = {name: len(list(pairs)) for name, pairs in multi30k.splits.items()}
    assert sizes == {
        "train": 29_000,
        "val": 1_014,
        "test_2016_flickr": 1_000,
        "test_2017_flickr": 1_000,
    }
    assert multi30k.test_split == "test_2016_flickr"


def test_a_pair_is_found_in_its_file(tmp_path):
    for language, lines in (
        ("de", ["eins", " ", "zwei", "drei"]),
        ("en", ["one", "x", "two", "\t"]),
    ):
        (tmp_path / f"train.{language}").write_text("\n".join(lines) + "\n")
        (tmp_path / f"val.{language}").write_text("eins\n")
    read = corpora.read_folder(tmp_path)
    assert list(read.split("train")) == [("eins", "one"), ("zwei", "two")]
    assert [read.place("train", i) for i in (0, 1)] == [
        f"{tmp_path / 'train.de'}, line 1", f"{tmp_path / 'train.de'}, line 3"
    ]  # fmt: skip
    in_memory = corpora.Corpus("mine", ("a", "b"), {"train": [("x", "y")]})
    assert in_memory.place("train", 0) == "pair 1 of train"


@pytest.mark.parametrize("pack", [lzma.compress, bz2.compress, zipped_alone])
def test_a_compressed_file_is_named(tmp_path, pack):
    (tmp_path / "pairs.tsv").write_bytes(pack(b"eins\tone\n"))
    with pytest.raises(InputError, match=r"pairs\.tsv is compressed \((xz|bzip2|zip)\): de"):
        list(load_corpus(str(tmp_path / "pairs.tsv")).splits["train"])
    folder = write(tmp_path / "folder", {"train.de": "eins\n"})
    (folder / "train.en.xz").write_bytes(pack(b"one\n"))
    with pytest.raises(InputError, match=r"languages en\. train\.en\.xz is compressed: de"):
        load_corpus(str(folder))
