"""Sequence to sequence: an encoder, one context vector, a decoder."""

from dataclasses import dataclass, replace
from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.ground.settings import (
    Share,
    Size,
    VocabularySize,
    check_settings,
    one_of,
)
from annotated_transformer.recurrent import CELLS, RecurrentLayer
from annotated_transformer.tokens import PAD
from annotated_transformer.translator import State, Translator


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
        super().__init__()
        self.config = config
        self.src_embedding = nn.Embedding(config.src_vocab, config.d_model)
        self.tgt_embedding = nn.Embedding(config.tgt_vocab, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(config.d_model, config.tgt_vocab)


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
        super().__init__(config)
        d_model, hidden = config.d_model, config.hidden_dim
        self.encoder = RecurrentLayer(config.cell, d_model, hidden)
        self.decoder = RecurrentLayer(config.cell, d_model + hidden, hidden)
        self.bridge = nn.Linear(hidden, self.decoder.cell.states * hidden)
        self.readout = nn.Linear(hidden + hidden + d_model, d_model)

    def start(self, src: Int[Tensor, "batch src"]) -> Seq2SeqState:
        """Read the source sentences; return the state before the first target token."""
        embedded = self.dropout(self.src_embedding(src))
        _, last = self.encoder(embedded, src != PAD)
        context = self.encoder.cell.hidden(last)
        return Seq2SeqState(context, torch.tanh(self.bridge(context)))

    def extend(
        self, state: Seq2SeqState, tokens: Int[Tensor, "batch tgt"]
    ) -> tuple[Float[Tensor, "batch tgt vocab"], Seq2SeqState]:
        """Read ``tokens``; return the logits of the token after each, and the new state."""
        embedded = self.dropout(self.tgt_embedding(tokens))
        context = state.context[:, None].expand(-1, tokens.size(1), -1)
        hidden, last = self.decoder(
            torch.cat([embedded, context], dim=-1), tokens != PAD, state.decoder
        )
        readout = torch.tanh(self.readout(torch.cat([hidden, context, embedded], dim=-1)))
        return self.output(self.dropout(readout)), replace(state, decoder=last)
