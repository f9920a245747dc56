import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.lora import LoRALinear
from transformer_workbook.notebook.proofs import agree, holds, proof


@proof
def dpo(loss: Callable[..., Tensor]) -> None:
    """TRL's formula in plain Python, and the slope of a pair: β σ(−β m), up and down."""
    for beta in (0.1, 1.0, 2.5):
        four = (3 * torch.randn(4, 20)).requires_grad_()  # log p of 20 pairs
        mine = loss(*four, beta)
        slopes = torch.autograd.grad(mine, four)[0]
        good, bad, good_before, bad_before = four.detach()
        logits = ((good - bad) - (good_before - bad_before)).tolist()
        by_hand = sum(math.log(1 + math.exp(-beta * x)) for x in logits) / 20
        theirs = torch.tensor(by_hand)
        agree(1e-12, {f"your loss, β = {beta}": mine, "TRL's formula by hand": theirs})
        weights = torch.tensor([beta / (1 + math.exp(beta * x)) / 20 for x in logits])
        signs = torch.tensor([-1.0, 1.0, 1.0, -1.0])[:, None]
        agree(1e-12, {"its slopes": slopes, "± β σ(−β m)": signs * weights})


@proof
def promised(found: Float[Tensor, " answer"], best: Float[Tensor, " answer"]) -> None:
    """What training on pairs found is the best policy for the rewards."""
    agree(1e-9, {"what DPO found": found, "the reference, weighted by exp(r / β)": best})


@proof
def adapted(kind: Callable[..., nn.Module]) -> None:
    """The reader's layer, the package's, its merged matrix, and a sum of outer products."""
    layer, x = nn.Linear(6, 4), torch.randn(5, 6)
    mine, ours = kind(layer, 2, 6.0), LoRALinear(layer, 2, 6.0)
    holds("before training both are the frozen layer", torch.equal(ours(x), layer(x)))
    nn.init.normal_(ours.B)
    mine.load_state_dict(ours.state_dict())
    outer = sum((torch.outer(ours.B[:, r], ours.A[r]) for r in range(2)), torch.zeros(4, 6))
    results = {"your layer": mine(x), "the package's": ours(x)}
    results["the merged matrix"] = x @ ours.weight.T + layer.bias
    results["outer products"] = layer(x) + 3 * x @ outer.T
    agree(1e-12, results)


@proof
def merging(model: nn.Module, texts: Tensor, merge: Callable[[nn.Module], None]) -> None:
    """A model whose layers have a change of low rank, as if trained, before and after merging."""
    with torch.no_grad():
        before = model(texts)
        for part in model.modules():
            if isinstance(part, LoRALinear):
                nn.init.normal_(part.B)
        unmerged = model(texts)
        holds("the changes count", (unmerged - before).abs().max() > 0.1)
        merge(model)
        agree(1e-12, {"the layers beside each other": unmerged, "merged": model(texts)})
