import torch
from torch import nn

from annotated_transformer.rotary import RotaryAttention
from transformer_workbook.chapters.images_and_graphs import proofs


def in_bands(pictures, size):
    """A view alone: a patch gets the pixels of one row."""
    return pictures.reshape(len(pictures), -1, size * size)


def of_one_pixel(size):
    """A model that looks at the first pixel alone, and has all parts."""
    model = nn.Module()
    model.embed, model.layers = nn.Conv2d(1, 32, size, stride=size), nn.ModuleList()
    model.first = nn.Parameter(torch.zeros(1, 1, 32))
    model.positions = nn.Parameter(torch.zeros(1, 17, 32))
    model.norm, model.output = nn.LayerNorm(32), nn.Linear(32, 10)
    model.forward = lambda pictures: pictures[:, 0, :1] * torch.arange(10.0)
    return model


def patches():
    proofs.patches(in_bands)


def vision_transformer():
    proofs.vision_transformer(of_one_pixel)


def no_order():
    proofs.no_order(of_one_pixel)


def axial():
    proofs.axial(RotaryAttention)


REFUTED = {
    patches: "your patches differs from the convolution by",
    vision_transformer: "yours differs from PyTorch's layers by",
    no_order: "those of permuted patches differs from the logits by",
    axial: "your scores differs from turns by the differences by",
}
