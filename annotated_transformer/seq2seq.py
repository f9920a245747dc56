"""Sequence to sequence: an encoder, one context vector, a decoder."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.errors import require_dropout, require_sizes
from annotated_transformer.recurrent import RecurrentLayer
from annotated_transformer.tokens import PAD

State = dict[str, Tensor]
"""What a decoder remembers between two words. The first axis of every tensor is the batch."""


@dataclass(frozen=True)
class RecurrentConfig:
    """The sizes of a recurrent translation model."""

    src_vocab: int
    tgt_vocab: int
    d_model: int = 64  # the width of the embeddings and of the layer before the logits
    hidden_dim: int = 128  # the width of the recurrent state h
    cell: str = "gru"  # "rnn", "gru" or "lstm"
    dropout: float = 0.0  # on the embeddings and before the logits

    def __post_init__(self) -> None:
        """Refuse a size that no model can have.

        Raises:
            InputError: if a size is below 1, or the dropout outside [0, 1).
        """
        require_sizes(self, "src_vocab", "tgt_vocab", "d_model", "hidden_dim")
        require_dropout(self.dropout)


class RecurrentTranslator(nn.Module):
    """What the recurrent models of the course share.

    A subclass says how decoding begins (:meth:`start`) and how it goes on by any number of words
    (:meth:`extend`). Teacher forcing extends by the whole target sentence at once, decoding by one
    word at a time: it is the same code.
    """

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.config = config
        self.src_embedding = nn.Embedding(config.src_vocab, config.d_model)
        self.tgt_embedding = nn.Embedding(config.tgt_vocab, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(config.d_model, config.tgt_vocab)

    def start(self, src: Int[Tensor, "batch src"]) -> State:
        """Read the source sentences; give the state before the first target word."""
        raise NotImplementedError(f"{type(self).__name__} does not say how decoding starts.")

    def extend(
        self, state: State, tokens: Int[Tensor, "batch tgt"]
    ) -> tuple[Float[Tensor, "batch tgt vocab"], State]:
        """Read ``tokens``; give the logits of the token after each, and the new state."""
        raise NotImplementedError(f"{type(self).__name__} does not say how decoding goes on.")

    def forward(
        self, src: Int[Tensor, "batch src"], tgt_in: Int[Tensor, "batch tgt"]
    ) -> Float[Tensor, "batch tgt vocab"]:
        """Teacher forcing: the logits of every next token, given the true tokens before it."""
        return self.extend(self.start(src), tgt_in)[0]

    def step(
        self, state: State, token: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch vocab"], State]:
        """Read one token of each sentence; give the logits of the next, and the new state."""
        logits, state = self.extend(state, token[:, None])
        return logits[:, 0], state


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

    def start(self, src: Int[Tensor, "batch src"]) -> State:
        """Read the source sentences; give the state before the first target word."""
        embedded = self.dropout(self.src_embedding(src))
        _, last = self.encoder(embedded, src != PAD)
        context = self.encoder.cell.hidden(last)
        return {"context": context, "decoder": torch.tanh(self.bridge(context))}

    def extend(
        self, state: State, tokens: Int[Tensor, "batch tgt"]
    ) -> tuple[Float[Tensor, "batch tgt vocab"], State]:
        """Read ``tokens``; give the logits of the token after each, and the new state."""
        embedded = self.dropout(self.tgt_embedding(tokens))
        context = state["context"][:, None].expand(-1, tokens.size(1), -1)
        hidden, last = self.decoder(
            torch.cat([embedded, context], dim=-1), tokens != PAD, state["decoder"]
        )
        readout = torch.tanh(self.readout(torch.cat([hidden, context, embedded], dim=-1)))
        return self.output(self.dropout(readout)), {**state, "decoder": last}
