"""An earlier version of the package, the reference for the aims of faster translation."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from safetensors.torch import load_file

from annotated_transformer.ground.errors import InputError
from bench.task import ROOT

COMMIT = "58a4a6ffccfbbe28f088e4ed8366296cb610370f"
"""The last commit of the first edition."""
PACKAGE = "annotated_transformer"
SIZES = {"d_model": 256, "num_layers": 3, "num_heads": 8, "d_ff": 512, "norm": "pre"}
"""The files of the checkpoint, under the names that they had then."""


def write_earlier(folder: Path) -> None:
    """Write the package of that commit into a folder.

    Raises:
        InputError: if the git history does not go back so far.
    """
    packed = subprocess.run(
        ["git", "archive", COMMIT, PACKAGE], cwd=ROOT, capture_output=True, check=False
    )
    if packed.returncode:
        raise InputError(
            f"git cannot give {PACKAGE} of {COMMIT[:7]}, the bench needs the whole history: "
            f"{packed.stderr.decode().strip()}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "--extract", "--directory", folder], input=packed.stdout, check=True)


def modules_from(folder: Path, *names: str) -> list[ModuleType]:
    """Import modules of the package in a folder, without the installed package."""

    def taken_out() -> dict[str, ModuleType]:
        own = [name for name in sys.modules if name.split(".")[0] == PACKAGE]
        return {name: sys.modules.pop(name) for name in own}

    present = taken_out()
    sys.path.insert(0, str(folder))
    try:
        return [import_module(f"{PACKAGE}.{name}") for name in names]
    finally:
        sys.path.remove(str(folder))
        taken_out()
        sys.modules |= present


class Earlier:
    """The earlier model with the weights of the checkpoint, under its own parameter names."""

    def __init__(self, folder: Path, weights: Path, beam: int) -> None:
        transformer, evaluation = modules_from(folder, "transformer", "evaluation")
        tensors = load_file(weights)
        words = tensors["output.bias"].numel()
        config = transformer.TransformerConfig(words, words, **SIZES)
        self.model, self.beam = transformer.Transformer(config), beam
        self.model.load_state_dict(tensors, strict=False)
        self.translate = evaluation.translate_ids

    def found(self, sources: list[list[int]]) -> list[list[int]]:
        """Return the ids of the translations, in the batches that it makes."""
        translations: list[list[int]] = self.translate(self.model, sources, self.beam, 0.0)
        return translations
