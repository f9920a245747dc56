"""What all translators share: states whose rows can be chosen, and a pause in the training."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from annotated_transformer.decoding import Search, beam_search, decode, greedy
from annotated_transformer.ground.errors import InputError
from annotated_transformer.models import MODELS
from annotated_transformer.multi_head_attention import KeyValues
from annotated_transformer.translator import State, Translator, evaluating, require_positions
from small_models import small_model, tensors_of


@dataclass(frozen=True)
class Inner(State):
    number: Tensor


@dataclass(frozen=True)
class Outer(State):
    here: Tensor
    there: Inner
    several: tuple[Inner, ...]
    nested: tuple[tuple[Inner, ...], Inner]
    none: tuple[Inner, ...] = ()


def state_of(*numbers):
    column = torch.tensor(numbers)

    def inner(factor):
        return Inner(factor * column)

    matrix = torch.stack([column, -column], dim=1)
    return Outer(matrix, inner(2), (inner(3), inner(4)), ((inner(5),), inner(6)))


@pytest.mark.parametrize(
    ("rows", "chosen"),
    [
        (torch.tensor([2, 0, 2]), (12, 10, 12)),
        (torch.tensor([1]), (11,)),
        (torch.tensor([False, True, True]), (11, 12)),
        (torch.tensor([False, False, False]), ()),
        (torch.tensor([], dtype=torch.long), ()),
    ],
)
def test_rows_are_chosen_in_every_part_of_a_state(rows, chosen):
    state, expected = state_of(10, 11, 12), state_of(*chosen)
    found = state.select(rows)
    assert type(found) is Outer
    assert type(found.nested[0][0]) is Inner
    assert found.none == ()
    assert len(tensors_of(found)) == 6
    for one, other in zip(tensors_of(found), tensors_of(expected), strict=True):
        assert one.tolist() == other.tolist()
    for one, other in zip(tensors_of(state), tensors_of(state_of(10, 11, 12)), strict=True):
        assert torch.equal(one, other)


def test_keys_and_values_are_a_state():
    memory = KeyValues(torch.randn(3, 2, 4, 5), torch.randn(3, 2, 4, 6))
    before = [tensor.clone() for tensor in tensors_of(memory)]
    rows = torch.tensor([2, 2, 0])
    chosen = memory.select(rows)
    assert torch.equal(chosen.keys, memory.keys[rows])
    assert torch.equal(chosen.values, memory.values[rows])
    longer = memory.append(memory.select(torch.tensor([0, 1, 2])))
    longer.keys.zero_()
    longer.values.zero_()
    assert all(map(torch.equal, tensors_of(memory), before))


def test_every_state_is_frozen():
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):

        @dataclass
        class Melting(State):
            pass


def test_a_model_that_does_not_say_how_it_reads_is_none():
    class Silent(Translator):
        pass

    tokens = torch.tensor([[1, 2]])
    with pytest.raises(NotImplementedError, match="Silent does not implement start"):
        Silent()(tokens, tokens)
    with pytest.raises(NotImplementedError, match="Silent does not implement extend"):
        Silent().step(State(), tokens[0])


@pytest.mark.parametrize("training", [True, False])
def test_a_pause_in_the_training_ends_with_the_block(training):
    model = nn.Linear(2, 2).train(training)
    with evaluating(model):
        assert not model.training
        assert not model(torch.ones(2)).requires_grad
    assert model.training == training
    assert model(torch.ones(2)).requires_grad
    with pytest.raises(KeyError), evaluating(model):
        raise KeyError
    assert model.training == training
    assert torch.is_grad_enabled()


def test_what_was_frozen_within_a_model_stays_frozen():
    model = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout())).train()
    model[1].eval()
    with evaluating(model):
        assert not any(module.training for module in model.modules())
    assert [module.training for module in model.modules()] == [True, True, False, False]


def test_a_sentence_that_is_too_long_on_either_side_is_told():
    model = small_model("transformer", max_length=5)
    require_positions(model, np.array([[4, 4], [1, 0]]))
    require_positions(model, np.zeros((0, 2), int))
    for pair in ([5, 1], [1, 5]):
        with pytest.raises(InputError, match=r"sentence 2 has 6 tokens .* the model takes 5"):
            require_positions(model, np.array([[4, 4], pair, [9, 9]]))
    require_positions(small_model("seq2seq"), np.array([[10**6, 1]]))


# --- what comes in --------------------------------------------------------------------------------

GOOD = torch.tensor([[4, 5, 2], [6, 2, 0]])
BAD_IDS = [
    ([[4, 2]], "is of the type list, it must be a tensor of torch.long"),
    (GOOD.double(), r"is of the type torch.float64, it must be a tensor of torch.long"),
    (GOOD == 4, r"is of the type torch.bool, it must be a tensor of torch.long"),
    (GOOD[0], r"has the shape \[3\], it must be \(batch, length\), and not empty"),
    (GOOD[:0], r"has the shape \[0, 3\], it must be \(batch, length\)"),
    (GOOD[:, :0], r"has the shape \[2, 0\], it must be \(batch, length\)"),
    (GOOD + 5, "contains id 11, it must be at least 0 and below 11, the size"),
    (GOOD - 3, "contains id -3, it must be at least 0 and below 11, the size"),
]


@pytest.mark.parametrize("name", MODELS)
def test_a_model_refuses_what_is_no_batch_of_its_ids(name):
    model = small_model(name)
    for wrong, message in BAD_IDS:
        with pytest.raises(InputError, match=f"^src {message}"):
            model(wrong, GOOD)
        with pytest.raises(InputError, match=f"^tgt_in {message}"):
            model(GOOD, wrong)
    for sources, targets in ((1, 2), (2, 1), (2, 4)):
        src, tgt_in = (GOOD.repeat(2, 1)[:number] for number in (sources, targets))
        with pytest.raises(InputError, match=f"src has {sources} sentences and tgt_in {targets}"):
            model(src, tgt_in)


@pytest.mark.usefixtures("as_readers_do")
@pytest.mark.parametrize("name", ["luong", "transformer"])
def test_a_search_refuses_what_is_no_batch_of_ids(name):
    model = small_model(name)
    for wrong, message in BAD_IDS:
        for search in (Search(), Search(2), Search(sample=True, best=2)):
            with pytest.raises(InputError, match=f"^src {message}"):
                decode(model, wrong, search)
        for alone, beam in ((greedy, 1), (beam_search, 2)):
            with pytest.raises(InputError, match=f"^src {message}"):
                alone(model, wrong, Search(beam))
