"""Find the bug: models whose layer normalisations were trained, cured or broken in part."""

from torch import Tensor, nn

from annotated_transformer.transformer import Transformer
from transformer_workbook.exercises.cases import normal
from transformer_workbook.old_exercises.find_the_bug.diagnosis import Change

Norm = nn.LayerNorm


def norms(model: nn.Module) -> list[Norm]:
    """All layer normalisations of a model."""
    return [part for part in model.modules() if isinstance(part, nn.LayerNorm)]


def as_if_trained(model: Transformer) -> None:
    """Small gains and large biases: what a tiny ε does is not seen there."""
    for i, part in enumerate(norms(model)):
        part.weight.data = 0.1 * normal(8, seed=i)
        part.bias.data = 5 + normal(8, seed=i + 100)


def large_eps(model: Transformer) -> None:
    """Trained, and with an ε that shows."""
    as_if_trained(model)
    for part in norms(model):
        part.eps = 10.0


class Renamed(nn.LayerNorm):
    """It does what nn.LayerNorm does."""


class Reversed(nn.LayerNorm):
    """The right numbers in the wrong places."""

    def forward(self, input: Tensor) -> Tensor:
        """The numbers of each vector in the opposite order."""
        return super().forward(input).flip(-1)


def become(kind: type[Norm]) -> Change:
    """Let all norms be of another kind."""

    def change(model: Transformer) -> None:
        for part in norms(model):
            part.__class__ = kind

    return change


def only(chosen: int) -> Change:
    """Cure all norms but one."""

    def change(model: Transformer) -> None:
        others = norms(model)
        others.pop(chosen)
        for part in others:
            part.__class__ = nn.LayerNorm

    return change


def cure(stack: str) -> Change:
    """Cure all norms but those of one half."""

    def change(model: Transformer) -> None:
        for name, part in model.named_modules():
            if isinstance(part, nn.LayerNorm) and stack in name:
                part.__class__ = nn.LayerNorm

    return change


def trained_in_reverse(model: Transformer) -> None:
    """Trained, and with the numbers in the wrong places."""
    as_if_trained(model)
    become(Reversed)(model)


def _set(name: str, size: float) -> Change:
    """Change the gains only, or the biases only."""

    def change(model: Transformer) -> None:
        for i, part in enumerate(norms(model)):
            getattr(part, name).data = size * normal(8, seed=i)

    return change


def _gains_and_biases(size: float) -> Change:
    """Let each norm's gains be so many times its biases."""

    def change(model: Transformer) -> None:
        for i, part in enumerate(norms(model)):
            part.bias.data = normal(8, seed=i)
            part.weight.data = size * part.bias.data

    return change


def _no_eps(model: Transformer) -> None:
    for part in norms(model):
        part.eps = 0.0


TRAINED_IN_PART = {
    "other gains": _set("weight", 2.0),
    "other biases": _set("bias", 2.0),
    "gains of 0": _gains_and_biases(0.0),
    "gains that are equal to their biases": _gains_and_biases(1.0),
    "an ε of 0": _no_eps,
}
