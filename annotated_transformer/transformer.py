"""The Transformer: embeddings, a stack of encoder layers, a stack of decoder layers, logits."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from annotated_transformer.batches import padding_mask
from annotated_transformer.errors import InputError, require_dropout, require_sizes
from annotated_transformer.layers import DecoderLayer, EncoderLayer, FeedForward, Norm, Residual
from annotated_transformer.masking import target_mask
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
)
from annotated_transformer.seq2seq import State


@dataclass(frozen=True)
class TransformerConfig:
    """The sizes of a Transformer. The defaults are the paper's base model (Table 3)."""

    src_vocab: int
    tgt_vocab: int
    d_model: int = 512  # the width of every embedding and of every layer's output
    num_layers: int = 6  # N, in the encoder and again in the decoder
    num_heads: int = 8  # h
    d_ff: int = 2048  # the width inside the feed-forward network
    d_k: int | None = None  # the width of a query and a key; None: d_model / num_heads
    d_v: int | None = None  # the width of a value; None: d_model / num_heads
    dropout: float = 0.1  # on every sub-layer's output and on the embeddings
    norm: Norm = "post"  # LayerNorm after the sum, as in the paper, or "pre": before the sub-layer
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    max_length: int = 1024  # positions that the model knows
    share_embeddings: bool = True  # source and target embeddings too, not only target and logits

    def __post_init__(self) -> None:
        """Refuse a size that no model can have.

        Raises:
            InputError: if a size is below 1, or the dropout outside [0, 1).
        """
        sizes = ["src_vocab", "tgt_vocab", "d_model", "num_layers", "num_heads", "d_ff"]
        chosen = [name for name in ("d_k", "d_v") if getattr(self, name) is not None]
        require_sizes(self, *sizes, *chosen, "max_length")
        require_dropout(self.dropout)

    @classmethod
    def tiny(cls, src_vocab: int, tgt_vocab: int, **changes: Any) -> "TransformerConfig":
        """A model that learns a small corpus in a minute on one CPU core."""
        tiny = cls(
            src_vocab, tgt_vocab, d_model=64, num_layers=2, num_heads=4, d_ff=256,
            share_embeddings=src_vocab == tgt_vocab,
        )  # fmt: skip
        return replace(tiny, **changes)

    @classmethod
    def base(cls, src_vocab: int, tgt_vocab: int, **changes: Any) -> "TransformerConfig":
        """The base model of Vaswani et al. 2017, Table 3."""
        return replace(cls(src_vocab, tgt_vocab), **changes)

    @classmethod
    def big(cls, src_vocab: int, tgt_vocab: int, **changes: Any) -> "TransformerConfig":
        """The big model of Vaswani et al. 2017, Table 3."""
        big = cls(src_vocab, tgt_vocab, d_model=1024, num_heads=16, d_ff=4096, dropout=0.3)
        return replace(big, **changes)


class Embedding(nn.Module):
    """Token embeddings times √d_model, plus positions, then dropout.

    The weights are drawn from N(0, 1/d_model), which suits them as the matrix before the softmax;
    the factor √d_model brings the embeddings back to variance 1, so that the sinusoids, whose mean
    square is 1/2, do not drown them. The paper states the factor, but no draw and no reason.

    Source: Vaswani et al. 2017, sections 3.4 (factor), 3.5 (positions) and 5.4 (dropout).
    """

    def __init__(self, vocab: int, config: TransformerConfig) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab, config.d_model)
        nn.init.normal_(self.tokens.weight, std=config.d_model**-0.5)
        encodings = {
            "sinusoidal": SinusoidalPositionalEncoding,
            "learned": LearnedPositionalEncoding,
        }
        if config.positions not in encodings:
            raise InputError(
                f"positions is {config.positions!r}, it must be one of {', '.join(encodings)}."
            )
        self.positions = encodings[config.positions](config.max_length, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.scale = math.sqrt(config.d_model)

    def forward(
        self, tokens: Int[Tensor, "batch time"], start: int = 0
    ) -> Float[Tensor, "batch time d_model"]:
        """The vectors of tokens that stand at positions ``start``, ``start + 1``, …"""
        embedded: Tensor = self.dropout(self.positions(self.tokens(tokens) * self.scale, start))
        return embedded


class Transformer(nn.Module):
    """Encoder–decoder of attention and feed-forward layers alone.

    Source: Vaswani et al. 2017, section 3.
    """

    def __init__(self, config: TransformerConfig) -> None:
        """Build the model, with fresh weights.

        Raises:
            InputError: if embeddings are to be shared between vocabularies of different size.
        """
        super().__init__()
        self.config = c = config
        if c.share_embeddings and c.src_vocab != c.tgt_vocab:
            raise InputError(
                f"src_vocab={c.src_vocab} and tgt_vocab={c.tgt_vocab} differ: "
                "share_embeddings needs one vocabulary for both sides."
            )

        def attention() -> MultiHeadAttention:
            return MultiHeadAttention(c.d_model, c.num_heads, c.d_k, c.d_v)

        def feed_forward() -> FeedForward:
            return FeedForward(c.d_model, c.d_ff)

        def residual() -> Residual:
            return Residual(c.d_model, c.dropout, c.norm)

        def final_norm() -> nn.Module:
            return nn.LayerNorm(c.d_model) if c.norm == "pre" else nn.Identity()

        self.tgt_embedding = Embedding(c.tgt_vocab, c)
        self.src_embedding = self.tgt_embedding if c.share_embeddings else Embedding(c.src_vocab, c)
        self.encoder = nn.ModuleList(
            EncoderLayer(attention(), feed_forward(), residual) for _ in range(c.num_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderLayer(attention(), attention(), feed_forward(), residual)
            for _ in range(c.num_layers)
        )
        self.encoder_norm, self.decoder_norm = final_norm(), final_norm()
        self.output = nn.Linear(c.d_model, c.tgt_vocab)
        nn.init.zeros_(self.output.bias)
        self.output.weight = self.tgt_embedding.tokens.weight
        for module in (self.encoder, self.decoder):
            for parameter in module.parameters():
                if parameter.dim() > 1:
                    nn.init.xavier_uniform_(parameter)

    def encode(self, src: Int[Tensor, "batch src"]) -> Float[Tensor, "batch src d_model"]:
        """Read the source sentences into the memory, one vector per token."""
        x, mask = self.src_embedding(src), padding_mask(src)
        for layer in self.encoder:
            x = layer(x, mask)
        memory: Tensor = self.encoder_norm(x)
        return memory

    def decode(
        self,
        tgt_in: Int[Tensor, "batch tgt"],
        memory: Float[Tensor, "batch src d_model"],
        memory_mask: Bool[Tensor, "batch 1 1 src"],
    ) -> Float[Tensor, "batch tgt vocab"]:
        """The logits of the token after each position of ``tgt_in``."""
        x, mask = self.tgt_embedding(tgt_in), target_mask(tgt_in)
        for layer in self.decoder:
            x = layer(x, memory, mask, memory_mask)
        logits: Tensor = self.output(self.decoder_norm(x))
        return logits

    def forward(
        self, src: Int[Tensor, "batch src"], tgt_in: Int[Tensor, "batch tgt"]
    ) -> Float[Tensor, "batch tgt vocab"]:
        """Teacher forcing: the logits of every next token, given the true tokens before it."""
        return self.decode(tgt_in, self.encode(src), padding_mask(src))

    def start(self, src: Int[Tensor, "batch src"]) -> State:
        """Read the source sentences; give the state before the first target word.

        For each decoder layer the state holds the memory's keys and values, projected once, and
        the keys and values of the target positions so far: none.
        """
        memory = self.encode(src)
        state = {"mask": padding_mask(src)}
        for i, layer in enumerate(cast(Iterable[DecoderLayer], self.decoder)):
            key, value = layer.cross_attention.project(memory, memory)
            state |= {f"{i}.memory_key": key, f"{i}.memory_value": value}
            state |= {f"{i}.past_key": key[:, :, :0], f"{i}.past_value": value[:, :, :0]}
        return state

    def step(
        self, state: State, token: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch vocab"], State]:
        """Read one token of each sentence; give the logits of the next, and the new state."""
        state = dict(state)
        x = self.tgt_embedding(token[:, None], start=state["0.past_key"].size(2))
        for i, layer in enumerate(cast(Iterable[DecoderLayer], self.decoder)):
            past = state[f"{i}.past_key"], state[f"{i}.past_value"]
            memory = state[f"{i}.memory_key"], state[f"{i}.memory_value"]
            x, past = layer.step(x, past, memory, state["mask"])
            state[f"{i}.past_key"], state[f"{i}.past_value"] = past
        logits: Tensor = self.output(self.decoder_norm(x))[:, 0]
        return logits, state
