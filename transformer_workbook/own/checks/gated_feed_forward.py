"""Checks of gates in the feed-forward network."""

from torch.nn import functional as F

from transformer_workbook.own.checks.attention import X
from transformer_workbook.own.checks.check import Check, filled, linear

CHECKS = (
    Check(
        "GatedFeedForward",
        "GatedFeedForward(8, 12) of (2, 4, 8), from its formula",
        lambda m: filled(m.GatedFeedForward(8, 12))(X).detach(),
        lambda: linear("outer", F.silu(linear("gate", X, 12)) * linear("inner", X, 12), 8),
    ),
    Check(
        "GatedFeedForward",
        "GatedFeedForward(8, 12, 'gelu') of (2, 4, 8), from its formula",
        lambda m: filled(m.GatedFeedForward(8, 12, "gelu"))(X).detach(),
        lambda: linear("outer", F.gelu(linear("gate", X, 12)) * linear("inner", X, 12), 8),
    ),
)
