"""The whole Transformer: half of it, a language model."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.layers import EncoderLayer, FeedForward, Residual
from annotated_transformer.masking import causal_mask, padding_mask, target_mask
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.tokens import PAD
from annotated_transformer.transformer import Embedding, TransformerConfig
from transformer_workbook.exercises.cases import loaded, numbers_for
from transformer_workbook.judge.exercises import Exercise


class _LanguageModel(nn.Module):
    """A decoder without cross-attention; a faulty one has other ``choices``."""

    def __init__(self, config: TransformerConfig, **choices: Any) -> None:
        super().__init__()
        self.choices, self.scale = choices, math.sqrt(config.d_model)
        heads = choices.get("heads", config.num_heads)
        position = choices.get("position", lambda config: "pre")(config)

        makers: dict[str, Callable[[], Any]] = {
            "attention": lambda: MultiHeadAttention(config.d_model, heads),
            "network": lambda: FeedForward(config.d_model, config.d_ff),
            "residual": lambda: Residual(config.d_model, config.dropout, position),
        }
        made = {name: make() for name, make in makers.items()}

        def part(name: str) -> Any:
            return made[name] if name == choices.get("shared") else makers[name]()

        def layer() -> EncoderLayer:
            if choices.get("alike"):
                made["residual"] = makers["residual"]()
            return EncoderLayer(part("attention"), part("network"), lambda: part("residual"))

        self.embedding = Embedding(config.tgt_vocab, config)
        layers = [layer() for _ in range(config.num_layers)]
        self.layers = nn.ModuleList(choices.get("stack", list)(layers))
        self.norm = nn.LayerNorm(config.d_model)

    def forward(self, tokens: Tensor) -> Tensor:
        """The logits of the token after each."""
        get, table = self.choices.get, self.embedding.tokens.weight
        x = get("embed", lambda model, tokens: model.embedding(tokens))(self, tokens)
        start, mask = x, get("mask", target_mask)(tokens)
        for layer in self.layers[get("few", slice(None))]:
            x = layer(start if get("again") else x, mask)
            x = self.norm(x) if get("norms") else x
        x = x if get("norms") or not get("ends", True) else self.norm(x)
        return get("leave", lambda logits, _: logits)(x @ table.T, self.scale)


def _faulty(**choices: Any) -> Callable[[TransformerConfig], nn.Module]:
    return lambda config: _LanguageModel(config, **choices)


def _language_model(config: TransformerConfig) -> nn.Module:
    """Build half a Transformer: a decoder that has no source."""
    return _LanguageModel(config, ends=True)


def _ask(kind: Callable[[TransformerConfig], nn.Module], config: TransformerConfig) -> Any:
    """Build the model, give it numbers, and let it read three sentences."""
    model = loaded(kind(config), numbers_for(_LanguageModel(config)))
    if model is None:
        return None
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(PAD + 1, config.tgt_vocab, (3, 5), generator=generator)
    tokens[1, 3:] = tokens[2, 0] = PAD  # only a PAD before a word can be heard by it
    logits = model.eval()(tokens)
    as_asked = isinstance(logits, Tensor) and logits.shape[:2] == tokens.shape
    return logits[tokens != PAD] if as_asked else logits


def _config(vocab: int, width: int, layers: int, heads: int, norms: str) -> TransformerConfig:
    src_vocab, d_ff = vocab - 2, 2 * width + 1
    return TransformerConfig(src_vocab, vocab, width, layers, heads, d_ff, norm_position=norms)


language_model = Exercise(
    ask=_ask,
    reference=_language_model,
    given={
        "each position sees the words after it: no causal mask is at work.": (
            _faulty(mask=padding_mask)
        ),
        "neither padding nor the future is hidden.": (
            _faulty(mask=lambda tokens: torch.ones(1, 1, 5, 5, dtype=torch.bool))
        ),
        "the mask is turned round: each position sees what follows, not what was read.": (
            _faulty(mask=lambda tokens: causal_mask(tokens.size(1)).mT)
        ),
        "the last norm is missing; a pre-norm stack needs it.": _faulty(ends=False),
        "the norm stands after every layer; it stands once, after the last.": _faulty(norms=True),
        "the layers are post-norm; pre-norm is asked for.": _faulty(position=lambda _: "post"),
        "the layers are post-norm, and the last norm is missing.": (
            _faulty(position=lambda _: "post", ends=False)
        ),
        "the layers are as `config.norm_position` says; pre-norm is asked for, whatever it says.": (
            _faulty(position=lambda config: config.norm_position)
        ),
        "PAD is read: it stands before a word in one of these sentences.": (
            _faulty(mask=lambda tokens: causal_mask(tokens.size(1)))
        ),
        "the words have no positions.": (
            _faulty(embed=lambda model, tokens: model.embedding.tokens(tokens) * model.scale)
        ),
        "the words are not multiplied by √d_model before the positions are added.": (
            _faulty(
                embed=lambda model, tokens: model.embedding.positions(
                    model.embedding.tokens(tokens), 0
                )
            )
        ),
        "these are the rows of the table alone: no factor √d_model, no positions.": (
            _faulty(embed=lambda model, tokens: model.embedding.tokens(tokens))
        ),
        "these logits are √d_model times too large; the factor belongs to the embedding.": (
            _faulty(leave=lambda logits, root: logits * root)
        ),
        "each position sees only what comes before it; it must see itself, too.": (
            _faulty(mask=lambda tokens: torch.ones(1, 1, 5, 5).tril(-1) == 1)
        ),
        "the mask is inverted: True means may attend.": (
            _faulty(mask=lambda tokens: ~target_mask(tokens))
        ),
        "the mask of PAD is inverted, and no causal mask is at work.": (
            _faulty(mask=lambda tokens: ~padding_mask(tokens))
        ),
        "each position sees one place too far: that is the word it has to predict.": (
            _faulty(mask=lambda tokens: torch.ones(1, 1, 5, 5).tril(1) == 1)
        ),
        "one `Residual` serves both sub-layers; each has its own, with a norm of its own.": (
            _faulty(shared="residual", alike=True)
        ),
        "one `Residual` serves all layers; each sub-layer has its own.": (
            _faulty(shared="residual")
        ),
        "one attention serves all layers; each layer has its own.": _faulty(shared="attention"),
        "one feed-forward network serves all layers; each has its own.": _faulty(shared="network"),
        "the last layer is not used.": _faulty(few=slice(-1)),
        "the first layer is not used.": _faulty(few=slice(1, None)),
        "the layers are used in reverse order.": _faulty(few=slice(None, None, -1)),
        "the norm stands before the layers as well; it stands once, at the end.": (
            _faulty(embed=lambda model, tokens: model.norm(model.embedding(tokens)))
        ),
        "the norm stands before the layers; it stands at the end.": (
            _faulty(embed=lambda model, tokens: model.norm(model.embedding(tokens)), ends=False)
        ),
        "the words are multiplied by √d_model twice; the embedding does it already.": (
            _faulty(embed=lambda model, tokens: model.embedding(tokens) * model.scale)
        ),
        "these logits are divided by √d_model; the plain dot products are asked for.": (
            _faulty(leave=lambda logits, root: logits / root)
        ),
        "these are probabilities; the logits are asked for, before the softmax.": (
            _faulty(leave=lambda logits, _: logits.softmax(-1))
        ),
        "these are logarithms of probabilities; the logits are asked for.": (
            _faulty(leave=lambda logits, _: logits.log_softmax(-1))
        ),
        "this is one layer, used several times; every layer has numbers of its own.": (
            _faulty(stack=lambda layers: layers[:1] * len(layers))
        ),
        "every layer reads the embedding; it goes on from the layer before.": _faulty(again=True),
        "the attention has one head; `config.num_heads` asks for more.": _faulty(heads=1),
        "these are the logits of the last position alone; every position has a next word.": (
            _faulty(leave=lambda logits, _: logits[:, -1])
        ),
    },
    cases=[
        (_config(11, 4, 2, 2, "pre"),),
        (_config(13, 6, 3, 3, "post"),),
        (_config(12, 8, 2, 4, "pre"),),
    ],
)
