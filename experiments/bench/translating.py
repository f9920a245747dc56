"""Translating: what the contests of decoding share, the sentences and the contestants.

All have the weights of the checkpoint, exported by `export`, and read the same ids: one library
tokenizes for all. A beam ranks by the log-probability alone (no length
penalty), because each engine divides it by the length in another way.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import torch

from annotated_transformer.batches import Batch, batches_by_tokens
from annotated_transformer.corpora import load_corpus
from annotated_transformer.decoding import Search
from annotated_transformer.exchange import export_to_ctranslate2
from annotated_transformer.fast import fast_translator
from annotated_transformer.ground.devices import computing_in
from annotated_transformer.run import Run
from annotated_transformer.text.examples import Examples
from annotated_transformer.tokens import BOS, EOS, PAD
from annotated_transformer.transformer import Transformer
from annotated_transformer.translation import translate_ids
from bench.earlier import Earlier, write_earlier
from bench.peers import m2m100
from bench.task import ROOT, Contestant

CHECKPOINT = ROOT / "checkpoints" / "multi30k-de-en"
SPLIT, SENTENCES = "test_2016_flickr", 1000
BATCH_TOKENS, EXTRA_LENGTH = 6144, 50
"""Source positions in a batch, each counted once per beam slot; extra tokens of a translation."""


def prepare(folder: Path) -> None:
    """Write the checkpoint in the formats of all engines, and the ids of the sentences."""
    write_earlier(folder / "earlier")
    run = Run.open(CHECKPOINT)
    export_to_ctranslate2(run, folder / "ctranslate2")
    texts = [src for src, _ in load_corpus("multi30k").split(SPLIT)][:SENTENCES]
    ids = run.vocabularies.src.encode_all(texts)
    (folder / "sources.json").write_text(json.dumps(ids), encoding="utf-8")


class Translating:
    """A contestant that translates all sentences in a turn."""

    def __init__(self, folder: Path, beam: int) -> None:
        self.folder, self.beam = folder, beam
        self.sources = json.loads((folder / "sources.json").read_text(encoding="utf-8"))

    def found(self) -> list[list[int]]:
        """Return the ids of the translations, without ``EOS``."""
        raise NotImplementedError

    def answer(self) -> list[str]:
        """Return the translations, each as a text of numbers, at most as long as ours may be."""
        return [
            " ".join(map(str, ids[: len(source) + 1 + EXTRA_LENGTH]))
            for source, ids in zip(self.sources, self.found(), strict=True)
        ]

    def work(self, turn: int) -> int:
        """Translate everything."""
        return len(self.found())


class Ours(Translating):
    """Our search, with the model or with its fast twin, which has its own precision."""

    def __init__(
        self, folder: Path, beam: int, precision: str = "float32", *, fast: bool = False
    ) -> None:
        super().__init__(folder, beam)
        model = Run.open(CHECKPOINT).model
        self.model = fast_translator(cast(Transformer, model), precision) if fast else model
        self.precision = "float32" if fast else precision
        self.search = Search(beam=beam, alpha=0.0, extra_length=EXTRA_LENGTH)

    def found(self) -> list[list[int]]:
        """Return the ids of the translations."""
        with computing_in(self.precision, torch.device("cpu")):
            return translate_ids(self.model, self.sources, self.search)


class OursEarlier(Translating):
    """The search of an earlier version."""

    def __init__(self, folder: Path, beam: int) -> None:
        super().__init__(folder, beam)
        self.earlier = Earlier(folder / "earlier", Run.open(CHECKPOINT).weights, beam)

    def found(self) -> list[list[int]]:
        """Return the ids of the translations."""
        return self.earlier.found(self.sources)


class HuggingFace(Translating):
    """Hugging Face's ``generate``, with batches of sentences of similar length, like ours."""

    def __init__(self, folder: Path, beam: int) -> None:
        super().__init__(folder, beam)
        self.model = m2m100(cast(Transformer, Run.open(CHECKPOINT).model))
        self.examples = Examples.of([(source, []) for source in self.sources])
        self.search = {"num_beams": beam} | ({"length_penalty": 0.0} if beam > 1 else {})

    @torch.inference_mode()
    def found(self) -> list[list[int]]:
        """Return the ids of the translations."""
        found: list[list[int]] = [[] for _ in self.sources]
        for group in batches_by_tokens(self.examples, BATCH_TOKENS // self.beam):
            src = Batch.of([self.examples[i] for i in group]).src
            rows = self.model.generate(
                src,
                attention_mask=(src != PAD).long(),
                **self.search,
                suppress_tokens=[PAD, BOS],
                max_new_tokens=src.size(1) + EXTRA_LENGTH,
            )
            for number, row in zip(group, rows[:, 1:].tolist(), strict=True):
                found[number] = row[: row.index(EOS)] if EOS in row else row
        return found


class CTranslate2(Translating):
    """CTranslate2, which makes its own batches; with ``int8`` it rounds the weights."""

    def __init__(self, folder: Path, beam: int, compute_type: str = "float32") -> None:
        super().__init__(folder, beam)
        import ctranslate2

        vocabulary = Run.open(CHECKPOINT).vocabularies
        self.texts = [vocabulary.src.tokens(source) for source in self.sources]
        names = vocabulary.tgt.tokens(range(len(vocabulary.tgt)))
        self.ids = {name: i for i, name in enumerate(names)}
        self.translator = ctranslate2.Translator(
            str(folder / "ctranslate2"),
            compute_type=compute_type,
            inter_threads=1,
            intra_threads=torch.get_num_threads(),
        )

    def found(self) -> list[list[int]]:
        """Return the ids of the translations."""
        results = self.translator.translate_batch(
            self.texts,
            beam_size=self.beam,
            length_penalty=0.0,
            max_batch_size=BATCH_TOKENS // self.beam,
            batch_type="tokens",
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=max(map(len, self.sources)) + 1 + EXTRA_LENGTH,
        )
        return [[self.ids[name] for name in result.hypotheses[0]] for result in results]


def contestants(beam: int) -> dict[str, Callable[[Path], Contestant]]:
    """Return the contestants, by name."""
    return {
        "ours": lambda folder: Ours(folder, beam),
        "ours, fast": lambda folder: Ours(folder, beam, fast=True),
        "ours, earlier": lambda folder: OursEarlier(folder, beam),
        "Hugging Face": lambda folder: HuggingFace(folder, beam),
        "CTranslate2": lambda folder: CTranslate2(folder, beam),
        "ours, bfloat16": lambda folder: Ours(folder, beam, "bfloat16"),
        "ours, fast, bfloat16": lambda folder: Ours(folder, beam, "bfloat16", fast=True),
        "CTranslate2, int8": lambda folder: CTranslate2(folder, beam, "int8"),
    }


def reference(name: str) -> str:
    """Compare every contestant with ours."""
    return "ours"


def judge(answers: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Count how many translations are equal to ours."""
    expected = answers["ours"]
    return {
        name: {
            "equal": sum(a == b for a, b in zip(answer, expected, strict=True)),
            "sentences": len(expected),
        }
        for name, answer in answers.items()
    }
