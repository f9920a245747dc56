"""Processes: a training that ``torchrun`` starts several times, on one machine or on many."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

from annotated_transformer.batches import AnyBatch
from annotated_transformer.ground.devices import (
    CPU,
    choose_device,
    computing_in,
    device_of,
    random_states,
    set_random_states,
)
from annotated_transformer.ground.errors import DivergedError, InputError, require_choice
from annotated_transformer.run.engines import ENGINES
from annotated_transformer.training import Trainer
from annotated_transformer.weights import buffers_of

T = TypeVar("T")
BACKENDS = {CPU: "gloo", "cuda": "cpu:gloo,cuda:nccl"}
"""The backend that sends tensors between processes, by device type."""

REPORTED = (InputError, DivergedError, OSError)
"""The errors that are reported in one sentence."""

SECONDS_TO_RELEASE = 0.5
"""Seconds in which Gloo's threads release their last tensors, for which they need Python.

DistributedDataParallel keeps the threads alive after ``destroy_process_group``, without a
signal when they are done. One that still waits for Python at the end aborts the process.
"""


@dataclass(frozen=True)
class Processes:
    """The processes that train one run together, as seen by one of them."""

    rank: int = 0
    number: int = 1

    @property
    def is_main(self) -> bool:
        """Tell whether this process writes, validates and shows the progress."""
        return self.rank == 0

    @property
    def command(self) -> str:
        """Return the command that calls the command line for them."""
        return "annotated-transformer" if self == ALONE else "torchrun … -m annotated_transformer"

    def share_of(self, batches: int) -> int:
        """Return how many of the batches of one step each process works on.

        Raises:
            InputError: if they cannot be distributed evenly.
        """
        if batches % self.number:
            raise InputError(
                f"accumulate is {batches}, it must be a multiple of the {self.number} processes, "
                f"which share the batches of a step: --set accumulate={self.number}, "
                "with a batch_tokens that is smaller by the same factor."
            )
        return batches // self.number

    def require_engine(self, engine: str) -> None:
        """Refuse an engine that several processes cannot share.

        Raises:
            InputError: if it is the fast one, which has the output layer's gradients first.
        """
        if self.number > 1 and not ENGINES[engine].is_shared:
            shared = " or ".join(name for name, each in ENGINES.items() if each.is_shared)
            raise InputError(
                f"engine is {engine!r}, it must be {shared} for {self.number} processes."
            )

    def first(self, make: Callable[[], T]) -> T:
        """Run ``make`` in the first process, and send its result or its error to all."""
        if self.number == 1:
            return make()
        made: list[tuple[T | None, Exception | None]] = [(None, None)]
        if self.is_main:
            try:
                made = [(make(), None)]
            except REPORTED as error:
                made = [(None, error)]
        dist.broadcast_object_list(made, device=torch.device(CPU))
        ((value, problem),) = made
        if problem is not None:
            raise problem
        return value  # type: ignore[return-value]

    def mean(self, value: float) -> float:
        """Average a number over all processes."""
        return self._reduced(value, dist.ReduceOp.SUM) / self.number

    def largest(self, value: int) -> int:
        """Return the maximum of a number over all processes."""
        return int(self._reduced(float(value), dist.ReduceOp.MAX))

    def _reduced(self, value: float, how: dist.ReduceOp.RedOpType) -> float:
        if self.number == 1:
            return value
        tensor = torch.tensor(value, dtype=torch.float64, device=CPU)
        dist.all_reduce(tensor, how)
        return tensor.item()


ALONE = Processes()
"""A single process, without ``torchrun``."""


class SharedTrainer(Trainer):
    """A trainer whose step is taken by all processes together, on the batches of all.

    Each process works on its own batches and draws its own random numbers. The gradients are
    averaged in the backward pass; so that this is the gradient of Σ loss / Σ tokens over *all*
    batches, each process multiplies its loss by number / Σ tokens, however few of the tokens are
    its own.

    Source: Li et al. 2020 (DistributedDataParallel).
    """

    def __init__(self, trainer: Trainer, processes: Processes) -> None:
        """Take over a trainer, which all processes have made identically."""
        vars(self).update(vars(trainer))
        self.processes = processes
        self.replica = DistributedDataParallel(self.model)
        # Tables of positions are the same everywhere; only the first process saves.
        self.replica.broadcast_buffers = bool(buffers_of(self.model))
        self.weight = 1.0
        self.waiting = 0  # batches of this step that are not processed yet
        torch.manual_seed(torch.initial_seed() + processes.rank)

    def update(self, parts: Sequence[AnyBatch]) -> tuple[float, float]:
        """Take the step of all processes; ``parts`` are the micro-batches of this one.

        Returns:
            As :meth:`Trainer.update`, over all micro-batches.
        """
        tokens, summed = float(sum(part.num_tokens for part in parts)), self.loss
        # Inside, the loss is divided by the tokens of this process only.
        self.weight = tokens / self.processes.mean(tokens)
        self.waiting = len(parts)
        self.loss = lambda logits, target: self.weight * summed(logits, target)
        try:
            loss, norm = super().update(parts)
        finally:
            self.loss = summed
        return self.processes.mean(loss), norm

    def auxiliary(self, part: AnyBatch) -> Tensor | float:
        """Scale :meth:`Trainer.auxiliary` like the loss."""
        return self.weight * super().auxiliary(part)

    def logits(self, part: AnyBatch) -> Tensor:
        """Do :meth:`Trainer.logits`; after the last micro-batch, gradients are synchronised."""
        self.waiting -= 1
        later = self.replica.no_sync() if self.waiting else nullcontext()
        with later, computing_in(self.precision, part.tgt_in.device):
            logits: Tensor = self.replica(*part.inputs)
        return logits.to(next(self.model.parameters()).dtype)

    def tensors(self) -> dict[str, Tensor]:
        """Return :meth:`Trainer.tensors`, with the random number generators of all processes."""
        states: list[dict[str, Tensor]] = [{}] * self.processes.number
        dist.all_gather_object(states, random_states(device_of(self.model)))
        others = {
            f"process.{rank}.{name}": state
            for rank, found in enumerate(states[1:], start=1)
            for name, state in found.items()
        }
        return super().tensors() | states[0] | others

    def load(self, tensors: dict[str, Tensor], steps: int) -> None:
        """Do :meth:`Trainer.load`, with the generators of this process."""
        super().load(tensors, steps)
        prefix = f"process.{self.processes.rank}."
        states = {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
        if states:
            set_random_states(states, device_of(self.model))


@contextmanager
def joined(device: str = "auto") -> Iterator[Processes]:
    """Join the processes that ``torchrun`` started; without ``torchrun`` there is only this one.

    An error is reported by the process that meets it first; the others end silently.

    Raises:
        InputError: if there is no such device, or several processes cannot share it.
        ConnectionError: if another process was lost.
    """
    if "TORCHELASTIC_RUN_ID" not in os.environ or os.environ["WORLD_SIZE"] == "1":
        yield ALONE
        return
    # When one is lost, torchrun signals the others. They notice by themselves, and report it.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    store, rank, number = next(rendezvous("env://"))
    try:
        kind = choose_device(device).type
        require_choice("device", kind, BACKENDS)
        if kind != CPU:
            take_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group(BACKENDS[kind], store=store, rank=rank, world_size=number)
        yield Processes(rank, number)
    except (*REPORTED, RuntimeError) as error:
        if not (isinstance(error, REPORTED) or is_loss(error)):
            raise
        if store.add("told", 1) > 1:
            raise SystemExit(2) from error
        if isinstance(error, REPORTED):
            raise
        raise ConnectionError(
            f"one of the {number} processes was lost: 'resume', again with {number} of them, "
            "continues from the last checkpoint."
        ) from error
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
            time.sleep(SECONDS_TO_RELEASE)


def take_device(number: int) -> None:
    """Compute in this process on the device of that index.

    Raises:
        InputError: if this machine has fewer.
    """
    there = torch.accelerator.device_count()
    if number >= there:
        raise InputError(
            f"this is process {number + 1} on a machine with {there} devices, it must be at most "
            "one process for each: --nproc-per-node."
        )
    torch.accelerator.set_device_index(number)


def is_loss(error: Exception) -> bool:
    """Tell whether an error means that another process is gone; Gloo has no class for it."""
    return isinstance(error, dist.DistError) or "gloo" in str(error)
