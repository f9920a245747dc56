"""Layers: a whole encoder layer, with the weights of PyTorch's."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import loaded, normal, numbers_for


class _Layer(nn.Module):
    """A layer with the parts of PyTorch's; a faulty one has other ``choices``."""

    def __init__(
        self, d_model: int, num_heads: int, d_ff: int, norm_first: bool, **choices: Any
    ) -> None:
        super().__init__()
        heads = choices.get("heads", num_heads)
        self.norm_first = choices.get("order", lambda asked: asked)(norm_first)
        by_batch = choices.get("by_batch", True)
        self.self_attn = nn.MultiheadAttention(d_model, heads, batch_first=by_batch)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.choices = choices

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        """One layer further."""
        get, norms, start = self.choices.get, [self.norm1, self.norm2, nn.Identity()], x
        first, second = (norms[i] for i in get("norms", (0, 1)))
        keep_1, keep_2 = get("shortcuts", (1, 1))
        first_part, second_part = get("parts", (1, 1))
        pre = self.norm_first

        def attend(y: Tensor, other: Tensor) -> Tensor:
            if get("square"):
                return self.self_attn(y, other, other, attn_mask=hidden)[0]
            mask = get("hide", lambda hidden: hidden)(hidden)
            return first_part * self.self_attn(y, other, other, key_padding_mask=mask)[0]

        def work(y: Tensor) -> Tensor:
            bent: Tensor = get("bend", torch.relu)(self.linear1(y))
            return second_part * get("outer", lambda x: x)(self.linear2(bent))

        if get("zeroed"):
            x = x.masked_fill(hidden[..., None], 0)
        if get("inside", (False, False))[pre]:
            x = x + first(attend(x, x))
            return x + second(work(x))
        if not pre:
            x = first(keep_1 * x + attend(x, x))
            return second(keep_2 * (start if get("again") else x) + work(x))
        y, normed = first(x), get("normed", (False, False))
        x = keep_1 * (y if normed[0] else x) + attend(y, x if get("asks") else y)
        y = second(x)
        x = keep_2 * (start if get("again") else y if normed[1] else x) + work(y)
        return get("plain", lambda x: x)(second(x) if get("ends") else x)


def _faulty(**choices: Any) -> Callable[..., nn.Module]:
    return lambda *sizes: _Layer(*sizes, **choices)


class _Theirs(nn.TransformerEncoderLayer):
    """The layer of PyTorch, called as the reader's is."""

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:  # type: ignore[override]
        """One layer further."""
        return super().forward(x, src_key_padding_mask=hidden)


def _encoder_layer(d_model: int, num_heads: int, d_ff: int, norm_first: bool) -> nn.Module:
    """Build an encoder layer that computes what PyTorch's does with the same numbers."""
    return _Theirs(d_model, num_heads, d_ff, batch_first=True, norm_first=norm_first)


def _ask(
    kind: Callable[..., nn.Module],
    x: Float[Tensor, "batch time d_model"],
    hidden: Bool[Tensor, "batch time"],
    num_heads: int,
    norm_first: bool,
    weights: dict[str, Tensor],
) -> Any:
    """Build the layer, give it numbers, and send a few sentences through it."""
    layer = loaded(kind(x.size(-1), num_heads, len(weights["linear1.bias"]), norm_first), weights)
    if layer is None:
        return None
    out = layer.eval()(x, hidden)
    return out[~hidden] if isinstance(out, Tensor) and out.shape[:2] == hidden.shape else out


def _case(
    lengths: list[int],
    *sizes: Any,
    dtype: torch.dtype = torch.float64,
) -> tuple[Any, ...]:
    """Sentences of up to five words, and numbers for a layer that reads them."""
    d_model, num_heads, _, norm_first = sizes
    hidden = torch.arange(5) >= torch.tensor(lengths)[:, None]
    with torch.device("meta"):  # its shapes alone are needed
        like = _encoder_layer(*sizes)
    x = normal(*hidden.shape, d_model, seed=100, dtype=dtype)
    return x, hidden, num_heads, norm_first, numbers_for(like, dtype)


encoder_layer = Exercise(
    ask=_ask,
    reference=_encoder_layer,
    mistakes={
        "the hidden words are heard: the attention takes `key_padding_mask`.": (
            _faulty(hide=lambda hidden: None)
        ),
        "the words that are hidden are heard, and the others are not.": (
            _faulty(hide=lambda hidden: ~hidden)
        ),
        "this is always post-norm; `norm_first` asks for pre-norm.": (
            _faulty(order=lambda asked: False)
        ),
        "this is always pre-norm; `norm_first` may ask for post-norm.": (
            _faulty(order=lambda asked: True)
        ),
        "`norm_first` is the wrong way round: if it is True, the norm comes first.": (
            _faulty(order=lambda asked: not asked)
        ),
        "in pre-norm the keys and values read x as it is; they must read the normalised x, too.": (
            _faulty(asks=True)
        ),
        "in pre-norm the shortcuts carry the normalised x; they carry x itself.": (
            _faulty(normed=(True, True))
        ),
        "in pre-norm the first shortcut carries the normalised x; it carries x itself.": (
            _faulty(normed=(True, False))
        ),
        "in pre-norm the second shortcut carries the normalised sum; it carries the sum.": (
            _faulty(normed=(False, True))
        ),
        "in post-norm what a sub-layer gives is normalised; normalise the sum.": (
            _faulty(inside=(True, False))
        ),
        "in pre-norm what a sub-layer gives is normalised; normalise what it reads.": (
            _faulty(inside=(False, True))
        ),
        "what a sub-layer gives is normalised: in post-norm it is the sum, in pre-norm x.": (
            _faulty(inside=(True, True))
        ),
        "the hidden words are set to 0, and then heard: the attention takes `key_padding_mask`.": (
            _faulty(zeroed=True, hide=lambda hidden: None)
        ),
        "the norms are missing.": _faulty(norms=(2, 2)),
        "the first norm is missing.": _faulty(norms=(2, 1)),
        "the second norm is missing.": _faulty(norms=(0, 2)),
        "a pre-norm layer ends with the sum; the last norm stands at the end of the stack.": (
            _faulty(ends=True)
        ),
        "a pre-norm layer ends with one norm more; it stands at the end of the stack.": (
            _faulty(plain=lambda x: F.layer_norm(x, x.shape[-1:]))
        ),
        "`attn_mask` has a row for each query; what hides keys is `key_padding_mask`.": (
            _faulty(square=True)
        ),
        "sentences and words are mixed up: `batch_first=True` is missing.": (
            _faulty(by_batch=False)
        ),
        "`norm2` stands in both places; the first is `norm1`.": _faulty(norms=(1, 1)),
        "this is tanh; a ReLU is asked for.": _faulty(bend=torch.tanh),
        "this is SiLU; a ReLU is asked for.": _faulty(bend=F.silu),
        "this is a sigmoid; a ReLU is asked for.": _faulty(bend=torch.sigmoid),
        "the ReLU bends what `linear2` gives; it stands between the two matrices.": (
            _faulty(bend=lambda x: x, outer=torch.relu)
        ),
        "the ReLU stands twice; it stands between the two matrices only.": (
            _faulty(outer=torch.relu)
        ),
        "the attention is missing.": _faulty(parts=(0, 1)),
        "the feed-forward network is missing.": _faulty(parts=(1, 0)),
        "`norm1` and `norm2` are swapped.": _faulty(norms=(1, 0)),
        "`norm1` stands in both places; the second is `norm2`.": _faulty(norms=(0, 0)),
        "the shortcut around the attention is missing.": _faulty(shortcuts=(0, 1)),
        "the shortcut around the feed-forward network is missing.": _faulty(shortcuts=(1, 0)),
        "both shortcuts are missing.": _faulty(shortcuts=(0, 0)),
        "the second shortcut starts from the input of the layer; it starts from the first sum.": (
            _faulty(again=True)
        ),
        "the ReLU is missing.": _faulty(bend=lambda x: x),
        "this is a GELU; a ReLU is asked for.": _faulty(bend=F.gelu),
        "the attention has one head; `num_heads` asks for more.": _faulty(heads=1),
    },
    cases=[
        _case([5, 3, 4, 2, 1], 8, 2, 20, False),  # what mixes up sentences and words runs here
        _case([5, 3], 6, 3, 10, True, dtype=torch.float32),
        _case([5, 3], 4, 2, 9, True),
    ],
)
