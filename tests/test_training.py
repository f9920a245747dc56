from copy import deepcopy
from functools import partial
from itertools import islice

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from annotated_transformer.batches import Batch, batches_by_tokens
from annotated_transformer.decoding import greedy
from annotated_transformer.ground.errors import DivergedError, InputError
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.models import MODELS
from annotated_transformer.run.checkpoint import load_checkpoint, require_finite, save_checkpoint
from annotated_transformer.training import (
    Trainer,
    endless_batches,
    linear_schedule,
    paper_adam,
    paper_schedule,
)
from annotated_transformer.weights import load_tensors, tensors_of
from small_models import assert_going_on_is_exact, random_examples, small_model

EXAMPLES = random_examples(24)
PARTS = [Batch.of(EXAMPLES[i:j]) for i, j in ((0, 1), (1, 4), (4, 24))]
WHOLE = Batch.of(EXAMPLES)
SMOOTHED = partial(smoothed_cross_entropy, smoothing=0.1)
RATE = paper_schedule(d_model=16, warmup=3, factor=0.02)
every_model = pytest.mark.parametrize("name", MODELS)


def weights(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def assert_same_weights(first, second, tolerance):
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        torch.testing.assert_close(tensor, second[name], rtol=0, atol=tolerance, msg=name)


@every_model
def test_unequal_parts_are_one_big_batch(name):
    model = small_model(name)
    before = weights(model)
    whole, parts = Trainer(model, SMOOTHED, RATE), Trainer(deepcopy(model), SMOOTHED, RATE)
    for _ in range(4):
        assert whole.update([WHOLE]) == pytest.approx(parts.update(PARTS), rel=1e-12)
    assert all((p != before[n]).any() for n, p in model.named_parameters() if p.grad.any())
    assert_same_weights(weights(model), weights(parts.model), 1e-10)


@every_model
@pytest.mark.parametrize("clip", [0.05, 1e6, None])
def test_steps_equal_those_of_torch(name, clip):
    model = small_model(name)
    trainer = Trainer(model, SMOOTHED, RATE, clip=clip)
    reference = deepcopy(model)
    adam = torch.optim.Adam(
        reference.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9, foreach=False
    )
    for step in range(1, 6):
        batch = PARTS[step % 3]
        loss = F.cross_entropy(
            reference(batch.src, batch.tgt_in).transpose(1, 2),
            batch.tgt_out,
            ignore_index=0,
            label_smoothing=0.1,
        )
        adam.zero_grad()
        loss.backward()
        squares = sum((p.grad**2).sum() for p in reference.parameters())
        norm = squares.sqrt()
        if clip is not None:
            norm = torch.nn.utils.clip_grad_norm_(reference.parameters(), clip)
            assert norm.item() == pytest.approx(squares.item() ** 0.5)
        adam.param_groups[0]["lr"] = RATE(step)
        adam.step()
        assert trainer.update([batch]) == pytest.approx((loss.item(), norm.item()), rel=1e-9)
    assert trainer.steps == 5
    assert_same_weights(weights(model), weights(reference), 1e-9)


@every_model
def test_sixteen_bits_give_nearly_the_same_step(name):
    """Weights, loss and update keep their bits; only the products of matrices are rounded."""
    model = small_model(name).float()
    exact, rounded = Trainer(model, SMOOTHED, RATE), Trainer(deepcopy(model), SMOOTHED, RATE)
    rounded.precision = "bfloat16"
    loss, norm = exact.update([WHOLE])
    assert rounded.update([WHOLE]) == pytest.approx((loss, norm), rel=0.02)
    gradients = [
        torch.cat([p.grad.flatten() for p in trainer.model.parameters()])
        for trainer in (exact, rounded)
    ]
    assert gradients[1].dtype == gradients[0].dtype == torch.float32
    assert not torch.allclose(*gradients, rtol=1e-4)
    assert F.cosine_similarity(*gradients, dim=0) > 0.99


def test_weights_that_the_optimizer_does_not_know_have_the_gradient_of_this_step_alone():
    model = small_model("seq2seq").eval()
    known = [p for name, p in model.named_parameters() if name.startswith("output")]
    trainer = Trainer(model, SMOOTHED, RATE, optimizer=torch.optim.SGD(known, lr=0.0), clip=None)
    trainer.schedule = lambda step: 0.0  # nothing moves: every step is the same
    model.train = lambda mode=True: model
    first, *others = (trainer.update([WHOLE])[1] for _ in range(3))
    assert others == pytest.approx([first, first], rel=1e-9)


def test_the_average_follows_every_step():
    model = small_model("seq2seq")
    trainer = Trainer(model, SMOOTHED, RATE, average_decay=0.25)
    expected = weights(model)
    for step in range(1, 6):
        trainer.update([WHOLE])
        decay = min(0.25, (1 + step) / (10 + step))
        for name, p in model.named_parameters():
            expected[name] = decay * expected[name] + (1 - decay) * p.detach()
    assert_same_weights(trainer.average.weights, expected, 1e-12)


@pytest.mark.slow
@every_model
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_one_batch_can_be_learned_by_heart(name, precision):
    examples = random_examples(5, longest=4)
    sizes = {"d_model": 32} | (
        {"d_ff": 64} if name in ("transformer", "language") else {"hidden_dim": 32}
    )
    model = small_model(name, **sizes)
    model = model.float() if precision == "bfloat16" else model
    # The decay matters: at a constant rate a single late step of Adam can spoil a sentence.
    rate = linear_schedule(1e-2, total=61, warmup=5)
    trainer = Trainer(model, smoothed_cross_entropy, rate, precision=precision)
    batch = Batch.of(examples)
    for _ in range(60):
        loss, _ = trainer.update([batch])
    assert loss < 0.1
    assert [h.tokens for h in greedy(model, batch.src)] == [tgt for _, tgt in examples]


@every_model
@pytest.mark.parametrize("steps", [0, 3])
def test_going_on_is_exact_to_the_bit(name, steps):
    def begin():
        torch.manual_seed(1)
        return Trainer(small_model(name, dropout=0.3), SMOOTHED, RATE, average_decay=0.9)

    assert_going_on_is_exact(begin, PARTS, steps)


def test_what_is_loaded_stays_as_it_was():
    first, second = (Trainer(small_model("seq2seq"), SMOOTHED, RATE) for _ in range(2))
    first.update([WHOLE])
    saved = {name: tensor.clone() for name, tensor in first.tensors().items()}
    second.load(saved, 1)
    second.update([WHOLE])
    tensors = first.tensors()
    assert all(torch.equal(saved[name], tensors[name]) for name in saved if "random" not in name)


OPTIMIZERS = {
    "SGD": {"momentum": 0.9},
    "SGD without momentum": {},
    "Adam": {"amsgrad": True},
    "AdamW": {"weight_decay": 0.1},
    "RMSprop": {"momentum": 0.5, "centered": True},
    "Adagrad": {},
    "NAdam": {},
    "RAdam": {},
    "Adadelta": {},
    "Adamax": {},
    "ASGD": {"t0": 2.0},
    "Adafactor": {},
    "Rprop": {},
}


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "steps"), [(torch.float32, 0), (torch.float64, 3)])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_going_on_is_exact_with_every_optimizer(name, steps, dtype):
    def begin():
        torch.manual_seed(1)
        model = small_model("transformer", dropout=0.3).to(dtype)
        kind = getattr(torch.optim, name.split()[0])
        optimizer = kind(model.parameters(), lr=0.0, **OPTIMIZERS[name])
        return Trainer(model, SMOOTHED, RATE, optimizer=optimizer)

    assert_going_on_is_exact(begin, PARTS, steps)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_is_that_of_the_optimizer_at_the_rate_of_the_schedule(name):
    model = small_model("seq2seq")
    reference, kind = deepcopy(model), getattr(torch.optim, name.split()[0])
    ours, theirs = (kind(m.parameters(), lr=0.3, **OPTIMIZERS[name]) for m in (model, reference))
    trainer = Trainer(model, SMOOTHED, RATE, optimizer=ours, clip=None)
    before = weights(model)
    for step in range(1, 4):
        trainer.update([WHOLE])
        loss = SMOOTHED(reference(WHOLE.src, WHOLE.tgt_in), WHOLE.tgt_out) / WHOLE.num_tokens
        theirs.zero_grad()
        loss.backward()
        theirs.param_groups[0]["lr"] = RATE(step)
        theirs.step()
    assert_same_weights(weights(model), weights(reference), 1e-12)
    assert any((p != before[n]).any() for n, p in model.named_parameters())


def test_what_an_optimizer_keeps_is_named_by_the_weight_that_it_is_kept_for():
    model = small_model("seq2seq")
    trainer = Trainer(model, SMOOTHED, RATE)
    assert not any(name.startswith("optimizer.") for name in trainer.tensors())
    trainer.update([WHOLE])
    tensors = trainer.tensors()
    for name, parameter in model.named_parameters():
        assert torch.equal(tensors[f"model.{name}"], parameter)
        assert tensors[f"optimizer.{name}.exp_avg"].shape == parameter.shape
        assert (tensors[f"optimizer.{name}.exp_avg_sq"] >= 0).all()
        assert tensors[f"optimizer.{name}.step"] == 1
        assert f"average.{name}" in tensors
    assert len(tensors) == 5 * len(list(model.parameters())) + len(
        [name for name in tensors if name.startswith("random")]
    )


def test_a_group_of_parameters_may_follow_a_schedule_of_its_own():
    model = small_model("transformer")
    own, others = list(model.encoder.parameters()), [model.output.bias]
    groups = [{"params": own, "schedule": lambda step: 0.5 * step}, {"params": others}]
    trainer = Trainer(model, SMOOTHED, lambda step: 0.25, optimizer=torch.optim.SGD(groups, lr=9.0))
    for step in (1, 2):
        before = weights(model)
        trainer.update([WHOLE])
        assert [group["lr"] for group in trainer.optimizer.param_groups] == [0.5 * step, 0.25]
        for part, rate in ((own, 0.5 * step), (others, 0.25)):
            for name, parameter in model.named_parameters():
                if any(parameter is each for each in part):
                    wanted = before[name] - rate * parameter.grad
                    torch.testing.assert_close(parameter.detach(), wanted)


class Shy(nn.Module):
    """Logits that a table gives; to have large ones costs something."""

    def __init__(self, weight):
        super().__init__()
        self.table, self.weight = nn.Parameter(torch.randn(20, 20).double()), weight

    def forward(self, src, tgt_in):
        return self.table[tgt_in]

    def auxiliary_loss(self):
        return self.weight * self.table.square().mean()


def test_a_loss_of_the_models_own_is_added_to_every_token_and_not_told():
    plain, shy = Shy(0.0), Shy(3.0)
    shy.load_state_dict(plain.state_dict())
    still = {"schedule": lambda step: 0.0, "clip": None}
    told = [Trainer(model, SMOOTHED, **still).update(PARTS)[0] for model in (plain, shy)]
    assert told[0] == told[1]
    [own] = torch.autograd.grad(shy.auxiliary_loss(), [shy.table])
    torch.testing.assert_close(shy.table.grad - plain.table.grad, own)


class Counting(nn.Module):
    """A model with buffers that are saved, one of them a view, and one that is made anew."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(20, 20).double())
        self.register_buffer("read", torch.zeros((), dtype=torch.long))
        self.register_buffer("hidden", torch.full((4, 4), -torch.inf).triu(1))
        self.register_buffer("first", self.hidden[:2])
        self.register_buffer("ones", torch.ones(3), persistent=False)

    def forward(self, src, tgt_in):
        self.read += 1
        return self.table[tgt_in]


def test_what_a_model_keeps_beside_its_weights_is_saved_and_loaded(tmp_path):
    trainer = Trainer(Counting(), SMOOTHED, RATE, average_decay=0.9)
    for _ in range(3):
        trainer.update([WHOLE])
    assert trainer.average.weights["read"] == trainer.model.read == 3
    tensors = {name: tensor.clone() for name, tensor in trainer.tensors().items()}
    assert not any("ones" in name for name in tensors)
    require_finite(trainer)  # what is hidden is no weight
    save_checkpoint(tmp_path / "checkpoint", trainer.tensors())
    assert load_checkpoint(tmp_path / "checkpoint")[0].keys() == tensors.keys()
    other = Trainer(Counting(), SMOOTHED, RATE, average_decay=0.9)
    other.update([WHOLE])
    other.load(tensors, steps=3)
    assert other.model.read == other.average.weights["read"] == 3
    assert other.update([WHOLE]) == trainer.update([WHOLE])
    assert_same_weights(tensors_of(other.model), tensors_of(trainer.model), 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tensors: tensors.pop("read"), "read is missing: the weights are those of another"),
        (lambda tensors: tensors.update(new=tensors["read"]), "new is not a tensor of the model"),
        (
            lambda tensors: tensors.update(read=torch.ones(2)),
            r"read has the shape \[2\], the model",
        ),
        (
            lambda tensors: tensors.update(hidden=tensors["hidden"][:1]),
            r"hidden has the shape \[1, 4\], the model's is \[4, 4\]",
        ),
    ],
)
def test_tensors_of_another_model_are_refused(change, message):
    tensors = tensors_of(Counting())
    load_tensors(Counting(), tensors)
    change(tensors)
    with pytest.raises(InputError, match=message):
        load_tensors(Counting(), tensors)


def test_the_adam_of_the_paper_has_its_numbers():
    group = paper_adam(small_model("seq2seq")).param_groups[0]
    assert (group["betas"], group["eps"], group["weight_decay"]) == ((0.9, 0.98), 1e-9, 0)
    assert paper_adam(small_model("seq2seq"), eps=1e-6).param_groups[0]["eps"] == 1e-6


def test_gradients_are_clipped_at_one_and_weights_not_averaged_if_nothing_is_said():
    model = small_model("seq2seq")
    said, silent = (
        Trainer(each, lambda *given: 100 * SMOOTHED(*given), RATE, **settings)
        for each, settings in ((deepcopy(model), {"clip": 1.0}), (model, {}))
    )
    assert silent.update([WHOLE]) == said.update([WHOLE])
    assert silent.update([WHOLE])[1] > 2
    said.update([WHOLE])
    assert_same_weights(weights(model), weights(said.model), 0)
    assert_same_weights(silent.average.weights, weights(model), 0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"clip": 0.0}, "clip is 0.0, it must be above 0 and finite"),
        ({"clip": -0.5}, "clip is -0.5, it must be above 0 and finite"),
        ({"clip": float("nan")}, "clip is nan, it must be above 0 and finite"),
        ({"average_decay": 1.0}, "decay is 1.0, it must be at least 0 and below 1"),
        ({"precision": "float8"}, "precision is 'float8', it must be one of float32, bfloat16"),
    ],
)
def test_a_trainer_that_cannot_be_made(wrong, message):
    with pytest.raises(InputError, match=message):
        Trainer(small_model("seq2seq"), SMOOTHED, RATE, **wrong)


def test_the_settings_of_a_trainer_are_named():
    model = small_model("seq2seq")
    with pytest.raises(TypeError, match="positional"):
        Trainer(model, SMOOTHED, RATE, paper_adam(model))


def test_a_step_without_targets():
    trainer = Trainer(small_model("seq2seq"), SMOOTHED, RATE)
    with pytest.raises(InputError, match="the 0 micro-batches have 0 target tokens"):
        trainer.update([])


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_a_training_that_diverged(poison):
    model = small_model("seq2seq")
    trainer = Trainer(model, SMOOTHED, RATE)
    trainer.update([WHOLE])
    with torch.no_grad():
        model.output.bias[5] = poison
    before = weights(model)
    with pytest.raises(DivergedError, match=r"after step 1 the loss is .* lower the learning rate"):
        trainer.update([WHOLE])
    unchanged = [
        torch.equal(p.nan_to_num(), before[n].nan_to_num()) for n, p in weights(model).items()
    ]
    assert all(unchanged)


@pytest.mark.parametrize(
    ("loss", "found"),
    [
        (
            lambda logits, _: logits.sum() + torch.inf,
            r"loss is inf and the gradient's norm \d[\d.e+-]*",
        ),
        (
            lambda logits, _: logits.sum() + torch.nan,
            r"loss is nan and the gradient's norm \d[\d.e+-]*",
        ),
        (lambda logits, _: (0 * logits.sum()).sqrt(), r"loss is 0.0 and the gradient's norm nan"),
        (lambda logits, _: 1e300 * logits.mean(), r"loss is -?\d\S* and the gradient's norm inf"),
    ],
)
def test_a_loss_or_a_gradient_alone_that_is_no_longer_finite(loss, found):
    trainer = Trainer(small_model("seq2seq"), loss, RATE)
    with pytest.raises(DivergedError, match=f"after step 0 the {found}: training diverged"):
        trainer.update([WHOLE])
    assert trainer.steps == 0


def listed(batch):
    return [batch.src.tolist(), batch.tgt_in.tolist(), batch.tgt_out.tolist()]


@pytest.mark.parametrize("skip", [0, 1, 5, 6, 7, 20])
def test_skipped_batches_change_no_later_one(skip):
    whole = [listed(b) for b in islice(endless_batches(EXAMPLES, 40, seed=5), skip + 9)]
    rest = [listed(b) for b in islice(endless_batches(EXAMPLES, 40, seed=5, skip=skip), 9)]
    assert rest == whole[skip:]
    other = [listed(b) for b in islice(endless_batches(EXAMPLES, 40, seed=6, skip=skip), 9)]
    assert rest != other


@pytest.mark.usefixtures("as_readers_do")
def test_a_seed_from_numpy_gives_the_order_of_the_same_number():
    """It would overflow in the number of the epoch."""
    ours, theirs = (
        [listed(b) for b in islice(endless_batches(EXAMPLES, 40, seed), 9)]
        for seed in (np.int32(5000), 5000)
    )
    assert ours == theirs


def test_every_epoch_has_a_seed_of_its_own():
    """What was begun with an older version goes on with a newer one: the order is a promise."""
    per_epoch = len(batches_by_tokens(EXAMPLES, 40))
    found = [listed(b) for b in islice(endless_batches(EXAMPLES, 40, seed=5), 3 * per_epoch)]
    groups = [g for i in range(3) for g in batches_by_tokens(EXAMPLES, 40, seed=5 * 1_000_003 + i)]
    assert found == [listed(Batch.of([EXAMPLES[i] for i in group])) for group in groups]


@pytest.mark.parametrize(("name", "least"), [("seed", 0), ("skip", 0), ("every", 1)])
def test_numbers_below_the_least_are_refused(name, least):
    with pytest.raises(InputError, match=f"{name} is {least - 1}, it must be an integer, at l"):
        next(endless_batches(EXAMPLES, 40, **{"seed": 0, name: least - 1}))
    assert next(endless_batches(EXAMPLES, 40, **{"seed": 0, name: least})).num_tokens > 0


def test_batches_are_dealt_out_like_cards():
    whole = [listed(b) for b in islice(endless_batches(EXAMPLES, 40, seed=5), 25)]
    for rank in range(3):
        dealt = endless_batches(EXAMPLES, 40, seed=5, skip=4 + rank, every=3)
        assert [listed(b) for b in islice(dealt, 7)] == whole[4 + rank :: 3]


def test_nothing_to_train_on():
    with pytest.raises(InputError, match="there are 0 examples to train on"):
        next(endless_batches([], 40, seed=0))


def test_batches_come_on_the_device_that_is_given():
    batch = next(endless_batches(EXAMPLES, 40, seed=0, device=torch.device("meta")))
    assert batch.src.is_meta
    assert next(endless_batches(EXAMPLES, 40, seed=0)).src.device == torch.device("cpu")
