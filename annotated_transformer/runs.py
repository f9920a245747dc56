"""Runs: a folder that holds a trained model and all that is needed to use it or to go on."""

import json
import sys
import time
from copy import deepcopy
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn
from tqdm import tqdm

from annotated_transformer.batches import Example
from annotated_transformer.checkpoints import load_checkpoint, save_checkpoint, write_atomically
from annotated_transformer.corpora import Corpus, TextPair, load_corpus
from annotated_transformer.errors import InputError
from annotated_transformer.evaluation import perplexity
from annotated_transformer.interruption import asked_to_stop
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.metrics import Metrics
from annotated_transformer.recipes import MODELS, Recipe, TranslationModel
from annotated_transformer.tokens import Vocabulary
from annotated_transformer.training import Trainer, endless_batches


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
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(
                f"{folder} is not empty: choose another place, or go on with "
                f"'annotated-transformer resume {folder}'."
            )
        sources, targets = zip(*corpus.split("train"), strict=True)
        if recipe.subwords:
            src = tgt = Vocabulary.subwords(sources + targets, recipe.subwords)
        else:
            src, tgt = Vocabulary.words(sources), Vocabulary.words(targets)
        run = cls(folder, recipe, src, tgt)
        run.check_lengths(corpus)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "vocabulary.src.json").write_text(src.to_json(), encoding="utf-8")
        (folder / "vocabulary.tgt.json").write_text(tgt.to_json(), encoding="utf-8")
        run.write_recipe()
        return run

    @classmethod
    def open(cls, folder: Path) -> "Run":
        """Open a run that was begun earlier.

        Raises:
            InputError: if the folder holds no run.
        """
        if not (folder / "recipe.json").is_file():
            raise InputError(f"{folder} holds no run: there is no recipe.json in it.")
        try:
            recipe = Recipe(**json.loads((folder / "recipe.json").read_text(encoding="utf-8")))
            src, tgt = (
                Vocabulary.from_json((folder / name).read_text(encoding="utf-8"))
                for name in ("vocabulary.src.json", "vocabulary.tgt.json")
            )
        except (OSError, ValueError, TypeError) as error:
            raise InputError(f"{folder} holds a damaged run ({error}).") from error
        return cls(folder, recipe, src, tgt)

    def write_recipe(self) -> None:
        """Write ``recipe.json``."""
        text = json.dumps(asdict(self.recipe), indent=2, ensure_ascii=False)
        write_atomically(self.folder / "recipe.json", text + "\n")

    @property
    def checkpoint(self) -> Path:
        """Where the weights are."""
        return self.folder / "checkpoint.safetensors"

    def new_model(self) -> TranslationModel:
        """The model with fresh weights, the same ones for the same seed."""
        torch.manual_seed(self.recipe.seed)
        config = self.recipe.make_config(len(self.src_vocabulary), len(self.tgt_vocabulary))
        model: TranslationModel = MODELS[self.recipe.model][0](config)
        return model

    def model(self) -> TranslationModel:
        """The trained model: the running average of its weights, ready to translate."""
        model = self.new_model()
        tensors, _ = load_checkpoint(self.checkpoint, prefix="average.")
        self.check_names(tensors, model, "")
        model.load_state_dict(tensors, strict=False)  # shared weights stand under one name only
        model.eval()
        return model

    def check_names(self, tensors: dict[str, Tensor], model: nn.Module, prefix: str) -> None:
        """Make sure that a checkpoint belongs to the model.

        Raises:
            InputError: if the names under ``prefix`` are not those of the model's parameters.
        """
        found = {name.removeprefix(prefix) for name in tensors if name.startswith(prefix)}
        if found != {name for name, _ in model.named_parameters()}:
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


def train(run: Run, corpus: Corpus | None = None) -> bool:
    """Train from where the run stands to the end of its recipe; say whether the end was reached.

    A checkpoint is written at every validation, at the end and on Ctrl-C. A run that was
    interrupted and resumed ends with the same weights as one that was not.
    """
    recipe = run.recipe
    corpus = corpus or load_corpus(recipe.corpus, recipe.languages)
    examples, val = run.encode(corpus.split("train")), run.encode(corpus.split("val"))
    model = run.new_model()
    trainer = Trainer(
        model,
        partial(smoothed_cross_entropy, smoothing=recipe.smoothing),
        recipe.make_schedule(),
        clip=recipe.clip,
        average_decay=recipe.average_decay,
    )
    seconds, losses, norms = 0.0, [], []
    if run.checkpoint.exists():
        tensors, progress = load_checkpoint(run.checkpoint)
        run.check_names(tensors, model, "model.")
        trainer.load(tensors, int(progress["steps"]))
        seconds, losses, norms = (progress[key] for key in ("seconds", "losses", "norms"))
    metrics = Metrics(run.folder / "metrics.csv", trainer.steps)
    average = deepcopy(model)
    batches = endless_batches(examples, recipe.batch_tokens, recipe.seed, skip=trainer.steps)
    start = time.monotonic() - seconds
    bar = tqdm(total=recipe.steps, initial=trainer.steps, unit="step", dynamic_ncols=True)
    with bar, asked_to_stop() as stop:
        while trainer.steps < recipe.steps and not stop.is_set():
            loss, norm = trainer.update([next(batches)])
            losses.append(loss)
            norms.append(norm)
            bar.update()
            if trainer.steps % recipe.validate_every == 0 or trainer.steps == recipe.steps:
                average.load_state_dict(trainer.average.weights, strict=False)
                row = {
                    "step": trainer.steps,
                    "seconds": round(time.monotonic() - start, 1),
                    "rate": trainer.schedule(trainer.steps),
                    "train_loss": sum(losses) / len(losses),
                    "gradient_norm": sum(norms) / len(norms),
                    "val_perplexity": perplexity(average, val),
                }
                metrics.write(row)
                losses, norms = [], []
                save(run, trainer, time.monotonic() - start, losses, norms)
                bar.set_postfix(loss=row["train_loss"], val_ppl=row["val_perplexity"])
        if losses:
            save(run, trainer, time.monotonic() - start, losses, norms)
    return trainer.steps >= recipe.steps


def save(
    run: Run, trainer: Trainer, seconds: float, losses: list[float], norms: list[float]
) -> None:
    """Write the checkpoint of a run, with the losses and norms that are not yet in the metrics."""
    progress = {"steps": trainer.steps, "seconds": seconds, "losses": losses, "norms": norms}
    save_checkpoint(run.checkpoint, trainer.tensors(), progress)
