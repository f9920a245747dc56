from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.batches import Batch
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.text.examples import Example
from annotated_transformer.tokens import PAD
from annotated_transformer.training import linear_schedule, paper_schedule
from transformer_workbook.notebook.proofs import agree, holds, proof

Adam = partial(torch.optim.Adam, betas=(0.9, 0.98), eps=1e-6)

Accumulate = Callable[[nn.Module, Any, Sequence[Batch]], float]
"""Puts the gradient of a batch in micro-batches into the parameters; gives the loss per token."""


@proof
def smoothing(plain: Callable[[Tensor, Tensor, float], Tensor], vocab: int) -> None:
    """With q written out and as PyTorch computes it, the loss is the same, and not below its floor.

    The floor for the paper's smoothing and this vocabulary is glued, as floor, and its size as V.
    """
    from myst_nb import glue

    logits = 3 * torch.randn(2, 5, 7)
    target = torch.tensor([[4, 2, 6, 1, 2], [5, 3, 2, PAD, PAD]])
    in_torch = partial(F.cross_entropy, ignore_index=PAD, reduction="sum")

    def with_q(eps: float) -> Tensor:
        q = (1 - eps) * F.one_hot(target, 7) + eps / 7  # (2, 5, 7)
        return -(q * logits.log_softmax(-1)).sum(-1)[target != PAD].sum()

    ways: dict[str, Callable[[float], Tensor]] = {
        "the losses with q written out": with_q,
        "those of your function": lambda eps: plain(logits, target, eps),
        "of the package": lambda eps: smoothed_cross_entropy(logits, target, eps),
        "of PyTorch": lambda eps: in_torch(logits.mT, target, label_smoothing=eps),
    }
    losses = {name: [loss(eps) for eps in (0.0, 0.1, 0.4)] for name, loss in ways.items()}
    agree(1e-12, {name: torch.stack(three) for name, three in losses.items()})
    y = torch.tensor([[4]])
    q = torch.full((1, 1, 7), 0.1 / 7)
    q[..., 4] += 0.9
    lowest = plain(q.log(), y, 0.1)
    floor = torch.tensor(_floor(0.1, 7))
    agree(1e-12, {"the entropy of q": floor, "the loss of a model that predicts q": lowest})
    others = [plain(q.log() + torch.randn(1, 1, 7), y, 0.1) for _ in range(100)]
    holds("each of 100 random models has a higher loss", min(others) > lowest)
    glue("floor", f"{_floor(0.1, vocab):.2f}", display=False)
    glue("V", str(vocab), display=False)


def _floor(eps: float, vocab: int) -> float:
    q = torch.full((vocab,), eps / vocab)
    q[0] += 1 - eps
    return torch.special.entr(q).sum().item()


@proof
def accumulation(accumulate: Accumulate, model: Any, micro: Sequence[Batch], whole: Batch) -> None:
    """Unequal micro-batches give the gradient of the batch; the mean of their means does not."""
    accumulate(model, smoothed_cross_entropy, micro)
    added = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    right = _gradient(model, whole)
    found = {"the gradient of the whole batch": right, "the sum over its micro-batches": added}
    agree(1e-12, found)
    mean = torch.stack([_gradient(model, part) for part in micro]).mean(0)
    claim = "the mean of the micro-batches' mean gradients differs from it by more than 30 %"
    holds(claim, (mean - right).norm() > 0.3 * right.norm())


def _gradient(model: nn.Module, batch: Batch) -> Float[Tensor, "parameters"]:
    """The gradient of the loss per token, as one long vector."""
    logits = model(batch.src, batch.tgt_in)
    loss = F.cross_entropy(logits.mT, batch.tgt_out, ignore_index=PAD)
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    return torch.cat([gradient.flatten() for gradient in gradients])


@proof
def noise(model: nn.Module, examples: Sequence[Example]) -> None:
    """Of 4, 16 and 64 sentences, the gradient has each time about half the error."""
    many = _gradient(model, Batch.of(examples[:512]))
    errors = []
    for size in (4, 16, 64):
        starts = range(512, 512 + 8 * size, size)
        some = [Batch.of(examples[start : start + size]) for start in starts]
        errors.append(sum((_gradient(model, batch) - many).norm() for batch in some))
    first, second = errors[0] / errors[1], errors[1] / errors[2]
    halved = 1.6 < first < 2.5 and 1.5 < second < 2.5
    claim = "from 4 to 16 sentences, and from 16 to 64, the error of the gradient is about halved"
    holds(claim, halved)


@proof
def adam(adam_steps: Callable[..., Tensor]) -> None:
    """The steps are those of torch.optim.Adam; on pure noise the first are the longest."""
    noise = torch.randn(60, 20_000)
    steps = adam_steps(noise, 0.9, 0.98)
    weights = torch.zeros(20_000).requires_grad_()
    theirs = torch.optim.Adam([weights], lr=1.0, betas=(0.9, 0.98), eps=10**-9)
    for gradient in noise:
        weights.grad = gradient.clone()
        theirs.step()
    found = {"60 steps of torch.optim.Adam": weights.detach(), "60 of your steps": steps.sum(0)}
    agree(1e-10, found)
    size = steps.square().mean(1).sqrt() * 19**0.5
    later = size.argmax() == 0 and 0.9 < size[25:].min() < size[25:].max() < 1.1
    claim = "on pure noise, the first step is √19 times as long as steps 26 to 60, within a tenth"
    holds(claim, later)


@proof
def schedule(plain: Callable[[float, int], Callable[[int], float]]) -> None:
    """With the paper's peak, a schedule is the paper's, and highest at the end of the warm-up."""
    paper, ours = paper_schedule(512, 4000), plain((512 * 4000) ** -0.5, 4000)
    theirs, yours = (torch.tensor([rate(s) for s in range(1, 20_001)]) for rate in (paper, ours))
    agree(1e-12, {"the paper's rates in the first 20,000 steps": theirs, "yours": yours})
    holds("the rate is highest at step 4,000, where the warm-up ends", yours.argmax() + 1 == 4000)


@proof
def trainer(
    plain: Any, package: Any, small_model: Callable[[], nn.Module], examples: Sequence[Example]
) -> None:
    """Two trainers and plain PyTorch have the same losses and parameters after five steps."""
    rates, loss = linear_schedule(5e-3, total=10, warmup=3), smoothed_cross_entropy
    models = [small_model() for _ in range(4)]
    alone, optimizer = (Adam(model.parameters()) for model in models[::3])
    whole, in_parts = (plain(model, loss, rates, clip=0.5) for model in models[1:3])
    packaged = package(models[3], loss, rates, optimizer=optimizer, clip=0.5)
    norms, losses = [], []
    for step in range(1, 6):
        pairs = examples[10 * step : 10 * step + 10]
        batch, cuts = Batch.of(pairs), [Batch.of(p) for p in (pairs[:1], pairs[1:4], pairs[4:])]
        alone.param_groups[0]["lr"] = rates(step)
        alone.zero_grad()
        logits = models[0](batch.src, batch.tgt_in)
        mean = F.cross_entropy(logits.mT, batch.tgt_out, ignore_index=PAD)
        mean.backward()  # type: ignore[no-untyped-call]
        norms.append(nn.utils.clip_grad_norm_(models[0].parameters(), 0.5))
        alone.step()
        told = whole.update([batch]), in_parts.update(cuts), packaged.update(cuts)[0]
        losses.append([mean.item(), *told])
    holds("all five gradients were longer than the limit, so each was clipped", min(norms) > 0.5)
    names = (
        "losses and parameters of plain PyTorch over five steps",
        "those of your class",
        "of your class with micro-batches",
        "of the package",
    )
    after = [torch.cat([p.detach().flatten() for p in model.parameters()]) for model in models]
    found = [torch.cat(pair) for pair in zip(torch.tensor(losses).T, after, strict=True)]
    agree(1e-8, dict(zip(names, found, strict=True)))


@proof
def learning_curve(
    model: nn.Module,
    curve: Sequence[float],
    checks: Mapping[int, float],
    levels: Mapping[str, float],
    batch: Batch,
) -> None:
    """On equal terms, training and validation sentences cost the same; the levels lie as told."""

    @torch.no_grad()
    def cost(training: bool, smoothing: float) -> float:
        torch.manual_seed(0)
        logits = model.train(training)(batch.src, batch.tgt_in)
        return smoothed_cross_entropy(logits, batch.tgt_out, smoothing).item() / batch.num_tokens

    as_trained, no_dropout, plain = cost(True, 0.1), cost(False, 0.1), cost(False, 0.0)
    equal = abs(plain - checks[400]) < 0.15
    claim = "without smoothing and dropout, training and validation loss are within 0.15 nats"
    holds(claim, equal)
    mostly = no_dropout - plain > 2 * (as_trained - no_dropout) > 0
    holds("smoothing adds more than twice as much to the training loss as dropout", mostly)
    first = sum(curve[40:60]) / 20  # of the steps around the first check
    passed = checks[0] > levels["knows nothing"] and checks[50] < min(
        levels["knows frequencies"], first
    )
    claim = (
        "the validation loss begins above log V, and at step 50 is below the frequencies' entropy"
    )
    holds(claim, passed)


@proof
def six_curves(runs: Mapping[str, Sequence[Sequence[float]]]) -> None:
    """Every curve does what its answer says."""
    ends = {name: (sum(line[-20:]) / 20, dots[-1]) for name, (line, dots) in runs.items()}
    so = {
        "A": max(ends["D"]) < ends["A"][0] < sum(runs["A"][0][:20]) / 20,
        "B": max(ends["B"][1], ends["D"][0]) < ends["B"][0],
        "C": ends["C"][0] < 0.3 and runs["C"][1][-1] > runs["C"][1][0],
        "D": ends["D"][1] < runs["D"][1][0],
        "E": runs["E"][0][0] > ends["E"][0] > ends["D"][0],
        "F": min(ends.values()) == ends["F"] and runs["F"][1][-1] > runs["F"][1][0],
    }
    holds("each of the six curves does what the solution says", all(so.values()))
