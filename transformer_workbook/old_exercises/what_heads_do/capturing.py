"""What heads do: capture the weights of every head while a model runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from annotated_transformer.capture import capture_attention
from annotated_transformer.tokens import BOS, EOS, PAD
from annotated_transformer.transformer import Transformer
from transformer_workbook.faulty.models import SMALL, patient
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.what_heads_do.other_weights import (
    OTHER_WEIGHTS,
    masked_scores,
    weights_of,
)


@dataclass(frozen=True)
class _Drawn:
    """A model that is made anew for every answer."""

    num_heads: int
    num_layers: int

    def make(self) -> Transformer:
        sizes = vars(SMALL) | {"num_heads": self.num_heads, "num_layers": self.num_layers}
        return patient(0, type(SMALL)(**sizes)).eval()

    def __repr__(self) -> str:
        return "model"


def _capture_heads(
    model: Transformer, src: Int[Tensor, "batch src"], tgt_in: Int[Tensor, "batch tgt"]
) -> dict[str, Tensor]:
    """Capture the weights of all heads by hooks, and leave no hook behind."""
    with torch.no_grad(), capture_attention(model) as captured:
        model(src, tgt_in)
    return {name: weights for name, [weights] in captured.items()}


def _captured(answer: Callable[..., Any], case: _Drawn, src: Tensor, tgt_in: Tensor) -> Any:
    """What an answer captures, and the hooks that it leaves in the model."""
    model = case.make()
    weights = answer(model, src, tgt_in)
    if weights is None:
        return None
    hooks = sum(len(part._forward_hooks) for part in model.modules())
    return {"weights": weights, "hooks left": hooks}


def _faulty(
    weigh: Callable[..., Tensor], name: str = "{}", removed: slice = slice(None), bound: bool = True
) -> Callable[..., dict[str, Tensor]]:
    """A faulty answer: what is kept of queries, keys, values and mask, and under which names."""

    def answer(model: Transformer, src: Tensor, tgt_in: Tensor) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        handles, last = [], ""

        def hook_for(own: str) -> Any:
            def hook(module: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> None:
                found[name.format(own if bound else last)] = weigh(*args).detach()

            return hook

        for own, part in model.named_modules():
            if own.endswith(".attention"):
                last = own.removesuffix(".attention")
                handles.append(part.register_forward_hook(hook_for(last)))
        model(src, tgt_in)
        for handle in handles[removed]:
            handle.remove()
        return found

    return answer


def _renamed(rename: Callable[[str], str]) -> Callable[..., dict[str, Tensor]]:
    return lambda *case: {rename(name): x for name, x in _capture_heads(*case).items()}


def _only(part: str) -> Callable[..., dict[str, Tensor]]:
    return lambda *case: {name: x for name, x in _capture_heads(*case).items() if part in name}


capture_heads = Exercise(
    ask=_captured,
    reference=_capture_heads,
    given={
        "the hooks are still in the model; remove each by its handle.": (
            _faulty(weights_of, removed=slice(0))
        ),
        "all weights stand under the last name: the hook reads `name` when the loop is over.": (
            _faulty(weights_of, bound=False)
        ),
        "all weights stand under the model's last name: the hook reads `name` after the loop.": (
            _faulty(weights_of, name="output")
        ),
        "the mask is missing: padding and the future get weight.": (
            _faulty(lambda q, k, v, mask: masked_scores(q, k, torch.ones_like(mask)).softmax(-1))
        ),
        "the scores are not divided by the root of d_k.": (
            _faulty(lambda q, k, v, mask: weights_of(q * q.size(-1) ** 0.5, k, v, mask))
        ),
        "the softmax is taken over the queries; over the keys, each row sums to 1.": (
            _faulty(lambda q, k, v, mask: masked_scores(q, k, mask).softmax(-2).nan_to_num())
        ),
        "these are the scores, before the softmax.": (
            _faulty(lambda q, k, v, mask: masked_scores(q, k, mask))
        ),
        "the mask comes after the softmax: the rows do not sum to 1.": (
            _faulty(
                lambda q, k, v, mask: (
                    masked_scores(q, k, torch.ones_like(mask)).softmax(-1).masked_fill(~mask, 0)
                )
            )
        ),
        "this is what the heads give, weights times values; the weights are asked for.": (
            _faulty(lambda q, k, v, mask: weights_of(q, k, v, mask) @ v)
        ),
        "this is the mean over the heads; each has weights of its own.": (
            _faulty(lambda *args: weights_of(*args).mean(1))
        ),
        **{sentence: _faulty(weigh) for sentence, weigh in OTHER_WEIGHTS.items()},
        **{
            f"only the parts with {part!r} in their names are captured; take every one.": (
                _only(part)
            )
            for part in ("encoder", "decoder", "self_attention", "cross_attention", ".0.")
        },
        "only the part after the last dot is used as a name; take the whole name.": (
            _renamed(lambda name: name.rpartition(".")[2])
        ),
        "this is a list of the weights; a dictionary with the names is asked for.": (
            lambda *case: list(_capture_heads(*case).values())
        ),
        "each name has a list of weights; give the tensor itself.": (
            lambda *case: {name: [weights] for name, weights in _capture_heads(*case).items()}
        ),
        "the names end in .attention; that of the MultiHeadAttention is asked for.": (
            _faulty(weights_of, name="{}.attention")
        ),
        "the softmax is taken over the queries, even of those that may see nothing.": (
            _faulty(lambda q, k, v, mask: masked_scores(q, k, mask).clamp(min=-1e9).softmax(-2))
        ),
        "all hooks but one are still in the model; remove each by its handle.": (
            _faulty(weights_of, removed=slice(-1, None))
        ),
    },
    cases=[
        (
            _Drawn(2, 2),
            torch.tensor([[5, 6, 7, 8, 9, EOS], [10, 11, 4, EOS, PAD, PAD]]),
            torch.tensor([[BOS, 6, 7, 8, 9], [BOS, 9, 10, PAD, PAD]]),
        ),
        (
            _Drawn(4, 1),
            torch.tensor([[5, 7, 6, 8, EOS], [11, 4, EOS, PAD, PAD], [6, 5, 4, 9, EOS]]),
            torch.tensor([[BOS, 4], [BOS, PAD], [BOS, 8]]),
        ),
    ],
)
