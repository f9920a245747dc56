"""Training steps in 16 bits on a GPU, of a model as large as the paper's base model.

Otherwise the work is that of the contest ``training``. A turn takes every batch once, so that all
turns have the same operations, which are counted.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from annotated_transformer.batches import Batch
from annotated_transformer.ground.devices import choose_device, computing_in
from annotated_transformer.ground.errors import InputError
from annotated_transformer.transformer import Transformer
from bench import training
from bench.peers import Marian, TorchTransformer
from bench.task import Contestant, require_equal
from bench.training import BATCH_TOKENS, TOLERANCE_16_BITS

SIZES = {"d_model": 512, "num_layers": 6, "num_heads": 8, "d_ff": 2048}
WORDS = 37_000
"""Rows of the embedding table: the paper's number, of which the captions use the first."""
BATCHES, LARGER = 8, 5
"""How many batches there are, and how many times as large they are as in the other contests."""
PRECISION = "bfloat16"
SQUARE = 8192
"""The side of the matrices whose product measures the speed of the GPU."""
# Four processes share the GPU's memory: what one reserves, the others lack.
ENVIRONMENT = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}


def prepare(folder: Path) -> dict[str, Any]:
    """Write the work; return its operations, and how many a second are possible, for the record.

    Raises:
        InputError: if this machine has no GPU for CUDA.
    """
    device = choose_device()
    if device.type != "cuda":
        raise InputError("this machine has no GPU for CUDA, which the contest needs.")
    training.write_work(folder, SIZES, LARGER * BATCH_TOKENS, BATCHES, WORDS)
    return {
        "accelerator": torch.cuda.get_device_name(),
        "operations": sum(map(operations_of(folder), training.read_batches(folder))),
        "products_per_second": round(products(device)),
    }


def operations_of(folder: Path) -> Callable[[Batch], int]:
    """Make a function that counts the operations of a step: those of all matrix products."""
    with torch.device("meta"):
        model = Transformer(training.read_config(folder))

    def count(batch: Batch) -> int:
        src, tgt = (torch.empty_like(x, device="meta") for x in (batch.src, batch.tgt_in))
        with FlopCounterMode(display=False) as counter:
            model(src, tgt).sum().backward()
        return counter.get_total_flops()

    return count


def products(device: torch.device, times: int = 20) -> float:
    """Measure operations a second in products of two large matrices."""
    a, b = torch.randn(2, SQUARE, SQUARE, device=device).bfloat16()
    for _ in range(3):
        a @ b
    start, end = (torch.Event(device, enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(times):
        a @ b
    end.record()
    end.synchronize()
    return times * 2 * SQUARE**3 / (start.elapsed_time(end) / 1000)


class Everything(training.Steps):
    """A contestant that takes a step on every batch in a turn, and waits for the GPU."""

    def work(self, turn: int) -> int:
        """Take the steps of a turn."""
        for batch in self.batches:
            self.step(batch)
        torch.accelerator.synchronize()
        return sum(batch.num_tokens for batch in self.batches)


class Ours(Everything, training.Ours):
    """Our trainer."""


class OursFast(Everything, training.OursFast):
    """Our fast trainer."""


class Theirs(Everything, training.Theirs):
    """A model of another library; PyTorch rounds what is multiplied, as in its documentation."""

    def __init__(self, folder: Path, make: Callable[[Transformer], nn.Module]) -> None:
        super().__init__(folder, make, choose_device())

    def loss(self, batch: Batch) -> Tensor:
        """Compute the mean loss over tokens."""
        with computing_in(PRECISION, batch.src.device):
            return super().loss(batch)


CONTESTANTS: dict[str, Callable[[Path], Contestant]] = {
    "nn.Transformer": lambda folder: Theirs(folder, TorchTransformer),
    "Marian": lambda folder: Theirs(folder, Marian),
    "ours": lambda folder: Ours(folder, PRECISION, choose_device()),
    "ours, fast": lambda folder: OursFast(folder, PRECISION, choose_device()),
}


def reference(name: str) -> str:
    """Compare every contestant with PyTorch's own Transformer."""
    return "nn.Transformer"


def judge(answers: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Refuse a contestant with other losses; all round to 16 bits."""
    require_equal(answers, TOLERANCE_16_BITS)
    return {}
