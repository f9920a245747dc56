import math

import pytest
import torch

from annotated_transformer.attention import ScaledDotProductAttention, SelfAttention
from annotated_transformer.ground.errors import InputError
from annotated_transformer.masking import causal_mask
from annotated_transformer.soft_lookup import SoftLookup
from oracles import BOTH_DTYPES, assert_close, randomise, weigh


def masks():
    padding = (torch.arange(5) < torch.tensor([5, 3])[:, None])[:, None, None]
    empty = padding.clone()
    empty[1] = False
    return {"none": None, "causal": causal_mask(5), "padding": padding,
            "both": causal_mask(5) & padding, "an empty row": empty}  # fmt: skip


def vectors(dtype, d_v=4):
    return [torch.randn(2, 3, 5, d, dtype=dtype, requires_grad=True) for d in (4, 4, d_v)]


@pytest.mark.parametrize("mask", masks().values(), ids=masks())
@pytest.mark.parametrize("d_v", [4, 7])
def test_attention_is_the_formula_computed_number_by_number(mask, d_v):
    query, key, value = (x.detach() for x in vectors(torch.float64, d_v))
    output = ScaledDotProductAttention()(query, key, value, mask)
    seen = torch.ones(2, 3, 5, 5, dtype=torch.bool) if mask is None else mask.expand(2, 3, 5, 5)
    for b, h, i in torch.cartesian_prod(torch.arange(2), torch.arange(3), torch.arange(5)).tolist():
        weights = []
        for j in range(5):
            product = sum(q * k for q, k in zip(query[b, h, i], key[b, h, j], strict=True))
            weights.append(math.exp(product / math.sqrt(4)) if seen[b, h, i, j] else 0.0)
        total = sum(weights) or 1.0
        expected = sum(w / total * v for w, v in zip(weights, value[b, h], strict=True))
        assert_close(output[b, h, i], expected)


@pytest.mark.parametrize("mask", masks().values(), ids=masks())
@pytest.mark.parametrize("dtype", BOTH_DTYPES)
def test_the_fused_path_equals_weights_times_values_gradients_too(mask, dtype):
    attention, inputs = ScaledDotProductAttention(), vectors(dtype)
    fused = attention(*inputs, mask)
    spelled_out = SoftLookup.forward(attention, *inputs, mask)
    assert_close(fused, spelled_out)
    for one, other in zip(
        torch.autograd.grad(weigh(fused), inputs),
        torch.autograd.grad(weigh(spelled_out), inputs),
        strict=True,
    ):
        assert_close(one, other)


@pytest.mark.parametrize("path", [ScaledDotProductAttention.forward, SoftLookup.forward])
def test_a_query_that_may_see_nothing_gets_zeros_and_finite_gradients(path):
    inputs, mask = vectors(torch.float32), torch.ones(2, 1, 5, 5, dtype=torch.bool)
    mask[1, 0, 2] = False
    output = path(ScaledDotProductAttention(), *inputs, mask)
    assert torch.equal(output[1, :, 2], torch.zeros(3, 4))
    assert output[1, :, 1].abs().min() > 0
    gradients = torch.autograd.grad(weigh(output), inputs)
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert torch.equal(gradients[0][1, :, 2], torch.zeros(3, 4))


def test_scores_of_independent_numbers_have_variance_one():
    scores = ScaledDotProductAttention().scores(torch.randn(500, 64), torch.randn(500, 64))
    assert scores.var().item() == pytest.approx(1, abs=0.05)


def test_self_attention_makes_queries_keys_and_values_from_the_same_words():
    attention = randomise(SelfAttention(6, 4, 3)).double()
    x, mask = torch.randn(2, 5, 6).double(), causal_mask(5)[0]
    query, key, value = (
        x @ layer.weight.T for layer in (attention.query, attention.key, attention.value)
    )
    scores = (query @ key.mT / 2).masked_fill(~mask, -torch.inf)
    assert_close(attention(x, mask), scores.softmax(dim=-1) @ value)
    assert sum(p.numel() for p in attention.parameters()) == 6 * (4 + 4 + 3)


@pytest.mark.usefixtures("as_readers_do")
def test_a_query_is_as_wide_as_a_key():
    query, key = torch.ones(1, 2, 3), torch.ones(1, 2, 4)
    for call in (
        lambda: ScaledDotProductAttention().weights(query, key),
        lambda: ScaledDotProductAttention()(query, key, key),
    ):
        with pytest.raises(InputError, match=r"\[1, 2, 3\], .*a query must be as wide as a key"):
            call()
