"""Checks of the language model: a decoder without an encoder."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from annotated_transformer import language_model
from annotated_transformer.masking import causal_mask
from transformer_workbook.own.checks.check import (
    SRC,
    TGT,
    Check,
    drawn,
    embedded,
    of_words,
    refusal,
    stepwise,
    zero,
)
from transformer_workbook.own.checks.layers import POSITIONS, normed, without_source_by_torch
from transformer_workbook.own.checks.positional_encoding import sinusoids
from transformer_workbook.own.checks.transformer import OTHERS, fresh, numbers, of_layers, small

made = partial(small, "LanguageModel")


@torch.no_grad()
def _by_torch(position: str = "post", prefix: bool = False, source: bool = True) -> Tensor:
    """Compute the logits of every target word by torch.nn, each sentence alone, without padding."""
    said = []
    for src, tgt in zip(SRC, TGT, strict=True):
        sides = (("src_embedding", src[src != 0][: None if source else 0]),
                 ("tgt_embedding", tgt[tgt != 0]))  # fmt: skip
        x = torch.cat([embedded(f"{name}.tokens", ids, 8) for name, ids in sides])
        x = (x * 8**0.5 + sinusoids(12, 8)[: len(x)])[None]
        mask, prompt = causal_mask(x.size(1))[0, 0], len(sides[0][1])
        mask[:prompt, :prompt] |= prefix
        for i in range(2):
            x = without_source_by_torch(f"decoder.{i}.", position, x, mask)
        said.append((normed("decoder_norm.", x) if position == "pre" else x)[0, prompt:])
    weight = drawn("tgt_embedding.tokens.weight", 11, 8)
    return torch.cat(said) @ weight.T + drawn("output.bias", 11)


def _left(ids: Tensor) -> Tensor:
    """Move the padding to the left."""
    return torch.stack([row.roll(int((row == 0).sum())) for row in ids])


@torch.no_grad()
def _change_by_left_padding(model: Any) -> Tensor:
    return of_words(model(SRC, TGT) - model(_left(SRC), TGT)).abs().max()


@torch.no_grad()
def _change_by_left_padding_of_texts(model: Any) -> Tensor:
    return (model(_left(TGT))[_left(TGT) != 0] - of_words(model(TGT))).abs().max()


@torch.no_grad()
def _change_by_cut(model: Any) -> Tensor:
    """Measure how far a source and its target differ from the same words as one text."""
    src, tgt = SRC[:1], TGT[:1]
    text = torch.cat([src, tgt], dim=1)
    return (model(src, tgt) - model(text)[:, src.size(1) :]).abs().max()


def _read(state: Any) -> list[Any]:
    """Return what a state has read, and the shape of its keys in each layer."""
    return [state.tokens, [tuple(past.keys.shape) for past in state.past]]


def _largest(m: Any) -> str:
    query = fresh("LanguageModel", m).decoder[0].self_attention.query
    return f"{query.weight.abs().max().item():.1g}"


CHECKS = (
    Check(
        "LanguageModel.empty",
        "the tokens that empty(3) has read, and the shape of its keys in each layer",
        lambda m: _read(made(m).empty(3)),
        lambda: [SRC[:, :0], [(3, 4, 0, 2)] * 2],
    ),
    Check(
        "LanguageModel.start",
        "the tokens that start has read, and the shape of its keys in each layer",
        lambda m: _read(made(m).start(SRC)),
        lambda: [SRC, [(3, 4, 5, 2)] * 2],
    ),
    Check(
        "LanguageModel.start",
        "the same if has_source is not set, and the sources are padding alone",
        lambda m: _read(made(m, has_source=False).start(SRC * 0)),
        lambda: [SRC[:, :0], [(3, 4, 0, 2)] * 2],
    ),
    Check(
        "LanguageModel.start",
        "the error of a source if has_source is not set",
        lambda m: refusal(lambda: made(m, has_source=False).start(SRC)),
        lambda: "InputError",
    ),
    *(
        Check(
            "LanguageModel",
            "the logits of a {position}-norm model for texts alone, compared with torch.nn",
            lambda m, p=position: of_words(made(m, norm_position=p)(TGT)).detach(),  # type: ignore[misc]
            lambda p=position: _by_torch(p, source=False),  # type: ignore[misc]
            {"position": position},
        )
        for position in POSITIONS
    ),
    Check(
        "LanguageModel",
        "the logits for targets with a prefix mask, compared with torch.nn",
        lambda m: of_words(made(m, prefix_mask=True)(SRC, TGT)).detach(),
        lambda: _by_torch(prefix=True),
    ),
    Check(
        "LanguageModel",
        "the same, with words read one by one",
        lambda m: of_words(stepwise(made(m, prefix_mask=True))),
        lambda: _by_torch(prefix=True),
    ),
    Check(
        "LanguageModel",
        "the logits with swish, RMSNorm, learned positions, d_k=3, d_v=5 and two heads of keys",
        lambda m: of_words(made(m, **OTHERS)(SRC, TGT)).detach(),
        lambda: of_words(made(language_model, **OTHERS)(SRC, TGT)).detach(),
    ),
    Check(
        "LanguageModel",
        "how far a source and its target differ from one text, with share_embeddings",
        lambda m: _change_by_cut(made(m, share_embeddings=True)),
        zero,
    ),
    *of_layers("LanguageModel", _by_torch, "decoder", 532),
    Check(
        "LanguageModel",
        "how much LanguageModel's logits change when sources are padded on the left",
        lambda m: _change_by_left_padding(made(m)),
        zero,
    ),
    Check(
        "LanguageModel",
        "how much LanguageModel's logits change when texts are padded on the left",
        lambda m: _change_by_left_padding_of_texts(made(m)),
        zero,
    ),
    Check(
        "LanguageModel",
        "the largest number in the matrix of queries of a fresh model of width 64: √(6/128)",
        _largest,
        lambda: "0.2",
    ),
    Check(
        "LanguageModel",
        "how many numbers are trained without has_source",
        lambda m: numbers(made(m, has_source=False)),
        lambda: 2 * 532 + 11 * 8 + 11,
    ),
)
