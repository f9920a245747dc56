"""Processes: a training that ``torchrun`` started more than once, on one machine or on many."""

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
from annotated_transformer.devices import CPU, choose_device, computing_in, device_of
from annotated_transformer.errors import DivergedError, InputError, require_choice
from annotated_transformer.training import (
    Trainer,
    buffers_of,
    random_states,
    set_random_states,
)

T = TypeVar("T")
BACKENDS = {CPU: "gloo", "cuda": "cpu:gloo,cuda:nccl"}
"""What carries tensors from process to process, by the device that they are on."""

REPORTED = (InputError, DivergedError, OSError)
"""The errors that are told in one sentence."""

SECONDS_TO_RELEASE = 0.5
"""Seconds that Gloo's threads have to let go of their last tensors, for which they need Python.

DistributedDataParallel keeps the threads alive behind ``destroy_process_group``, and nothing says
when they are done. One that still waits for Python while it ends aborts the process.
"""


@dataclass(frozen=True)
class Processes:
    """The processes that train one run together, as one of them sees them."""

    rank: int = 0
    number: int = 1

    @property
    def is_main(self) -> bool:
        """Whether this is the one that writes, validates and shows how far they are."""
        return self.rank == 0

    @property
    def command(self) -> str:
        """How the command line is called for them."""
        return "annotated-transformer" if self == ALONE else "torchrun … -m annotated_transformer"

    def share_of(self, batches: int) -> int:
        """How many of the batches that make one step each process works on.

        Raises:
            InputError: if they cannot be dealt out evenly.
        """
        if batches % self.number:
            raise InputError(
                f"accumulate is {batches}, it must be a multiple of the {self.number} processes, "
                f"which deal the batches of a step out among them: --set accumulate={self.number}, "
                "with a batch_tokens that is smaller by as much."
            )
        return batches // self.number

    def require_engine(self, engine: str) -> None:
        """Make sure that the engine of a recipe can be shared.

        Raises:
            InputError: if it cannot: the fast one has the output layer's gradients before the rest.
        """
        if self.number > 1 and engine != "readable":
            raise InputError(
                f"engine is {engine!r}, it must be readable for the {self.number} processes."
            )

    def first(self, make: Callable[[], T]) -> T:
        """What ``make`` gives to the first process, for all: an error, too."""
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
        """The mean of a number over all processes."""
        return self._reduced(value, dist.ReduceOp.SUM) / self.number

    def largest(self, value: int) -> int:
        """The largest of a number over all processes."""
        return int(self._reduced(float(value), dist.ReduceOp.MAX))

    def _reduced(self, value: float, how: dist.ReduceOp.RedOpType) -> float:
        if self.number == 1:
            return value
        tensor = torch.tensor(value, dtype=torch.float64, device=CPU)
        dist.all_reduce(tensor, how)
        return tensor.item()


ALONE = Processes()
"""One process, as without ``torchrun``."""


class SharedTrainer(Trainer):
    """A trainer whose step is taken by all processes, on the batches of all of them.

    Each works on its own batches and draws random numbers of its own. The gradients are averaged
    on the way backwards; so that this is the gradient of Σ loss / Σ tokens over *all* batches, each
    process multiplies its loss by number / Σ tokens, however few of the tokens are its own.

    Source: Li et al. 2020 (DistributedDataParallel).
    """

    def __init__(self, trainer: Trainer, processes: Processes) -> None:
        """Take over a trainer, which all processes have made alike."""
        vars(self).update(vars(trainer))
        self.processes = processes
        self.replica = DistributedDataParallel(self.model)
        # Tables of positions are the same everywhere; what is saved is that of the first process.
        self.replica.broadcast_buffers = bool(buffers_of(self.model))
        self.weight = 1.0
        self.waiting = 0  # batches of this step that are still to be worked on
        torch.manual_seed(torch.initial_seed() + processes.rank)

    def update(self, parts: Sequence[AnyBatch]) -> tuple[float, float]:
        """Take the step of all processes, of whose batches these are one share.

        Returns:
            As :meth:`Trainer.update`, over the batches of all.
        """
        tokens, summed = float(sum(part.num_tokens for part in parts)), self.loss
        # Below, the loss is divided by the tokens of this process alone.
        self.weight = tokens / self.processes.mean(tokens)
        self.waiting = len(parts)
        self.loss = lambda logits, target: self.weight * summed(logits, target)
        try:
            loss, norm = super().update(parts)
        finally:
            self.loss = summed
        return self.processes.mean(loss), norm

    def auxiliary(self, part: AnyBatch) -> Tensor | float:
        """As :meth:`Trainer.auxiliary`, with the weight of the loss."""
        return self.weight * super().auxiliary(part)

    def logits(self, part: AnyBatch) -> Tensor:
        """As :meth:`Trainer.logits`; after the last batch of a step the gradients are shared."""
        self.waiting -= 1
        later = self.replica.no_sync() if self.waiting else nullcontext()
        with later, computing_in(self.precision, part.tgt_in.device):
            logits: Tensor = self.replica(*part.inputs)
        return logits.to(next(self.model.parameters()).dtype)

    def tensors(self) -> dict[str, Tensor]:
        """As :meth:`Trainer.tensors`, with the random number generators of all processes."""
        states: list[dict[str, Tensor]] = [{}] * self.processes.number
        dist.all_gather_object(states, random_states(device_of(self.model)))
        others = {
            f"process.{rank}.{name}": state
            for rank, found in enumerate(states[1:], start=1)
            for name, state in found.items()
        }
        return super().tensors() | states[0] | others

    def load(self, tensors: dict[str, Tensor], steps: int) -> None:
        """As :meth:`Trainer.load`, with the generators of this process."""
        super().load(tensors, steps)
        prefix = f"process.{self.processes.rank}."
        states = {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
        if states:
            set_random_states(states, device_of(self.model))


@contextmanager
def joined(device: str = "auto") -> Iterator[Processes]:
    """This process and the others that ``torchrun`` started; without ``torchrun`` it is alone.

    An error is told by the process that meets it first; the others end without a word.

    Raises:
        InputError: if there is no such device, or several processes cannot share it.
        ConnectionError: if another process was lost.
    """
    if "TORCHELASTIC_RUN_ID" not in os.environ or os.environ["WORLD_SIZE"] == "1":
        yield ALONE
        return
    # When one is lost, torchrun sends it to the others. They notice by themselves, and can say so.
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
            f"one of the {number} processes was lost: 'resume', again with {number} of them, goes "
            "on from the last checkpoint."
        ) from error
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
            time.sleep(SECONDS_TO_RELEASE)


def take_device(number: int) -> None:
    """Let this process compute on the device of that number.

    Raises:
        InputError: if this machine has fewer.
    """
    there = torch.accelerator.device_count()
    if number >= there:
        raise InputError(
            f"this is process {number + 1} on a machine with {there} devices: it takes at most one "
            "process for each, --nproc-per-node."
        )
    torch.accelerator.set_device_index(number)


def is_loss(error: Exception) -> bool:
    """Whether an error says that another process is gone; Gloo has no class for it."""
    return isinstance(error, dist.DistError) or "gloo" in str(error)
