"""Sources that are kept once, against a copy of them for every row that looks at one."""

import pytest
import torch

from annotated_transformer.capture import capture_attention
from annotated_transformer.cross_attention import CrossAttention
from annotated_transformer.decoding import Search, beam_search
from annotated_transformer.masking import padding_mask
from annotated_transformer.multi_head_attention import KeyValues, MultiHeadAttention
from annotated_transformer.tokens import EOS, PAD
from oracles import assert_close, randomise
from small_models import small_model

SRC = torch.tensor([[5, 6, 7, EOS], [8, EOS, PAD, PAD], [9, 9, EOS, PAD], [4, EOS, PAD, PAD]])
CHOICES = {
    "all, in order": [0, 1, 2, 3],
    "three of four": [0, 1, 3],
    "a beam": [0, 0, 0, 1, 2, 2, 3],
    "out of order": [2, 0, 3, 2, 1, 0, 2],
    "one source": [1, 1, 1],
}


def layer_and_sources(groups=None):
    layer = randomise(CrossAttention(8, 4, num_kv_heads=groups).double())
    memory = torch.randn(4, 4, 8, dtype=torch.float64)
    return layer, layer.project(memory, memory)


@pytest.mark.parametrize("groups", [None, 2])
@pytest.mark.parametrize("tokens", [1, 3])
@pytest.mark.parametrize("rows", CHOICES.values(), ids=CHOICES)
def test_it_is_attention_to_a_copy_of_the_source_for_each_row(rows, tokens, groups):
    layer, sources = layer_and_sources(groups)
    chosen = torch.tensor(rows, dtype=torch.long)
    copied = KeyValues(sources.keys[chosen], sources.values[chosen])
    query, mask = torch.randn(len(rows), tokens, 8).double(), padding_mask(SRC)[chosen]
    for given in (mask, padding_mask(SRC)[:1], None):
        expected = MultiHeadAttention.attend(layer, query, copied, given)
        for keys_and_values in (sources.select(chosen), copied):
            assert_close(layer.attend(query, keys_and_values, given), expected, 1e-12)
    twice = sources.select(chosen).select(torch.arange(len(rows)).flip(0))
    again = layer.attend(query.flip(0), twice, mask.flip(0)).flip(0)
    assert_close(again, MultiHeadAttention.attend(layer, query, copied, mask), 1e-12)


def test_sources_stay_where_they_are_until_a_quarter_has_no_reader():
    _, sources = layer_and_sources()
    for rows in ([3, 2, 1, 0], [0, 0, 1, 2, 3, 3]):
        chosen = sources.select(torch.tensor(rows))
        assert chosen.keys is sources.keys
        assert chosen.values is sources.values
    fewer = chosen.select(torch.tensor([True, True, False, True, True, True]))
    assert len(fewer.keys) == 3
    assert torch.equal(fewer.keys, sources.keys[[0, 2, 3]])
    assert torch.equal(fewer.values, sources.values[[0, 2, 3]])
    assert fewer.source.tolist() == [0, 0, 1, 2, 2]
    assert len(sources.keys) == 4


def test_a_search_projects_each_source_once_and_asks_all_its_rows_at_once():
    model = randomise(small_model("transformer"))
    with capture_attention(model) as captured:
        beam_search(model, SRC, Search(3, extra_length=6))
    calls = captured["decoder.0.cross_attention"]
    assert [len(weights) for weights in calls] == sorted(map(len, calls), reverse=True)
    assert (len(calls[0]), calls[1].size(2)) == (len(SRC), 3)
