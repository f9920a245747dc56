"""Training steps: ours beside torch.nn.Transformer and Hugging Face's Marian.

All begin with the same weights, and first compute the same losses without dropout. Then they train
with the same batches, Adam, clipping and label smoothing. Dropout is where each library has it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.batches import Batch
from annotated_transformer.corpora import load_corpus
from annotated_transformer.fast import FastTrainer
from annotated_transformer.ground.devices import CPU, move
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.run.encoded import learned_vocabularies
from annotated_transformer.tokens import PAD
from annotated_transformer.training import Trainer, endless_batches
from annotated_transformer.transformer import Transformer, TransformerConfig
from annotated_transformer.weights import load_tensors
from bench.peers import Marian, TorchTransformer
from bench.task import Contestant, require_equal

VOCAB, BATCH_TOKENS, BATCHES, RATE, SMOOTHING, DROPOUT = 8000, 4096, 40, 1e-3, 0.1, 0.1
STEPS = 3
"""Steps in a turn."""
SIZES = {"d_model": 256, "num_layers": 3, "num_heads": 8, "d_ff": 512}
HERE = torch.device(CPU)
TOLERANCE, TOLERANCE_16_BITS = 1e-4, 0.01
"""The tolerance of the losses."""


def prepare(folder: Path) -> None:
    """Write batches of Multi30k, sorted by length as ours are, and initial weights."""
    write_work(folder, SIZES, BATCH_TOKENS, BATCHES)


def write_work(
    folder: Path, sizes: Mapping[str, int], batch_tokens: int, batches: int, rows: int = 0
) -> None:
    """Write what :func:`read_batches` and :func:`read_model` read.

    The embedding tables have as many rows as there are words, or more.
    """
    corpus = load_corpus("multi30k")
    vocabularies = learned_vocabularies(corpus, VOCAB)
    examples = vocabularies.encode(corpus.split("train"))
    chosen = islice(endless_batches(examples, batch_tokens, seed=1), batches)
    parts = {f"{i}.{part}": t for i, b in enumerate(chosen) for part, t in vars(b).items()}
    save_file(parts, folder / "batches.safetensors")
    torch.manual_seed(0)
    words = max(rows, *map(len, vocabularies))
    config = TransformerConfig(words, words, **sizes, dropout=DROPOUT, share_embeddings=True)
    (folder / "config.json").write_text(json.dumps(asdict(config)), encoding="utf-8")
    model = Transformer(config)
    save_file(dict(model.named_parameters()), folder / "weights.safetensors")


def read_batches(folder: Path, device: torch.device = HERE) -> list[Batch]:
    """Read the batches that all work on."""
    parts = load_file(folder / "batches.safetensors", device=str(device))
    kinds = ("src", "tgt_in", "tgt_out")
    return [Batch(*(parts[f"{i}.{kind}"] for kind in kinds)) for i in range(len(parts) // 3)]


def read_config(folder: Path) -> TransformerConfig:
    """Read the sizes of the model that all train."""
    return TransformerConfig(**json.loads((folder / "config.json").read_text(encoding="utf-8")))


def read_model(folder: Path) -> Transformer:
    """Make our model with the initial weights of all."""
    model = Transformer(read_config(folder))
    load_tensors(model, load_file(folder / "weights.safetensors"))
    return model


class Steps:
    """A contestant that takes some steps in a turn, each on the next batch."""

    batches: list[Batch]

    def step(self, batch: Batch) -> None:
        """Take a step of training."""
        raise NotImplementedError

    def work(self, turn: int) -> int:
        """Take the steps of a turn."""
        numbers = range(turn * STEPS, (turn + 1) * STEPS)
        batches = [self.batches[number % len(self.batches)] for number in numbers]
        for batch in batches:
            self.step(batch)
        return sum(batch.num_tokens for batch in batches)


class Ours(Steps):
    """Our trainer."""

    def __init__(
        self, folder: Path, precision: str = "float32", device: torch.device = HERE
    ) -> None:
        self.batches = read_batches(folder, device)
        model = move(read_model(folder), device)
        self.trainer = self.make_trainer(model, precision)

    def make_trainer(self, model: Transformer, precision: str) -> Trainer:
        """Make the readable trainer."""
        loss = partial(smoothed_cross_entropy, smoothing=SMOOTHING)
        return Trainer(model, loss, lambda _: RATE, precision=precision)

    @torch.no_grad()
    def answer(self) -> list[float]:
        """Return the losses of two batches."""
        self.trainer.model.eval()
        losses = []
        for batch in self.batches[:2]:
            loss = self.trainer.loss(self.trainer.logits(batch), batch.tgt_out)
            losses.append(loss.item() / batch.num_tokens)
        return losses

    def step(self, batch: Batch) -> None:
        """Take a step of training."""
        self.trainer.update([batch])


class OursFast(Ours):
    """Our fast trainer."""

    def make_trainer(self, model: Transformer, precision: str) -> Trainer:
        """Make the fast trainer."""
        return FastTrainer(model, SMOOTHING, lambda _: RATE, precision=precision)


class Theirs(Steps):
    """A training loop around a model of another library, as in its documentation."""

    def __init__(
        self,
        folder: Path,
        make: Callable[[Transformer], nn.Module],
        device: torch.device = HERE,
    ) -> None:
        self.batches = read_batches(folder, device)
        self.model = make(read_model(folder)).to(device)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-9, fused=True
        )

    def loss(self, batch: Batch) -> Tensor:
        """Compute the mean loss over tokens."""
        logits = self.model(batch.src, batch.tgt_in)
        return F.cross_entropy(
            logits.flatten(0, 1),
            batch.tgt_out.flatten(),
            ignore_index=PAD,
            label_smoothing=SMOOTHING,
        )

    def answer(self) -> list[float]:
        """Return the losses of two batches; without gradients nn.Transformer uses another path."""
        self.model.eval()
        return [self.loss(batch).item() for batch in self.batches[:2]]

    def step(self, batch: Batch) -> None:
        """Take a step of training."""
        self.model.train()
        self.optimizer.zero_grad()
        loss = self.loss(batch)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        loss.item()


def with_medium_precision(folder: Path) -> Contestant:
    """Use PyTorch's switch for products of float32 matrices in 16 bits, if the CPU has them."""
    torch.set_float32_matmul_precision("medium")
    return Theirs(folder, TorchTransformer)


CONTESTANTS: dict[str, Callable[[Path], Contestant]] = {
    "nn.Transformer": lambda folder: Theirs(folder, TorchTransformer),
    "nn.Transformer, medium": with_medium_precision,
    "Marian": lambda folder: Theirs(folder, Marian),
    "ours": Ours,
    "ours, fast": OursFast,
    "ours, bfloat16": lambda folder: Ours(folder, "bfloat16"),
    "ours, fast, bfloat16": lambda folder: OursFast(folder, "bfloat16"),
}


def reference(name: str) -> str:
    """Compare every contestant with PyTorch's own Transformer."""
    return "nn.Transformer"


def judge(answers: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Refuse a contestant with other losses."""
    require_equal(answers, TOLERANCE, TOLERANCE_16_BITS)
    return {}
