import pytest
import torch
from torch.nn import functional as F

from annotated_transformer.ground.errors import InputError
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.tokens import PAD


def random_case():
    logits = 3 * torch.randn(4, 6, 9, dtype=torch.float64)
    target = torch.randint(1, 9, (4, 6))
    target[1, 3:] = PAD
    target[3] = PAD
    return logits.requires_grad_(), target


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_equals_torch(smoothing):
    logits, target = random_case()
    ours = smoothed_cross_entropy(logits, target, smoothing)
    theirs = F.cross_entropy(
        logits.flatten(0, 1),
        target.flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction="sum",
    )
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)
    gradients = (torch.autograd.grad(loss, logits)[0] for loss in (ours, theirs))
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-10)


def test_nothing_is_smoothed_unless_it_is_asked_for():
    logits, target = random_case()
    assert smoothed_cross_entropy(logits, target) == smoothed_cross_entropy(logits, target, 0.0)


@pytest.mark.parametrize("smoothing", [-0.1, 1.0, 1.5])
def test_smoothing_outside_its_range(smoothing):
    with pytest.raises(InputError, match=f"smoothing is {smoothing}, it must be at least 0"):
        smoothed_cross_entropy(torch.zeros(1, 1, 5), torch.ones(1, 1, dtype=torch.long), smoothing)


TARGET = torch.tensor([[5, 6, 2], [7, 2, 0]])
BAD_TARGETS = {
    "shorter": (TARGET[:, :2], r"target has the shape \[2, 2\] and logits \[2, 3, 9\]: each row"),
    "shared": (TARGET[:1], r"target has the shape \[1, 3\] and logits \[2, 3, 9\]: each row"),
    "longer": (TARGET.repeat(1, 2), r"target has the shape \[2, 6\] and logits \[2, 3, 9\]"),
    "flat": (TARGET.flatten(), r"target has the shape \[6\], it must be \(batch, length\)"),
    "floats": (TARGET.double(), "target is of the type torch.float64, it must be a tensor of"),
    "too high": (TARGET + 2, "target contains id 9, it must be at least 0 and below 9, the size"),
    "ignored": (TARGET - 1, "target contains id -1, it must be at least 0 and below 9"),
    "a list": (TARGET.tolist(), "target is of the type list, it must be a tensor of torch.long"),
}


@pytest.mark.usefixtures("as_readers_do")
@pytest.mark.parametrize(("target", "message"), BAD_TARGETS.values(), ids=BAD_TARGETS)
def test_targets_are_one_id_for_each_row_of_logits(target, message):
    with pytest.raises(InputError, match=f"^{message}"):
        smoothed_cross_entropy(torch.zeros(2, 3, 9), target)


@pytest.mark.usefixtures("as_readers_do")
@pytest.mark.parametrize(
    ("logits", "message"),
    [
        (torch.zeros(6, 9), r"logits are \[6, 9\] of torch.float32, they must be floats \(batch,"),
        (
            torch.zeros(2, 3, 9).long(),
            r"logits are \[2, 3, 9\] of torch.int64, they must be floats",
        ),
        ([[0.0]], "logits are list, they must be floats"),
    ],
)
def test_logits_are_floats_with_three_axes(logits, message):
    with pytest.raises(InputError, match=f"^{message}"):
        smoothed_cross_entropy(logits, TARGET)
