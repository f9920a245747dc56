"""What the proofs of the chapter on images and graphs must refuse."""

import torch
from torch import nn

from annotated_transformer.rotary import RotaryAttention
from records.digits import VisionTransformer, cut
from transformer_workbook.proofs import images_and_graphs as proofs


def in_bands(pictures, size):
    """A view alone: a patch gets the pixels of one row."""
    return pictures.reshape(len(pictures), -1, size * size)


class OfPictures(VisionTransformer):
    """The records' model, which cuts by itself; its positions are a parameter, as in the lesson."""

    def __init__(self, patch):
        super().__init__(patch, "none")
        self.positions = self.table = nn.Parameter(torch.randn(1, 17, 32))

    def embedded(self, pictures):
        patches = self.embed(cut(pictures, self.patch))
        return torch.cat([self.first.expand(len(patches), 1, -1), patches], dim=1)

    def forward(self, pictures):
        """It adds the positions after the first layer."""
        x, mask = self.embedded(pictures), torch.ones(1, 1, 1, 17, dtype=torch.bool)
        x = self.layers[1](self.layers[0](x, mask) + self.positions, mask)
        return self.output(self.norm(x[:, 0]))


class InOrder(OfPictures):
    """Positions that cannot be taken away."""

    def forward(self, pictures):
        return super().forward(pictures * torch.arange(8))


def patches():
    proofs.patches(in_bands)


def vision_transformer():
    proofs.vision_transformer(OfPictures)


def no_order():
    proofs.no_order(InOrder)


def axial():
    proofs.axial(RotaryAttention)


REFUTED = {
    patches: "your patches differs from the convolution by",
    vision_transformer: "yours differs from PyTorch's layers by",
    no_order: "those of permuted patches differs from the logits by",
    axial: "your scores differs from turns by the differences by",
}
