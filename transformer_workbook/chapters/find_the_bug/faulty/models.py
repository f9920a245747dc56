"""Mistakes: eight Transformers, each with one mistake that is easily made and hard to see.

This file is the solution of chapter 17. Read it when you have named all eight.

A patient has the modules, the weights and the shapes of a healthy model, under the same names. Only
what one kind of module *does* is different, as it was once in a published program.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from math import sqrt

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.cross_attention import CrossAttention
from annotated_transformer.ground.devices import same_randomness
from annotated_transformer.ground.errors import InputError
from annotated_transformer.layers import DecoderLayer
from annotated_transformer.masking import padding_mask
from annotated_transformer.multi_head_attention import KeyValues, MultiHeadAttention
from annotated_transformer.positional_encoding import SinusoidalPositionalEncoding
from annotated_transformer.transformer import Transformer, TransformerConfig, TransformerState
from annotated_transformer.translator import State
from transformer_workbook.notebook.experiments import drawn_in_float64

SMALL = TransformerConfig(
    12,
    12,
    d_model=8,
    num_layers=2,
    num_heads=2,
    d_ff=12,
    dropout=0.1,
    norm_position="pre",
    max_length=32,
    share_embeddings=True,
)
"""The sizes of a patient unless others are given. It knows the ids 0 to 11."""


class Alike(nn.Module):
    """A module that is printed under the name of the module that it replaces."""

    def _get_name(self) -> str:
        return healthy_kind(type(self)).__name__


def healthy_kind(kind: type[nn.Module]) -> type[nn.Module]:
    """Return the class that a faulty one replaces: what it inherits from, beside Alike."""
    _, healthy = kind.__bases__
    return healthy


class ForgetsPositions(Alike, SinusoidalPositionalEncoding):
    """A decoder that reads one token at a time gives each of them the position 0."""

    def forward(
        self,
        x: Float[Tensor, "batch time d_model"],
        positions: Int[Tensor, "#batch time"] | None = None,
    ) -> Float[Tensor, "batch time d_model"]:
        """Add the vectors of positions 0, 1, … whatever ``positions`` is."""
        return super().forward(x)


class DividesByAnotherDeviation(Alike, nn.LayerNorm):
    """Layer normalisation with the unbiased deviation, and ε added to it, not under the root."""

    def forward(self, input: Tensor) -> Tensor:
        """(x − mean) / (std + ε), where std divides by d − 1."""
        centred = input - input.mean(-1, keepdim=True)
        return self.weight * centred / (input.std(-1, keepdim=True) + self.eps) + self.bias


class CutsAcrossPositions(Alike, MultiHeadAttention):
    """Heads split by ``view`` alone: the numbers of one head come from several positions."""

    def split(
        self, x: Float[Tensor, "batch time heads_d"], num_heads: int | None = None
    ) -> Float[Tensor, "batch heads time d"]:
        """The right shape; the axes of positions and heads were never exchanged."""
        batch, time, _ = x.shape
        return x.reshape(batch, num_heads or self.num_heads, time, -1)


class CutsAcrossPositionsOfTheSource(Alike, CrossAttention):
    """The same split in cross-attention, which is a class of its own."""

    split = CutsAcrossPositions.split


class NeverStopsDropping(Alike, ScaledDotProductAttention):
    """PyTorch's function drops whenever it is given a probability; nobody told it when not to."""

    def forward(
        self,
        query: Float[Tensor, "*batch query d_k"],
        key: Float[Tensor, "*batch key d_k"],
        value: Float[Tensor, "*batch key d_v"],
        mask: Bool[Tensor, "*#batch #query #key"] | None = None,
    ) -> Float[Tensor, "*batch query d_v"]:
        """Attention with dropout on its weights, in training and out of it."""
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=0.1)


class ReadsPaddingOfTheSource(Alike, DecoderLayer):
    """The decoder's cross-attention is given no mask: it attends to the padding of the source."""

    def forward(
        self,
        x: Float[Tensor, "batch tgt d_model"],
        past: State,
        mask: Bool[Tensor, "#batch 1 #tgt past_and_tgt"],
        memory: KeyValues | None = None,
        memory_mask: Bool[Tensor, "batch 1 1 src"] | None = None,
        positions: Int[Tensor, "#batch tgt"] | None = None,
    ) -> tuple[Float[Tensor, "batch tgt d_model"], State]:
        """One layer further, for any number of new target positions."""
        return super().forward(x, past, mask, memory, None, positions)


class ScalesTooLate(Alike, ScaledDotProductAttention):
    """First the softmax, then the division by √d_k."""

    def weights(
        self,
        query: Float[Tensor, "*batch query d_k"],
        key: Float[Tensor, "*batch key d_k"],
        mask: Bool[Tensor, "*#batch #query #key"] | None = None,
    ) -> Float[Tensor, "*batch query key"]:
        """softmax(Q Kᵀ) / √d_k."""
        root = sqrt(query.size(-1))
        return super().weights(query * root, key, mask) / root

    def forward(
        self,
        query: Float[Tensor, "*batch query d_k"],
        key: Float[Tensor, "*batch key d_k"],
        value: Float[Tensor, "*batch key d_v"],
        mask: Bool[Tensor, "*#batch #query #key"] | None = None,
    ) -> Float[Tensor, "*batch query d_v"]:
        """The weighted sum of the values."""
        return self.weights(query, key, mask) @ value


class HidesTheFutureInTrainingOnly(Alike, Transformer):
    """The causal mask is made only while the model trains."""

    def extend(
        self, state: TransformerState, tokens: Int[Tensor, "batch tgt"]
    ) -> tuple[Float[Tensor, "batch tgt vocab"], TransformerState]:
        """Read ``tokens``; give the logits of the token after each, and the new state."""
        if self.training:
            return super().extend(state, tokens)
        start, read = state.tokens.size(1), torch.cat([state.tokens, tokens], dim=1)
        positions = torch.arange(start, read.size(1), device=read.device)[None]
        x, mask = self.tgt_embedding(tokens, positions), padding_mask(read)
        past = []
        for layer, before, memory in zip(self.decoder, state.past, state.memory, strict=True):
            x, seen = layer(x, before, mask, memory, state.memory_mask, positions)
            past.append(seen)
        logits = self.output(self.decoder_norm(x))
        return logits, replace(state, tokens=read, past=tuple(past))


def _becomes(*kinds: type[nn.Module]) -> Callable[[Transformer], None]:
    """Replace every module of a model by the faulty one of ``kinds`` that is like it."""
    faulty = {healthy_kind(kind): kind for kind in kinds}

    def change(model: Transformer) -> None:
        for part in list(model.modules()):
            if type(part) in faulty:
                part.__class__ = faulty[type(part)]  # the weights and their names stay

    return change


def _copies_one_layer(model: Transformer) -> None:
    """Make each stack of deep copies of one layer: all are initialised with the same weights."""
    model.encoder = nn.ModuleList(deepcopy(model.encoder[0]) for _ in model.encoder)
    model.decoder = nn.ModuleList(deepcopy(model.decoder[0]) for _ in model.decoder)


CHANGES: dict[int, Callable[[Transformer], None]] = {
    0: lambda model: None,
    1: _becomes(ForgetsPositions),
    2: _becomes(DividesByAnotherDeviation),
    3: _becomes(CutsAcrossPositions, CutsAcrossPositionsOfTheSource),
    4: _becomes(NeverStopsDropping),
    5: _copies_one_layer,
    6: _becomes(ReadsPaddingOfTheSource),
    7: _becomes(ScalesTooLate),
    8: _becomes(HidesTheFutureInTrainingOnly),
}
"""What makes a healthy model ill, by the number of the patient."""


def patient(number: int, config: TransformerConfig = SMALL, seed: int = 0) -> Transformer:
    """A new model, in float64: patient 1 to 8, or 0, which is healthy.

    With the same sizes and the same seed, all nine draw the same random numbers. PyTorch's own
    generator is left as it is.

    Raises:
        InputError: if there is no patient of that number.
    """
    if number not in CHANGES:
        raise InputError(f"number is {number}, it must be from 0 (healthy) to {max(CHANGES)}.")
    with drawn_in_float64(), same_randomness():
        torch.manual_seed(seed)
        model = Transformer(config)
    CHANGES[number](model)
    return model
