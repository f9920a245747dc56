"""The contest ``training`` as on an older processor: one whose widest instructions are AVX2."""

from bench import training
from bench.training import judge, prepare, reference

__all__ = ["CONTESTANTS", "ENVIRONMENT", "judge", "prepare", "reference"]

ENVIRONMENT = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
}
"""What tells PyTorch and its two libraries for matrices to use no others."""

CONTESTANTS = {n: make for n, make in training.CONTESTANTS.items() if "bfloat16" not in n}
"""Such a processor has no products in 16 bits: a step took more than ten times as long."""
