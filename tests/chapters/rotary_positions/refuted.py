import torch

from annotated_transformer.rotary import (
    RotaryAttention,
    interpolated,
    rotary_frequencies,
    rotate,
    yarn,
)
from transformer_workbook.chapters.rotary_positions import proofs


def turns():
    proofs.turns(torch.tensor([0.1, 0.01]), 16)


def rotary_heads():
    class Clockwise(RotaryAttention):
        def with_positions(self, heads, positions):
            return rotate(heads, -2 * positions[:, None], self.frequencies)

    proofs.rotary_heads(Clockwise, RotaryAttention)


def layouts():
    proofs.layouts(rotate, torch.arange(8))


def scalings():
    proofs.scalings(
        lambda frequencies, factor: interpolated(frequencies, float(factor)),
        lambda d_k, factor: rotary_frequencies(d_k, 10000.0 * factor),
        lambda frequencies, factor, length: yarn(frequencies, 10000.0, float(factor), length),
    )


REFUTED = {
    turns: "this is not true: in 16 positions, the first turns 0.3 times, the second 0.025",
    rotary_heads: "the package's differs from your class by",
    layouts: "those of Llama after the permutation differs from the scores of neighbours by",
    scalings: "the package's differs from your three, d_k = 32 by",
}
