"""Linear attention and the gated delta rule: one position at a time, in chunks, and at once."""

import pytest
import torch
from torch.nn import functional as F
from transformers.models.qwen3_next import modeling_qwen3_next as qwen

from annotated_transformer.ground.errors import InputError
from annotated_transformer.linear_attention import (
    LinearAttention,
    PositiveFeatures,
    linear_attention,
)
from annotated_transformer.masking import causal_mask, target_mask
from oracles import BOTH_DTYPES, assert_close, randomise
from transformer_workbook.chapters.without_the_table.exercises import masked_blocks

BATCH, HEADS, TIME, D_K, D_V = 2, 3, 11, 5, 4


def drawn():
    """Queries, keys of length 1, values, a state, strengths and logarithms of decays."""
    queries, keys = torch.randn(2, BATCH, HEADS, TIME, D_K).double()
    values, state = torch.randn(BATCH, HEADS, TIME, D_V), torch.randn(BATCH, HEADS, D_K, D_V)
    strength, log_decay = torch.rand(BATCH, HEADS, TIME), torch.rand(BATCH, HEADS, TIME).log()
    keys = F.normalize(keys, dim=-1)
    return queries, keys, *(x.double() for x in (values, state, strength, log_decay))


def one_at_a_time(queries, keys, values, state, strength, log_decay):
    """The recurrence, one head of one sequence after the other."""
    outputs, state = torch.zeros_like(values), state.clone()
    for at in torch.cartesian_prod(torch.arange(BATCH), torch.arange(HEADS), torch.arange(TIME)):
        b, h, t = at.tolist()
        S = state[b, h] * (1 if log_decay is None else log_decay[b, h, t].exp())
        new = values[b, h, t]
        if strength is not None:
            new = strength[b, h, t] * (new - S.T @ keys[b, h, t])
        state[b, h] = S + torch.outer(keys[b, h, t], new)
        outputs[b, h, t] = state[b, h].T @ queries[b, h, t]
    return outputs, state


@pytest.mark.parametrize("chunk", [1, 4, 64])
@pytest.mark.parametrize("corrects", [False, True])
@pytest.mark.parametrize("forgets", [False, True])
def test_recurrent_chunked_and_parallel_forms_are_the_same(chunk, corrects, forgets):
    *given, strength, log_decay = drawn()
    gates = strength if corrects else None, log_decay if forgets else None
    expected = one_at_a_time(*given, *gates)
    for ours, theirs in zip(linear_attention(*given, *gates, chunk), expected, strict=True):
        assert_close(ours, theirs, 1e-10)


def test_a_decay_may_be_zero():
    *given, strength, log_decay = drawn()
    log_decay[..., ::3] = -torch.inf
    expected, _ = one_at_a_time(*given, strength, log_decay)
    assert_close(linear_attention(*given, strength, log_decay, chunk=4)[0], expected, 1e-10)


def test_it_is_the_gated_delta_rule_of_qwen3_next():
    queries, keys, values, state, strength, log_decay = drawn()
    there = (x.transpose(1, 2) for x in (queries, keys, values, log_decay, strength))
    rule = qwen.torch_recurrent_gated_delta_rule
    output, last = rule(*there, initial_state=state, output_final_state=True)
    # Theirs computes in float32 whatever it gets, and divides the queries.
    given = queries / D_K**0.5, keys, values, state, strength, log_decay
    outputs, ours = linear_attention(*given, chunk=3)
    assert_close(outputs, output.transpose(1, 2), 1e-5)
    assert_close(ours, last.double(), 1e-5)


def test_bad_input_is_refused():
    queries, *others = drawn()[:4]
    with pytest.raises(InputError, match="chunk is 0, it must be an integer, at least 1"):
        linear_attention(queries, *others, chunk=0)
    with pytest.raises(InputError, match="must be floats of one type on one device"):
        linear_attention(queries.float(), *others)
    attention, x, mask = layer(), torch.randn(3, 6, 12).double(), torch.ones(3, 1, 6, 5).bool()
    with pytest.raises(InputError, match="mask has the shape"):
        attention.gather(torch.randn(3, 3, 6, D_K).double(), attention.project(x, x), mask)
    with pytest.raises(InputError, match="mask has the shape"):
        attention.extend(x, attention.empty(3), mask)
    with pytest.raises(InputError, match="the mask is not causal: only `attend` takes any mask"):
        attention.extend(x, attention.empty(3), torch.ones(1, 1, 6, 6).bool())


def layer(dtype=torch.float64):
    return randomise(LinearAttention(12, HEADS, D_K, D_V)).to(dtype)


@torch.no_grad()
@pytest.mark.parametrize("dtype", BOTH_DTYPES)
def test_its_weights_are_products_of_features(dtype):
    ours, x = layer(dtype), torch.randn(BATCH, TIME, 12, dtype=dtype)
    mask = torch.rand(BATCH, 1, TIME, TIME) < 0.5
    mask[0, :, 3] = False
    heads = []
    for h in range(HEADS):
        q, k, v = (
            part(x).split(width, dim=-1)[h]
            for part, width in ((ours.query, D_K), (ours.key, D_K), (ours.value, D_V))
        )
        q, k = (torch.where(y > 0, y + 1, y.exp()) for y in (q, k))
        weights = torch.einsum("bqd,bkd->bqk", q, k) * mask[:, 0]
        heads.append((weights / weights.sum(-1, keepdim=True)).nan_to_num() @ v)
    assert_close(ours(x, x, x, mask), ours.output(torch.cat(heads, dim=-1)))


@torch.no_grad()
def test_its_state_and_its_table_give_the_same_and_the_state_does_not_grow():
    ours, x = layer(), torch.randn(BATCH, TIME, 12).double()
    table = ours(x, x, x, causal_mask(TIME))
    state, outputs = ours.empty(BATCH), []
    for part in x.split([1, 4, 6], dim=1):
        output, state = ours.extend(part, state)
        assert state.matrix.shape == (BATCH, HEADS, D_K, D_V + 1)
        outputs.append(output)
    assert_close(torch.cat(outputs, dim=1), table)


@torch.no_grad()
def test_padding_is_not_written():
    tokens = torch.tensor([[5, 6, 7, 0], [5, 6, 7, 8], [0, 6, 7, 8], [0, 0, 0, 8]])
    ours, x, mask = layer(), torch.randn(4, 4, 12).double(), target_mask(tokens)
    output, state = ours.extend(x, ours.empty(4), mask)
    assert_close(output, ours(x, x, x, mask))
    x[~mask[:, 0, -1]] += 1
    assert_close(ours.extend(x, ours.empty(4), mask)[1].matrix, state.matrix)


def test_in_16_bits_a_long_text_is_still_read():
    layer = LinearAttention(16, 2).bfloat16()
    state, x = layer.empty(1), torch.randn(1, 400, 16).bfloat16()
    for token in x.split(1, dim=1):
        last, state = layer.extend(token, state)
    [*_, expected] = layer(x, x, x).unbind(1)
    assert (last[:, 0] - expected).abs().max() < 0.05 * expected.abs().max()


def test_a_feature_is_never_zero():
    assert (PositiveFeatures()(torch.tensor([-40.0, 0.0, 2.0])) > 0).all()


def test_attention_in_masked_blocks_is_that_of_pytorch():
    q, k, v = torch.randn(5, 3).double(), torch.randn(9, 3).double(), torch.randn(9, 2).double()
    mask = (torch.rand(5, 9) < 0.5).index_fill(1, torch.tensor([8]), True)
    for times in (1, 1000):
        expected = F.scaled_dot_product_attention(times * q, k, v, mask)
        for size in (1, 2, 4, 9, 20):
            assert_close(masked_blocks.reference(times * q, k, v, mask, size), expected, 1e-12)
