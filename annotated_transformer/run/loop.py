"""The loop of a run: from its recipe to a trained model, saved on the way and resumed at will."""

import sys
import time
from dataclasses import asdict, dataclass, field
from functools import partial
from signal import Signals

from tqdm import tqdm

from annotated_transformer.corpora import Corpus, load_corpus
from annotated_transformer.devices import move
from annotated_transformer.errors import InputError
from annotated_transformer.evaluation import perplexity
from annotated_transformer.files import locked
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.run.checkpoint import load_checkpoint, require_fit, save_checkpoint
from annotated_transformer.run.encoded import training_pairs
from annotated_transformer.run.folder import Run
from annotated_transformer.run.interruption import asked_to_stop
from annotated_transformer.run.learning_curve import LearningCurve
from annotated_transformer.training import Trainer, endless_batches


@dataclass
class Progress:
    """Where a training stands, beside its tensors."""

    steps: int = 0
    seconds: float = 0.0
    losses: list[float] = field(default_factory=list)  # since the last validation
    norms: list[float] = field(default_factory=list)
    best: float | None = None  # the lowest validation perplexity so far
    waited: int = 0  # validations since then


def new_trainer(run: Run) -> Trainer:
    """A trainer for the fresh model of a run, set up as its recipe says."""
    recipe = run.recipe
    model = move(recipe.make_model(run.vocabularies), run.device)
    return Trainer(
        model,
        partial(smoothed_cross_entropy, smoothing=recipe.smoothing),
        recipe.make_schedule(),
        optimizer=recipe.make_optimizer(model),
        clip=recipe.clip,
        average_decay=recipe.average_decay,
        precision=recipe.precision,
    )


def train(run: Run, corpus: Corpus | None = None) -> Signals | None:
    """Train from where the run stands to the end of its recipe.

    A checkpoint is written at every validation, at the end, and when a signal asks to stop. A run
    that was interrupted and resumed ends with the same weights as one that was not.

    Returns:
        The signal that ended the training early, or ``None``.

    Raises:
        InputError: if the run is past the end of its recipe, its corpus has changed, its files do
            not fit together, or somebody else trains it.
        DivergedError: if the loss is no longer a number.
    """
    recipe = run.recipe
    corpus = corpus or load_corpus(recipe.corpus, recipe.languages)
    run.require_corpus(corpus)
    with locked(run.folder):
        session = Session(run, corpus)
        trainer, progress = session.trainer, session.progress
        bar = tqdm(total=recipe.steps, initial=trainer.steps, unit="step", dynamic_ncols=True)
        with bar, asked_to_stop() as wish:
            while trainer.steps < recipe.steps and session.patient and not wish.signal:
                batches = [next(session.batches) for _ in range(recipe.accumulate)]
                loss, norm = trainer.update(batches)
                progress.losses.append(loss)
                progress.norms.append(norm)
                bar.update()
                if trainer.steps % recipe.validate_every == 0 or trainer.steps == recipe.steps:
                    row = session.validate()
                    session.save()
                    bar.set_postfix(loss=row["train_loss"], val_ppl=row["val_perplexity"])
            if progress.losses:
                session.save()
    return wish.signal if trainer.steps < recipe.steps else None


class Session:
    """A run while it is trained: its trainer, its batches, and how far it has come."""

    def __init__(self, run: Run, corpus: Corpus) -> None:
        """Go on from the checkpoint of the run, or begin.

        Raises:
            InputError: if the run is past the end of its recipe, or its files do not fit together.
        """
        recipe, self.run = run.recipe, run
        run.require_trainable()
        run.require_steps(recipe)
        examples, left_out = training_pairs(corpus, run.vocabularies, recipe.longest)
        if left_out:
            tqdm.write(
                f"{left_out:,} of {left_out + len(examples):,} training pairs are left out: they "
                f"have more than {recipe.longest:,} tokens on a side.",
                file=sys.stderr,
            )
        self.val = run.vocabularies.encode(corpus.split("val"))
        self.average = move(recipe.make_model(run.vocabularies), run.device)
        self.trainer, self.progress = new_trainer(run), Progress()
        if run.checkpoint.exists():
            tensors, stored = load_checkpoint(run.checkpoint)
            require_fit(tensors, self.trainer.model, run.checkpoint, "model.")
            try:
                self.progress = Progress(**stored)
            except TypeError as error:
                raise InputError(f"{run.checkpoint} is not that of a run ({error}).") from error
            self.trainer.load(tensors, self.progress.steps)
            if not self.patient and self.progress.steps < recipe.steps:
                raise InputError(
                    f"{run.folder} stopped early, at step {self.progress.steps}: it waited for "
                    f"{recipe.patience} validations for a better one; to go on, raise patience in "
                    "its recipe.json."
                )
        done = self.trainer.steps
        self.curve = LearningCurve(run.learning_curve, done)
        self.batches = endless_batches(
            examples, recipe.batch_tokens, recipe.seed, done * recipe.accumulate, run.device
        )
        self.started = time.monotonic() - self.progress.seconds

    @property
    def patient(self) -> bool:
        """Whether there has been a better validation lately, or the recipe does not ask."""
        return self.run.recipe.patience is None or self.progress.waited < self.run.recipe.patience

    def validate(self) -> dict[str, int | float]:
        """Measure the averaged weights, keep them if they are the best so far; a row of the curve.

        Raises:
            DivergedError: if the weights are broken.
        """
        trainer, progress = self.trainer, self.progress
        self.average.load_state_dict(trainer.average.weights, strict=False)
        value = perplexity(self.average, self.val)
        progress.waited += 1
        if progress.best is None or value < progress.best:
            progress.best, progress.waited = value, 0
            save_checkpoint(self.run.weights, trainer.average.weights)
        row = {
            "step": trainer.steps,
            "seconds": round(time.monotonic() - self.started, 1),
            "rate": trainer.schedule(trainer.steps),
            "train_loss": sum(progress.losses) / len(progress.losses),
            "gradient_norm": sum(progress.norms) / len(progress.norms),
            "val_perplexity": value,
        }
        self.curve.write(row)
        progress.losses.clear()
        progress.norms.clear()
        return row

    def save(self) -> None:
        """Write the checkpoint; and weights to translate with, if no validation has written any."""
        if not self.run.weights.exists():
            save_checkpoint(self.run.weights, self.trainer.average.weights)
        self.progress.steps = self.trainer.steps
        self.progress.seconds = time.monotonic() - self.started
        save_checkpoint(self.run.checkpoint, self.trainer.tensors(), asdict(self.progress))
