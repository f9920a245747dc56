"""The record of fine-tuning by LoRA, and by as many entries of the same matrices."""

import torch
from torch import nn

from annotated_transformer.lora import add_lora
from records.following import NUMBERS, STEPS, measure, pretrained, train
from records.tables import Row, Tables
from records.trials import tune
from transformer_workbook.notebook.following import Following

MODELS = ("rank 1", "rank 4", "rank 16", "entries 1", "entries 64")
RATES = (2e-3, 4e-3, 8e-3)


def free_entries(module: nn.Module, rank: int) -> None:
    """Train entries drawn at random: in each matrix as many as LoRA would, all with rank 64."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            mask = torch.zeros(layer.weight.numel())
            mask[torch.randperm(len(mask))[: rank * sum(layer.weight.shape)]] = 1
            keep = mask.view_as(layer.weight).mul
            layer.weight.requires_grad_().register_hook(keep)  # type: ignore[no-untyped-call]


def train_lora(model: str, rate: float, seed: int) -> Row:
    """Fine-tune a pretrained model on 200 requests, by LoRA of a rank or as many entries."""
    kind, rank = model.split()
    built = Following.make().build(seed)
    built.load_state_dict(pretrained(seed))
    torch.manual_seed(seed)
    change = {"rank": add_lora, "entries": free_entries}[kind]
    change(built.requires_grad_(False).decoder, int(rank))
    train(built, Following.make().mixture(NUMBERS["few"], seed), STEPS, rate, seed)
    return {"model": model, "rate": rate, "seed": seed, **measure(built)}


def make_lora(tables: Tables) -> None:
    """Models that follow requests after fine-tuning by LoRA of rank 1, 4 and 16.

    What would refute "it is the low rank that helps": as many trained entries of the same matrices,
    drawn at random and hence without a low rank, whose results are no worse.
    """
    tune(tables, "lora", train_lora, MODELS, RATES, "val_loss")
