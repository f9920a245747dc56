import pytest
import torch
from torch import nn

from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.capture import capture_attention, join_calls
from annotated_transformer.masking import padding_mask
from annotated_transformer.multi_head_attention import MultiHeadAttention
from oracles import assert_close, attention_pairs, hidden, randomise, to_theirs
from small_models import small_model

SRC = torch.tensor([[5, 6, 7, 8, 9, 2], [5, 6, 2, 0, 0, 0]])
TGT = torch.tensor([[1, 6, 7, 4], [1, 8, 9, 0]])
STACKS = [f"{part}.{i}" for part in ("encoder", "decoder") for i in (0, 1)]
NAMES = {
    "seq2seq": set(),
    "bahdanau": {"attention"},
    "luong": {"attention"},
    "transformer": {f"{layer}.self_attention" for layer in STACKS}
    | {f"decoder.{i}.cross_attention" for i in (0, 1)},
}
every_model = pytest.mark.parametrize("name", NAMES)


def shown(model, run):
    """The weights of every attention of a model, whether it attends at once or step by step."""
    with capture_attention(model) as captured:
        run()
    return {name: join_calls(calls) for name, calls in captured.items()}


@every_model
def test_every_attention_is_shown_and_its_rows_are_weights(name):
    model = randomise(small_model(name))
    weights = shown(model, lambda: model(SRC, TGT))
    assert set(weights) == NAMES[name]
    for where, matrix in weights.items():
        heads = 2 if name == "transformer" else 1
        query = SRC if where.startswith("encoder") else TGT
        key = TGT if "decoder" in where and "self" in where else SRC
        assert matrix.shape == (2, heads, query.size(1), key.size(1))
        assert not matrix.requires_grad
        seen = padding_mask(key).expand(matrix.shape)
        if key is TGT:
            seen = seen & torch.ones(4, 4, dtype=torch.bool).tril()
        assert_close(
            matrix.masked_fill(~seen, 0.0).sum(dim=-1), torch.ones(matrix.shape[:3]).double()
        )
        assert (matrix[seen] > 0).all()
        assert (matrix[~seen] == 0).all()
        assert matrix.std(dim=-1).max() > 1e-3


def test_the_weights_are_those_that_torch_gives():
    ours, theirs = MultiHeadAttention(8, 4), nn.MultiheadAttention(8, 4, batch_first=True)
    ours = randomise(ours)
    to_theirs(attention_pairs(ours, theirs))
    x = torch.randn(2, 6, 8)
    weights = shown(ours, lambda: ours(x, x, x, padding_mask(SRC)))["attention"]
    masks = {"key_padding_mask": hidden(SRC != 0)}
    _, expected = theirs(x, x, x, **masks, average_attn_weights=False)
    assert_close(weights, expected)


@every_model
def test_step_by_step_the_same_is_shown(name):
    model = randomise(small_model(name))
    at_once = shown(model, lambda: model(SRC, TGT))

    def run():
        state = model.start(SRC)
        for t in range(3):
            _, state = model.step(state, TGT[:, t])

    for where, matrix in shown(model, run).items():
        expected = at_once[where]
        if not where.startswith("encoder"):
            expected = expected[:, :, :3, : matrix.size(-1)]
        assert_close(matrix, expected)


@every_model
def test_showing_changes_nothing_and_ends_with_the_block(name):
    model = randomise(small_model(name))
    logits = model(SRC, TGT)
    with capture_attention(model) as captured:
        assert torch.equal(model(SRC, TGT), logits)
        model(SRC, TGT)
    assert {len(calls) for calls in captured.values()} <= {2, 2 * TGT.size(1)}
    calls = sum(map(len, captured.values()))
    assert torch.equal(model(SRC, TGT), logits)
    assert sum(map(len, captured.values())) == calls


def test_after_an_error_nothing_is_collected_any_more():
    attention = ScaledDotProductAttention()
    x = torch.randn(1, 2, 3)
    with pytest.raises(KeyError), capture_attention(attention) as captured:
        raise KeyError
    attention(x, x, x)
    assert captured == {}


def test_a_mask_given_by_name_is_seen_too():
    attention, mask = ScaledDotProductAttention(), torch.tensor([[[True, False], [True, True]]])
    x = torch.randn(1, 2, 3)
    with capture_attention(attention) as captured:
        attention(x, x, x, mask=mask)
        attention(value=x, key=x, query=x, mask=mask)
    for weights in captured[""]:
        assert torch.equal(weights, attention.weights(x, x, mask)[:, None])
    assert len(captured[""]) == 2
