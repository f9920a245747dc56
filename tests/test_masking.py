import pytest
import torch

from annotated_transformer.masking import causal_mask, target_mask


@pytest.mark.parametrize("length", [0, 1, 5])
def test_a_position_sees_itself_and_what_came_before(length):
    mask = causal_mask(length)
    assert mask.shape == (1, 1, length, length)
    for query in range(length):
        for key in range(length):
            assert mask[0, 0, query, key] == (key <= query)


def test_the_target_mask_hides_the_future_and_padding():
    tgt_in = torch.tensor([[1, 7, 8, 0], [1, 5, 0, 0], [1, 9, 4, 3]])
    mask = target_mask(tgt_in)
    assert mask.shape == (3, 1, 4, 4)
    for sentence, tokens in enumerate(tgt_in.tolist()):
        for query in range(4):
            for key in range(4):
                visible = key <= query and tokens[key] != 0
                assert mask[sentence, 0, query, key] == visible


@pytest.mark.parametrize("start", [0, 1, 3, 4])
def test_the_masks_of_the_newest_positions_are_the_last_rows(start):
    tgt_in = torch.tensor([[1, 7, 8, 0], [1, 0, 5, 2]])
    causal, target = causal_mask(4, start), target_mask(tgt_in, start)
    assert causal.shape == (1, 1, 4 - start, 4)
    assert torch.equal(causal, causal_mask(4)[:, :, start:])
    assert torch.equal(target, target_mask(tgt_in)[:, :, start:])


def test_masks_are_made_where_they_are_needed():
    assert causal_mask(3, device=torch.device("meta")).is_meta
    assert target_mask(torch.ones(1, 3, dtype=torch.long, device="meta")).is_meta
