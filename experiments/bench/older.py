"""The contest ``training`` as on an older CPU, whose widest instructions are AVX2."""

from bench import training
from bench.training import judge, prepare, reference

__all__ = ["CONTESTANTS", "ENVIRONMENT", "judge", "prepare", "reference"]

ENVIRONMENT = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
}
"""The variables that restrict PyTorch and its two matrix libraries to AVX2."""

CONTESTANTS = {n: make for n, make in training.CONTESTANTS.items() if "bfloat16" not in n}
"""Such a CPU has no products in 16 bits: a step took more than ten times as long."""
