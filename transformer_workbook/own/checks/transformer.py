"""Checks of the whole Transformer."""

import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer import transformer
from annotated_transformer.exchange import halves, marian_names, marian_settings, reordered
from annotated_transformer.masking import causal_mask
from transformer_workbook.own.checks.check import (
    SRC,
    TGT,
    Check,
    drawn,
    embedded,
    filled,
    of_model,
    of_words,
)
from transformer_workbook.own.checks.layers import POSITIONS, layer_of_torch, normed, put_in
from transformer_workbook.own.checks.positional_encoding import sinusoids

SIZES = {"d_model": 8, "num_layers": 2, "num_heads": 4, "d_ff": 12, "dropout": 0.0,
         "max_length": 12}  # fmt: skip


def small(name: str, m: Any, **changes: Any) -> Any:
    """Make a small model of the module: a Transformer or a LanguageModel."""
    return filled(getattr(m, name)(getattr(m, f"{name}Config")(11, 11, **(SIZES | changes))))


made = partial(small, "Transformer")


def fresh(name: str, m: Any) -> Any:
    """Make a model of width 64 whose weights are measured."""
    return getattr(m, name)(getattr(m, f"{name}Config")(999, 999, 64, 2))


def _embedded(name: str, ids: Tensor) -> Tensor:
    return embedded(f"{name}.tokens", ids, 8) * 8**0.5 + sinusoids(12, 8)[: ids.size(1)]


def _deviation(embedding: Any) -> str:
    return f"{embedding.tokens.weight.std().item():.1g}"


def _dropped(m: Any) -> list[list[bool]]:
    embedding = made(m, dropout=0.5).src_embedding
    zeros = ((embedding.train(mode)(SRC) == 0).any(0).any(-1) for mode in (True, False))
    return [at.tolist() for at in zeros]


def _without_biases(m: Any) -> list[str]:
    inner = nn.Sequential(nn.Linear(2, 2))
    model = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2), inner)
    m.remove_biases(model)
    return sorted(name for name, _ in model.named_parameters())


@torch.no_grad()
def _stacks(position: str) -> list[Tensor]:
    """Compute the memory, and the output of the decoder, by torch.nn."""
    x, y, hidden = _embedded("src_embedding", SRC), _embedded("tgt_embedding", TGT), SRC == 0
    for i in range(2):
        layer = put_in(layer_of_torch(nn.TransformerEncoderLayer, position), f"encoder.{i}.")
        x = layer(x, src_key_padding_mask=hidden)
    x = normed("encoder_norm.", x) if position == "pre" else x
    masks = {"tgt_key_padding_mask": TGT == 0, "memory_key_padding_mask": hidden}
    for i in range(2):
        other = put_in(layer_of_torch(nn.TransformerDecoderLayer, position), f"decoder.{i}.")
        y = other(y, x, tgt_mask=~causal_mask(4)[0, 0], **masks)
    return [x[SRC != 0], of_words(normed("decoder_norm.", y) if position == "pre" else y)]


def _logits_by_torch(position: str) -> Tensor:
    weight = drawn("tgt_embedding.tokens.weight", 11, 8)
    return _stacks(position)[1] @ weight.T + drawn("output.bias", 11)


@torch.no_grad()
def _by_marian() -> Tensor:
    """Compute the logits by Hugging Face's model with the weights of those names."""
    from transformers import MarianConfig, MarianMTModel

    from annotated_transformer.transformer import Transformer, TransformerConfig

    config = TransformerConfig(11, 11, **SIZES)  # type: ignore[arg-type]
    with warnings.catch_warnings(action="ignore"):
        theirs = MarianMTModel(
            MarianConfig(
                **marian_settings(config), pad_token_id=0, eos_token_id=2, decoder_start_token_id=1
            )
        )
    theirs = theirs.double().train(False)
    ours = dict(filled(Transformer(config)).named_parameters())
    weights = {
        their: reordered(our, ours[our], halves(8)) for our, their in marian_names(config).items()
    }
    weights["final_logits_bias"] = weights["final_logits_bias"][None]
    theirs.load_state_dict(weights, strict=False)
    seen = {"attention_mask": (SRC != 0).int(), "decoder_attention_mask": (TGT != 0).int()}
    return of_words(theirs(input_ids=SRC, decoder_input_ids=TGT, **seen).logits)


OTHERS = {"activation": "swish", "norm": "rms", "norm_position": "pre", "positions": "learned",
          "d_k": 3, "d_v": 5, "num_kv_heads": 2}  # fmt: skip
"""Settings that no other Transformer has all of; ours is compared module by module."""


def _embeddings(model: Any) -> tuple[Any, Any]:
    return model.src_embedding, model.tgt_embedding


def numbers(model: nn.Module) -> int:
    """Count the numbers that are trained."""
    return sum(parameter.numel() for parameter in model.parameters())


def _differ(first: Any, second: Any) -> bool:
    return not torch.equal(first.feed_forward.inner.weight, second.feed_forward.inner.weight)


def _dropouts(model: nn.Module) -> list[float]:
    return sorted({part.p for part in model.modules() if isinstance(part, nn.Dropout)})


def of_layers(
    name: str, by_torch: Callable[[str], Tensor], stack: str, of_stacks: int
) -> tuple[Check, ...]:
    """Make the checks of a model of Transformer layers; its two layers have so many numbers."""
    make = partial(small, name)
    return (
        *(
            Check(
                name,
                "the logits of a {position}-norm {name}, compared with torch.nn",
                lambda m, p=position: of_words(make(m, norm_position=p)(SRC, TGT)).detach(),  # type: ignore[misc]
                lambda p=position: by_torch(p),  # type: ignore[misc]
                {"position": position, "name": name},
            )
            for position in POSITIONS
        ),
        Check(
            name,
            "the dropouts with dropout=0.5, and max_length",
            lambda m: [_dropouts(make(m, dropout=0.5)), make(m).max_length],
            lambda: [[0.5], 12],
        ),
        *of_model(name, make),
        Check(
            name,
            "the deviations of both embeddings of a fresh {name} of width 64: about 1/√64",
            lambda m: [_deviation(x) for x in _embeddings(fresh(name, m))],
            lambda: ["0.1", "0.1"],
            {"name": name},
        ),
        Check(
            name,
            "how many numbers are trained with share_embeddings and tie_output, and with neither",
            lambda m: [numbers(make(m, share_embeddings=x, tie_output=x)) for x in (True, False)],
            lambda: [2 * of_stacks + 11 * 8 + 11, 2 * of_stacks + 3 * 11 * 8 + 11],
        ),
        Check(
            name,
            "whether two layers of a fresh {name} start from different weights",
            lambda m: _differ(*getattr(fresh(name, m), stack)),
            lambda: True,
            {"name": name},
        ),
    )


HUGGING_FACE = (
    Check(
        "Transformer",
        "the logits of a post-norm Transformer, compared with Marian of Hugging Face",
        lambda m: of_words(made(m)(SRC, TGT)).detach(),
        _by_marian,
    ),
)

CHECKS = (
    Check(
        "Embedding",
        "the vectors of ids (3, 5), from their formula",
        lambda m: made(m).src_embedding(SRC).detach(),
        lambda: _embedded("src_embedding", SRC),
    ),
    Check(
        "Embedding",
        "the vectors of ids (3, 2) that stand at positions 3 and 4",
        lambda m: made(m).src_embedding(SRC[:, 3:], torch.tensor([[3, 4]])).detach(),
        lambda: _embedded("src_embedding", SRC)[:, 3:],
    ),
    Check(
        "Embedding",
        "the deviation of fresh embeddings of width 64: about 1/√64",
        lambda m: _deviation(m.Embedding(999, m.TransformerConfig(999, 9, 64))),
        lambda: "0.1",
    ),
    Check(
        "Embedding",
        "at which positions numbers are 0 with dropout=0.5 in training, and in evaluation",
        _dropped,
        lambda: [[True] * 5, [False] * 5],
    ),
    Check(
        "remove_biases",
        "the names of the weights of two linear layers and a norm after remove_biases",
        _without_biases,
        lambda: ["0.weight", "1.bias", "1.weight", "2.0.weight"],
    ),
    *(
        Check(
            "Transformer.encode",
            "the memory of a {position}-norm Transformer, compared with torch.nn",
            lambda m, p=position: made(m, norm_position=p).encode(SRC)[SRC != 0].detach(),  # type: ignore[misc]
            lambda p=position: _stacks(p)[0],  # type: ignore[misc]
            {"position": position},
        )
        for position in POSITIONS
    ),
    Check(
        "Transformer",
        "the logits with swish, RMSNorm, learned positions, d_k=3, d_v=5 and two heads of keys",
        lambda m: of_words(made(m, **OTHERS)(SRC, TGT)).detach(),
        lambda: of_words(made(transformer, **OTHERS)(SRC, TGT)).detach(),
    ),
    *of_layers("Transformer", _logits_by_torch, "encoder", 532 + 836),
    *(HUGGING_FACE if find_spec("transformers") else ()),
)
