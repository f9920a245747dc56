"""The interface of every model: read a source, extend a target by tokens, keep a state."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_ids, require_values
from annotated_transformer.tokens import BOS, EOS, PAD

S = TypeVar("S", bound="State")


@dataclass(frozen=True)
class State:
    """The state of a decoder between two tokens.

    A subclass has fields: tensors whose first axis is the batch, other states, or tuples of
    states. So a search can drop, repeat and reorder sentences without knowing what the state means.
    """

    def select(self: S, rows: Tensor) -> S:
        """Select rows of the state, given by index (repeats allowed) or as a boolean mask."""
        rows = rows.nonzero()[:, 0] if rows.dtype == torch.bool else rows
        return replace(self, **{f.name: _select(getattr(self, f.name), rows) for f in fields(self)})


def _select(part: Any, rows: Tensor) -> Any:
    match part:
        case State():
            return part.select(rows)
        case tuple():
            return tuple(_select(entry, rows) for entry in part)
        case _:
            return part.index_select(0, rows)  # part[rows] copies number by number


def positions_of(read: Int[Tensor, "batch read"]) -> Int[Tensor, "batch read"]:
    """Count the tokens before each: its position. Padding counts for nothing, wherever it stands.

    >>> positions_of(torch.tensor([[0, 5, 6], [7, 8, 0]]))
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    return ((read != PAD).cumsum(dim=1) - 1).clamp(min=0)


class NextTokenModel(nn.Module):
    """A model that extends sentences: from tokens that it reads to the logits of the next.

    A subclass implements :meth:`start`, which reads a source, and :meth:`extend`, by any number of
    tokens, from a state. Teacher forcing extends by the whole sentence at once, a search by one
    token at a time, with the same code.
    """

    max_length: int | None = None
    """The largest number of tokens in a sentence that the model can read; ``None``: no limit."""

    is_one_text = False
    """Whether source and target are one text, so that both together have ``max_length`` tokens."""

    begin: int | None = BOS
    """The token that every target begins with; ``None``: a text begins with its own first token."""

    ends: tuple[int, ...] = (EOS,)
    """The tokens that end a target."""

    def __call__(self, src: Any, tgt_in: Any = None) -> Any:
        """Check a source and its target, then compute the logits by :meth:`forward`.

        Where both are one text, a single argument is a text without a source.

        Raises:
            InputError: if one contains anything but ids of its vocabulary, or their numbers of
                sentences differ.
        """
        is_alone = tgt_in is None and self.is_one_text
        inputs = {"tgt_in": src} if is_alone else {"src": src, "tgt_in": tgt_in}
        for name, ids in inputs.items():
            require_ids(name, ids, self.vocabulary_size(name.removesuffix("_in")))
        if len({len(ids) for ids in inputs.values()}) > 1:
            raise InputError(
                f"src has {len(src)} sentences and tgt_in {len(tgt_in)}: each needs its own."
            )
        return super().__call__(*inputs.values())

    def forward(
        self, src: Int[Tensor, "batch src"], tgt_in: Int[Tensor, "batch tgt"]
    ) -> Float[Tensor, "batch tgt vocab"]:
        """Compute the logits of every next token by teacher forcing."""
        return self.extend(self.start(src), tgt_in)[0]

    def start(self, src: Int[Tensor, "batch src"]) -> State:
        """Read the source sentences; return the state before the first target token."""
        raise NotImplementedError(f"{type(self).__name__} does not implement start.")

    def extend(
        self, state: Any, tokens: Int[Tensor, "batch tgt"]
    ) -> tuple[Float[Tensor, "batch tgt vocab"], State]:
        """Read ``tokens``; return the logits of the token after each, and the new state.

        The given state is unchanged: a search may extend it more than once.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement extend.")

    def step(
        self, state: Any, token: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch vocab"], Any]:
        """Read one token of each sentence; return the logits of the next, and the new state."""
        logits, state = self.extend(state, token[:, None])
        return logits[:, 0], state

    def vocabulary_size(self, side: str) -> int | None:
        """Return the number of ids of a side, ``src`` or ``tgt``, if the configuration has it."""
        return getattr(getattr(self, "config", None), f"{side}_vocab", None)


class Translator(NextTokenModel):
    """A model that reads a source sentence, and then extends its translation, another text."""


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Disable dropout and gradients inside the block; restore training mode afterwards.

    Raises:
        InputError: if the model is on the device meta, where weights have no values.
    """
    require_values("model", next(model.parameters(), None))
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        for module in training:
            module.training = True


def require_writer(model: Any) -> None:
    """Refuse a model that does not write: an encoder alone, or anything but a model.

    Raises:
        InputError: if it is none.
    """
    if not hasattr(model, "extend"):
        raise InputError(
            f"the model is a {type(model).__name__}, it must predict next tokens, as a translator "
            "or a language model does."
        )


def require_positions(
    model: NextTokenModel,
    lengths: Int[np.ndarray, "examples sides"],
    place: Callable[[int], str] = lambda index: f"sentence {index + 1:,}",
) -> None:
    """Refuse examples, given by the lengths of their sides, that are too long for the model.

    ``place`` returns, for the message, where the example of that index is.

    Raises:
        InputError: if one has more tokens, special ones counted, than the model has positions.
    """
    # With the end symbol of the longer side; as one text, with EOS and BOS between the two.
    longer = lengths.sum(axis=1) + 2 if model.is_one_text else lengths.max(axis=1, initial=0) + 1
    if model.begin is None:  # nothing is added to a text
        longer = lengths.max(axis=1, initial=0)
    if model.max_length is not None and (longer > model.max_length).any():
        number = int((longer > model.max_length).argmax())
        raise InputError(
            f"{place(number)} has {longer[number]} tokens with its end symbol, "
            f"the model takes {model.max_length}: shorten it, or train with a larger max_length."
        )
