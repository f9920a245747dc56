"""The folder of a run: a trained model, and all that is needed to use or resume it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path

import torch
from torch import Tensor

from annotated_transformer.corpora import Corpus
from annotated_transformer.decoding import Search, decode
from annotated_transformer.evaluation import Score, evaluate
from annotated_transformer.ground.devices import move, same_randomness
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import StrPath, require_path, require_search
from annotated_transformer.language_model import LanguageModel
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
from annotated_transformer.run.encoded import learned_vocabularies, told_unknown
from annotated_transformer.run.files import fill_folder, locked, quoted, require_empty
from annotated_transformer.run.preparation import Prepared, prepare
from annotated_transformer.run.recipe import Recipe
from annotated_transformer.run.screen import tell
from annotated_transformer.text.examples import Examples
from annotated_transformer.tokens import PAD, Vocabularies
from annotated_transformer.translation import require_known, translate
from annotated_transformer.translator import NextTokenModel, require_positions
from annotated_transformer.weights import load_tensors, tensors_of


@dataclass(frozen=True)
class Run:
    """A folder with ``recipe.json``, the vocabularies, and, once trained, the weights.

    ``checkpoint.safetensors`` is the state of the training, from which it resumes.
    ``model.safetensors`` has the averaged weights of the best validation, which translate.
    ``learning_curve.csv`` has a row for each validation.
    ``start.safetensors`` has the weights of another run, if the training started from them.
    """

    folder: Path
    recipe: Recipe
    checksum: str  # of the corpus of the training
    vocabularies: Vocabularies
    device: torch.device = field(default_factory=torch.get_default_device)
    prepared: Prepared | None = None  # what was prepared when it was started, to train at once

    def __post_init__(self) -> None:
        """Take a text as a folder."""
        object.__setattr__(self, "folder", require_path("folder", self.folder))

    @classmethod
    def create(
        cls,
        folder: StrPath,
        recipe: Recipe,
        corpus: Corpus,
        *,
        start: "Run | None" = None,
        strict: bool = False,
        force: bool = False,
        device: torch.device | None = None,
    ) -> "Run":
        """Learn the vocabularies from the training split and start a run in an empty folder.

        With ``start``, it starts from the vocabularies, the sizes and the weights of that run,
        which are copied: that run is not needed afterwards. The folder is complete, or not
        made at all.

        Raises:
            InputError: if the folder is not empty, it is in that of ``start``, the
                recipe is for another model or other languages, the corpus has only one language
                and the model is a translator, most of its tokens are unknown and ``force`` is not
                set, or as for :func:`prepare`, to which ``strict`` is passed.
        """
        folder = require_path("folder", folder)
        if start and Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(start.folder)):
            raise InputError(f"{folder} is in the run to start from: choose another place.")
        require_empty(folder, f", or go on with `annotated-transformer resume {quoted(folder)}`")
        device = device or torch.get_default_device()
        if len(corpus.languages) != 2:
            if recipe.model != "language":
                raise InputError(
                    f"{corpus.name} is read in {corpus.direction or 'one language'} alone: a "
                    "translator needs a source and a target, languages as SRC-TGT, or two columns "
                    "with a tab between; text alone needs model 'language'."
                )
            recipe = replace(recipe, sizes=recipe.sizes | {"has_source": False})
        weights = b""
        if start:
            recipe, vocabularies = recipe.for_model_of(start.recipe), start.vocabularies
            start.read(start.weights)  # checked here; the file is copied unchanged
            weights = start.weights.read_bytes()
            recipe = replace(recipe, start=sha256(weights).hexdigest())
        elif recipe.start:
            raise InputError(
                f"start is {recipe.start!r}, the SHA-256 of weights to start from: give their run "
                "with --from RUN."
            )
        else:
            vocabularies = learned_vocabularies(corpus, recipe.subwords)
        recipe = replace(recipe, languages=recipe.languages or corpus.direction)
        recipe.require_languages(corpus)
        run = cls(folder, recipe, corpus.checksum, vocabularies, device)
        prepared = prepare(recipe, corpus, vocabularies, device, strict)
        for name, examples in (("train", prepared.train), ("val", prepared.val)):
            told_unknown(name, examples, 1.0 if force else 0.5)

        def write(path: Path) -> None:
            write_description(path, recipe, run.checksum, vocabularies)
            if weights:
                (path / run.start.name).write_bytes(weights)

        fill_folder(folder, write)
        return replace(run, prepared=prepared)

    @classmethod
    def from_weights(
        cls,
        folder: StrPath,
        recipe: Recipe,
        vocabularies: Vocabularies,
        weights: Mapping[str, Tensor],
    ) -> "Run":
        """Start a run in an empty folder from the weights of a model that was trained elsewhere.

        It translates; its training cannot be resumed.

        Raises:
            InputError: if the folder is not empty, or the weights are not those
                of the recipe's model.
        """
        require_empty(folder)
        run = cls(Path(folder), recipe, "", vocabularies)
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
    def open(cls, folder: StrPath, device: torch.device | None = None) -> "Run":
        """Open an existing run.

        Raises:
            InputError: if the folder contains no run, or an unusable one.
        """
        folder = require_path("folder", folder)
        return cls(folder, *read_description(folder), device or torch.get_default_device())

    def with_recipe(self, recipe: Recipe) -> "Run":
        """Return the run with another recipe, which is written into its folder.

        Raises:
            InputError: if the run is past the end of that recipe, or another process trains it.
        """
        with locked(self.folder):
            self.require_steps(recipe)
            changed = replace(self, recipe=recipe)
            changed.keep_recipe()
        return changed

    def keep_recipe(self) -> None:
        """Write the recipe into the folder, if a different one is there."""
        if read_description(self.folder)[0] != self.recipe:
            write_recipe(self.folder, self.recipe)

    def require_corpus(self, corpus: Corpus) -> None:
        """Refuse a corpus that is not the one with which the run was started.

        Raises:
            InputError: if its text has changed.
        """
        if corpus.checksum != self.checksum:
            raise InputError(
                f"{corpus.name} has changed since {self.folder} was started: its checksum is "
                f"{corpus.checksum[:12]}…, it was {self.checksum[:12]}…; start a new run, or give "
                "with --corpus where the text is now. (Since version 0.3 texts are cleaned: a run "
                "from before has another checksum if there was something to clean.)"
            )

    def require_trainable(self) -> None:
        """Refuse a run that cannot be trained.

        Raises:
            InputError: if it was exported, or its checkpoint is gone: it would start again.
        """
        if self.weights.exists() and load_progress(self.weights).get("exported"):
            raise InputError(
                f"{self.folder} was exported to translate with, its training cannot be resumed: "
                f"start another one from its weights, `annotated-transformer train --from "
                f"{quoted(self.folder)}`."
            )
        if self.weights.exists() and not self.checkpoint.exists():
            raise InputError(
                f"{self.checkpoint} is gone, without which the training would start again: put it "
                f"back, or also delete {self.weights.name}."
            )

    def require_steps(self, recipe: Recipe) -> None:
        """Refuse a recipe whose end the run has passed.

        Raises:
            InputError: if the run is past its end.
        """
        done = load_progress(self.checkpoint).get("steps", 0) if self.checkpoint.exists() else 0
        if isinstance(done, int) and done > recipe.steps:
            raise InputError(
                f"{self.folder} is at step {done}, it cannot be trained up to step "
                f"{recipe.steps}: ask for more steps."
            )

    @property
    def checkpoint(self) -> Path:
        """Return the path of the state of the training."""
        return self.folder / "checkpoint.safetensors"

    @property
    def weights(self) -> Path:
        """Return the path of the weights that translate."""
        return self.folder / "model.safetensors"

    @property
    def start(self) -> Path:
        """Return the path of the weights of another run from which this one started."""
        return self.folder / "start.safetensors"

    @property
    def learning_curve(self) -> Path:
        """Return the path of the learning curve."""
        return self.folder / "learning_curve.csv"

    @cached_property
    def model(self) -> NextTokenModel:
        """Load the trained model, ready to translate; it is loaded once.

        Raises:
            InputError: if there are no weights yet, or they do not fit the recipe.
        """
        weights = self.read(self.weights)
        with same_randomness():  # its initial weights are replaced
            model = self.recipe.make_model(self.vocabularies)
        load_tensors(model, weights)
        return move(model.eval(), self.device)

    def first_model(self) -> NextTokenModel:
        """Make the model before its training: newly initialised, or with weights of another run.

        Raises:
            InputError: if those are no longer in the folder, or have changed.
        """
        model = self.recipe.make_model(self.vocabularies)
        if self.recipe.start and not self.checkpoint.exists():
            load_tensors(model, self.read(self.start))
            if sha256(self.start.read_bytes()).hexdigest() != self.recipe.start:
                raise InputError(f"{self.start} is not the file from which {self.folder} started.")
        return move(model, self.device)

    def read(self, path: StrPath) -> dict[str, Tensor]:
        """Read the weights of the model from a file.

        Raises:
            InputError: if there is no such file, or it does not fit the recipe.
        """
        path = require_path("path", path)
        weights, _ = load_checkpoint(path, of_run=path != self.start)
        # A recipe may have any sizes: only what the file contains is allocated.
        require_fit(weights, self.recipe.model_without_weights(self.vocabularies), path)
        return weights

    def translate(self, texts: Sequence[str], search: Search | None = None) -> list[str]:
        """Translate texts with the trained model, by the recipe's search unless one is given."""
        return translate(self.model, texts, self.vocabularies, search or self.recipe.search)

    def continue_text(self, prompt: str, search: Search, length: int) -> list[str]:
        """Continue a text by at most ``length`` tokens; return the whole texts, the best first.

        Raises:
            InputError: if the run was trained on pairs, or its vocabulary does not know the prompt,
                or the prompt is longer than the model can read.
        """
        require_search(search)
        if not isinstance(self.model, LanguageModel) or self.model.config.has_source:
            raise InputError(
                f"{self.folder} was trained on pairs, it translates: to continue a text, train "
                "with model 'language' and one language."
            )
        ids = require_known("the prompt", prompt, self.vocabularies.tgt)
        if len(ids) > (most := self.model.config.max_length):
            raise InputError(f"the prompt has {len(ids):,} tokens, the model takes {most:,}.")
        search = replace(search, extra_length=len(ids) + length)
        no_source = torch.full((1, 1), PAD, device=self.device)
        [found] = decode(self.model, no_source, search, [ids])
        return [self.vocabularies.tgt.decode(hypothesis.tokens) for hypothesis in found]

    def evaluate(
        self, corpus: Corpus, split: str, search: Search | None = None, force: bool = False
    ) -> list[Score]:
        """Score the trained model on a split, and its attention where alignments are known.

        Raises:
            InputError: if there is no such split, it is in other languages, a sentence in it is
                too long for the model, or most tokens are unknown and ``force`` is not set.
        """
        self.recipe.require_languages(corpus)
        # Alignments link words: those of subwords are unknown.
        gold = None if self.recipe.subwords else corpus.alignments.get(split)
        pairs = list(corpus.split(split))
        examples = Examples.of(self.vocabularies.encode(pairs))
        require_positions(self.model, examples.lengths, partial(corpus.place, split))
        if told := told_unknown(split, examples, 1.0 if force else 0.5):
            tell(told)
        return evaluate(self.model, self.vocabularies, pairs, search or self.recipe.search, gold)

    def export(self, folder: StrPath) -> "Run":
        """Write the files needed to translate into an empty folder, without training state.

        The weights are those that translate, in half precision (16 bits instead of 32).

        Raises:
            InputError: if the folder is not empty, or there are no weights yet.
        """
        require_empty(folder)
        model = self.model
        exported = replace(self, folder=Path(folder))

        def write(path: Path) -> None:
            write_description(path, self.recipe, self.checksum, self.vocabularies)
            save_halved(path / exported.weights.name, model)

        fill_folder(folder, write)
        return exported
