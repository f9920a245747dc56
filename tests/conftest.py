"""What every test starts from: this checkout, one thread, a fixed seed."""

import os
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent

# The notebooks run in processes of their own, which pytest's `pythonpath` does not reach.
os.environ["PYTHONPATH"] = str(ROOT)

# The tests run two at a time on machines with two cores.
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Every test draws the same random numbers, alone or after others."""
    torch.manual_seed(0)
