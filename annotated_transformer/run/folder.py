"""The folder of a run: a trained model, and all that is needed to use it or to go on."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path

import torch
from torch import Tensor

from annotated_transformer.corpora import Corpus
from annotated_transformer.decoding import Search
from annotated_transformer.devices import move, same_randomness
from annotated_transformer.errors import InputError
from annotated_transformer.evaluation import Score, evaluate
from annotated_transformer.examples import Examples
from annotated_transformer.inputs import require_path
from annotated_transformer.run.checkpoint import (
    load_checkpoint,
    load_progress,
    require_fit,
    save_checkpoint,
    save_halved,
)
from annotated_transformer.run.description import (
    read_description,
    write_description,
    write_recipe,
)
from annotated_transformer.run.encoded import learned_vocabularies
from annotated_transformer.run.files import fill_folder, locked, quoted, require_empty
from annotated_transformer.run.preparation import Prepared, prepare
from annotated_transformer.run.recipe import Recipe
from annotated_transformer.tokens import Vocabularies
from annotated_transformer.training import load_tensors, tensors_of
from annotated_transformer.translation import translate
from annotated_transformer.translator import Translator, require_positions


@dataclass(frozen=True)
class Run:
    """A folder with ``recipe.json``, the vocabularies, and, once it was trained, its weights.

    ``checkpoint.safetensors`` is where the training stands: what it needs to go on.
    ``model.safetensors`` has the averaged weights of the best validation: what translates.
    ``learning_curve.csv`` has a row for each validation.
    ``start.safetensors`` is there if it began with the weights of another run.
    """

    folder: Path
    recipe: Recipe
    checksum: str  # of the corpus that it is trained on
    vocabularies: Vocabularies
    device: torch.device = field(default_factory=torch.get_default_device)
    prepared: Prepared | None = None  # what was prepared when it was begun, to train it at once

    @classmethod
    def create(
        cls,
        folder: Path | str,
        recipe: Recipe,
        corpus: Corpus,
        *,
        start: "Run | None" = None,
        strict: bool = False,
        device: torch.device | None = None,
    ) -> "Run":
        """Learn the vocabularies from the training split and begin a run in an empty folder.

        With ``start``, it begins with the vocabularies, the sizes and the weights of that run,
        which are copied: it is not needed any longer. The folder is there with all that belongs
        into it, or not at all.

        Raises:
            InputError: if there is something in the folder already, it is in that of ``start``, the
                recipe is for another model, the corpus has one language alone, or for what
                :func:`prepare` says; ``strict`` is handed to it.
        """
        folder = require_path("folder", folder)
        if start and Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(start.folder)):
            raise InputError(f"{folder} is in the run to begin with: choose another place.")
        require_empty(folder, f", or go on with `annotated-transformer resume {quoted(folder)}`")
        device = device or torch.get_default_device()
        if len(corpus.languages) != 2:
            raise InputError(
                f"{corpus.name} is read in {corpus.languages[0]} alone: a translator needs a "
                "source and a target, languages as SRC-TGT."
            )
        weights = b""
        if start:
            recipe, vocabularies = recipe.for_model_of(start.recipe), start.vocabularies
            start.read(start.weights)  # to know that they are right; they are copied as they are
            weights = start.weights.read_bytes()
            recipe = replace(recipe, start=sha256(weights).hexdigest())
        elif recipe.start:
            raise InputError(
                f"start is {recipe.start!r}, the SHA-256 of weights to begin with: say where they "
                "are, --from RUN."
            )
        else:
            vocabularies = learned_vocabularies(corpus, recipe.subwords)
        run = cls(folder, recipe, corpus.checksum, vocabularies, device)
        prepared = prepare(recipe, corpus, vocabularies, device, strict)

        def write(path: Path) -> None:
            write_description(path, recipe, run.checksum, vocabularies)
            if weights:
                (path / run.start.name).write_bytes(weights)

        fill_folder(folder, write)
        return replace(run, prepared=prepared)

    @classmethod
    def from_weights(
        cls, folder: Path, recipe: Recipe, vocabularies: Vocabularies, weights: Mapping[str, Tensor]
    ) -> "Run":
        """Begin a run in an empty folder with the weights of a model that was trained elsewhere.

        It translates; its training cannot go on.

        Raises:
            InputError: if there is something in the folder already, or the weights are not those
                of the recipe's model.
        """
        require_empty(folder)
        run = cls(folder, recipe, "", vocabularies)
        sketch = recipe.model_without_weights(vocabularies)
        wanted = {name: tuple(tensor.shape) for name, tensor in tensors_of(sketch).items()}
        given = {name: tuple(weight.shape) for name, weight in weights.items()}
        for name in sorted(wanted.keys() | given.keys()):
            if given.get(name) != wanted.get(name):
                raise InputError(
                    f"{name} has the shape {given.get(name)}, it must be {wanted.get(name)}."
                )

        def write(path: Path) -> None:
            write_description(path, recipe, run.checksum, vocabularies)
            save_checkpoint(path / run.weights.name, weights, {"exported": True})

        fill_folder(folder, write)
        return run

    @classmethod
    def open(cls, folder: Path | str, device: torch.device | None = None) -> "Run":
        """Open a run that was begun earlier.

        Raises:
            InputError: if the folder holds no run, or one that cannot be used.
        """
        folder = require_path("folder", folder)
        return cls(folder, *read_description(folder), device or torch.get_default_device())

    def with_recipe(self, recipe: Recipe) -> "Run":
        """The same run with another recipe, written into its folder.

        Raises:
            InputError: if the run is past the end of that recipe, or somebody trains it.
        """
        with locked(self.folder):
            self.require_steps(recipe)
            changed = replace(self, recipe=recipe)
            changed.keep_recipe()
        return changed

    def keep_recipe(self) -> None:
        """Write the recipe into the folder, if there is another one in it."""
        if read_description(self.folder)[0] != self.recipe:
            write_recipe(self.folder, self.recipe)

    def require_corpus(self, corpus: Corpus) -> None:
        """Make sure that a corpus is what the run was begun with.

        Raises:
            InputError: if its text has changed since.
        """
        if corpus.checksum != self.checksum:
            raise InputError(
                f"{corpus.name} has changed since {self.folder} was begun: its checksum is "
                f"{corpus.checksum[:12]}…, it was {self.checksum[:12]}…; begin a new run, or say "
                "with --corpus where the text is now. (Since version 0.3 texts are cleaned: a run "
                "from before has another checksum where there was something to clean.)"
            )

    def require_trainable(self) -> None:
        """Make sure that the run is one that can be trained.

        Raises:
            InputError: if it was exported, or its checkpoint is gone: it would begin anew.
        """
        if self.weights.exists() and load_progress(self.weights).get("exported"):
            raise InputError(
                f"{self.folder} was exported to translate with, its training cannot go on: begin "
                f"another one with its weights, `annotated-transformer train --from "
                f"{quoted(self.folder)}`."
            )
        if self.weights.exists() and not self.checkpoint.exists():
            raise InputError(
                f"{self.checkpoint} is gone, without which the training would begin anew: put it "
                f"back, or delete {self.weights.name}, too."
            )

    def require_steps(self, recipe: Recipe) -> None:
        """Make sure that the run is not past the end of a recipe.

        Raises:
            InputError: if it is.
        """
        done = load_progress(self.checkpoint).get("steps", 0) if self.checkpoint.exists() else 0
        if isinstance(done, int) and done > recipe.steps:
            raise InputError(
                f"{self.folder} stands at step {done}, it cannot be trained up to step "
                f"{recipe.steps}: ask for more steps."
            )

    @property
    def checkpoint(self) -> Path:
        """Where the training stands."""
        return self.folder / "checkpoint.safetensors"

    @property
    def weights(self) -> Path:
        """What translates."""
        return self.folder / "model.safetensors"

    @property
    def start(self) -> Path:
        """The weights of another run that it began with, as they were there."""
        return self.folder / "start.safetensors"

    @property
    def learning_curve(self) -> Path:
        """How the training went."""
        return self.folder / "learning_curve.csv"

    @cached_property
    def model(self) -> Translator:
        """The trained model, ready to translate; it is loaded once.

        Raises:
            InputError: if there are no weights yet, or they do not belong to the recipe.
        """
        weights = self.read(self.weights)
        with same_randomness():  # its fresh weights are of no interest
            model = self.recipe.make_model(self.vocabularies)
        load_tensors(model, weights)
        return move(model.eval(), self.device)

    def first_model(self) -> Translator:
        """The model before its training: with fresh weights, or with those of another run.

        Raises:
            InputError: if those are not in the folder any longer, or have changed.
        """
        model = self.recipe.make_model(self.vocabularies)
        if self.recipe.start and not self.checkpoint.exists():
            load_tensors(model, self.read(self.start))
            if sha256(self.start.read_bytes()).hexdigest() != self.recipe.start:
                raise InputError(f"{self.start} is not what {self.folder} was begun with.")
        return move(model, self.device)

    def read(self, path: Path) -> dict[str, Tensor]:
        """The weights in a file, such as the model has.

        Raises:
            InputError: if there is no such file, or it does not belong to the recipe.
        """
        weights, _ = load_checkpoint(path, of_run=path != self.start)
        # The recipe may say any size: what the file holds has room, and nothing else is built.
        require_fit(weights, self.recipe.model_without_weights(self.vocabularies), path)
        return weights

    def translate(self, texts: Sequence[str], search: Search | None = None) -> list[str]:
        """Translate texts with the trained model, as the recipe says unless a search is given."""
        return translate(self.model, texts, self.vocabularies, search or self.recipe.search)

    def evaluate(self, corpus: Corpus, split: str, search: Search | None = None) -> list[Score]:
        """Score the trained model on a split, and its attention where the alignments are known.

        Raises:
            InputError: if there is no such split, or a sentence of it is too long for the model.
        """
        # The links of an alignment are between words: those of subwords are not known.
        gold = None if self.recipe.subwords else corpus.alignments.get(split)
        pairs = list(corpus.split(split))
        lengths = Examples.of(self.vocabularies.encode(pairs)).lengths
        require_positions(self.model, lengths, partial(corpus.place, split))
        return evaluate(self.model, self.vocabularies, pairs, search or self.recipe.search, gold)

    def export(self, folder: Path) -> "Run":
        """Write what it takes to translate into an empty folder: no state of the training.

        The weights are those that translate, in half precision (16 bits instead of 32).

        Raises:
            InputError: if there is something in the folder already, or no weights yet.
        """
        require_empty(folder)
        model = self.model
        exported = replace(self, folder=folder)

        def write(path: Path) -> None:
            write_description(path, self.recipe, self.checksum, self.vocabularies)
            save_halved(path / exported.weights.name, model)

        fill_folder(folder, write)
        return exported
