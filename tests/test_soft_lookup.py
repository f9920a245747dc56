import math

import pytest
import torch

from annotated_transformer.attention import ScaledDotProductAttention, SelfAttention
from annotated_transformer.bahdanau import AdditiveAttention
from annotated_transformer.cross_attention import CrossAttention
from annotated_transformer.ground.errors import InputError
from annotated_transformer.luong import make_score
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.soft_lookup import SoftLookup, masked_softmax
from oracles import assert_close, weigh


class Product(SoftLookup):
    """The simplest score of all."""

    def scores(self, query, key):
        return query @ key.transpose(-2, -1)


def mask_with_an_empty_row():
    mask = torch.rand(2, 3, 4, 5) < 0.6
    mask[0, 0, 0] = False
    mask[1, 2, 3] = True
    return mask


def test_masked_softmax_is_a_softmax_over_the_keys_that_may_be_seen():
    scores, mask = torch.randn(2, 3, 4, 5).double() * 5, mask_with_an_empty_row()
    weights = masked_softmax(scores, mask)
    for i in torch.cartesian_prod(torch.arange(2), torch.arange(3), torch.arange(4)).tolist():
        row, seen = scores[*i].tolist(), mask[*i].tolist()
        exponentials = [math.exp(s) if may else 0.0 for s, may in zip(row, seen, strict=True)]
        total = sum(exponentials) or 1.0
        expected = torch.tensor([e / total for e in exponentials], dtype=torch.float64)
        assert_close(weights[*i], expected)
    assert torch.equal(masked_softmax(scores), scores.softmax(dim=-1))


def test_a_row_that_sees_nothing_gives_zeros_and_finite_gradients():
    scores = torch.randn(1, 2, 3, requires_grad=True)
    mask = torch.tensor([[[False, False, False], [True, True, False]]])
    with torch.autograd.set_detect_anomaly(True):  # no undefined number on the way either
        weigh(masked_softmax(scores, mask)).backward()
    assert torch.equal(scores.grad[0, 0], torch.zeros(3))
    assert scores.grad[0, 1, 2] == 0
    assert scores.grad.isfinite().all()
    assert scores.grad[0, 1, :2].abs().min() > 0


@pytest.mark.parametrize("shape", [(1, 1, 1, 5), (2, 1, 1, 5), (1, 1, 4, 5), (2, 3, 4, 5)])
def test_a_mask_is_spread_over_the_axes_that_it_does_not_have(shape):
    scores, mask = torch.randn(2, 3, 4, 5), torch.rand(shape) < 0.7
    mask[..., 0] = True
    assert torch.equal(
        masked_softmax(scores, mask), masked_softmax(scores, mask.expand(2, 3, 4, 5))
    )


def test_a_lookup_is_the_mean_of_the_values_by_weight():
    query, key, value = (torch.randn(2, n, 6).double() for n in (3, 5, 5))
    mask = torch.rand(2, 3, 5) < 0.7
    attention = Product()
    output, weights = attention(query, key, value, mask), attention.weights(query, key, mask)
    for b in range(2):
        for q in range(3):
            expected = sum(weights[b, q, k] * value[b, k] for k in range(5))
            assert_close(output[b, q], expected)


def test_the_general_form_does_not_know_how_to_score():
    with pytest.raises(NotImplementedError, match="SoftLookup does not implement scores"):
        SoftLookup()(torch.ones(1, 1, 2), torch.ones(1, 1, 2), torch.ones(1, 1, 2))


# --- what comes in --------------------------------------------------------------------------------


def lookups():
    return {
        "scaled": ScaledDotProductAttention(),
        "product": Product(),
        "additive": AdditiveAttention(6, 6, 8),
        "luong": make_score("general", 6),
    }


TRIANGLE = torch.ones(3, 5).tril()
BAD_MASKS = {
    "floats": (TRIANGLE, r"mask is of the type torch.float32, it must be torch.bool"),
    "numbers": (TRIANGLE.long(), r"mask is of the type torch.int64, it must be torch.bool"),
    "a list": ([[True]], r"mask is of the type list, it must be torch.bool"),
    "a key too few": (TRIANGLE[:, :4] > 0, r"mask has the shape \[3, 4\], it must broadcast to"),
    "more sentences": (
        (TRIANGLE > 0).expand(4, 3, 5),
        r"mask has the shape \[4, 3, 5\], it must broadcast to \[2, 3, 5\]: it needs the",
    ),
    "more axes": ((TRIANGLE > 0)[None, None], r"mask has the shape \[1, 1, 3, 5\], it must broad"),
}


@pytest.mark.usefixtures("as_readers_do")
@pytest.mark.parametrize("lookup", lookups().values(), ids=lookups())
@pytest.mark.parametrize(("mask", "message"), BAD_MASKS.values(), ids=BAD_MASKS)
def test_a_mask_is_boolean_and_has_the_shape_of_the_scores(lookup, mask, message):
    query, key, value = (torch.randn(2, n, 6) for n in (3, 5, 5))
    with pytest.raises(InputError, match=f"^{message}"):
        lookup(query, lookup.keys(key), value, mask)
    with pytest.raises(InputError, match=f"^{message}"):
        masked_softmax(torch.zeros(2, 3, 5), mask)


@pytest.mark.usefixtures("as_readers_do")
@pytest.mark.parametrize("lookup", lookups().values(), ids=lookups())
@pytest.mark.parametrize("queries", [1, 3])
@pytest.mark.parametrize("values", [2, 1])
def test_queries_do_not_share_keys_of_other_sentences(lookup, queries, values):
    query, key = torch.randn(queries, 3, 6), lookup.keys(torch.randn(2, 5, 6))
    with pytest.raises(
        InputError, match=rf"shapes \[{queries}, 3, 6\], .* must be equal, and each"
    ):
        lookup(query, key, torch.randn(values, 5, 6))
    with pytest.raises(InputError, match="and each key needs its value"):
        lookup(torch.randn(2, 3, 6), key, torch.randn(2, 4, 6))


@pytest.mark.usefixtures("as_readers_do")
def test_heads_refuse_what_does_not_belong_together():
    x, memory = torch.randn(3, 2, 8), torch.randn(1, 4, 8)
    for layer in (MultiHeadAttention(8, 2), CrossAttention(8, 2)):
        with pytest.raises(InputError, match="all axes but the last two must be equal"):
            layer(x, memory, memory)
        with pytest.raises(InputError, match=r"mask is of the type torch.float32"):
            layer(x, x, x, torch.ones(2, 2).tril())
    with pytest.raises(InputError, match=r"mask is of the type torch.float32"):
        SelfAttention(8, 3, 3)(x, torch.ones(2, 2).tril())
