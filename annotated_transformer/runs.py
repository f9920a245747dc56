"""Runs: a folder that holds a trained model and all that is needed to use it or to go on."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.batches import Example
from annotated_transformer.checkpoints import (
    load_checkpoint,
    load_progress,
    save_checkpoint,
    write_atomically,
)
from annotated_transformer.corpora import Corpus, TextPair
from annotated_transformer.errors import InputError
from annotated_transformer.evaluation import translate
from annotated_transformer.recipes import MODELS, Recipe, TranslationModel
from annotated_transformer.tokens import Vocabulary


@dataclass(frozen=True)
class Run:
    """A folder with ``recipe.json``, the vocabularies, ``checkpoint.safetensors``, ``metrics.csv``.

    The recipe says how the run is made, the checkpoint where it stands.
    """

    folder: Path
    recipe: Recipe
    src_vocabulary: Vocabulary
    tgt_vocabulary: Vocabulary

    @classmethod
    def create(cls, folder: Path, recipe: Recipe, corpus: Corpus) -> "Run":
        """Learn the vocabularies from the training split and begin a run in an empty folder.

        Raises:
            InputError: if there is something in the folder already, the corpus has no text to
                train on or to validate with, or a sentence is too long for the model or a batch.
        """
        corpus.split("val")  # a run that could never be validated is not begun
        require_empty(folder, f", or go on with 'annotated-transformer resume {folder}'")
        sources, targets = zip(*corpus.split("train"), strict=True)
        if recipe.subwords:
            src = tgt = Vocabulary.subwords(sources + targets, recipe.subwords)
        else:
            src, tgt = Vocabulary.words(sources), Vocabulary.words(targets)
        run = cls(folder, recipe, src, tgt)
        run.check_lengths(corpus)
        run.write_description()
        return run

    @classmethod
    def open(cls, folder: Path) -> "Run":
        """Open a run that was begun earlier.

        Raises:
            InputError: if the folder holds no run, or one that cannot be used.
        """
        if not (folder / "recipe.json").is_file():
            raise InputError(f"{folder} holds no run: there is no recipe.json in it.")
        try:
            recipe = Recipe(**json.loads((folder / "recipe.json").read_text(encoding="utf-8")))
            src, tgt = (
                Vocabulary.from_json((folder / name).read_text(encoding="utf-8"))
                for name in ("vocabulary.src.json", "vocabulary.tgt.json")
            )
            recipe.make_config(len(src), len(tgt))
        except (OSError, ValueError, TypeError) as error:
            raise InputError(f"{folder} holds a damaged run ({error}).") from error
        return cls(folder, recipe, src, tgt)

    def write_description(self) -> None:
        """Write the vocabularies and the recipe, everything but the weights."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, vocabulary in (("src", self.src_vocabulary), ("tgt", self.tgt_vocabulary)):
            path = self.folder / f"vocabulary.{name}.json"
            path.write_text(vocabulary.to_json(), encoding="utf-8")
        self.write_recipe()

    def export(self, folder: Path) -> "Run":
        """Write what it takes to translate into an empty folder: no state of the training.

        The weights are the running average, in half precision (16 bits instead of 32).

        Raises:
            InputError: if there is something in the folder already, or no checkpoint yet.
        """
        require_empty(folder)
        tensors, progress = load_checkpoint(self.checkpoint, prefix="average.")
        exported = replace(self, folder=folder)
        exported.write_description()
        half = {f"average.{name}": tensor.half() for name, tensor in tensors.items()}
        save_checkpoint(exported.checkpoint, half, {"steps": progress["steps"]})
        return exported

    def write_recipe(self) -> None:
        """Write ``recipe.json``."""
        text = json.dumps(asdict(self.recipe), indent=2, ensure_ascii=False)
        write_atomically(self.folder / "recipe.json", text + "\n")

    def prolonged(self, steps: int) -> "Run":
        """The same run with a recipe of that many steps, written into its folder.

        Raises:
            InputError: if the run is past that step already, or the schedule does not allow it.
        """
        run = replace(self, recipe=replace(self.recipe, steps=steps))
        run.recipe.make_schedule()
        if self.checkpoint.exists():
            run.check_steps(load_progress(self.checkpoint)["steps"])
        run.write_recipe()
        return run

    def check_steps(self, done: int) -> None:
        """Make sure that a run is not past the end of its recipe.

        Raises:
            InputError: if it is.
        """
        if done > self.recipe.steps:
            raise InputError(
                f"{self.folder} stands at step {done}, it cannot be trained up to step "
                f"{self.recipe.steps}: ask for more steps."
            )

    @property
    def checkpoint(self) -> Path:
        """Where the weights are."""
        return self.folder / "checkpoint.safetensors"

    def new_model(self) -> TranslationModel:
        """The model with fresh weights, the same ones for the same seed (of all of torch)."""
        torch.manual_seed(self.recipe.seed)
        config = self.recipe.make_config(len(self.src_vocabulary), len(self.tgt_vocabulary))
        model: TranslationModel = MODELS[self.recipe.model][0](config)
        return model

    def model(self) -> TranslationModel:
        """The trained model: the running average of its weights, ready to translate.

        Raises:
            InputError: if there is no checkpoint yet, or it does not belong to the recipe.
        """
        model = self.new_model()
        tensors, _ = load_checkpoint(self.checkpoint, prefix="average.")
        self.check_fit(tensors, model, "")
        model.load_state_dict(tensors, strict=False)  # shared weights stand under one name only
        model.eval()
        return model

    def searching(self, beam: int | None, alpha: float | None) -> "Run":
        """The same run with another width of the beam and length penalty, where they are given.

        Raises:
            InputError: if the width is below 1.
        """
        changes: dict[str, Any] = {"beam": beam, "alpha": alpha}
        given = {name: value for name, value in changes.items() if value is not None}
        return replace(self, recipe=replace(self.recipe, **given))

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Translate texts with the trained model, searching as the recipe says."""
        vocabularies = self.src_vocabulary, self.tgt_vocabulary
        return translate(self.model(), texts, *vocabularies, self.recipe.beam, self.recipe.alpha)

    def check_fit(self, tensors: dict[str, Tensor], model: nn.Module, prefix: str) -> None:
        """Make sure that a checkpoint belongs to the model.

        Raises:
            InputError: if names or shapes under ``prefix`` are not those of the model's parameters.
        """
        found = {
            n.removeprefix(prefix): t.shape for n, t in tensors.items() if n.startswith(prefix)
        }
        if not found:
            raise InputError(
                f"{self.checkpoint} holds no weights '{prefix}…': it was exported to translate "
                "with, its training cannot go on."
            )
        if found != {name: parameter.shape for name, parameter in model.named_parameters()}:
            raise InputError(f"{self.checkpoint} does not fit {self.folder / 'recipe.json'}.")

    def check_lengths(self, corpus: Corpus) -> None:
        """Make sure that every sentence fits, before hours are spent on training.

        Raises:
            InputError: if a sentence pair is longer than a batch, or than the model can read.
        """
        config = self.recipe.make_config(len(self.src_vocabulary), len(self.tgt_vocabulary))
        longest = min(self.recipe.batch_tokens, getattr(config, "max_length", sys.maxsize)) - 1
        for split in ("train", "val"):
            for number, (src, tgt) in enumerate(self.encode(corpus.split(split)), start=1):
                if max(len(src), len(tgt)) > longest:
                    raise InputError(
                        f"pair {number} of {split} has {max(len(src), len(tgt))} tokens on its "
                        f"longer side, this recipe takes {longest}: shorten it or leave it out."
                    )

    def encode(self, pairs: list[TextPair]) -> list[Example]:
        """The ids of sentence pairs."""
        sources, targets = zip(*pairs, strict=True)
        return list(
            zip(
                self.src_vocabulary.encode_all(sources),
                self.tgt_vocabulary.encode_all(targets),
                strict=True,
            )
        )


def require_empty(folder: Path, otherwise: str = "") -> None:
    """Make sure that a folder can be filled: that it does not exist, or is empty.

    Raises:
        InputError: if it holds something, or is a file.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not empty: choose another place{otherwise}.")
