import re
from random import Random

import pytest
import torch

from annotated_transformer.batches import Batch, batches_by_tokens, pad
from annotated_transformer.ground.errors import InputError
from annotated_transformer.masking import padding_mask
from annotated_transformer.text.examples import Examples
from annotated_transformer.tokens import BOS, EOS, PAD
from small_models import random_examples

EXAMPLES = random_examples(500, longest=20, vocab=50)


def test_padding():
    sequences = [src for src, _ in EXAMPLES]
    padded = pad(sequences)
    assert padded.shape == (500, 20)
    assert padded.dtype == torch.long
    mask = padding_mask(padded)
    assert mask.shape == (500, 1, 1, 20)
    for sequence, row, real in zip(sequences, padded, mask[:, 0, 0], strict=True):
        assert row.tolist() == sequence + [PAD] * (20 - len(sequence))
        assert real.tolist() == [i < len(sequence) for i in range(20)]


def test_the_decoder_is_asked_for_what_it_reads_one_position_later():
    batch = Batch.of(EXAMPLES)
    assert batch.tgt_in.shape == batch.tgt_out.shape
    rows = zip(EXAMPLES, batch.src, batch.tgt_in, batch.tgt_out, strict=True)
    for (src, tgt), src_row, in_row, out_row in rows:
        assert src_row[src_row != PAD].tolist() == [*src, EOS]
        assert in_row[in_row != PAD].tolist() == [BOS, *tgt]
        assert out_row[out_row != PAD].tolist() == [*tgt, EOS]
        assert in_row[1 : len(tgt) + 1].tolist() == out_row[: len(tgt)].tolist() == tgt
    assert batch.num_tokens == sum(len(tgt) + 1 for _, tgt in EXAMPLES)


def cut_in_plain_python(examples, max_tokens, seed):
    """The same groups, sentence by sentence: shuffle, sort by length, cut, shuffle."""
    order, random = list(range(len(examples))), Random(seed)
    if seed is not None:
        random.shuffle(order)
    order.sort(key=lambda i: (len(examples[i][1]), len(examples[i][0])))
    groups = []
    for i in order:
        longest = max(max(map(len, examples[j])) + 1 for j in [*(groups[-1] if groups else []), i])
        if not groups or (len(groups[-1]) + 1) * longest > max_tokens:
            groups.append([])
        groups[-1].append(i)
    if seed is not None:
        random.shuffle(groups)
    return groups


@pytest.mark.parametrize("seed", [None, 0, 1, 17, 2**40])
@pytest.mark.parametrize("max_tokens", [21, 100, 333, 10**6])
def test_the_groups_are_those_of_plain_python(max_tokens, seed):
    expected = cut_in_plain_python(EXAMPLES, max_tokens, seed)
    for examples in (EXAMPLES, Examples.of(EXAMPLES)):
        found = batches_by_tokens(examples, max_tokens, seed)
        assert [group.tolist() for group in found] == expected


def test_a_part_of_the_examples_is_numbered_from_zero():
    expected = cut_in_plain_python(EXAMPLES[100:160], 60, 3)
    found = batches_by_tokens(Examples.of(EXAMPLES)[100:160], 60, 3)
    assert [group.tolist() for group in found] == expected


def test_a_batch_is_made_on_the_device_that_is_given():
    batch = Batch.of(EXAMPLES[:3], torch.device("meta"))
    assert all(tensor.is_meta for tensor in (batch.src, batch.tgt_in, batch.tgt_out))
    assert pad([[1]], torch.device("meta")).is_meta
    with torch.device("meta"):
        assert pad([[1]]).is_meta
        assert not pad([[1]], torch.device("cpu")).is_meta


@pytest.mark.usefixtures("as_readers_do")
@pytest.mark.parametrize("example", [([5], [7, PAD]), ([PAD, 5], [7])])
def test_padding_is_no_token_of_an_example(example):
    """No loss would count it, and no query would look at it."""
    message = f"an example is {example}, it must not contain 0, the padding."
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        Batch.of([([5], [6]), example])


@pytest.mark.usefixtures("as_readers_do")
@pytest.mark.parametrize("wrong", ["ab", None, 5, {5, 6}])
def test_a_side_of_an_example_is_a_list_of_ids(wrong):
    message = f"a sequence is {wrong!r}, it must be a list of ids."
    for example in ((wrong, [5]), ([5], wrong)):
        with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
            Batch.of([([5], [6]), example])
