"""The readers: a valid file, the function that reads it, and how the file may be mutated."""

import gzip
import io
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sentencepiece
import torch
from safetensors.torch import save_file

from annotated_transformer.corpora import load_corpus
from annotated_transformer.decoding import Search
from annotated_transformer.exchange import import_marian, marian_names, marian_settings
from annotated_transformer.ground.errors import DivergedError, InputError
from annotated_transformer.run import Recipe, Run
from annotated_transformer.run.checkpoint import load_checkpoint, save_checkpoint
from annotated_transformer.run.learning_curve import COLUMNS, LearningCurve
from annotated_transformer.run.loop import Session
from annotated_transformer.run.presets import recipe_of
from annotated_transformer.run.processes import ALONE
from annotated_transformer.text.examples import Examples, read_pairs, write_pairs
from annotated_transformer.transformer import Transformer, TransformerConfig
from fuzz.mutations import Mutation, bent, rewritten, rewritten_header
from transformer_workbook.judge.progress import read_progress

PAIRS = "".join(f"a small dog number {i}\tein kleiner Hund Nummer {i}\n" for i in range(60))
TEXT = "a small dog 7 ein Hund\u2028é"
SIZES = {"d_model": 8, "num_layers": 1, "num_heads": 2, "d_ff": 8}


@dataclass(frozen=True)
class Reader:
    """A function that reads one file of a folder."""

    file: str
    read: Callable[[Path], Any]
    """Reads the folder; raises AssertionError if the result is impossible."""
    mutations: tuple[Mutation, ...] = (bent,)
    most: int = 3
    """How many mutations at once: one if a second could cancel the check of the first."""


def write_all(folder: Path) -> None:
    """Write every valid file."""
    (folder / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    split = folder / "split"
    split.mkdir()
    for column, language in enumerate(("de", "en")):
        text = "".join(line.split("\t")[column] + "\n" for line in PAIRS.splitlines()).encode()
        (split / f"val.{language}").write_bytes(text)
        (split / f"train.{language}.gz").write_bytes(gzip.compress(text))
    corpus = load_corpus(str(folder / "pairs.tsv"))
    recipe = Recipe("transformer", corpus.name, subwords=60, sizes=SIZES)
    run = Run.create(folder / "run", recipe, corpus)
    weights = dict(recipe.make_model(run.vocabularies).named_parameters())
    save_checkpoint(run.weights, weights, {"steps": 3, "best": [1.5, None]})
    half = Run.create(folder / "half", replace(recipe, steps=4, batch_tokens=60), corpus)
    session = Session(half, corpus, ALONE)
    session.trainer.update([next(session.batches)])
    session.save()
    row = ",".join(["3", *["0.5"] * (len(COLUMNS) - 1)])
    run.learning_curve.write_text(f"{','.join(COLUMNS)}\n{row}\n{row}\n", encoding="utf-8")
    (folder / "examples").mkdir()
    write_pairs(folder / "examples", [[([7, 8], [9]), ([7], [5, 6])], [([4], [])]])
    (folder / "my_exercises.json").write_text('{"kept_ends": "right"}', encoding="utf-8")
    write_published(folder / "marian")


def write_published(folder: Path) -> None:
    """Write a small model in the layout in which OPUS-MT is published, its weights twice."""
    folder.mkdir()
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(PAIRS.split("\n")),
        model_writer=model,
        vocab_size=60,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(model.getvalue())
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    pieces = [processor.id_to_piece(i) for i in range(3, len(processor))]
    numbers = {token: i for i, token in enumerate(["</s>", "<unk>", *pieces, "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(numbers), encoding="utf-8")
    config = TransformerConfig(
        len(numbers), len(numbers), **SIZES, share_embeddings=True, max_length=50
    )
    tokens = {"eos_token_id": 0, "pad_token_id": numbers["<pad>"]}
    settings = marian_settings(config) | tokens | {"decoder_start_token_id": numbers["<pad>"]}
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    ours = dict(Transformer(config).named_parameters())
    weights = {theirs: ours[our].detach() for our, theirs in marian_names(config).items()}
    save_file(weights, folder / "model.safetensors")
    (folder / "pickled").mkdir()
    torch.save(weights, folder / "pickled" / "pytorch_model.bin")
    for file in ("config.json", "source.spm", "target.spm", "vocab.json"):
        (folder / "pickled" / file).write_bytes((folder / file).read_bytes())


def read_corpus(path: Path) -> None:
    """Read all splits of a corpus."""
    corpus = load_corpus(str(path))
    for name in corpus.splits:
        assert all(source and target for source, target in corpus.split(name))


def open_run(folder: Path) -> None:
    """Open a run, load its model, and use its vocabularies."""
    run = Run.open(folder / "run")
    assert not run.model.training
    for vocabulary in run.vocabularies:
        ids = vocabulary.encode(TEXT)
        assert all(0 <= number < len(vocabulary) for number in ids), ids
        vocabulary.decode(ids)
        vocabulary.tokens(ids)


def read_weights(folder: Path) -> None:
    """Read weights: those that were written, or none."""
    tensors, progress = load_checkpoint(folder / "run" / "model.safetensors")
    wanted, right_progress = right_weights(folder.parent / "right" / "run" / "model.safetensors")
    assert progress == right_progress, progress
    assert tensors.keys() == wanted.keys()
    assert all(torch.equal(tensors[name], wanted[name]) for name in tensors)


def resume(folder: Path) -> None:
    """Resume from a checkpoint: as it was written, or not at all."""
    stands, wanted = (
        Session(Run.open(place / "half"), load_corpus(str(place / "pairs.tsv")), ALONE)
        for place in (folder, folder.parent / "right")
    )
    assert stands.progress == wanted.progress, stands.progress
    pairs = zip(*(s.trainer.model.parameters() for s in (stands, wanted)), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


@cache
def right_weights(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Read the weights that were written, once."""
    return load_checkpoint(path)


def check_pairs(folder: Path) -> None:
    """Read all sentence pairs of the examples."""
    examples: Examples = read_pairs(folder / "examples")
    assert len(examples.lengths) == len(examples)
    for source, target in examples:
        assert isinstance(source + target, list)


def import_published(source: Path) -> None:
    """Import a published model, and translate with it."""
    with TemporaryDirectory() as made:
        folder = Path(made, "run")
        try:
            import_marian(source, folder)
        except InputError:
            assert not folder.exists()
            raise
        run = Run.open(folder)
        run.vocabularies.tgt.decode(range(len(run.vocabularies.tgt)))
        with suppress(DivergedError):  # weights may be finite and too large
            run.translate([TEXT], Search(extra_length=1))


def import_stored(folder: Path) -> None:
    """Import the published model whose weights are stored as safetensors."""
    import_published(folder / "marian")


def import_pickled(folder: Path) -> None:
    """Import the published model whose weights are pickled."""
    import_published(folder / "marian" / "pickled")


READERS = {
    "tsv": Reader("pairs.tsv", lambda folder: read_corpus(folder / "pairs.tsv")),
    "text": Reader("split/val.de", lambda folder: read_corpus(folder / "split")),
    "gzip": Reader("split/train.de.gz", lambda folder: read_corpus(folder / "split")),
    "recipe of a run": Reader("run/recipe.json", open_run, (bent, rewritten, rewritten)),
    "recipe": Reader(
        "run/recipe.json",
        lambda folder: recipe_of(str(folder / "run" / "recipe.json"), None, None),
        (bent, rewritten, rewritten),
    ),
    "vocabulary": Reader("run/vocabulary.src.json", open_run, (bent, rewritten, rewritten)),
    "weights": Reader("run/model.safetensors", read_weights, (bent, rewritten_header), most=1),
    "checkpoint": Reader("half/checkpoint.safetensors", resume, (bent, rewritten_header), most=1),
    "learning curve": Reader(
        "run/learning_curve.csv",
        lambda folder: LearningCurve(folder / "run" / "learning_curve.csv", 3),
    ),
    "starts": Reader("examples/src.starts", check_pairs),
    "ids": Reader("examples/tgt.ids", check_pairs),
    "exercises": Reader(
        "my_exercises.json",
        lambda folder: read_progress(folder / "my_exercises.json"),
        (bent, rewritten),
    ),
    "settings of Marian": Reader("marian/config.json", import_stored, (bent, rewritten, rewritten)),
    "tokens of Marian": Reader("marian/vocab.json", import_stored, (bent, rewritten, rewritten)),
    "pieces of Marian": Reader("marian/source.spm", import_stored),
    "weights of Marian": Reader(
        "marian/model.safetensors", import_stored, (rewritten_header, bent), most=1
    ),
    "pickle of Marian": Reader("marian/pickled/pytorch_model.bin", import_pickled),
}
