"""The records of the time that one pass of a language model takes, by the tokens that it reads."""

from dataclasses import replace
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.costs import cache_bytes
from annotated_transformer.language_model import LanguageModel, LanguageModelConfig, ReadState
from annotated_transformer.multi_head_attention import KeyValues, MultiHeadAttention
from annotated_transformer.rotary import RotaryAttention
from records.costs import times_in_turns
from records.tables import Row, Tables

SIZES: dict[str, Any] = {
    "d_model": 512, "num_layers": 24, "num_heads": 8, "num_kv_heads": 2, "d_ff": 1408,
    "activation": "swish", "gated": True, "bias": False, "norm": "rms", "norm_position": "pre",
    "positions": "rotary", "dropout": 0.0, "has_source": False,
}  # fmt: skip
VOCABULARY, TOKENS, ROUNDS = 1000, (1, 2, 4, 8, 16, 32, 64, 128, 256), 5
FORMS = ("one text", "a text each")
TEXTS, PASTS = 16, (250, 1000)
TIMED = ("own", "shared", "narrow", "own_sum", "shared_sum")


@cache
def models() -> tuple[LanguageModel, LanguageModel, LanguageModel]:
    """Make a model of 24 layers, one that passes its first layer 24 times, and a narrow one."""
    torch.manual_seed(0)
    config = LanguageModelConfig(VOCABULARY, VOCABULARY, **SIZES)
    narrow = replace(config, tgt_vocab=8, d_model=16, d_ff=16)
    own, shared, small = (LanguageModel(c).eval() for c in (config, config, narrow))
    for i in range(config.num_layers):
        shared.decoder[i] = shared.decoder[0]
    return own, shared, small


def add_up(model: LanguageModel) -> list[Tensor]:
    """Load every matrix of the layers, and do hardly anything with it: sum its weights."""
    return [
        weight.sum()
        for layer in model.decoder
        for weight in layer.parameters()
        if weight.dim() == 2
    ]


def time_passes(tokens: int, form: str, turn: int) -> Row:
    """Time a pass of all models, in turns; its tokens are of one text, or each of its own."""
    torch.set_num_threads(1)
    texts = torch.randint(4, 8, (1, tokens) if form == FORMS[0] else (tokens, 1))
    works = [lambda model=model: model(texts) for model in models()]
    works += [lambda model=model: add_up(model) for model in models()[:2]]
    with torch.inference_mode():
        times = times_in_turns(*works, repeats=5, skip=1)
    return {"tokens": tokens, "form": form, "turn": turn} | {
        f"{name}_milliseconds": round(1000 * seconds, 2)
        for name, seconds in zip(TIMED, times, strict=True)
    }


class SharedRotary(RotaryAttention):
    """It copies no key: the queries of a group are as many queries of one head."""

    def gather(self, queries: Tensor, seen: KeyValues, mask: Tensor | None) -> Tensor:
        """Compute the output of every head."""
        shape, group = queries.shape, self.num_heads // self.num_kv_heads
        grouped = queries.unflatten(1, (-1, group)).flatten(2, 3)  # (batch, kv heads, rows, d_k)
        mask = mask if mask is None else mask.repeat(1, 1, group, 1)  # the same for all heads
        heads: Tensor = self.attention(grouped, seen.keys, seen.values, mask)
        return heads.view(shape)


def time_caches(kv_heads: int, past: int, turn: int) -> Row:
    """Time a decode step of 16 texts, with keys that are copied for each query head, and not."""
    torch.set_num_threads(1)
    torch.manual_seed(turn)
    config = LanguageModelConfig(VOCABULARY, VOCABULARY, **SIZES)
    config = replace(config, num_layers=12, num_kv_heads=kv_heads)
    model = LanguageModel(config).eval()
    shape = TEXTS, kv_heads, past, 64
    kept = tuple(KeyValues(torch.randn(shape), torch.randn(shape)) for _ in model.decoder)
    state = ReadState(torch.full((TEXTS, past), 5), kept)
    outputs = []

    def step(kind: type[MultiHeadAttention]) -> None:
        for layer in model.decoder:
            layer.self_attention.__class__ = kind
        outputs.append(model.extend(state, torch.full((TEXTS, 1), 6))[0])

    with torch.inference_mode():
        kinds = type(model.decoder[0].self_attention), SharedRotary
        # Not in turns: memory that the other has freed would be given back and asked for again.
        copied, shared = (times_in_turns(partial(step, k), repeats=5, skip=2)[0] for k in kinds)
    torch.testing.assert_close(outputs[0], outputs[-1], rtol=0, atol=1e-4)
    return {
        "kv_heads": kv_heads,
        "past": past,
        "turn": turn,
        "cache_megabytes": round(cache_bytes(config) * TEXTS * past / 1e6, 1),
        "copied_milliseconds": round(1000 * copied, 1),
        "shared_milliseconds": round(1000 * shared, 1),
    }


def make_cache_passes(tables: Tables) -> None:
    """Time of a decode step of 16 texts by the heads of keys and values and the tokens before.

    Refuter: the same heads without copies of keys and values. If fewer heads saved time by
    themselves, not copying would add nothing.
    """
    runs = [(heads, past, turn) for turn in range(ROUNDS) for heads in (8, 2, 1) for past in PASTS]
    tables.extend("cache_passes", time_caches, runs, ["kv_heads", "past", "turn"], workers=1)


def make_pass_times(tables: Tables) -> None:
    """Time of one pass of 24 layers with weights of their own, and of 24 that share one layer's.

    Refuter: if a pass of one token were slow because of its arithmetic or its many calls, it would
    not be faster when the layers share their weights: both stay the same. By another method, the
    calls are timed alone, in a model 16 wide that makes the same ones, and so is the loading, in a
    sum over all weights.
    """
    runs = [(tokens, form, turn) for turn in range(ROUNDS) for tokens in TOKENS for form in FORMS]
    # One at a time: nothing else may run beside what is timed.
    tables.extend("pass_times", time_passes, runs, ["tokens", "form", "turn"], workers=1)
