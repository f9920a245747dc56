"""Packed batches: the steps of the readable trainer, of one shape, without waiting for a device."""

import os
import subprocess
import sys
from copy import deepcopy
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from annotated_transformer.batches import Batch
from annotated_transformer.fast import FastTrainer, PackedTrainer, output_loss, pack, packed_batches
from annotated_transformer.fast.packed_hidden import packed_hidden
from annotated_transformer.fast.rows import rows_of
from annotated_transformer.ground.errors import DivergedError, InputError
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.tokens import BOS, EOS
from annotated_transformer.training import Trainer, paper_schedule
from bench.packing import as_on_an_accelerator
from oracles import assert_close, randomise
from small_models import TRANSFORMERS, VOCAB, random_examples, small_model

EXAMPLES = random_examples(24)
ROWS, LENGTH = 4, 40
PARTS = [Batch.of(EXAMPLES[:9]), Batch.of(EXAMPLES[9:])]
PACKED = [
    pack(EXAMPLES, [range(4), [4], [], range(5, 9)], LENGTH),
    pack(EXAMPLES, [range(i, min(i + 4, 24)) for i in range(9, 24, 4)], LENGTH),
]
RATE = paper_schedule(d_model=16, warmup=3, factor=0.02)


def packed_trainer(model, **settings):
    """Not compiled: the shapes that are checked in tests cannot be."""
    return PackedTrainer(model, 0.1, RATE, backend=None, average_decay=0.9, **settings)


def kept(trainer):
    """What the next step depends on, without the average and the random numbers."""
    names = ("model.", "optimizer.")
    return {n: t.clone() for n, t in trainer.tensors().items() if n.startswith(names)}


@pytest.mark.parametrize("changes", TRANSFORMERS)
def test_its_steps_are_those_of_the_readable_trainer(changes, monkeypatch):
    monkeypatch.setattr(output_loss, "CPU", "nowhere")  # the loss of an accelerator
    model = small_model("transformer", **changes)
    loss = partial(smoothed_cross_entropy, smoothing=0.1)
    readable = Trainer(deepcopy(model), loss, RATE, average_decay=0.9)
    packed = packed_trainer(model)
    expected = [readable.update(PARTS) for _ in range(4)]
    found = [packed.update(PACKED) for _ in range(4)]
    assert found[0] == found[1]  # of the first step, its own; then those of the step before
    assert [*found[1:], packed.read()] == [pytest.approx(each, rel=1e-10) for each in expected]
    ours, theirs = packed.tensors(), readable.tensors()
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        torch.testing.assert_close(ours[name], tensor, rtol=0, atol=1e-10, msg=name)


def compiled_steps(*arguments):
    """Run the script of that name in a process of its own, in which no shapes are checked."""
    script = Path(__file__).with_name("compiled_steps.py")
    paths = os.pathsep.join(map(str, (script.parent, script.parents[1])))
    return subprocess.run(
        [sys.executable, script, *arguments], capture_output=True, text=True, check=False,
        cwd=script.parents[1], env=os.environ | {"PYTHONPATH": paths},
    )  # fmt: skip


@pytest.mark.slow
def test_it_is_compiled_as_a_whole_for_one_shape():
    done = compiled_steps()
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["eager", "aot_eager"]


def test_sixteen_bits_give_nearly_the_same_step():
    model = small_model("transformer").float()
    exact = FastTrainer(deepcopy(model), 0.1, RATE).update(PARTS)
    rounded = packed_trainer(model, precision="bfloat16").update(PACKED)
    assert rounded == pytest.approx(exact, rel=0.03)
    assert rounded != pytest.approx(exact, rel=1e-6)


def test_what_else_is_in_a_row_does_not_matter():
    model = randomise(small_model("transformer")).eval()
    alone, beside = (
        packed_hidden(model, torch.float64, *pack(EXAMPLES, [row], LENGTH).inputs)
        for row in ([3], [3, 4])
    )
    model.output = torch.nn.Identity()
    batch, size = Batch.of([EXAMPLES[3]]), len(EXAMPLES[3][1]) + 1
    for hidden in (alone, beside):
        assert_close(hidden[:, :size], model(batch.src, batch.tgt_in))


def test_a_step_never_waits_for_an_accelerator():
    met = []
    for make, batch in (
        (packed_trainer, PACKED[0]),
        (partial(FastTrainer, smoothing=0.1, schedule=RATE), PARTS[0]),
    ):
        trainer = make(small_model("transformer"))
        trainer.update([batch])
        with as_on_an_accelerator() as waits:
            trainer.update([batch])
        met.append({*waits.met})
    assert met == [set(), {"_local_scalar_dense", "nonzero", "tolist"}]


@pytest.mark.parametrize("notice", ["update", "tensors"])
def test_a_step_that_diverges_is_not_taken_and_named_one_step_later(notice, monkeypatch):
    trainer = packed_trainer(small_model("transformer"))
    for _ in range(2):
        trainer.update(PACKED)
    before = kept(trainer)
    summed = trainer.loss
    monkeypatch.setattr(trainer, "loss", lambda *given: summed(*given) * float("nan"))
    trainer.update(PACKED)
    monkeypatch.undo()
    with pytest.raises(DivergedError, match="after step 2 the loss is nan and the gradient's norm"):
        trainer.update(PACKED) if notice == "update" else trainer.tensors()
    assert trainer.steps == 2
    after = kept(trainer)
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())
    assert np.isfinite(trainer.update(PACKED)).all()


def test_going_on_is_exact_to_the_bit():
    straight, second = (packed_trainer(small_model("transformer")) for _ in range(2))
    for _ in range(3):
        straight.update(PACKED)
    second.update(PACKED)
    second.load({name: t.clone() for name, t in straight.tensors().items()}, 3)
    first, other = (each.update(PACKED) for each in (straight, second))
    assert first == other == straight.read()
    theirs = second.tensors()
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in straight.tensors().items())


def test_the_loss_of_an_accelerator_is_finite_where_logits_are_far_apart(monkeypatch):
    layer = torch.nn.Linear(2, VOCAB)
    with torch.no_grad():
        layer.weight.copy_(torch.linspace(-500, 500, 2 * VOCAB).view(VOCAB, 2))
    hidden, target = torch.ones(2, 2), torch.tensor([4, VOCAB - 1])
    here = output_loss.token_loss(layer, hidden, target, 0.1)
    monkeypatch.setattr(output_loss, "CPU", "nowhere")
    assert output_loss.token_loss(layer, hidden, target, 0.1).item() == pytest.approx(here.item())


# --- batches --------------------------------------------------------------------------------------


def read(batch):
    """The pairs of a batch, found in its table."""
    src, src_pair, src_position, tgt_in, tgt_pair, tgt_position = batch.inputs
    pairs = []
    for r in range(len(src)):
        for number in range(1, int(src_pair[r].max()) + 1):
            source, target = src_pair[r] == number, tgt_pair[r] == number
            for mine, position in ((source, src_position), (target, tgt_position)):
                assert position[r][mine].tolist() == [*range(int(mine.sum()))]
            *ids, end = src[r][source].tolist()
            begin, *words = tgt_in[r][target].tolist()
            assert (begin, end) == (BOS, EOS)
            pairs.append((ids, words))
    after = [token for _, words in pairs for token in (*words, EOS)]
    assert batch.tgt_out.tolist() == after
    assert tgt_in.flatten()[batch.real].tolist() == [t for _, ws in pairs for t in (BOS, *ws)]
    assert batch.num_tokens == len(after)
    assert not src[src_pair == 0].any()
    return pairs


def test_a_packed_batch_holds_its_pairs():
    assert [pair for batch in PACKED for pair in read(batch)] == EXAMPLES


def test_an_epoch_has_every_pair_once_and_all_batches_have_one_shape():
    batches = packed_batches(EXAMPLES, 2, 20, seed=3)
    made = [*islice(batches, 24)]
    assert {batch.table.shape for batch in made} == {(6, 2, 20)}
    pairs, epoch = [pair for batch in made for pair in read(batch)], len(EXAMPLES)
    first, second = pairs[:epoch], pairs[epoch : 2 * epoch]
    assert sorted(first) == sorted(second) == sorted(EXAMPLES)
    assert first != second
    skipped, another = (
        read(next(packed_batches(EXAMPLES, 2, 20, **changes)))
        for changes in ({"seed": 3, "skip": 2}, {"seed": 4})
    )
    assert skipped == read(made[2])
    assert another != read(made[0])


def test_rows_are_filled_on_both_sides_and_hold_every_pair_once():
    lengths = np.random.default_rng(0).integers(1, 12, (500, 2))
    rows = [*rows_of(lengths, 30)]
    assert sorted(pair for row in rows for pair in row) == [*range(500)]
    used = np.array([lengths[row].sum(0) for row in rows])
    assert used.max() <= 30
    assert used.mean() > 0.85 * 30


@pytest.mark.usefixtures("as_readers_do")
@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (pack, (EXAMPLES, [range(9)], 20), "the pairs of row 1 have .* they must be at most 20"),
        (pack, (EXAMPLES, [[]], 20), "there are 0 examples of 2 sides, there must be at least 1"),
        (pack, ([([5],)], [[0]], 20), "there are 1 examples of 1 sides, there must be .* a t"),
        (pack, ([([5], [0])], [[0]], 20), "a sentence contains 0, the padding"),
        (packed_batches, ([], 2, 20, 0), "there are 0 examples"),
        (packed_batches, (EXAMPLES, 2, 6, 0), "none longer than a row of 6"),
        (packed_batches, (EXAMPLES, 0, 20, 0), "rows is 0, it must be an integer"),
        (packed_batches, (EXAMPLES, 2, 20, -1), "seed is -1, it must be an integer"),
    ],
)
def test_what_cannot_be_packed_is_refused(make, given, message):
    with pytest.raises(InputError, match=message):
        next(make(*given))


@pytest.mark.parametrize(
    ("batch", "changes"),
    [
        (pack([([VOCAB], [5])], [[0]], 9), {}),
        (pack([([5], [VOCAB])], [[0]], 9), {}),
        (pack([([5], [5])], [[0]], 9), {"max_length": 8}),
    ],
)
def test_a_batch_that_the_model_cannot_read_is_refused(batch, changes):
    trainer = packed_trainer(small_model("transformer", **changes))
    with pytest.raises(InputError, match="for this model they must be at most"):
        trainer.update([batch])


def test_an_optimiser_that_cannot_leave_out_a_step_is_refused():
    model = small_model("transformer")
    plain = torch.optim.Adam(model.parameters())
    with pytest.raises(InputError, match="the optimiser is Adam, it must have fused=True"):
        packed_trainer(model, optimizer=plain)
