"""Train the Transformer of the capstone in every way of a list, and store the best for the book.

The ways are trained one after the other, with two threads, and told apart by the BLEU of their
translations of the validation split. The best is stored with half the bits; how it searches is
chosen on the validation split, too. Every figure of its model card is measured on the stored file.
"""

import csv
import json
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.corpora import Corpus, load_corpus
from annotated_transformer.evaluation import perplexity, score_translations
from annotated_transformer.recipes import Recipe, preset
from annotated_transformer.runs import Run
from annotated_transformer.training_runs import train
from record_tables import Row, extend

COMMAND = "make capstone"
ROOT = Path(__file__).resolve().parent.parent
CHECKPOINT = ROOT / "checkpoints" / "multi30k-de-en"
RUNS = ROOT / "runs" / "capstone"
TEST = "test_2016_flickr"
SPLITS = ("val", TEST, "test_2017_flickr")
BEAMS = (2, 4, 8)
ALPHAS = (0.0, 0.6, 1.0, 1.4, 1.8, 2.2)
SEARCHES: list[tuple[Any, ...]] = [(1, 0.0), *product(BEAMS, ALPHAS)]
"""Beam and length penalty: greedy search, for which the penalty means nothing, and others."""
WAYS: dict[str, dict[str, Any]] = {
    "dropout 0.2": {"dropout": 0.2},
}
"""What differs from the preset, by the name of the run."""
CARD = """\
# German to English image captions: a small Transformer

A Transformer of {parameters:,} parameters that translates captions of photographs from German to
English. It was trained by the package of this repository and is used in chapter 14 of the book.

```bash
annotated-transformer translate {folder} "Ein kleiner Hund rennt durch den Regen."
annotated-transformer evaluate {folder} --corpus multi30k --split test_2016_flickr
```

## What is in the folder

`checkpoint.safetensors` holds the running average of the weights, in half precision;
`vocabulary.src.json` and `vocabulary.tgt.json` the joint subword vocabulary of {vocabulary:,}
entries (the same one twice); `recipe.json` how the run was made.

## Figures

All of them are measured on the stored file, with a beam of {beam} and a length penalty of
α = {alpha}, which were chosen on the split `val`.

{figures}

Signature of BLEU: `{bleu}`; lower-cased: `{lower}`; of chrF: `{chrf}`.

## Recipe

Seed {seed}, {steps:,} steps of at most {batch_tokens:,} tokens, {minutes:.0f} minutes of training
on two cores. `make capstone` makes the folder again, if it is not there.

```json
{recipe}
```

## Data

The training split of Multi30k, task 1: 29,000 captions of photographs from Flickr30k and their
translations (Elliott and others 2016). It may be used for non-commercial research and education;
so may this model. None of its text is in this repository. The vocabulary was learned from the
training split alone.

## Limits

The model knows captions: short sentences in the present tense about what can be seen. On anything
else it writes captions, too. It repeats the habits of the people who wrote them, for example in
whom they call a man, a woman or a boy.
"""


@cache
def corpus() -> Corpus:
    """Read the corpus once in each process."""
    return load_corpus("multi30k")


def recipe_of(way: str) -> Recipe:
    """Return the preset with what is different about this way."""
    recipe = preset("transformer", "multi30k", bfloat16=True)
    changes = dict(WAYS[way])
    sizes = {name: changes.pop(name) for name in list(changes) if name in recipe.sizes}
    return replace(recipe, sizes=recipe.sizes | sizes, **changes)


def scores(run: Run, split: str) -> Row:
    """Score a run's translations of a split, with sacreBLEU's signatures."""
    sources, references = (list(side) for side in zip(*corpus().split(split), strict=True))
    bleu, lower, chrf, _ = score_translations(run.translate(sources), references)
    return {"bleu": bleu, "lower": lower, "chrf": chrf}


def minutes_of(run: Run) -> float:
    """Return how long a run was trained, by its own clock."""
    with (run.folder / "metrics.csv").open(newline="", encoding="utf-8") as file:
        return float(list(csv.DictReader(file))[-1]["seconds"]) / 60


def try_way(way: str) -> Row:
    """Train one way, or what is left of it, with two threads, and measure it."""
    torch.set_num_threads(2)
    folder = RUNS / way.replace(" ", "-")
    run = Run.open(folder) if folder.exists() else Run.create(folder, recipe_of(way), corpus())
    train(run, corpus())
    recipe = run.recipe
    return {
        "name": way,
        **recipe.sizes,
        **{name: getattr(recipe, name) for name in ("steps", "peak_rate", "batch_tokens")},
        **{name: getattr(recipe, name) for name in ("subwords", "average_decay", "bfloat16")},
        "minutes": round(minutes_of(run), 1),
        "val_perplexity": round(perplexity(run.model(), run.encode(corpus().split("val"))), 3),
        "val_bleu": round(scores(run, "val")["bleu"].value, 2),
        "test_bleu": round(scores(run, TEST)["bleu"].value, 2),
    }


def try_beam(beam: int, alpha: float) -> Row:
    """Score the stored model's translations of the validation split with one way to search."""
    torch.set_num_threads(1)
    bleu = scores(Run.open(CHECKPOINT).searching(beam, alpha), "val")["bleu"]
    return {"beam": beam, "alpha": alpha, "val_bleu": round(bleu.value, 2)}


def best_of(rows: list[Row]) -> Row:
    """Return the row with the highest BLEU on the validation split."""
    return max(rows, key=lambda row: float(row["val_bleu"]))


def mark_best(rows: list[Row]) -> list[Row]:
    """Tell for every row whether it is the best."""
    best = best_of(rows)
    return [{**row, "chosen": row is best} for row in rows]


def write_card(run: Run, minutes: float) -> None:
    """Write README.md beside the checkpoint."""
    model, signatures = run.model(), {}
    lines = ["| split | perplexity | BLEU | BLEU, lower-cased | chrF |", "|---|---|---|---|---|"]
    for split in SPLITS:
        found = scores(run, split)
        value = perplexity(model, run.encode(corpus().split(split)))
        figures = " | ".join(f"{score.value:.2f}" for score in found.values())
        lines.append(f"| {split} | {value:.2f} | {figures} |")
        signatures = {name: score.signature for name, score in found.items()}
    recipe = json.loads((run.folder / "recipe.json").read_text(encoding="utf-8"))
    card = CARD.format(
        parameters=sum(p.numel() for p in model.parameters()),
        folder=f"checkpoints/{run.folder.name}",
        vocabulary=len(run.tgt_vocabulary),
        figures="\n".join(lines),
        minutes=minutes,
        recipe=json.dumps(recipe, indent=2),
        **signatures,
        **{key: recipe[key] for key in ("seed", "steps", "batch_tokens", "beam", "alpha")},
    )
    (run.folder / "README.md").write_text(card, encoding="utf-8")


def make(records: Path) -> None:
    """Make the records of what was tried, and the checkpoint, if they are not there."""
    path = records / "capstone_tried.csv"
    tasks = [(way,) for way in WAYS]
    tried = extend(path, try_way, tasks, ["name"], mark_best, 1, COMMAND, threads=2)
    best = best_of(tried)
    fresh = not CHECKPOINT.exists()
    if fresh:
        Run.open(RUNS / best["name"].replace(" ", "-")).export(CHECKPOINT)
    path = records / "capstone_beams.csv"
    beams = extend(path, try_beam, SEARCHES, ["beam", "alpha"], mark_best, command=COMMAND)
    search = best_of(beams)
    if fresh:
        run = Run.open(CHECKPOINT).searching(int(search["beam"]), float(search["alpha"]))
        run.write_recipe()
        write_card(run, float(best["minutes"]))
