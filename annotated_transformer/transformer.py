"""The Transformer: embeddings, a stack of encoder layers, a stack of decoder layers, logits."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor, nn

from annotated_transformer.cross_attention import CrossAttention
from annotated_transformer.gated_feed_forward import GatedFeedForward
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_sizes
from annotated_transformer.ground.settings import (
    Share,
    Size,
    VocabularySize,
    check_settings,
    one_of,
)
from annotated_transformer.initial_weights import initialise, output_layer
from annotated_transformer.layers import (
    ACTIVATIONS,
    NORM_POSITIONS,
    NORMS,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    Residual,
    make_norm,
)
from annotated_transformer.masking import padding_mask, target_mask
from annotated_transformer.multi_head_attention import KeyValues, MultiHeadAttention
from annotated_transformer.positional_encoding import (
    ENCODINGS,
    NoPositionalEncoding,
    PositionalEncoding,
)
from annotated_transformer.rotary import RotaryAttention
from annotated_transformer.translator import State, Translator, positions_of


class Positions(NamedTuple):
    """Where positions are encoded: in what is added to the embeddings, or in self-attention."""

    added: type[PositionalEncoding]
    attention: Callable[["TransformerConfig"], MultiHeadAttention]


POSITIONS = {
    name: Positions(added, lambda config: MultiHeadAttention(*config.heads))
    for name, added in ENCODINGS.items()
} | {
    "rotary": Positions(
        NoPositionalEncoding,
        lambda config: RotaryAttention(*config.heads, base=config.rotary_base),
    )
}
"""The ways to encode positions, by name."""


@dataclass(frozen=True)
class TransformerConfig:
    """The sizes of a Transformer. The defaults are the paper's base model (Table 3).

    Source and target share one embedding matrix only if that is set: two vocabularies may
    have the same size and different tokens.
    """

    src_vocab: VocabularySize
    tgt_vocab: VocabularySize
    d_model: Size = 512  # the width of every embedding and of every layer's output
    num_layers: Annotated[Size, Field(le=1000)] = 6  # N, in the encoder and again in the decoder
    num_heads: Size = 8  # h
    d_ff: Size = 2048  # the width inside the feed-forward network
    activation: Annotated[str, one_of(ACTIVATIONS)] = "relu"  # relu, as in the paper
    gated: bool = False  # a gate in the feed-forward network: with swish, SwiGLU
    d_k: Size | None = None  # the width of a query and a key; None: d_model / num_heads
    d_v: Size | None = None  # the width of a value; None: d_model / num_heads
    num_kv_heads: Size | None = None  # heads of keys and values; None: num_heads
    qk_norm: bool = False  # the queries and keys of each head are normalised
    bias: bool = True  # in every linear layer
    dropout: Share = 0.1  # on every sub-layer's output and on the embeddings
    norm: Annotated[str, one_of(NORMS)] = "layer"  # LayerNorm, as in the paper, or RMSNorm
    epsilon: Annotated[float, Field(gt=0, lt=1)] = 1e-5  # below the root of every normalisation
    norm_position: Annotated[str, one_of(NORM_POSITIONS)] = "post"  # after the sum, as in the paper
    positions: Annotated[str, one_of(POSITIONS)] = "sinusoidal"
    rotary_base: Annotated[float, Field(gt=1, lt=1e12)] = 10000.0  # of rotary positions
    max_length: Annotated[Size, Field(le=10**7)] = 1024  # number of positions
    share_embeddings: bool = False  # one matrix for source and target, of one vocabulary
    tie_output: bool = True  # the target embeddings are also the matrix before the softmax

    def __post_init__(self) -> None:
        """Refuse settings that are out of range.

        Raises:
            InputError: if there is one, if one embedding would serve two vocabularies of
                different sizes, or if a table of so many positions would fill the memory.
        """
        check_settings(self)
        if self.max_length > 10**5 and POSITIONS[self.positions].added is not NoPositionalEncoding:
            raise InputError(
                f"max_length is {self.max_length}, it can be at most 100,000 where positions are "
                f"{self.positions}."
            )
        if self.share_embeddings and self.src_vocab != self.tgt_vocab:
            raise InputError(
                f"src_vocab={self.src_vocab} and tgt_vocab={self.tgt_vocab} differ: "
                "share_embeddings needs one vocabulary for both sides."
            )

    @classmethod
    def tiny(cls, src_vocab: int, tgt_vocab: int, **changes: Any) -> "TransformerConfig":
        """Make a configuration that learns a small corpus in a minute on one CPU core."""
        tiny = cls(src_vocab, tgt_vocab, d_model=64, num_layers=2, num_heads=4, d_ff=256)
        return replace(tiny, **changes)

    @classmethod
    def base(cls, src_vocab: int, tgt_vocab: int, **changes: Any) -> "TransformerConfig":
        """Configure the base model of Vaswani et al. 2017, Table 3; the vocabulary is joint."""
        return cls(src_vocab, tgt_vocab, **{"share_embeddings": True} | changes)

    @classmethod
    def big(cls, src_vocab: int, tgt_vocab: int, **changes: Any) -> "TransformerConfig":
        """Configure the big model of Vaswani et al. 2017, Table 3; the vocabulary is joint."""
        big = {"d_model": 1024, "num_heads": 16, "d_ff": 4096, "dropout": 0.3}
        return cls.base(src_vocab, tgt_vocab, **big | changes)

    @property
    def heads(self) -> tuple[Any, ...]:
        """The arguments of an attention layer, in their order."""
        sizes = self.d_model, self.num_heads, self.d_k, self.d_v, self.num_kv_heads
        return *sizes, self.normalisation if self.qk_norm else nn.Identity

    def self_attention(self) -> MultiHeadAttention:
        """Make a self-attention, which encodes positions if the embeddings do not."""
        return POSITIONS[self.positions].attention(self)

    def feed_forward(self) -> FeedForward:
        """Make a feed-forward network."""
        network = GatedFeedForward if self.gated else FeedForward
        return network(self.d_model, self.d_ff, self.activation)

    def normalisation(self, width: int) -> nn.Module:
        """Make a normalisation of vectors of that width."""
        return make_norm(self.norm, width, self.epsilon)

    def residual(self) -> Residual:
        """Make a residual connection."""
        return Residual(self.d_model, self.dropout, self.norm_position, self.norm, self.epsilon)

    def final_norm(self) -> nn.Module:
        """Make what stands at the end of a stack: a normalisation in pre-norm, else nothing."""
        return self.normalisation(self.d_model) if self.norm_position == "pre" else nn.Identity()


def remove_biases(model: nn.Module) -> None:
    """Leave out the bias of every linear layer, which then computes W x alone."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.register_parameter("bias", None)


class Embedding(nn.Module):
    """Token embeddings times √d_model, plus positions, then dropout.

    The weights are initialised from N(0, 1/d_model), which suits them as the matrix before the
    softmax; the factor √d_model brings the embeddings back to variance 1, so that they are
    not small beside the sinusoids, whose mean square is 1/2. The paper states the factor, but no
    initialisation.

    Source: Vaswani et al. 2017, sections 3.4 (factor), 3.5 (positions) and 5.4 (dropout).
    """

    def __init__(self, vocab: int, config: TransformerConfig) -> None:
        require_sizes(vocab=vocab)
        super().__init__()
        self.tokens = nn.Embedding(vocab, config.d_model)
        nn.init.normal_(self.tokens.weight, std=config.d_model**-0.5)
        self.positions = POSITIONS[config.positions].added(config.max_length, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.scale = math.sqrt(config.d_model)

    def forward(
        self,
        tokens: Int[Tensor, "batch time"],
        positions: Int[Tensor, "#batch time"] | None = None,
    ) -> Float[Tensor, "batch time d_model"]:
        """Embed tokens at these positions (``None``: 0, 1, …)."""
        return self.dropout(self.positions(self.tokens(tokens) * self.scale, positions))


@dataclass(frozen=True)
class TransformerState(State):
    """The target so far, and the projected keys and values that each decoder layer attends to."""

    tokens: Int[Tensor, "batch tgt"]  # the target so far, for the mask of its padding
    past: tuple[KeyValues, ...]  # the KV cache of the target so far, one for each layer
    memory: tuple[KeyValues, ...]  # of the source
    memory_mask: Bool[Tensor, "batch 1 1 src"]


class Transformer(Translator):
    """Encoder–decoder of attention and feed-forward layers alone.

    Sentences are padded on the right: the first token of a row is at position 0.

    Source: Vaswani et al. 2017, section 3.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = c = config
        self.max_length = c.max_length
        self.tgt_embedding = Embedding(c.tgt_vocab, c)
        self.src_embedding = self.tgt_embedding if c.share_embeddings else Embedding(c.src_vocab, c)
        self.encoder = nn.ModuleList(
            EncoderLayer(c.self_attention(), c.feed_forward(), c.residual)
            for _ in range(c.num_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderLayer(c.self_attention(), CrossAttention(*c.heads), c.feed_forward(), c.residual)
            for _ in range(c.num_layers)
        )
        self.encoder_norm, self.decoder_norm = c.final_norm(), c.final_norm()
        self.output = output_layer(self.tgt_embedding.tokens, c.tie_output)
        initialise(self.encoder, self.decoder)
        if not c.bias:
            remove_biases(self)

    def encode(self, src: Int[Tensor, "batch src"]) -> Float[Tensor, "batch src d_model"]:
        """Encode the source sentences as the memory, one vector per token."""
        x = self.src_embedding(src)  # (batch, src, d_model)
        mask = padding_mask(src)  # (batch, 1, 1, src)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def start(self, src: Int[Tensor, "batch src"]) -> TransformerState:
        """Read the source sentences; return the state before the first target token.

        For each decoder layer the state holds the memory's keys and values, projected once, and
        an empty KV cache for the target.
        """
        x, layers = self.encode(src), cast(Iterable[Any], self.decoder)  # (batch, src, d_model)
        memory = tuple(layer.cross_attention.project(x, x) for layer in layers)
        past = tuple(layer.self_attention.empty(len(src)) for layer in layers)
        return TransformerState(src[:, :0], past, memory, padding_mask(src))

    def extend(
        self, state: TransformerState, tokens: Int[Tensor, "batch tgt"]
    ) -> tuple[Float[Tensor, "batch tgt vocab"], TransformerState]:
        """Read ``tokens``; return the logits of the token after each, and the new state."""
        start, read = state.tokens.size(1), torch.cat([state.tokens, tokens], dim=1)
        positions = positions_of(read)[:, start:]  # (batch, tgt)
        x, mask = self.tgt_embedding(tokens, positions), target_mask(read, start)
        past = []
        for layer, before, memory in zip(self.decoder, state.past, state.memory, strict=True):
            x, seen = layer(x, before, mask, memory, state.memory_mask, positions)
            past.append(seen)
        logits = self.output(self.decoder_norm(x))  # (batch, tgt, vocab)
        return logits, replace(state, tokens=read, past=tuple(past))
