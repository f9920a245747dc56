"""The training loop of a run: from its recipe to a trained model, saved and resumable."""

import time
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import asdict
from functools import partial
from signal import Signals
from typing import Any, cast

from tqdm import tqdm

from annotated_transformer.corpora import Corpus, load_corpus
from annotated_transformer.evaluation import perplexity
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.sentences import spoken
from annotated_transformer.ground.settings import build
from annotated_transformer.run.checkpoint import (
    load_checkpoint,
    load_state,
    require_finite,
    save_checkpoint,
)
from annotated_transformer.run.encoded import told_unknown
from annotated_transformer.run.engines import ENGINES
from annotated_transformer.run.files import locked
from annotated_transformer.run.folder import Run
from annotated_transformer.run.interruption import asked_to_stop
from annotated_transformer.run.learning_curve import LearningCurve
from annotated_transformer.run.preparation import prepare
from annotated_transformer.run.processes import ALONE, Processes, SharedTrainer
from annotated_transformer.run.progress import Progress
from annotated_transformer.run.screen import SCREEN, tell
from annotated_transformer.training import Trainer, endless_batches
from annotated_transformer.translator import NextTokenModel
from annotated_transformer.weights import load_tensors


def new_trainer(run: Run) -> Trainer:
    """Make a trainer for the initial model of a run, set up by its recipe."""
    recipe = run.recipe
    model, schedule = run.first_model(), recipe.make_schedule()
    settings: dict[str, Any] = {
        "optimizer": recipe.make_optimizer(model),
        "clip": recipe.clip,
        "average_decay": recipe.average_decay,
        "precision": recipe.precision,
    }
    return ENGINES[recipe.engine].trainer(model, recipe.smoothing, schedule, **settings)


def train(run: Run, corpus: Corpus | None = None, processes: Processes = ALONE) -> Signals | None:
    """Train from the run's current step to the end of its recipe.

    A checkpoint is written at every validation, at the end, and when a signal asks to stop. A run
    that was interrupted and resumed ends with the same weights as one that was not. Several
    processes take the same steps as one would; all of them call this function.

    Returns:
        The signal that ended the training early, or ``None``.

    Raises:
        InputError: if the run is past the end of its recipe, its corpus has changed, its files do
            not fit together, another process trains it, or it needs another number of processes.
        DivergedError: if the loss, or a weight, is no longer finite.
    """
    recipe = run.recipe
    corpus = corpus or load_corpus(recipe.corpus, recipe.languages)
    run.require_corpus(corpus)
    parts, stop = processes.share_of(recipe.accumulate), 0
    with locked(run.folder) if processes.is_main else nullcontext():
        session = Session(run, corpus, processes)
        if processes.is_main:  # all checks are done
            run.keep_recipe()
        trainer, progress = session.trainer, session.progress
        bar = tqdm(
            total=recipe.steps, initial=trainer.steps, unit=spoken("step"), dynamic_ncols=True,
            disable=not processes.is_main, file=SCREEN,
        )  # fmt: skip
        with bar, asked_to_stop() as wish:
            if recipe.start and not run.checkpoint.exists():
                session.validate()  # the start: weights must be better to be kept
            while trainer.steps < recipe.steps and session.patient and not stop:
                batches = [next(session.batches) for _ in range(parts)]
                loss, norm = trainer.update(batches)
                progress.losses.append(loss)
                progress.norms.append(norm)
                bar.update()
                if trainer.steps % recipe.validate_every == 0 or trainer.steps == recipe.steps:
                    row = session.validate()
                    session.save()
                    bar.set_postfix(loss=row["train_loss"], val_ppl=row["val_perplexity"])
                stop = processes.largest(wish.signal or 0)  # all stop after the same step
            if progress.losses:
                session.save()
        if processes.is_main and not stop and session.start_is_best:
            tell(
                f"No validation was better than the start, of perplexity {progress.best:.4g}: the "
                f"weights of {run.folder} are those of the start."
            )
    return Signals(stop) if stop and trainer.steps < recipe.steps else None


class Session:
    """A run in training: its trainer, its batches, and its progress."""

    def __init__(self, run: Run, corpus: Corpus, processes: Processes) -> None:
        """Resume from the checkpoint of the run, or start.

        Raises:
            InputError: if the run is past the end of its recipe, its files do not fit together, or
                it was started with another number of processes.
        """
        recipe, self.run, self.processes = run.recipe, run, processes
        processes.require_engine(recipe.engine)
        run.require_trainable()
        run.require_steps(recipe)
        text = run.prepared
        if text is None or text.recipe != recipe:
            text = prepare(recipe, corpus, run.vocabularies, run.device)
        if text.left_out and processes.is_main:
            tell(
                f"{text.left_out:,} of {text.left_out + len(text.train):,} training pairs are left "
                f"out: they have more than {recipe.longest:,} tokens on a side."
            )
        for name, examples in (("train", text.train), ("val", text.val)):
            if processes.is_main and (told := told_unknown(name, examples)):
                tell(told)
        self.val = text.val
        self.trainer, self.progress = new_trainer(run), Progress.at_first(processes.number)
        self.average: NextTokenModel = deepcopy(cast(NextTokenModel, self.trainer.model))
        self.started, self.is_best = time.monotonic(), False  # whether it has to be saved
        if processes.number > 1:
            self.trainer = SharedTrainer(self.trainer, processes)
        if resumed := run.checkpoint.exists():
            tensors, stored = load_checkpoint(run.checkpoint)
            try:
                self.progress = build(Progress, stored)
            except InputError as error:
                raise InputError(f"{run.checkpoint} is not that of a run ({error}).") from error
            if self.progress.processes != processes.number:
                raise InputError(
                    f"{run.folder} is trained by {self.progress.processes} processes, it cannot be "
                    f"resumed with {processes.number}: each has its own random numbers."
                )
            load_state(tensors, self.trainer, self.progress.steps, run.checkpoint)
            self.started -= self.progress.seconds
        done = self.trainer.steps
        if processes.is_main:
            # A training that began without saving begins again, with the row of its start.
            self.curve = LearningCurve(run.learning_curve, done if resumed else -1)
        if resumed:
            if processes.first(lambda: not run.weights.exists()):
                self.replace_weights()
            if not self.patient and self.progress.steps < recipe.steps:
                raise InputError(
                    f"{run.folder} stopped early, at step {self.progress.steps}: it waited for "
                    f"{recipe.patience} validations for a better one; to continue, raise patience "
                    "in its recipe.json."
                )
        first = done * recipe.accumulate + processes.rank
        self.batches = endless_batches(
            text.train, recipe.batch_tokens, recipe.seed, first, run.device, processes.number
        )

    @property
    def patient(self) -> bool:
        """Tell whether validation improved recently, or the recipe sets no patience."""
        return self.run.recipe.patience is None or self.progress.waited < self.run.recipe.patience

    @property
    def start_is_best(self) -> bool:
        """Tell whether no validation was better than that of the weights from another run."""
        return self.curve.at_first is not None and self.curve.at_first == self.progress.best

    def replace_weights(self) -> None:
        """Write missing weights to translate with: those of the best validation.

        If the training has continued since then, the current ones replace them.
        """
        lost = self.processes.first(lambda: not self.start_is_best)
        if lost and (self.progress.losses or self.progress.waited):
            self.progress.best = None
            if self.processes.is_main:
                tell(f"{self.run.weights} is gone: step {self.trainer.steps} replaces it.")
        self.save()

    def validate(self) -> dict[str, int | float]:
        """Validate the averaged weights, and note if they are the best; return a row of the curve.

        Its seconds are the time until the step, without its validation. Before the first step it
        has neither a rate nor losses, and the best weights are in the file of the start.

        Raises:
            DivergedError: if the weights are broken.
        """
        trainer, progress = self.trainer, self.progress
        seconds = time.monotonic() - self.started
        load_tensors(self.average, trainer.average.weights)
        value = self.processes.first(lambda: perplexity(self.average, self.val))
        progress.waited += 1
        if progress.best is None or value < progress.best:
            progress.best, progress.waited = value, 0
            self.is_best = trainer.steps > 0
        row = {"step": trainer.steps, "seconds": round(seconds, 1), "val_perplexity": value}
        if progress.losses:
            row["rate"] = trainer.schedule(trainer.steps)
            row["train_loss"] = sum(progress.losses) / len(progress.losses)
            row["gradient_norm"] = sum(progress.norms) / len(progress.norms)
        if self.processes.is_main:
            self.curve.append(row)
        progress.losses.clear()
        progress.norms.clear()
        return row

    def save(self) -> None:
        """Write the checkpoint; and weights to translate with, if they are the best or missing.

        The checkpoint comes first where there is none: weights alone mean that it was lost.

        Raises:
            DivergedError: if the last step broke the weights; the previous files stay.
        """
        self.progress.steps = self.trainer.steps
        self.progress.seconds = time.monotonic() - self.started
        tensors = self.trainer.tensors()
        require_finite(self.trainer)
        if not self.processes.is_main:
            return
        run, checkpoint = self.run, partial(save_checkpoint, self.run.checkpoint, tensors)
        is_first = not run.checkpoint.exists()
        if is_first:
            checkpoint(asdict(self.progress))
        if self.start_is_best and not run.weights.exists():
            save_checkpoint(run.weights, run.read(run.start))
        elif self.is_best or not run.weights.exists():
            save_checkpoint(run.weights, self.trainer.average.weights)
        if not is_first:
            checkpoint(asdict(self.progress))
        self.is_best = False
