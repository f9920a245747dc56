"""What a step on an accelerator waits for, and what its batches look like; counted on a CPU.

The three trainers take a step as they would on an accelerator, with a small model. Batches are
those of Multi30k, in the size of the contest ``accelerator``.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from annotated_transformer.batches import Batch, batches_by_tokens
from annotated_transformer.corpora import load_corpus
from annotated_transformer.examples import Examples
from annotated_transformer.fast import FastTrainer, PackedTrainer, attention, output_loss, pack
from annotated_transformer.fast.late import Late
from annotated_transformer.fast.rows import rows_of
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.run.encoded import learned_vocabularies
from annotated_transformer.training import Trainer
from annotated_transformer.transformer import Transformer, TransformerConfig

VOCAB, POSITIONS, ROW, SMOOTHING = 8000, 20_480, 128, 0.1
"""Those of the contest ``accelerator``; the places of a row are of packed batches."""
WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "equal")
"""Operations whose result decides what a program does next."""
PAIRS = [([4, 5, 6], [7, 8]), ([5], [6, 7, 4]), ([8, 7], [9])]


class Waits(TorchDispatchMode):
    """Notes the operations for whose result a CPU would wait for an accelerator."""

    def __init__(self) -> None:
        super().__init__()
        self.met: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Note the operation, and compute it."""
        name = func.overloadpacket.__name__
        chosen = args[1] if name.startswith("index") and isinstance(args[1], list | tuple) else []
        if name in WAITING or any(i is not None and i.dtype == torch.bool for i in chosen):
            self.met.append(name)
        return func(*args, **kwargs or {})


@contextmanager
def as_on_an_accelerator() -> Iterator[Waits]:
    """Count the waits inside the block; what a CPU does in its own way is done as elsewhere."""
    waits, tolist = Waits(), torch.Tensor.tolist

    def noted(tensor: torch.Tensor) -> Any:
        waits.met.append("tolist")
        return tolist(tensor)

    with ExitStack() as stack:
        stack.enter_context(patch.object(output_loss, "CPU", "elsewhere"))
        stack.enter_context(patch.dict(attention.SHORT, clear=True))
        stack.enter_context(patch.object(torch.Tensor, "tolist", noted))
        # It was sent in the step before, and is here.
        stack.enter_context(patch.object(Late, "read", lambda late: (0.0, 0.0)))
        yield stack.enter_context(waits)


def waits_of(make: Callable[[Transformer], Trainer], batch: Any) -> int:
    """Count how often a step waits, after the first."""
    trainer = make(Transformer(TransformerConfig.tiny(10, 10, dropout=0.0)))
    trainer.update([batch])
    with as_on_an_accelerator() as waits:
        trainer.update([batch])
    return len(waits.met)


def row(engine: str) -> dict[str, Any]:
    """Count the waits of a step, the shapes of an epoch, and the padding among its positions."""
    loss = partial(smoothed_cross_entropy, smoothing=SMOOTHING)

    def rate(_: int) -> float:
        return 1e-3

    makers: dict[str, tuple[Callable[[Transformer], Trainer], Any]] = {
        "readable": (lambda model: Trainer(model, loss, rate), Batch.of(PAIRS)),
        "fast": (lambda model: FastTrainer(model, SMOOTHING, rate), Batch.of(PAIRS)),
        "packed": (
            lambda model: PackedTrainer(model, SMOOTHING, rate, backend=None),
            pack(PAIRS, [range(3)], 16),
        ),
    }
    corpus = load_corpus("multi30k")
    examples = Examples.of(learned_vocabularies(corpus, VOCAB).encode(corpus.split("train")))
    lengths = examples.lengths + 1
    if engine == "packed":
        order = np.random.default_rng(0).permutation(len(lengths))
        filled, size = rows_of(lengths[order], ROW), POSITIONS // ROW
        groups = iter(lambda: list(islice(filled, size)), [])
        shapes = [(size, ROW, ROW) for _ in groups]
    else:
        groups_of = batches_by_tokens(examples, POSITIONS, seed=0)
        shapes = [(len(group), *lengths[group].max(0).tolist()) for group in groups_of]
    places = sum(rows * (src + tgt) for rows, src, tgt in shapes)
    return {
        "engine": engine,
        "waits in a step": waits_of(*makers[engine]),
        "batches in an epoch": len(shapes),
        "shapes among them": len(set(shapes)),
        "padding": f"{1 - lengths.sum() / places:.1%}",
    }
