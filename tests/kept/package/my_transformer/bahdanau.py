"""Bahdanau attention: a separate context vector for every target word."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from my_transformer.masking import padding_mask
from my_transformer.recurrent import RecurrentLayer, make_cell
from my_transformer.seq2seq import RecurrentConfig, RecurrentTranslator
from my_transformer.soft_lookup import SoftLookup
from my_transformer.tokens import PAD
from annotated_transformer.translator import State


class AdditiveAttention(SoftLookup):
    """score(s, h) = v_aᵀ tanh(W_s s + W_h h): a small network judges how well s and h fit.

    The keys W_h h are computed once per sentence, and only W_s s at every step. It is the same as
    v_aᵀ tanh(W_a [s; h]) with W_a = [W_s W_h], as many texts write it.

    Source: Bahdanau et al. 2015, section 3.1 and appendix A.1.2 (W_a and U_a there).
    """

    def __init__(self, query_dim: int, memory_dim: int, hidden_dim: int) -> None:
        # Its parts, by name: query (nn.Linear, bias=False), key (nn.Linear, bias=False), v
        # (nn.Linear, bias=False).
        raise NotImplementedError("AdditiveAttention.__init__: chapter 3")

    def keys(self, memory: Float[Tensor, "*batch key memory"]) -> Float[Tensor, "*batch key d"]:
        """Compute W_h h for every source position."""
        raise NotImplementedError("AdditiveAttention.keys: chapter 3")

    def scores(
        self, query: Float[Tensor, "*batch query d_q"], key: Float[Tensor, "*batch key d"]
    ) -> Float[Tensor, "*batch query key"]:
        """Compute v_aᵀ tanh(W_s s + W_h h) for every pair of a query s and a key W_h h."""
        raise NotImplementedError("AdditiveAttention.scores: chapter 3")


class BidirectionalEncoder(nn.Module):
    """h_j = [→h_j; ←h_j]: the annotation of a position, read from the left and from the right.

    Source: Bahdanau et al. 2015, section 3.2.
    """

    def __init__(self, cell: str, input_dim: int, hidden_dim: int) -> None:
        # Its parts, by name: forwards (RecurrentLayer), backwards (RecurrentLayer,
        # backward=True).
        raise NotImplementedError("BidirectionalEncoder.__init__: chapter 3")

    def forward(
        self, x: Float[Tensor, "batch src input"], is_word: Bool[Tensor, "batch src"]
    ) -> tuple[Float[Tensor, "batch src memory"], Float[Tensor, "batch hidden"]]:
        """Return the annotations h, and the backward layer's hidden state at the first word."""
        raise NotImplementedError("BidirectionalEncoder.forward: chapter 3")


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
        # Its parts, by name: encoder (BidirectionalEncoder), decoder (make_cell), bridge
        # (nn.Linear), attention (AdditiveAttention), readout (nn.Linear).
        raise NotImplementedError("Bahdanau.__init__: chapter 3")

    def start(self, src: Int[Tensor, "batch src"]) -> AttentionState:
        """Read the source sentences; return the state before the first target token."""
        raise NotImplementedError("Bahdanau.start: chapter 3")

    def extend(
        self, state: AttentionState, tokens: Int[Tensor, "batch tgt"]
    ) -> tuple[Float[Tensor, "batch tgt vocab"], AttentionState]:
        """Read ``tokens``; return the logits of the token after each, and the new state."""
        raise NotImplementedError("Bahdanau.extend: chapter 3")
