"""Sequence to sequence: an encoder, one context vector, a decoder."""

from dataclasses import dataclass, replace
from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from my_transformer.recurrent import CELLS, RecurrentLayer
from annotated_transformer.settings import Share, Size, VocabularySize, check_settings, one_of
from my_transformer.tokens import PAD
from annotated_transformer.translator import State, Translator

# To refuse is to raise an InputError.
# check_settings(settings): Refuse a dataclass with an invalid value.
# one_of(names): Require one of these names, whichever exist at the time of the check.


@dataclass(frozen=True)
class RecurrentConfig:
    """The sizes of a recurrent translation model."""

    src_vocab: VocabularySize
    tgt_vocab: VocabularySize
    d_model: Size = 64  # the width of the embeddings and of the layer before the logits
    hidden_dim: Size = 128  # the width of the recurrent state h
    cell: Annotated[str, one_of(CELLS)] = "gru"
    dropout: Share = 0.0  # on the embeddings and before the logits

    def __post_init__(self) -> None:
        """Refuse settings that are out of range.

        Raises:
            InputError: if there is one.
        """
        check_settings(self)


class RecurrentTranslator(Translator):
    """The base of the recurrent models: embeddings on both sides, and logits."""

    def __init__(self, config: RecurrentConfig) -> None:
        # Its parts, by name: config, src_embedding (nn.Embedding), tgt_embedding (nn.Embedding),
        # dropout (nn.Dropout), output (nn.Linear).
        raise NotImplementedError("RecurrentTranslator.__init__: chapter 2")


@dataclass(frozen=True)
class Seq2SeqState(State):
    """The context vector c, and the state of the decoder's cell."""

    context: Float[Tensor, "batch hidden"]
    decoder: Float[Tensor, "batch state"]


class Seq2Seq(RecurrentTranslator):
    """Encoder–decoder with one fixed context vector.

    The encoder's last state is the context c; the decoder starts from tanh(W c) and reads, at each
    step, the previous word and c: s_t = f(s_{t−1}, [y_{t−1}; c]). The logits come from
    tanh(W [s_t; c; y_{t−1}]), the output layer shared over all steps.

    Source: Cho et al. 2014, section 2.2, and Sutskever et al. 2014.
    """

    def __init__(self, config: RecurrentConfig) -> None:
        # Its parts, by name: encoder (RecurrentLayer), decoder (RecurrentLayer), bridge
        # (nn.Linear), readout (nn.Linear).
        raise NotImplementedError("Seq2Seq.__init__: chapter 2")

    def start(self, src: Int[Tensor, "batch src"]) -> Seq2SeqState:
        """Read the source sentences; return the state before the first target token."""
        raise NotImplementedError("Seq2Seq.start: chapter 2")

    def extend(
        self, state: Seq2SeqState, tokens: Int[Tensor, "batch tgt"]
    ) -> tuple[Float[Tensor, "batch tgt vocab"], Seq2SeqState]:
        """Read ``tokens``; return the logits of the token after each, and the new state."""
        raise NotImplementedError("Seq2Seq.extend: chapter 2")
