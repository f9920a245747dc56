import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from annotated_transformer.ground.errors import InputError
from annotated_transformer.masking import causal_mask, padding_mask
from annotated_transformer.multi_head_attention import MultiHeadAttention
from oracles import (
    BOTH_DTYPES,
    assert_close,
    assert_same_gradients,
    attention_pairs,
    hidden,
    randomise,
    to_ours,
    weigh,
)

TOKENS = torch.tensor([[5, 6, 7, 8, 9], [5, 6, 7, 0, 0]])
MASKS = {
    "none": (None, {}),
    "padding": (padding_mask(TOKENS), {"key_padding_mask": hidden(TOKENS != 0)}),
    "causal": (causal_mask(5), {"attn_mask": hidden(causal_mask(5)[0, 0])}),
    "both": (
        causal_mask(5) & padding_mask(TOKENS),
        {"attn_mask": hidden(causal_mask(5)[0, 0]), "key_padding_mask": hidden(TOKENS != 0)},
    ),
}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", BOTH_DTYPES)
@pytest.mark.parametrize(("mask", "masks_of_torch"), MASKS.values(), ids=MASKS)
def test_it_is_that_of_torch(mask, masks_of_torch, dtype, training):
    ours = randomise(MultiHeadAttention(8, 4)).to(dtype).train(training)
    theirs = randomise(nn.MultiheadAttention(8, 4, batch_first=True)).to(dtype).train(training)
    pairs = list(attention_pairs(ours, theirs))
    to_ours(pairs)
    query, key, value = (torch.randn(2, 5, 8, dtype=dtype) for _ in range(3))
    output = ours(query, key, value, mask)
    expected, weights = theirs(query, key, value, **masks_of_torch, average_attn_weights=False)
    assert_close(output, expected)
    keys = ours.project(key, value).keys
    assert_close(ours.attention.weights(ours.split(ours.query(query)), keys, mask), weights)
    weigh(output).backward()
    weigh(expected).backward()
    assert_same_gradients(pairs)


@torch.no_grad()
@pytest.mark.parametrize(("d_k", "d_v"), [(3, 5), (5, 2), (16, 1), (None, 2), (5, None)])
def test_widths_of_keys_and_values_are_free(d_k, d_v):
    attention = randomise(MultiHeadAttention(6, 2, d_k, d_v)).double()
    d_k, d_v = d_k or 3, d_v or 3
    query, memory = torch.randn(2, 3, 6).double(), torch.randn(2, 4, 6).double()
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]], dtype=torch.bool)[:, None, None]

    def head(layer, x, number, width):
        rows = slice(number * width, (number + 1) * width)
        return layer.weight[rows] @ x + layer.bias[rows]

    output = attention(query, memory, memory, mask)
    for b in range(2):
        for t in range(3):
            heads = []
            for h in range(2):
                q = head(attention.query, query[b, t], h, d_k)
                seen = [memory[b, j] for j in range(4) if mask[b, 0, 0, j]]
                fit = [math.exp(q.dot(head(attention.key, m, h, d_k)) / d_k**0.5) for m in seen]
                values = [head(attention.value, m, h, d_v) for m in seen]
                heads.append(sum(f / sum(fit) * v for f, v in zip(fit, values, strict=True)))
            expected = attention.output.weight @ torch.cat(heads) + attention.output.bias
            assert_close(output[b, t], expected)


def test_it_follows_a_permutation_of_the_words_and_ignores_one_of_the_memory():
    attention = randomise(MultiHeadAttention(6, 3)).double()
    x, order = torch.randn(2, 5, 6).double(), torch.randperm(5)
    y, shuffled = attention(x, x, x), x[:, order]
    assert_close(y[:, order], attention(shuffled, shuffled, shuffled))
    assert_close(y, attention(x, shuffled, shuffled))
    assert not torch.allclose(y, attention(x, shuffled, x))


@pytest.mark.parametrize(("d_k", "d_v"), [(None, None), (2, None), (None, 2)])
def test_a_width_that_the_heads_do_not_divide_is_refused(d_k, d_v):
    with pytest.raises(InputError, match="d_model=7 is not a multiple of num_heads=2"):
        MultiHeadAttention(7, 2, d_k, d_v)
    assert MultiHeadAttention(7, 2, 3, 3)(*[torch.randn(1, 2, 7)] * 3).shape == (1, 2, 7)


@pytest.mark.usefixtures("as_readers_do")
@pytest.mark.parametrize(
    "sizes",
    [
        {"num_heads": 0},
        {"num_heads": 2, "d_k": 0},
        {"num_heads": 2, "d_v": -1},
        {"num_heads": 2, "num_kv_heads": 0},
        {"num_heads": 2, "d_model": 0},
        {"num_heads": 2, "d_model": -1},
        {"num_heads": True},
        {"num_heads": 2.0},
    ],
)
def test_a_size_that_is_no_whole_number_of_at_least_one_is_refused(sizes):
    with pytest.raises(InputError, match=r"is (0|-1|True|2.0), it must be an integer, at least"):
        MultiHeadAttention(**{"d_model": 8} | sizes)


@pytest.mark.usefixtures("as_readers_do")
def test_a_mask_for_each_sentence_is_not_taken_for_one_for_each_head():
    """As many sentences as heads: spread over the last axes, it would be taken in silence."""
    attention, x = MultiHeadAttention(8, 2), torch.randn(2, 3, 8)
    tokens = torch.tensor([[5, 6, 7], [8, 0, 0]])
    assert attention(x, x, x, padding_mask(tokens)).shape == (2, 3, 8)
    with pytest.raises(InputError, match=r"mask has the shape \[2, 1, 3\], it must broadcast to"):
        attention(x, x, x, padding_mask(tokens)[:, 0])


# --- keys and values that are kept ----------------------------------------------------------------


def test_keys_and_values_of_two_parts_are_those_of_the_whole():
    attention, x = randomise(MultiHeadAttention(6, 2, 5, 4)), torch.randn(3, 4, 6)
    whole = attention.project(x, x)
    parts = attention.project(x[:, :1], x[:, :1]).append(attention.project(x[:, 1:], x[:, 1:]))
    assert_close(parts.keys, whole.keys)
    assert_close(parts.values, whole.values)
    empty = attention.empty(3)
    assert empty.length == 0
    assert (empty.keys.shape, empty.values.shape) == ((3, 2, 0, 5), (3, 2, 0, 4))
    assert torch.equal(empty.append(whole).keys, whole.keys)
    assert torch.equal(whole.append(empty).values, whole.values)


# --- fewer heads of keys and values ---------------------------------------------------------------


@pytest.mark.parametrize("num_kv_heads", [1, 2, 4, 8])
@pytest.mark.parametrize("dtype", BOTH_DTYPES)
@pytest.mark.parametrize("mask", [mask for mask, _ in MASKS.values()], ids=MASKS)
def test_groups_are_those_of_torch(mask, dtype, num_kv_heads):
    ours = randomise(MultiHeadAttention(16, 8, 3, 2, num_kv_heads)).to(dtype)
    query, key, value = (torch.randn(2, 5, 16, dtype=dtype) for _ in range(3))

    def cut(x, num_heads):
        return x.unflatten(2, (num_heads, -1)).transpose(1, 2)

    q = cut(ours.query(query), 8)
    k, v = cut(ours.key(key), num_kv_heads), cut(ours.value(value), num_kv_heads)
    heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    expected = ours.output(heads.transpose(1, 2).flatten(2))
    output = ours(query, key, value, mask)
    assert_close(output, expected)
    parameters = list(ours.parameters())
    for one, other in zip(
        torch.autograd.grad(weigh(output), parameters),
        torch.autograd.grad(weigh(expected), parameters),
        strict=True,
    ):
        assert_close(one, other)


def test_fewer_heads_are_kept():
    attention, x = MultiHeadAttention(8, 4, num_kv_heads=2), torch.randn(3, 5, 8)
    kept = attention.project(x, x)
    assert kept.keys.shape == kept.values.shape == (3, 2, 5, 2)
    count = [sum(p.numel() for p in m.parameters()) for m in (MultiHeadAttention(8, 4), attention)]
    assert count[0] - count[1] == 2 * (8 + 1) * 4  # two heads less, of keys and of values


@pytest.mark.parametrize("num_kv_heads", [3, 8])
def test_groups_that_are_not_equal_are_refused(num_kv_heads):
    message = f"num_heads=4 is not a multiple of num_kv_heads={num_kv_heads}: the groups of query"
    with pytest.raises(InputError, match=message):
        MultiHeadAttention(8, 4, num_kv_heads=num_kv_heads)


class Noting(MultiHeadAttention):
    """It notes the positions of which queries or keys are told."""

    def with_positions(self, heads, positions):
        self.told = [*getattr(self, "told", []), positions.tolist()]
        return heads


@torch.no_grad()
def test_queries_and_keys_begin_at_the_first_position_unless_it_is_said():
    attention, x = Noting(8, 2), torch.randn(2, 3, 8)
    attention.attend(x, attention.project(x, x))
    attention(x, x, x)
    assert attention.told == [[[0, 1, 2]]] * 4
    each = [[2, 3, 4], [0, 1, 2]]
    attention.attend(
        x, attention.project(x, x, torch.tensor(each)), None, torch.tensor([[5, 6, 9]])
    )
    assert attention.told[4:] == [each, [[5, 6, 9]]]
    attention.extend(x, attention.empty(2), None, torch.tensor(each))
    assert attention.told[6:] == [each, each]


@torch.no_grad()
@pytest.mark.parametrize("cuts", [(1, 2, 5), (5,), (4, 5)])
def test_extended_by_parts_of_any_size_it_is_causal_attention_at_once(cuts):
    attention = randomise(MultiHeadAttention(8, 4, num_kv_heads=2).double())
    x = torch.randn(3, 5, 8).double()
    expected = attention(x, x, x, causal_mask(5))
    past, start, parts = attention.empty(3), 0, []
    for end in cuts:
        before = past.length
        part, newer = attention.extend(x[:, start:end], past, causal_mask(end, start))
        assert (past.length, newer.length) == (before, end)  # the past that was given stays
        parts.append(part)
        past, start = newer, end
    assert_close(torch.cat(parts, dim=1), expected)
