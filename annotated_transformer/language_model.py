"""The language model: a stack of decoder layers without cross-attention, which reads text alone."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from annotated_transformer.ground.errors import InputError
from annotated_transformer.initial_weights import initialise, output_layer
from annotated_transformer.layers import DecoderLayer
from annotated_transformer.masking import padding_mask, target_mask
from annotated_transformer.tokens import PAD
from annotated_transformer.transformer import Embedding, TransformerConfig, remove_biases
from annotated_transformer.translator import NextTokenModel, State, positions_of


@dataclass(frozen=True)
class LanguageModelConfig(TransformerConfig):
    """The sizes of a language model: those of a Transformer whose only stack is the decoder."""

    has_source: bool = True  # it reads pairs, as one text each; False: texts without a source
    prefix_mask: bool = False  # tokens of the source attend to all of it, not to earlier ones only


@dataclass(frozen=True)
class ReadState(State):
    """What a language model has read: its tokens, source and target, and what its layers keep."""

    tokens: Int[Tensor, "batch read"]
    past: tuple[State, ...]  # of each layer: its KV cache, or the state of another attention


class LanguageModel(NextTokenModel):
    """Decoder-only Transformer: causal self-attention alone predicts a token from those before it.

    It translates by continuing: the source, which ends in ``EOS``, and the target, which begins
    with ``BOS``, are one sequence, and self-attention to the source takes the place of the encoder
    and of cross-attention. Reading the source (*prefill*) is one call, writing goes token by token.
    Positions count tokens and leave out padding, so that it may stand on either side.

    Source: Radford et al. 2018, section 3.1; the prefix mask: Raffel et al. 2020, section 3.2.1.

    >>> model = LanguageModel(LanguageModelConfig.tiny(10, 10))
    >>> model(torch.tensor([[5, 6, 2]]), torch.tensor([[1, 7]])).shape  # a source and its target
    torch.Size([1, 2, 10])
    >>> model(torch.tensor([[1, 7]])).shape  # a text alone
    torch.Size([1, 2, 10])
    """

    is_one_text = True

    def __init__(self, config: LanguageModelConfig) -> None:
        super().__init__()
        self.config = c = config
        self.max_length = c.max_length
        self.tgt_embedding = Embedding(c.tgt_vocab, c)
        joint = c.share_embeddings or not c.has_source
        self.src_embedding = self.tgt_embedding if joint else Embedding(c.src_vocab, c)
        self.decoder = nn.ModuleList(
            DecoderLayer(c.self_attention(), None, c.feed_forward(), c.residual)
            for _ in range(c.num_layers)
        )
        self.decoder_norm = c.final_norm()
        self.output = output_layer(self.tgt_embedding.tokens, c.tie_output)
        initialise(self.decoder)
        if not c.bias:
            remove_biases(self)

    def forward(
        self, src: Int[Tensor, "batch _"], tgt_in: Int[Tensor, "batch tgt"] | None = None
    ) -> Float[Tensor, "batch _ vocab"]:
        """Compute the logits of every next token: of the target, or of a text that comes alone."""
        if tgt_in is None:
            return self.extend(self.empty(len(src)), src)[0]
        return super().forward(src, tgt_in)

    def empty(self, batch: int) -> ReadState:
        """Return the state of that many texts before their first token."""
        past = tuple(
            layer.self_attention.empty(batch) for layer in cast(Iterable[Any], self.decoder)
        )
        return ReadState(self.output.weight.new_empty(batch, 0, dtype=torch.long), past)

    def start(self, src: Int[Tensor, "batch src"]) -> ReadState:
        """Read the source sentences (prefill); return the state before the first target token.

        Raises:
            InputError: if there is a source, and the model was made for texts without one.
        """
        if not self.config.has_source:
            if (src != PAD).any():
                raise InputError("has_source is False: the model continues a text, without source.")
            return self.empty(len(src))
        mask = padding_mask(src) if self.config.prefix_mask else None
        return self.read(self.src_embedding, self.empty(len(src)), src, mask)[1]

    def extend(
        self, state: ReadState, tokens: Int[Tensor, "batch tgt"]
    ) -> tuple[Float[Tensor, "batch tgt vocab"], ReadState]:
        """Read ``tokens``; return the logits of the token after each, and the new state."""
        x, state = self.read(self.tgt_embedding, state, tokens)
        return self.output(self.decoder_norm(x)), state

    def read(
        self,
        embedding: Embedding,
        state: ReadState,
        tokens: Int[Tensor, "batch new"],
        mask: Bool[Tensor, "#batch 1 #new read"] | None = None,
    ) -> tuple[Float[Tensor, "batch new d_model"], ReadState]:
        """Let new tokens pass through all layers; return their vectors and the new state.

        They attend to what was read before and to each other as the mask says; ``None``: causally.
        """
        start, read = state.tokens.size(1), torch.cat([state.tokens, tokens], dim=1)
        mask = target_mask(read, start) if mask is None else mask  # (batch, 1, new, read)
        positions = positions_of(read)[:, start:]  # (batch, new)
        x, past = embedding(tokens, positions), []  # (batch, new, d_model)
        for layer, before in zip(self.decoder, state.past, strict=True):
            x, seen = layer(x, before, mask, positions=positions)
            past.append(seen)
        return x, replace(state, tokens=read, past=tuple(past))
