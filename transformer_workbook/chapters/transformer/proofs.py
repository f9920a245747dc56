import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from annotated_transformer.batches import Batch
from annotated_transformer.masking import causal_mask
from annotated_transformer.transformer import Transformer, TransformerConfig
from transformer_workbook.notebook import differs_from_torch, mean_interval
from transformer_workbook.notebook.proofs import agree, holds, proof

Run = Callable[[Any, Tensor, Tensor], Tensor]
"""How a model is run: the model, the source and the target it reads, to logits."""


@proof
def pencil(
    source: Float[Tensor, "src 2"],
    bos: Float[Tensor, "2"],
    table: Float[Tensor, "vocab 2"],
    memory: Float[Tensor, "src 2"],
    logits: Float[Tensor, "vocab"],
) -> None:
    """With the numbers chosen by hand, the package's Transformer computes its memory and logits."""
    sizes = 2, 1, 1, 2  # d_model, layers, heads, d_ff
    model = Transformer(TransformerConfig(7, 7, *sizes, dropout=0.0))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" not in name:
                parameter.zero_()
        for name, module in model.named_modules():
            if name.endswith(("value", "attention.output")):
                times = 4 if "cross_attention.value" in name else 1
                module.weight.copy_(times * torch.eye(2))
        for side in (model.src_embedding, model.tgt_embedding):
            side.positions.table.zero_()
        model.src_embedding.tokens.weight[4:] = source
        model.tgt_embedding.tokens.weight[1] = bos
        model.tgt_embedding.tokens.weight[[2, 4, 5, 6]] = table
        read = model.encode(torch.tensor([[4, 5, 6]]))[0]
        written = model(torch.tensor([[4, 5, 6]]), torch.tensor([[1]]))[0, 0, [2, 4, 5, 6]]
    agree(1e-3, {"the memory of the package": read, "the memory computed by hand": memory})
    agree(1e-3, {"the logits of the package": written, "the logits computed by hand": logits})


@proof
def whole_pass(run: Run, model: Transformer, batch: Batch) -> None:
    """The functions of the lesson compute the logits of the package."""
    logits = run(model, batch.src, batch.tgt_in)
    agree(1e-12, {"the logits of the package": model(batch.src, batch.tgt_in), "yours": logits})
    side, width = model.src_embedding, model.config.d_model
    x = side.tokens(batch.src) * math.sqrt(width) + side.positions.table[: batch.src.size(1)]
    agree(1e-12, {"the package's embedding": side(batch.src), "√d_model token + position": x})
    total = logits.softmax(dim=-1).sum(dim=-1)
    agree(
        1e-12, {"the sum of the probabilities at each position": total, "1": torch.ones_like(total)}
    )


@proof
def base_model(sizes: Mapping[str, int]) -> None:
    """The base model of the package has the parameters that were counted by hand."""
    with torch.device("meta"):  # shapes without numbers
        base = Transformer(TransformerConfig.base(37_000, 37_000))
    total, counted = sum(sizes.values()), sum(p.numel() for p in base.parameters())
    few = 62.9e6 < total < counted < total + 0.2e6 < 63.2e6
    holds("the package's base model has these 63 million, and biases and norms below 0.2", few)
    found = dict.fromkeys(("attention", "feed_forward", "tokens"), 0)
    for name, parameter in base.named_parameters():
        for part in found:
            found[part] += parameter.numel() * (part in name)
    near = [n <= m < 1.01 * n for n, m in zip(sizes.values(), found.values(), strict=True)]
    holds("each part has as many as here, but for less than 1 %", all(near))


@proof
def dependencies(depends: Mapping[str, Bool[Tensor, "tgt src_and_tgt"]]) -> None:
    """The correct model depends on the source and its past; two others on more, or no source."""
    right = depends["correct"]
    length = len(right)
    src = right.size(1) - length
    as_masked = right[:, :src].all() and torch.equal(right[:, src:], causal_mask(length)[0, 0])
    holds("the correct model depends on the whole source, and of the target on the past", as_masked)
    holds(
        "with a causal mask missing in one layer, it depends on all words",
        depends["missing mask"].all(),
    )
    ignored = not depends["source ignored"][:, :src].any()
    holds("the model that ignores the source does not depend on it", ignored)


@proof
def first_loss(losses: Sequence[float], vocab: int) -> None:
    """Random logits have the loss ln V + v/2, fresh models one of ln V and half a nat (glued)."""
    from myst_nb import glue

    apart = []
    for v in (0, 1 / 3, 1, 4):
        z = v**0.5 * torch.randn(500, 5000)
        paid = (z.logsumexp(dim=1) - z.mean(dim=1)).mean()
        apart.append(abs(paid - math.log(5000) - v / 2))
    claim = (
        "random logits of variance 0 to 4 over 5,000 words have the loss ln V + v/2, within 0.02"
    )
    holds(claim, max(apart) < 0.02)
    more = mean_interval([loss - math.log(vocab) for loss in losses])
    half = abs(more.value - 0.5) < 0.15 and more.sign == 1
    holds("the loss of the models is half a nat above ln V, within 0.15", half)
    glue("more", f"{more:.2f}", display=False)


@proof
def same_as_torch(run: Run, model: Transformer, perturbed: Transformer, batch: Batch) -> None:
    """Without its additional norms, nn.Transformer computes the same; with them, nearly."""
    same = [differs_from_torch(run, each, batch) for each in (model, perturbed)]
    claim = "without its two norms, nn.Transformer gives our logits, fresh or perturbed, to 1e-9"
    holds(claim, max(same) < 1e-9)
    fresh, changed = (differs_from_torch(run, each, batch, True) for each in (model, perturbed))
    claim = "with them, a fresh model differs by less than 1e-3 and a perturbed one by more"
    holds(claim, fresh < 1e-3 < changed)


@proof
def findings(
    found: Mapping[str, Mapping[str, bool]], curves: Mapping[str, Sequence[float]], batch: Batch
) -> None:
    """The checks find what the text says they find."""
    who = {name: [check for check, seen in row.items() if seen] for name, row in found.items()}
    wanted = {
        "correct": [],
        "layer-wise memory": ["nn.Transformer"],
        "missing mask": ["dependencies", "nn.Transformer"],
        "source ignored": ["dependencies", "one batch", "nn.Transformer"],
        "shared layers": ["count"],
        "large embeddings": ["first loss"],
        "no positions": [],
    }
    claim = "the correct model and the one without positions pass; the other five bugs are found"
    holds(claim, who == wanted)
    different = len({tuple(row) for row in batch.tgt_out.tolist()})
    paid = curves["source ignored"][-1] * batch.num_tokens / 16
    claim = "where the source is ignored, the mean loss of 16 different sentences is over ln 16"
    holds(claim, different == 16 and paid > math.log(16))


@proof
def shuffled(candidate: Callable[[str], tuple[Run, Any]], batch: Batch) -> None:
    """A permuted source moves the logits of the correct model, and none without positions."""
    order = torch.tensor([3, 1, 4, 0, 5, 2, 6, 8, 7])
    moves = {}
    for name in ("correct", "no positions"):
        run, model = candidate(name)
        logits, after = (run(model, src, batch.tgt_in) for src in (batch.src, batch.src[:, order]))
        moves[name] = (after - logits).abs().max() > 1e-9
    holds("when the source is permuted, the logits of the correct model move", moves["correct"])
    holds("those of the model without positions stay, to 1e-9", not moves["no positions"])


@proof
def common_pitfalls() -> None:
    """PyTorch's stack begins with copies of one layer."""
    layer = nn.TransformerEncoderLayer(8, 2, batch_first=True)
    first, second = nn.TransformerEncoder(layer, 2).layers
    alike = torch.equal(first.linear1.weight, second.linear1.weight)
    told = "same parameters" in str(nn.TransformerEncoder.__doc__)
    holds(
        "two layers of nn.TransformerEncoder begin with equal weights, as it warns", alike and told
    )
