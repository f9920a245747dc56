"""What every translation model of the course promises, whatever it is made of."""

from itertools import combinations

import pytest
import torch

from annotated_transformer.capture import capture_attention
from annotated_transformer.models import MODELS
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.tokens import PAD
from annotated_transformer.translator import NextTokenModel, State
from oracles import assert_close, randomise, weigh
from small_models import CHOICES, choices_of, small_model, tensors_of

SRC = torch.tensor([[5, 6, 7, 8, 9, 2], [5, 6, 2, 0, 0, 0], [4, 10, 9, 2, 0, 0]])
TGT = torch.tensor([[1, 6, 7, 0, 0], [1, 6, 7, 8, 9], [1, 4, 3, 5, 0]])
FULL = torch.tensor([[1, 6, 7, 4, 10], [1, 6, 7, 8, 9], [1, 4, 3, 5, 5]])

VARIANTS = {
    **CHOICES,
    "transformer rms pre": ("transformer", {"norm": "rms", "norm_position": "pre"}),
    "transformer shared": ("transformer", {"share_embeddings": True}),
    "transformer untied": ("transformer", {"tie_output": False}),
    "transformer wide": ("transformer", {"d_k": 5, "d_v": 3}),
    **{
        f"transformer {n} of 4 heads kept": ("transformer", {"num_heads": 4, "num_kv_heads": n})
        for n in (1, 2)
    },
}
every_model = pytest.mark.parametrize("variant", VARIANTS)


def build(variant, **changes):
    name, settings = VARIANTS[variant]
    return randomise(small_model(name, **settings | changes))


def wider(tokens, columns):
    return torch.nn.functional.pad(tokens, (0, columns), value=PAD)


@every_model
@pytest.mark.parametrize(("training", "dropout"), [(False, 0.3), (True, 0.3)])
def test_a_future_target_token_changes_no_earlier_logit(variant, training, dropout):
    model = build(variant, dropout=dropout).train(training)

    def logits(tgt):
        torch.manual_seed(3)  # with the same random numbers, dropout drops the same
        return model(SRC, tgt)

    before = logits(FULL)
    for t in range(1, FULL.size(1)):
        changed = FULL.clone()
        changed[:, t:] = 4 + (changed[:, t:] - 3) % 7
        assert (changed != FULL)[:, t:].all()
        after = logits(changed)
        assert_close(after[:, :t], before[:, :t], 1e-12)
        assert (after[:, t] - before[:, t]).abs().amax(dim=-1).min() > 1e-4


@every_model
def test_the_source_and_the_target_so_far_do_change_the_logits(variant):
    model, src, tgt = build(variant), SRC.clone(), FULL.clone()
    src[:, 0], tgt[:, 0] = 6, 4
    for other in (model(src, FULL), model(SRC, tgt)):
        assert (other - model(SRC, FULL)).abs().amax(dim=-1).min() > 1e-9


@every_model
@pytest.mark.parametrize("training", [True, False])
def test_padding_changes_nothing(variant, training):
    model = build(variant).train(training)
    logits = model(SRC, TGT)
    assert_close(model(wider(SRC, 3), TGT), logits, 1e-12)
    assert_close(model(SRC, wider(TGT, 2))[:, : TGT.size(1)], logits, 1e-12)


@every_model
def test_no_gradient_comes_from_padding(variant):
    model = build(variant)

    def gradients(src, tgt):
        loss = model(src, tgt)[tgt != PAD].square().sum()
        return torch.autograd.grad(loss, list(model.parameters()), materialize_grads=True)

    padded = gradients(wider(SRC, 2), wider(TGT, 3))
    for one, other in zip(gradients(SRC, TGT), padded, strict=True):
        assert_close(one, other)


@pytest.mark.slow
@every_model
def test_gradients_are_those_of_finite_differences(variant):
    model, tiny = build(variant), 1e-6
    parameters = list(model.parameters())
    directions = [torch.randn_like(parameter) for parameter in parameters]

    def loss_after(distance):
        with torch.no_grad():
            for parameter, direction in zip(parameters, directions, strict=True):
                parameter += distance * direction
        return model(SRC, FULL).sin().sum()

    gradients = torch.autograd.grad(loss_after(0), parameters)
    slope = sum((g * v).sum() for g, v in zip(gradients, directions, strict=True)).item()
    rise = (loss_after(tiny) - loss_after(-2 * tiny)).item()
    assert rise / (2 * tiny) == pytest.approx(slope, rel=1e-5)


CUTS = [(5,), (1, 5), (4, 5), (2, 3, 5), (1, 2, 3, 4, 5)]
"""Ways to cut five tokens into parts, by where the parts end."""


def in_parts(model, tgt, ends):
    """The logits of a model that reads so many tokens at a time."""
    state, parts, start = model.start(SRC), [], 0
    for end in ends:
        logits, state = model.extend(state, tgt[:, start:end])
        parts.append(logits)
        start = end
    return torch.cat(parts, dim=1)


@pytest.mark.slow
@every_model
@pytest.mark.parametrize("padded", [False, True])
def test_parts_of_any_size_equal_all_at_once(variant, padded):
    model, tgt = build(variant).train(not padded), FULL.clone()
    if padded:  # between the parts of a sentence, too
        tgt[0, 2], tgt[2, 1:3] = PAD, PAD
    logits = model(SRC, tgt)
    for ends in CUTS:
        assert_close(in_parts(model, tgt, ends), logits, 1e-12)


@every_model
def test_parts_in_which_short_sentences_are_over_change_no_other(variant):
    model = build(variant)
    alone = [
        model(src[src != PAD][None], tgt[tgt != PAD][None])[0]
        for src, tgt in zip(SRC, TGT, strict=True)
    ]
    for ends in CUTS:
        logits = in_parts(model, TGT, ends)
        for sentence, expected in enumerate(alone):
            assert_close(logits[sentence, : len(expected)], expected, 1e-12)


@pytest.mark.slow
@every_model
def test_gradients_are_the_same_in_parts(variant):
    model = build(variant)
    parameters = list(model.parameters())
    for one, other in zip(
        torch.autograd.grad(weigh(model(SRC, FULL)), parameters),
        torch.autograd.grad(weigh(in_parts(model, FULL, (2, 3, 5))), parameters),
        strict=True,
    ):
        assert_close(one, other)


@every_model
def test_states_are_rows_that_can_be_chosen_repeated_and_kept(variant):
    model = build(variant)
    assert isinstance(model, NextTokenModel)
    rows = torch.tensor([2, 0, 2, 1])
    logits, state = model(SRC, FULL), model.start(SRC)
    assert isinstance(state, State)
    for t in range(3):
        chosen, following = model.step(state.select(rows), FULL[rows, t])
        assert_close(chosen, logits[rows, t], 1e-12)
        again, _ = model.step(following, FULL[rows, t + 1])
        assert_close(again, logits[rows, t + 1], 1e-12)
        few, _ = model.step(state.select(torch.tensor([False, True, False])), FULL[1:2, t])
        assert_close(few, logits[1:2, t], 1e-12)
        # Reading changes no state that it was given: a beam may go on from it twice.
        before = [tensor.clone() for tensor in tensors_of(state)]
        model.extend(state, FULL[:, t:])
        _, following = model.step(state, FULL[:, t])
        assert type(following) is type(state)
        assert len(tensors_of(following)) == len(before)
        assert all(map(torch.equal, tensors_of(state), before))
        state = following


@every_model
def test_every_parameter_is_learned(variant):
    model = build(variant)
    model(SRC, FULL).square().sum().backward()
    # Adding one number to all scores of a query changes no weight: key biases learn nothing.
    deaf = {n for n, p in model.named_parameters() if p.grad is None or p.grad.abs().max() < 1e-10}
    assert all(name.endswith("attention.key.bias") for name in deaf)


@every_model
def test_the_order_of_the_source_counts_unless_a_transformer_has_no_positions(variant):
    model, order = build(variant), torch.tensor([3, 1, 4, 0, 2])
    src, shuffled = SRC[:1, :5], SRC[:1, :5][:, order]
    if VARIANTS[variant] == ("transformer", {"positions": "none"}):
        assert_close(model.encode(src)[:, order], model.encode(shuffled), 1e-12)
        assert_close(model(src, FULL[:1]), model(shuffled, FULL[:1]), 1e-12)
    else:
        assert (model(src, FULL[:1]) - model(shuffled, FULL[:1])).abs().max() > 1e-6


@pytest.mark.parametrize("model", MODELS)
def test_no_two_names_in_a_table_compute_the_same(model):
    for field, names in choices_of(MODELS[model].config):
        logits = []
        for name in names:
            torch.manual_seed(0)
            logits.append(randomise(small_model(model, **{field.name: name}))(SRC, FULL))
        for one, other in combinations(logits, 2):
            assert (one - other).abs().max() > 1e-9


@every_model
def test_no_attention_escapes_the_capture(variant):
    model = build(variant)
    with capture_attention(model) as captured:
        model(SRC, FULL)
    attentions = {n for n, m in model.named_modules() if isinstance(m, MultiHeadAttention)}
    assert attentions <= captured.keys()
