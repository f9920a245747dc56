"""The loss: cross-entropy with label smoothing, summed over real tokens."""

from collections.abc import Callable

from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.ground.inputs import require_number, require_targets
from annotated_transformer.tokens import PAD

Loss = Callable[[Tensor, Tensor], Tensor]
"""Maps logits (batch, tgt, vocab) and targets (batch, tgt) to the loss summed over real tokens."""


def smoothed_cross_entropy(
    logits: Float[Tensor, "batch tgt vocab"],
    target: Int[Tensor, "batch tgt"],
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Compute −Σₜ Σᵥ q(v) log p(v), in nats, with q = (1 − ε) one-hot + ε uniform; no padding.

    It is a *sum*: divide by the number of real tokens once all of them are known, so that
    the losses of micro-batches add up to the loss of the whole batch.

    Source: Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4.

    Raises:
        InputError: if the smoothing is outside [0, 1), or the targets are not one id of the
            vocabulary for each row of the logits.
    """
    require_targets(logits, target)
    require_number("smoothing", smoothing, below=1.0)
    log_probs = logits.log_softmax(dim=-1)  # (batch, tgt, vocab)
    surprise = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)  # (batch, tgt)
    if smoothing:
        # What cannot be predicted, as padding in a loaded model, has no part in the uniform q.
        share = log_probs.isfinite().float().mean(dim=-1).to(log_probs)
        log_probs = log_probs.nan_to_num(neginf=0.0)
        surprise = (1 - smoothing) * surprise - smoothing * log_probs.mean(dim=-1) / share
    return surprise.masked_fill(target == PAD, 0.0).sum()
