"""The experiments of the chapters train what they say and count what they say."""

import pytest
import torch

from annotated_transformer.ground.errors import InputError
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.seq2seq import RecurrentConfig, Seq2Seq
from annotated_transformer.toy import EXAMPLES
from annotated_transformer.training import endless_batches
from small_models import random_examples, small_model
from transformer_workbook.notebook.experiments import (
    ToyTask,
    exactly_right,
    share_by_length,
    train_briefly,
)


def tiny_task() -> ToyTask:
    return ToyTask.of({"train": list(EXAMPLES)})


def test_a_task_numbers_the_words_of_its_training_split() -> None:
    task = tiny_task()
    for pair, (src, tgt) in zip(EXAMPLES, task.examples("train"), strict=True):
        assert task.src_vocabulary.tokens(src) == list(pair.src)
        assert task.tgt_vocabulary.tokens(tgt) == list(pair.tgt)


def test_a_model_is_built_in_float64_from_its_seed() -> None:
    task = tiny_task()
    one, same, other = (
        task.build(Seq2Seq, RecurrentConfig, seed, d_model=5, hidden_dim=3) for seed in (1, 1, 2)
    )
    assert torch.get_default_dtype() == torch.float32
    assert one.src_embedding.weight.shape == (len(task.src_vocabulary), 5)
    assert one.output.weight.shape == (len(task.tgt_vocabulary), 5)
    for p, q, r in zip(one.parameters(), same.parameters(), other.parameters(), strict=True):
        assert p.dtype == torch.float64
        assert not torch.equal(p, p.float().double())  # drawn in float64, not only stored
        assert torch.equal(p, q)
        assert not torch.equal(p, r)


def test_what_cannot_be_built_is_told_and_leaves_the_precision_as_it_was() -> None:
    with pytest.raises(InputError, match="d_model is 0"):
        tiny_task().build(Seq2Seq, RecurrentConfig, d_model=0)
    assert torch.get_default_dtype() == torch.float32
    with pytest.raises(InputError, match=r"split is 'dev', it must be one of train\."):
        tiny_task().examples("dev")


def test_training_is_that_of_torch_adam_with_a_linear_decay() -> None:
    """The same steps with torch's own optimizer and scheduler, written out."""
    examples = random_examples(20)
    ours = small_model("seq2seq").double()
    theirs = small_model("seq2seq").double()
    theirs.load_state_dict(ours.state_dict())
    losses = train_briefly(ours, examples, steps=6, rate=0.01, seed=3, batch_tokens=40)
    optimizer = torch.optim.Adam(theirs.parameters(), lr=0.01, betas=(0.9, 0.98), eps=1e-6)
    decay = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - (step + 1) / 6)
    batches = endless_batches(examples, 40, 3)
    for loss in losses:
        batch = next(batches)
        optimizer.zero_grad()
        mean = smoothed_cross_entropy(theirs(batch.src, batch.tgt_in), batch.tgt_out)
        mean = mean / batch.num_tokens
        mean.backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        optimizer.step()
        decay.step()
        assert loss == pytest.approx(mean.item(), rel=1e-6)
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(p, q, rtol=1e-5, atol=1e-8)


@pytest.mark.slow
def test_a_model_that_has_learned_is_exactly_right_where_an_example_is() -> None:
    examples = random_examples(6)
    model = small_model("bahdanau").double()
    before = exactly_right(model, examples)
    train_briefly(model, examples, steps=150, rate=0.02)
    assert not all(before)
    assert all(exactly_right(model, examples))
    spoiled = [(src, [*tgt, 5] if i in (1, 4) else tgt) for i, (src, tgt) in enumerate(examples)]
    assert exactly_right(model, spoiled) == [i not in (1, 4) for i in range(6)]


@pytest.mark.parametrize(("rate", "steps"), [(0.0, 1), (0.1, 0)])
def test_an_impossible_training_is_told(rate: float, steps: int) -> None:
    with pytest.raises(InputError, match=rf"rate={rate} must be above 0 and steps={steps}"):
        train_briefly(small_model("seq2seq"), random_examples(2), steps, rate)


def test_verdicts_without_examples_and_an_empty_bin_are_told() -> None:
    with pytest.raises(InputError, match="there are 2 verdicts for 1 examples"):
        share_by_length([True, False], [([5], [5])], edges=(1, 2))
    with pytest.raises(InputError, match="0 sentences have 2 to 3 tokens, a bin needs 1 or more"):
        share_by_length([True], [([5], [5])], edges=(2, 4))
