"""Luong attention: attend to the source after the recurrent step, and predict from both."""

from dataclasses import dataclass, replace
from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from my_transformer.bahdanau import AdditiveAttention, AttentionState
from annotated_transformer.errors import require_choice
from my_transformer.masking import padding_mask
from my_transformer.recurrent import RecurrentLayer
from my_transformer.seq2seq import RecurrentConfig, RecurrentTranslator
from annotated_transformer.settings import one_of
from my_transformer.soft_lookup import SoftLookup
from my_transformer.tokens import PAD

# To refuse is to raise an InputError.
# require_choice(name, value, choices): Refuse a value that is not one of the choices.
# one_of(names): Require one of these names, whichever exist at the time of the check.

SCORES = ("dot", "general", "concat")


@dataclass(frozen=True)
class LuongConfig(RecurrentConfig):
    """The sizes of a Luong model, and its score."""

    score: Annotated[str, one_of(SCORES)] = "general"


class DotAttention(SoftLookup):
    """score(s, h) = sᵀ h: the score has no parameters. (Luong et al. 2015, section 3.1.)"""

    same_width = True  # the numbers of a query and a key are multiplied in pairs

    def scores(
        self, query: Float[Tensor, "*batch query d"], key: Float[Tensor, "*batch key d"]
    ) -> Float[Tensor, "*batch query key"]:
        """Compute sᵀ h for every pair."""
        raise NotImplementedError("DotAttention.scores: chapter 4")


class GeneralAttention(DotAttention):
    """score(s, h) = sᵀ W_a h: the memory is first multiplied by a trained matrix.

    Source: Luong et al. 2015, section 3.1.
    """

    def __init__(self, query_dim: int, memory_dim: int) -> None:
        # Its parts, by name: key (nn.Linear, bias=False).
        raise NotImplementedError("GeneralAttention.__init__: chapter 4")

    def keys(self, memory: Float[Tensor, "*batch key memory"]) -> Float[Tensor, "*batch key d"]:
        """Compute W_a h for every source position."""
        raise NotImplementedError("GeneralAttention.keys: chapter 4")


def make_score(name: str, hidden_dim: int) -> SoftLookup:
    """Make the attention with that score; ``concat`` is the additive score of Bahdanau.

    Raises:
        InputError: if the name is not one of ``SCORES``.
    """
    raise NotImplementedError("make_score: chapter 4")


class Luong(RecurrentTranslator):
    """Encoder–decoder with global attention after the recurrent step.

    s_t = f(s_{t−1}, y_{t−1}); c_t = Σⱼ α_{t,j} h_j with α_t = softmax(score(s_t, h)); the
    attentional hidden state h̃_t = tanh(W_c [c_t; s_t]) gives the logits W h̃_t. The context does
    not return to the recurrence (the paper's "input feeding" is left out), so all steps of
    teacher forcing attend at once.

    Source: Luong et al. 2015, sections 3 and 3.1.
    """

    def __init__(self, config: LuongConfig) -> None:
        # Its parts, by name: encoder (RecurrentLayer), decoder (RecurrentLayer), attention
        # (make_score), readout (nn.Linear).
        raise NotImplementedError("Luong.__init__: chapter 4")

    def start(self, src: Int[Tensor, "batch src"]) -> AttentionState:
        """Read the source sentences; return the state before the first target token."""
        raise NotImplementedError("Luong.start: chapter 4")

    def extend(
        self, state: AttentionState, tokens: Int[Tensor, "batch tgt"]
    ) -> tuple[Float[Tensor, "batch tgt vocab"], AttentionState]:
        """Read ``tokens``; return the logits of the token after each, and the new state."""
        raise NotImplementedError("Luong.extend: chapter 4")
