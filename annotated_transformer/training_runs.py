"""Training runs: from a recipe to a trained model, saved on the way and resumed at will."""

import time
from copy import deepcopy
from functools import partial

from tqdm import tqdm

from annotated_transformer.checkpoints import load_checkpoint, save_checkpoint
from annotated_transformer.corpora import Corpus, load_corpus
from annotated_transformer.evaluation import perplexity
from annotated_transformer.interruption import asked_to_stop
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.metrics import Metrics
from annotated_transformer.runs import Run
from annotated_transformer.training import Trainer, endless_batches


def new_trainer(run: Run) -> Trainer:
    """A trainer for the fresh model of a run, set up as its recipe says."""
    recipe = run.recipe
    return Trainer(
        run.new_model(),
        partial(smoothed_cross_entropy, smoothing=recipe.smoothing),
        recipe.make_schedule(),
        clip=recipe.clip,
        average_decay=recipe.average_decay,
        bfloat16=recipe.bfloat16,
    )


def train(run: Run, corpus: Corpus | None = None) -> bool:
    """Train from where the run stands to the end of its recipe; say whether the end was reached.

    A checkpoint is written at every validation, at the end and on Ctrl-C. A run that was
    interrupted and resumed ends with the same weights as one that was not.

    Raises:
        InputError: if the run is past the end of its recipe, or its files do not fit together.
    """
    recipe = run.recipe
    corpus = corpus or load_corpus(recipe.corpus, recipe.languages)
    examples, val = run.encode(corpus.split("train")), run.encode(corpus.split("val"))
    trainer = new_trainer(run)
    seconds, losses, norms = 0.0, [], []
    if run.checkpoint.exists():
        tensors, progress = load_checkpoint(run.checkpoint)
        run.check_fit(tensors, trainer.model, "model.")
        run.check_steps(progress["steps"])
        trainer.load(tensors, progress["steps"])
        seconds, losses, norms = (progress[key] for key in ("seconds", "losses", "norms"))
    metrics = Metrics(run.folder / "metrics.csv", trainer.steps)
    average = deepcopy(trainer.model)
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
