"""Bahdanau attention: a separate context vector for every target word."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from annotated_transformer.ground.inputs import require_sizes
from annotated_transformer.masking import padding_mask
from annotated_transformer.recurrent import RecurrentLayer, make_cell
from annotated_transformer.seq2seq import RecurrentConfig, RecurrentTranslator
from annotated_transformer.soft_lookup import SoftLookup
from annotated_transformer.tokens import PAD
from annotated_transformer.translator import State


class AdditiveAttention(SoftLookup):
    """score(s, h) = v_aᵀ tanh(W_s s + W_h h): a small network judges how well s and h fit.

    The keys W_h h are computed once per sentence, and only W_s s at every step. It is the same as
    v_aᵀ tanh(W_a [s; h]) with W_a = [W_s W_h], as many texts write it.

    Source: Bahdanau et al. 2015, section 3.1 and appendix A.1.2 (W_a and U_a there).
    """

    def __init__(self, query_dim: int, memory_dim: int, hidden_dim: int) -> None:
        require_sizes(query_dim=query_dim, memory_dim=memory_dim, hidden_dim=hidden_dim)
        super().__init__()
        self.query = nn.Linear(query_dim, hidden_dim, bias=False)
        self.key = nn.Linear(memory_dim, hidden_dim, bias=False)
        self.v = nn.Linear(hidden_dim, 1, bias=False)

    def keys(self, memory: Float[Tensor, "*batch key memory"]) -> Float[Tensor, "*batch key d"]:
        """Compute W_h h for every source position."""
        return self.key(memory)

    def scores(
        self, query: Float[Tensor, "*batch query d_q"], key: Float[Tensor, "*batch key d"]
    ) -> Float[Tensor, "*batch query key"]:
        """Compute v_aᵀ tanh(W_s s + W_h h) for every pair of a query s and a key W_h h."""
        pairs = torch.tanh(self.query(query).unsqueeze(-2) + key.unsqueeze(-3))
        return self.v(pairs).squeeze(-1)


class BidirectionalEncoder(nn.Module):
    """h_j = [→h_j; ←h_j]: the annotation of a position, read from the left and from the right.

    Source: Bahdanau et al. 2015, section 3.2.
    """

    def __init__(self, cell: str, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.forwards = RecurrentLayer(cell, input_dim, hidden_dim)
        self.backwards = RecurrentLayer(cell, input_dim, hidden_dim, backward=True)

    def forward(
        self, x: Float[Tensor, "batch src input"], is_word: Bool[Tensor, "batch src"]
    ) -> tuple[Float[Tensor, "batch src memory"], Float[Tensor, "batch hidden"]]:
        """Return the annotations h, and the backward layer's hidden state at the first word."""
        left_to_right, _ = self.forwards(x, is_word)
        right_to_left, _ = self.backwards(x, is_word)
        return torch.cat([left_to_right, right_to_left], dim=-1), right_to_left[:, 0]


@dataclass(frozen=True)
class AttentionState(State):
    """The source memory that is attended to, and the state of the decoder's cell."""

    memory: Float[Tensor, "batch src memory"]
    keys: Float[Tensor, "batch src d"]
    mask: Bool[Tensor, "batch 1 src"]
    decoder: Float[Tensor, "batch state"]


class Bahdanau(RecurrentTranslator):
    """Encoder–decoder that attends to the source again before every target word.

    c_t = Σⱼ α_{t,j} h_j with α_t = softmax(score(s_{t−1}, h)); the query is the state *before* the
    word, so that the context can help to form s_t = f(s_{t−1}, [y_{t−1}; c_t]). The logits come
    from tanh(W [s_t; c_t; y_{t−1}]) (the paper has a maxout layer there).

    Source: Bahdanau et al. 2015, section 3.
    """

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__(config)
        d_model, hidden = config.d_model, config.hidden_dim
        self.encoder = BidirectionalEncoder(config.cell, d_model, hidden)
        self.decoder = make_cell(config.cell, d_model + 2 * hidden, hidden)
        self.bridge = nn.Linear(hidden, self.decoder.states * hidden)
        self.attention = AdditiveAttention(hidden, 2 * hidden, hidden)
        self.readout = nn.Linear(hidden + 2 * hidden + d_model, d_model)

    def start(self, src: Int[Tensor, "batch src"]) -> AttentionState:
        """Read the source sentences; return the state before the first target token."""
        memory, first = self.encoder(self.dropout(self.src_embedding(src)), src != PAD)
        keys, mask = self.attention.keys(memory), padding_mask(src)[:, 0]
        return AttentionState(memory, keys, mask, torch.tanh(self.bridge(first)))

    def extend(
        self, state: AttentionState, tokens: Int[Tensor, "batch tgt"]
    ) -> tuple[Float[Tensor, "batch tgt vocab"], AttentionState]:
        """Read ``tokens``; return the logits of the token after each, and the new state."""
        embedded = self.dropout(self.tgt_embedding(tokens))  # (batch, tgt, d_model)
        decoder, steps = state.decoder, []
        for t in range(tokens.size(1)):
            query = self.decoder.hidden(decoder)[:, None]  # (batch, 1, hidden)
            context = self.attention(query, state.keys, state.memory, state.mask)[:, 0]
            read = self.decoder.read(torch.cat([embedded[:, t], context], dim=-1))
            decoder = self.decoder(read, decoder)
            steps.append(torch.cat([self.decoder.hidden(decoder), context], dim=-1))
        readout = self.readout(torch.cat([torch.stack(steps, dim=1), embedded], dim=-1))
        return self.output(self.dropout(torch.tanh(readout))), replace(state, decoder=decoder)
