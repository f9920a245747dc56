"""The proofs of chapter 13, training."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.batches import Batch
from annotated_transformer.examples import Example
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.tokens import PAD
from annotated_transformer.training import linear_schedule, paper_schedule
from transformer_workbook.proofs.saying import agree, holds, proof

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
    for eps in (0.0, 0.1, 0.4):
        q = (1 - eps) * F.one_hot(target, 7) + eps / 7  # (2, 5, 7)
        results = {
            f"with ε = {eps}, q written out": -(q * logits.log_softmax(-1))
            .sum(-1)[target != PAD]
            .sum(),
            "your function": plain(logits, target, eps),
            "the package": smoothed_cross_entropy(logits, target, eps),
            "PyTorch": in_torch(logits.mT, target, label_smoothing=eps),
        }
        agree(1e-12, results)
    y = torch.tensor([[4]])
    q = torch.full((1, 1, 7), 0.1 / 7)
    q[..., 4] += 0.9
    lowest = plain(q.log(), y, 0.1)
    agree(1e-12, {"the floor": torch.tensor(_floor(0.1, 7)), "the loss where p = q": lowest})
    others = [plain(q.log() + torch.randn(1, 1, 7), y, 0.1) for _ in range(100)]
    holds("100 other models are above it", min(others) > lowest)
    glue("floor", f"{_floor(0.1, vocab):.2f}", display=False)
    glue("V", str(vocab), display=False)


def _floor(eps: float, vocab: int) -> float:
    q = torch.full((vocab,), eps / vocab)
    q[0] += 1 - eps
    return torch.special.entr(q).sum().item()


@proof
def parts(accumulate: Accumulate, model: Any, micro: Sequence[Batch], whole: Batch) -> None:
    """Unequal micro-batches give the gradient of the batch; the mean of their means does not."""
    accumulate(model, smoothed_cross_entropy, micro)
    added = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    right = _gradient(model, whole)
    agree(1e-12, {"the gradient of the whole batch": right, "that of its micro-batches": added})
    mean = torch.stack([_gradient(model, part) for part in micro]).mean(0)
    holds("the mean of their means is off by over 30 %", (mean - right).norm() > 0.3 * right.norm())


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
    holds("the error of the gradient is about halved from 4 to 16 and from 16 to 64", halved)


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
    agree(1e-10, {"torch.optim.Adam": weights.detach(), "your steps": steps.sum(0)})
    size = steps.square().mean(1).sqrt() * 19**0.5
    later = size.argmax() == 0 and 0.9 < size[25:].min() < size[25:].max() < 1.1
    holds("on pure noise, the first step is √19 times as long as later ones, within a tenth", later)


@proof
def schedule(plain: Callable[[float, int], Callable[[int], float]]) -> None:
    """With the paper's peak, a schedule is the paper's, and highest at the end of the warm-up."""
    paper, ours = paper_schedule(512, 4000), plain((512 * 4000) ** -0.5, 4000)
    theirs, yours = (torch.tensor([rate(s) for s in range(1, 20_001)]) for rate in (paper, ours))
    agree(1e-12, {"the paper's schedule": theirs, "yours": yours})
    holds("it is highest at the end of the warm-up", yours.argmax() + 1 == 4000)


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
    holds("every gradient was clipped", min(norms) > 0.5)
    names = "plain PyTorch", "your class", "your class with micro-batches", "the package"
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
    holds("without smoothing and dropout, both cost the same, within 0.15 nats", equal)
    mostly = no_dropout - plain > 2 * (as_trained - no_dropout) > 0
    holds("smoothing is most of the difference, dropout the rest", mostly)
    first = sum(curve[40:60]) / 20  # of the steps around the first check
    passed = checks[0] > levels["knows nothing"] and checks[50] < min(
        levels["knows frequencies"], first
    )
    holds("the model begins above the first level and is below the second at step 50", passed)


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
