from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.batches import Batch
from annotated_transformer.capture import capture_attention
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.masking import padding_mask, target_mask
from annotated_transformer.soft_lookup import masked_softmax
from annotated_transformer.text.examples import Example
from annotated_transformer.tokens import PAD
from annotated_transformer.transformer import TransformerConfig
from annotated_transformer.translation import translate_ids
from transformer_workbook.notebook.proofs import agree, holds, proof


@proof
def hidden_keys() -> None:
    """Masked keys count as if left out; zeros after the softmax give something else."""
    query, key, value = torch.randn(3, 7, 4)  # each (time, 4)
    mask = torch.ones(7, 7).tril().bool()  # (query, key)
    scores = query @ key.T / 2  # divided by √4
    chosen = [
        (key[seen] @ q / 2).softmax(0) @ value[seen] for q, seen in zip(query, mask, strict=True)
    ]
    package, pytorch = ScaledDotProductAttention(), F.scaled_dot_product_attention
    masked = [
        scores.masked_fill(~mask, -torch.inf).softmax(-1) @ value,
        package.weights(query, key, mask) @ value,
        package(query, key, value, mask),
        pytorch(query, key, value, attn_mask=mask),
        pytorch(query, key, value, is_causal=True),
    ]
    results = {
        "the output with the masked keys deleted": torch.stack(chosen).expand(len(masked), -1, -1),
        "that with −∞ before the softmax, here, in the package and in PyTorch,": torch.stack(
            masked
        ),
    }
    agree(1e-12, results)
    late = (scores.softmax(-1) * mask) @ value
    holds(
        "weights set to 0 after the softmax give another output",
        (late - torch.stack(chosen)).norm() > 0.1,
    )


@proof
def large_hidden_score(
    scores: Float[Tensor, "query key"], may_attend: Bool[Tensor, "query key"]
) -> None:
    """A row that is masked before the softmax does not depend on a masked score, however large."""
    row = scores[1].masked_fill(~may_attend[1], -torch.inf).softmax(-1)
    agree(1e-12, {"½, ½, 0": torch.tensor([0.5, 0.5, 0]), "the row masked before the softmax": row})
    scores, seen = torch.tensor([0.0, 1.0, 200.0]).float(), torch.tensor([True, True, False])
    late = scores.softmax(-1) * seen
    early = scores.masked_fill(~seen, -torch.inf).softmax(-1)
    holds(
        "with a masked score of 200, masking after the softmax and dividing gives nan",
        (late / late.sum()).isnan().any(),
    )
    calm = F.pad(scores[:2].softmax(-1), (0, 1))
    holds("masking before the softmax gives the row without that word", torch.equal(early, calm))


@proof
def padding(transformer: Any) -> None:
    """A sentence has the same logits and gradients alone, beside ``PAD`` and beside garbage."""
    sizes = {"num_layers": 1, "d_model": 8, "d_ff": 16, "dropout": 0.0}
    model = transformer(TransformerConfig.tiny(12, 12, **sizes))
    short, longer = ([5, 6, 7, 8], [7, 8, 9, 10]), ([8, 9, 5, 4, 6], [6, 5, 4, 11, 7, 9])
    batch = Batch.of([short, longer])
    alone, _ = _outcome(model, Batch.of([short]))
    beside, clean = _outcome(model, batch)
    for embedding in (model.src_embedding, model.tgt_embedding):
        embedding.register_forward_hook(_garbage)
    _, dirty = _outcome(model, batch)
    agree(1e-12, {"the logits of a sentence alone": alone, "those with padding": beside[:5]})
    agree(
        1e-12,
        {
            "logits, loss and gradients with PAD in the padding": clean,
            "those with random numbers in it": dirty,
        },
    )


def _garbage(module: Any, inputs: tuple[Tensor, ...], embedded: Tensor) -> Tensor:
    """Spoil the padding: this is called after an embedding."""
    padded = (inputs[0] == PAD)[..., None]
    return torch.where(padded, 1000 * torch.randn_like(embedded), embedded)


def _outcome(model: Any, batch: Batch) -> tuple[Float[Tensor, "word vocabulary"], Tensor]:
    """Give the logits of the words; and with the loss per word and all gradients, in one row."""
    logits = model(batch.src, batch.tgt_in)
    loss = smoothed_cross_entropy(logits, batch.tgt_out) / batch.num_tokens
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    words = logits[batch.tgt_out != PAD]
    return words, torch.cat([each.flatten() for each in (words, loss, *gradients)])


@proof
def peeking(
    verdicts: Sequence[tuple[float, int, int]],
    model: Any,
    test: Sequence[Example],
    to_the_right: Float[Tensor, "time"],
) -> None:
    """The model without a causal mask: a lower loss, nothing right, a head on the next word."""
    (loss, exact, _), (lower, none, _) = verdicts  # of the causal model, and of the other
    holds("the peeking model has the lower validation loss", lower < loss)
    claim = "it translates nothing exactly, the causal model something"
    holds(claim, none == 0 < exact)
    holds(
        "its head gives over 90 % of its attention to the word on the right",
        to_the_right.min() > 0.9,
    )
    sources = [src for src, _ in test]
    said = [len(ids) for ids in translate_ids(model, sources)]
    limits = [len(src) + 51 for src in sources]  # the source, EOS and 50 more
    cut_off = all(length in (0, limit) for length, limit in zip(said, limits, strict=True))
    holds("each of its translations is empty or goes on until it is cut off", cut_off)


@proof
def causality(
    models: Mapping[str, Any], moved: Callable[[Any, int], Bool[Tensor, "time"]], batch: Batch
) -> None:
    """Change any word: the right mask keeps all logits before it, the peeking model none."""
    right, peeks = models.values()
    alike = zip(right.parameters(), peeks.parameters(), strict=True)
    holds("both models begin with the same parameters", all(torch.equal(a, b) for a, b in alike))
    places = range(1, batch.tgt_in.size(1))
    same, after = [], []
    with torch.no_grad():
        before = right(batch.src, batch.tgt_in)[0]
        for place in places:
            changed = batch.tgt_in.clone()
            changed[0, place] += 1
            same.append(before[:place])
            after.append(right(batch.src, changed)[0, :place])
    agree(
        1e-12,
        {
            "the logits before a word": torch.cat(same),
            "those with that word changed": torch.cat(after),
        },
    )
    holds(
        "with the causal mask, the logits at that word and after it move",
        all(moved(right, place)[place:].all() for place in places),
    )
    holds(
        "in the peeking model, all logits move", all(moved(peeks, place).all() for place in places)
    )


@proof
def one_call(
    model: Any, src: Any, written: Sequence[int], logits: Float[Tensor, "1 time vocabulary"]
) -> None:
    """One call gives the same logits as a call for each word."""
    with torch.no_grad():
        alone = [model(src, torch.tensor([written[:t]]))[0, -1] for t in range(1, len(written))]
    agree(
        1e-12,
        {"the logits of a call for each word": torch.stack(alone), "those of one call": logits[0]},
    )
    holds("one call predicts the same words", logits[0].argmax(-1).tolist() == list(written[1:]))


@proof
def empty_rows() -> None:
    """Fully masked rows: −∞ gives gradients of nan, zeros give the right ones."""
    scores, value = torch.randn(7, 7), torch.randn(7, 4)
    real = torch.tensor([True] * 4 + [False] * 3)  # (time,)

    def gradient(weights: Float[Tensor, "time time"]) -> Float[Tensor, "4 4"]:
        """Of a loss that skips the padded rows."""
        matrix = torch.eye(4, requires_grad=True)
        loss = (weights @ (value @ matrix))[real].square().sum()
        return torch.autograd.grad(loss, matrix)[0]

    columns, rows_too = real.expand(7, 7), real[:, None] & real
    plain = gradient(scores.masked_fill(~rows_too, -torch.inf).softmax(-1))
    holds("with −∞ in whole rows, the gradients of the parameters are nan", plain.isnan().all())
    zeros = gradient(masked_softmax(scores, rows_too))
    right = gradient(masked_softmax(scores, columns))
    agree(
        1e-12,
        {
            "the gradients with only columns masked": right,
            "those with weights of 0 in a row": zeros,
        },
    )
    one, nothing = torch.ones(1, 1), torch.zeros(1, 3).bool()
    output = F.scaled_dot_product_attention(one, one.expand(3, 1), torch.eye(3), attn_mask=nothing)
    holds(
        "PyTorch's scaled_dot_product_attention gives zeros for a fully masked row",
        not output.any(),
    )
    layer: Any = nn.MultiheadAttention(4, 2, batch_first=True)
    rows, hidden = torch.randn(1, 3, 4), torch.ones(1, 3).bool()
    attended, _ = layer(rows, rows, rows, key_padding_mask=hidden)
    holds("PyTorch's MultiheadAttention gives nan", attended.isnan().all())
    finite = scores[:1].masked_fill(torch.ones(7).bool(), -1e9).softmax(-1)
    equal = torch.allclose(finite, torch.tensor(1 / 7), rtol=0, atol=1e-12)
    holds("with −1e9, the keys of a fully masked row share the attention equally", equal)
    holds("in float16, −1e9 becomes −∞", torch.tensor(-1e9).half() == -torch.inf)


@proof
def in_a_transformer(
    transformer: Any, batch: Batch, both: Bool[Tensor, "batch 1 time time"]
) -> None:
    """In a Transformer exactly the masked weights are 0."""
    sizes = {"num_layers": 1, "d_model": 8, "d_ff": 16}
    tokens = 1 + max(int(batch.src.max()), int(batch.tgt_in.max()))
    model = transformer(TransformerConfig.tiny(tokens, tokens, **sizes))
    with capture_attention(model) as captured:
        model(batch.src, batch.tgt_in)
    source = padding_mask(batch.src)
    expected = {"encoder.0.self": source, "decoder.0.self": both, "decoder.0.cross": source}
    found = {name.removesuffix("_attention"): weights > 0 for name, [weights] in captured.items()}
    holds("a Transformer has these three kinds of attention", found.keys() == expected.keys())
    hidden = all(torch.equal(seen, expected[name].expand_as(seen)) for name, seen in found.items())
    holds("exactly the weights that these masks forbid are 0", hidden)
    holds(
        "target_mask(tgt_in) is the padding mask and the causal mask",
        torch.equal(both, target_mask(batch.tgt_in)),
    )
