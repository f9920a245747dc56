"""Layers: a whole encoder layer, with the weights of PyTorch's."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_workbook.exercises.cases import loaded, normal, numbers_for
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.layers.faulty_layers import faulty


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
    given={
        "the hidden words are heard: the attention takes `key_padding_mask`.": (
            faulty(hide=lambda hidden: None)
        ),
        "the words that are hidden are heard, and the others are not.": (
            faulty(hide=lambda hidden: ~hidden)
        ),
        "this is always post-norm; `norm_first` asks for pre-norm.": (
            faulty(order=lambda asked: False)
        ),
        "this is always pre-norm; `norm_first` may ask for post-norm.": (
            faulty(order=lambda asked: True)
        ),
        "`norm_first` is the wrong way round: if it is True, the norm comes first.": (
            faulty(order=lambda asked: not asked)
        ),
        "in pre-norm the keys and values read x as it is; they must read the normalised x, too.": (
            faulty(asks=True)
        ),
        "in pre-norm the shortcuts carry the normalised x; they carry x itself.": (
            faulty(normed=(True, True))
        ),
        "in pre-norm the first shortcut carries the normalised x; it carries x itself.": (
            faulty(normed=(True, False))
        ),
        "in pre-norm the second shortcut carries the normalised sum; it carries the sum.": (
            faulty(normed=(False, True))
        ),
        "in post-norm what a sub-layer gives is normalised; normalise the sum.": (
            faulty(inside=(True, False))
        ),
        "in pre-norm what a sub-layer gives is normalised; normalise what it reads.": (
            faulty(inside=(False, True))
        ),
        "what a sub-layer gives is normalised: in post-norm it is the sum, in pre-norm x.": (
            faulty(inside=(True, True))
        ),
        "the hidden words are set to 0, and then heard: the attention takes `key_padding_mask`.": (
            faulty(zeroed=True, hide=lambda hidden: None)
        ),
        "the norms are missing.": faulty(norms=(2, 2)),
        "the first norm is missing.": faulty(norms=(2, 1)),
        "the second norm is missing.": faulty(norms=(0, 2)),
        "a pre-norm layer ends with the sum; the last norm stands at the end of the stack.": (
            faulty(ends=True)
        ),
        "a pre-norm layer ends with one norm more; it stands at the end of the stack.": (
            faulty(plain=lambda x: F.layer_norm(x, x.shape[-1:]))
        ),
        "`attn_mask` has a row for each query; what hides keys is `key_padding_mask`.": (
            faulty(square=True)
        ),
        "sentences and words are mixed up: `batch_first=True` is missing.": (
            faulty(by_batch=False)
        ),
        "`norm2` stands in both places; the first is `norm1`.": faulty(norms=(1, 1)),
        "this is tanh; a ReLU is asked for.": faulty(bend=torch.tanh),
        "this is SiLU; a ReLU is asked for.": faulty(bend=F.silu),
        "this is a sigmoid; a ReLU is asked for.": faulty(bend=torch.sigmoid),
        "the ReLU bends what `linear2` gives; it stands between the two matrices.": (
            faulty(bend=lambda x: x, outer=torch.relu)
        ),
        "the ReLU stands twice; it stands between the two matrices only.": (
            faulty(outer=torch.relu)
        ),
        "the attention is missing.": faulty(parts=(0, 1)),
        "the feed-forward network is missing.": faulty(parts=(1, 0)),
        "`norm1` and `norm2` are swapped.": faulty(norms=(1, 0)),
        "`norm1` stands in both places; the second is `norm2`.": faulty(norms=(0, 0)),
        "the shortcut around the attention is missing.": faulty(shortcuts=(0, 1)),
        "the shortcut around the feed-forward network is missing.": faulty(shortcuts=(1, 0)),
        "both shortcuts are missing.": faulty(shortcuts=(0, 0)),
        "the second shortcut starts from the input of the layer; it starts from the first sum.": (
            faulty(again=True)
        ),
        "the ReLU is missing.": faulty(bend=lambda x: x),
        "this is a GELU; a ReLU is asked for.": faulty(bend=F.gelu),
        "the attention has one head; `num_heads` asks for more.": faulty(heads=1),
    },
    cases=[
        _case([5, 3, 4, 2, 1], 8, 2, 20, False),  # what mixes up sentences and words runs here
        _case([5, 3], 6, 3, 10, True, dtype=torch.float32),
        _case([5, 3], 4, 2, 9, True),
    ],
)
