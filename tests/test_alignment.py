import pytest
import torch

from annotated_transformer.batches import Batch
from annotated_transformer.capture import capture_attention, join_calls
from annotated_transformer.decoding import Search, greedy
from annotated_transformer.evaluation import (
    alignment_error_rate,
    alignment_errors,
    forced_attention,
    strongest_links,
)
from annotated_transformer.tokens import BOS, EOS
from annotated_transformer.transformer import Transformer, TransformerConfig
from small_models import small_model

CROSS = {
    "bahdanau": ["attention"],
    "luong": ["attention"],
    "transformer": ["decoder.0.cross_attention", "decoder.1.cross_attention"],
}
SRC = torch.tensor([[4, 9, 6, 8, EOS]])


@pytest.mark.parametrize("name", CROSS)
def test_row_t_is_where_the_model_looked_when_it_said_token_t(name):
    model = small_model(name)
    with torch.no_grad():
        model.output.bias[EOS] = -1e6  # it has something to say
    with capture_attention(model) as captured:
        said = greedy(model, SRC, Search(extra_length=2))[0].tokens
    forced = forced_attention(model, SRC, torch.tensor([[BOS, *said]]))
    assert len(said) > 2
    for cross in CROSS[name]:
        [weights] = forced[cross]
        assert weights.shape[-2:] == (len(said) + 1, 5)
        assert weights.shape[0] == 1
        steps = captured[cross]
        for t in range(len(said)):
            torch.testing.assert_close(weights[:, :, t], steps[t][:, :, 0])
        assert (weights[:, :, 1:] - weights[:, :, :-1]).abs().max() > 1e-4
        torch.testing.assert_close(weights[:, :, : len(steps)], join_calls(steps))


@pytest.mark.parametrize("name", CROSS)
def test_attention_is_read_without_dropout_and_the_model_left_as_it_was(name):
    model = small_model(name, dropout=0.5).train()
    tgt_in = torch.tensor([[BOS, 5, 6]])
    first, second = (forced_attention(model, SRC, tgt_in) for _ in range(2))
    for cross in CROSS[name]:
        assert torch.equal(first[cross][0], second[cross][0])
    assert model.training


def test_a_model_without_attention():
    assert forced_attention(small_model("seq2seq"), SRC, torch.tensor([[BOS, 5]])) == {}


def test_strongest_links():
    weights = torch.tensor([[0.1, 0.7, 0.2], [0.5, 0.1, 0.4], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]])
    assert strongest_links(weights, 3, 3) == {(1, 0), (0, 1), (2, 2)}
    assert strongest_links(weights, 4, 2) == {(1, 0), (0, 1), (1, 2), (0, 3)}  # not the third word


def test_an_empty_source_has_no_links():
    assert strongest_links(torch.ones(2, 3) / 3, 2, 0) == frozenset()


def links(*pairs):
    return frozenset(pairs)


@pytest.mark.parametrize(
    ("predicted", "gold", "rate"),
    [
        ([links((0, 0), (1, 1))], [links((0, 0), (1, 1))], 0.0),
        ([links((1, 0), (0, 1))], [links((0, 0), (1, 1))], 1.0),
        # Target 2 is linked to nothing, so (0, 2) is not judged: 1 hit of 2 + 3 links.
        ([links((0, 0), (1, 1), (0, 2))], [links((0, 0), (2, 1), (3, 1))], 1 - 2 / 5),
        # Over all sentences together: 1 hit of 1 + 1 links, and 0 of 3 + 1.
        (
            [links((0, 0)), links((1, 0), (2, 0), (3, 0))],
            [links((0, 0)), links((0, 0))],
            1 - 2 / 6,
        ),
        ([links((4, 4))], [links((0, 0))], 1.0),
    ],
)
def test_error_rate_counted_by_hand(predicted, gold, rate):
    assert alignment_error_rate(predicted, gold) == pytest.approx(rate)


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_alignment_errors_are_those_of_each_sentence_by_itself(batch_size):
    torch.manual_seed(0)
    model = Transformer(TransformerConfig.tiny(12, 12))
    examples = [([5, 6, 7], [8, 9]), ([5], [6, 7, 8, 9]), ([4, 8], [5]), ([9, 9, 4, 5], [11, 10])]
    gold = [
        frozenset({(0, 0), (2, 1)}),
        frozenset({(0, 3)}),
        frozenset({(1, 0)}),
        frozenset({(3, 1)}),
    ]
    errors = alignment_errors(model, examples, gold, batch_size)
    assert errors.keys() == {"decoder.0.cross_attention", "decoder.1.cross_attention"}
    for name, error in errors.items():
        links = []
        for src, tgt in examples:
            batch = Batch.of([(src, tgt)])
            heads = forced_attention(model, batch.src, batch.tgt_in)[name][0][0]
            mean = sum(heads) / len(heads)
            links.append(frozenset((int(mean[t, : len(src)].argmax()), t) for t in range(len(tgt))))
        assert error == pytest.approx(alignment_error_rate(links, gold), abs=1e-12)
