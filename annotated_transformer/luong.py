"""Luong attention: attend to the source after the recurrent step, and predict from both."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.bahdanau import AdditiveAttention, AttentionState
from annotated_transformer.ground.errors import require_choice
from annotated_transformer.ground.inputs import require_sizes
from annotated_transformer.ground.settings import one_of
from annotated_transformer.masking import padding_mask
from annotated_transformer.recurrent import RecurrentLayer
from annotated_transformer.seq2seq import RecurrentConfig, RecurrentTranslator
from annotated_transformer.soft_lookup import SoftLookup
from annotated_transformer.tokens import PAD


class DotAttention(SoftLookup):
    """score(s, h) = sᵀ h: the score has no parameters. (Luong et al. 2015, section 3.1.)"""

    same_width = True  # the numbers of a query and a key are multiplied in pairs

    def scores(
        self, query: Float[Tensor, "*batch query d"], key: Float[Tensor, "*batch key d"]
    ) -> Float[Tensor, "*batch query key"]:
        """Compute sᵀ h for every pair."""
        return query @ key.transpose(-2, -1)


class GeneralAttention(DotAttention):
    """score(s, h) = sᵀ W_a h: the memory is first multiplied by a trained matrix.

    Source: Luong et al. 2015, section 3.1.
    """

    def __init__(self, query_dim: int, memory_dim: int) -> None:
        require_sizes(query_dim=query_dim, memory_dim=memory_dim)
        super().__init__()
        self.key = nn.Linear(memory_dim, query_dim, bias=False)

    def keys(self, memory: Float[Tensor, "*batch key memory"]) -> Float[Tensor, "*batch key d"]:
        """Compute W_a h for every source position."""
        return self.key(memory)


SCORES: dict[str, Callable[[int], SoftLookup]] = {
    "dot": lambda hidden: DotAttention(),
    "general": lambda hidden: GeneralAttention(hidden, hidden),
    "concat": lambda hidden: AdditiveAttention(hidden, hidden, hidden),
}
"""The attentions by the name of their score, made from the size of the hidden states."""


def make_score(name: str, hidden_dim: int) -> SoftLookup:
    """Make the attention with that score; ``concat`` is the additive score of Bahdanau.

    Raises:
        InputError: if the name is not one of ``SCORES``.
    """
    require_choice("score", name, SCORES)
    return SCORES[name](hidden_dim)


@dataclass(frozen=True)
class LuongConfig(RecurrentConfig):
    """The sizes of a Luong model, and its score."""

    score: Annotated[str, one_of(SCORES)] = "general"


class Luong(RecurrentTranslator):
    """Encoder–decoder with global attention after the recurrent step.

    s_t = f(s_{t−1}, y_{t−1}); c_t = Σⱼ α_{t,j} h_j with α_t = softmax(score(s_t, h)); the
    attentional hidden state h̃_t = tanh(W_c [c_t; s_t]) gives the logits W h̃_t. The context does
    not return to the recurrence (the paper's "input feeding" is left out), so all steps of
    teacher forcing attend at once.

    Source: Luong et al. 2015, sections 3 and 3.1.
    """

    def __init__(self, config: LuongConfig) -> None:
        super().__init__(config)
        d_model, hidden = config.d_model, config.hidden_dim
        self.encoder = RecurrentLayer(config.cell, d_model, hidden)
        self.decoder = RecurrentLayer(config.cell, d_model, hidden)
        self.attention = make_score(config.score, hidden)
        self.readout = nn.Linear(hidden + hidden, d_model)

    def start(self, src: Int[Tensor, "batch src"]) -> AttentionState:
        """Read the source sentences; return the state before the first target token."""
        memory, last = self.encoder(self.dropout(self.src_embedding(src)), src != PAD)
        keys, mask = self.attention.keys(memory), padding_mask(src)[:, 0]
        return AttentionState(memory, keys, mask, last)

    def extend(
        self, state: AttentionState, tokens: Int[Tensor, "batch tgt"]
    ) -> tuple[Float[Tensor, "batch tgt vocab"], AttentionState]:
        """Read ``tokens``; return the logits of the token after each, and the new state."""
        embedded = self.dropout(self.tgt_embedding(tokens))  # (batch, tgt, d_model)
        hidden, last = self.decoder(embedded, tokens != PAD, state.decoder)  # (batch, tgt, hidden)
        context = self.attention(hidden, state.keys, state.memory, state.mask)
        attentional = torch.tanh(self.readout(torch.cat([context, hidden], dim=-1)))
        return self.output(self.dropout(attentional)), replace(state, decoder=last)
