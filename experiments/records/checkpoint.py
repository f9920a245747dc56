"""The checkpoint: a Transformer is trained with every recipe of a list, and the best one stored.

They are trained one after the other, with two threads, and compared by the BLEU of their
translations of the validation split. The best is stored in 16 bits; its search is also
chosen on the validation split. Every figure of its model card is measured on the stored file.
"""

import json
import tempfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from annotated_transformer.decoding import GREEDY, Search
from annotated_transformer.evaluation import evaluate, score_translations
from annotated_transformer.exchange import export_to_web
from annotated_transformer.exchange.eight_bits import restored
from annotated_transformer.exchange.to_web import PRECISIONS
from annotated_transformer.run import LineTranslator, Recipe, Run
from annotated_transformer.weights import load_tensors
from records import captions
from records.tables import Row, Tables, read

FAST: dict[str, Any] = {"engine": "fast", "subwords": 8000}
NARROW: dict[str, Any] = {**FAST, "d_model": 192, "num_heads": 6, "d_ff": 384}
WAYS: dict[str, dict[str, Any]] = {
    "ten minutes": {**NARROW, "dropout": 0.1, "steps": 3300},
    "ten minutes, dropout 0.2": {**NARROW, "steps": 3300},
    "half an hour": {**FAST, "dropout": 0.3, "steps": 7400},
}
"""The changes of the preset, by the name of the run."""
CARD = """\
# German to English image captions: a small Transformer

A Transformer of {parameters:,} parameters that translates captions of photographs from German to
English. It was trained by the package of this repository and is used in chapter 15 of the book.

```bash
annotated-transformer translate {folder} "Ein kleiner Hund rennt durch den Regen."
annotated-transformer evaluate {folder} --corpus multi30k --split test_2016_flickr
```

## What is in the folder

`model.safetensors` holds the running average of the weights, in half precision;
`vocabulary.json` the joint subword vocabulary of {vocabulary:,} entries;
`recipe.json` how the run was made.

## Figures

All of them are measured on the stored file, with a beam of {beam} and a length penalty of
α = {alpha}, which were chosen on the split `val`.

{figures}

Signature of BLEU: `{bleu}`; lower-cased: `{lower}`; of chrF: `{chrf}`.

## In a page

The laboratory of the book has its weights in 8 bits, with a scale for each row of a matrix, as
`annotated-transformer export {folder} page --to web --precision int8` writes them.
MB are those of the two files of the export, BLEU that of {test} with the numbers read back.

{page}

## Recipe

Seed {seed}, {steps:,} steps of at most {batch_tokens:,} tokens, {minutes:.0f} minutes of training
on two cores. `make capstone` makes the folder again, if it is not there.

```json
{recipe}
```

## Data

The training split of Multi30k, task 1: 29,000 captions of photographs from Flickr30k and their
translations (Elliott et al. 2016). It may be used for non-commercial research and education;
so may this model. None of its text is in this repository. The vocabulary was learned from the
training split alone.

## Limits

The model knows captions: short sentences in the present tense about what can be seen. On anything
else it writes captions, too. It repeats the habits of the people who wrote them, for example in
whom they call a man, a woman or a boy.

Texts of another form than those it was trained on, made of {test}:

{forms}
"""


def recipe_of_way(way: str) -> Recipe:
    """Return the preset with the changes of this way."""
    return captions.caption_recipe("transformer").changed(WAYS[way])


def folder_of_way(way: str) -> Path:
    """Return the folder in which this way is trained."""
    return captions.RUNS / way.replace(" ", "-")


def try_way(way: str) -> Row:
    """Train one way, or the rest of it, with two threads, and measure it.

    It translates the test split once, with the length penalty that was best on the validation.
    """
    torch.set_num_threads(2)
    recipe = recipe_of_way(way)
    run = captions.train_run(folder_of_way(way), recipe)
    searches = [replace(recipe.search, alpha=alpha) for alpha in captions.ALPHAS]
    found = [(captions.scores_of(run, "val", search), search) for search in searches]
    val, search = max(found, key=lambda each: each[0]["BLEU"].value)
    test = captions.scores_of(run, captions.TEST, search)
    sizes = ("d_model", "num_layers", "num_heads", "d_ff", "dropout")
    settings = ("steps", "peak_rate", "batch_tokens", "subwords", "average_decay", "engine")
    return {
        "name": way,
        **{name: recipe.sizes[name] for name in sizes},
        "norm": recipe.sizes["norm_position"],
        **{name: getattr(recipe, name) for name in settings},
        "bfloat16": recipe.precision == "bfloat16",
        "minutes": round(float(read(run.learning_curve)[-1]["seconds"]) / 60, 1),
        "val_perplexity": round(val["perplexity"].value, 3),
        "beam": search.beam,
        "alpha": search.alpha,
        "val_bleu": round(val["BLEU"].value, 2),
        "test_bleu": round(test["BLEU"].value, 2),
    }


def try_beam(beam: int, alpha: float) -> Row:
    """Score the stored model's translations of the validation split with one way to search."""
    torch.set_num_threads(1)
    search = Search(beam=beam, alpha=alpha)
    bleu = captions.scores_of(Run.open(captions.CHECKPOINT), "val", search)["BLEU"]
    return {"beam": beam, "alpha": alpha, "val_bleu": round(bleu.value, 2)}


def score_bin(low: int, high: int) -> Row:
    """Count the test sentences of one bin, and score the checkpoint's translations of them."""
    torch.set_num_threads(1)
    test = captions.corpus().split(captions.TEST)
    pairs = [pair for pair in test if captions.in_bin(pair[0], low, high)]
    run = Run.open(captions.CHECKPOINT)
    bleu, *_ = evaluate(run.model, run.vocabularies, pairs, run.recipe.search)
    return {"low": low, "high": high, "sentences": len(pairs), "checkpoint": round(bleu.value, 2)}


def best_of(rows: list[Row]) -> Row:
    """Return the row with the highest BLEU on the validation split."""
    return max(rows, key=lambda row: float(row["val_bleu"]))


def mark_best(rows: list[Row]) -> list[Row]:
    """Tell for every row whether it is the best."""
    best = best_of(rows)
    return [{**row, "chosen": row is best} for row in rows]


def forms_of(run: Run) -> str:
    """Make a table of BLEU on the test split as it is, and in forms without training text."""
    pairs = list(captions.corpus().split(captions.TEST))
    twos = [
        tuple(map(" ".join, zip(*pairs[i : i + 2], strict=True))) for i in range(0, len(pairs), 2)
    ]
    capitals = [(source.upper(), target) for source, target in pairs]
    lines = ["| form | BLEU, lower-cased |", "|---|---|"]
    for form, texts, split in (
        ("as they are", pairs, None),
        ("in capitals", capitals, None),
        ("two captions on a line", twos, None),
        ("two captions on a line, `--split-sentences de`", twos, "de"),
    ):
        translator = LineTranslator(run, run.recipe.search, split=split)
        found = translator.translate([source.encode() for source, _ in texts], workers=1)
        scores = score_translations([line.translations[0] for line in found], [t for _, t in texts])
        bleu = captions.by_name(scores)["BLEU, lower-cased"]
        lines.append(f"| {form} | {bleu.value:.2f} |")
    return "\n".join(lines)


def in_a_page(run: Run, precision: str) -> Row:
    """Score the translations of the test split with the weights of an export to the web."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "web")
        export_to_web(run, folder, precision)
        size = sum(path.stat().st_size for path in folder.iterdir())
        weights = restored(load_file(folder / "model.safetensors"))
    other = replace(run)  # with a model of its own
    load_tensors(other.model, weights)
    searches = {"BLEU, greedy": GREEDY, f"BLEU, beam of {run.recipe.search.beam}": None}
    found = {
        name: captions.scores_of(other, captions.TEST, search)["BLEU"].value
        for name, search in searches.items()
    }
    return {"precision": precision, "MB": size / 1e6, **found}


def page_table(run: Run) -> str:
    """Make a table of these scores in every precision."""
    rows = [in_a_page(run, precision) for precision in PRECISIONS]
    lines = [f"| {' | '.join(rows[0])} |", "|" + "---|" * len(rows[0])]
    for precision, *figures in (row.values() for row in rows):
        lines.append(f"| {precision} | {' | '.join(f'{figure:.2f}' for figure in figures)} |")
    return "\n".join(lines)


def write_card(run: Run, minutes: float) -> None:
    """Write README.md beside the checkpoint."""
    recipe, signatures = run.recipe, {}
    lines = ["| split | perplexity | BLEU | BLEU, lower-cased | chrF |", "|---|---|---|---|---|"]
    for split in captions.SPLITS:
        found = captions.scores_of(run, split)
        names = ["perplexity", *captions.METRICS.values()]
        figures = " | ".join(f"{found[name].value:.2f}" for name in names)
        lines.append(f"| {split} | {figures} |")
        signatures = {name: score.signature for name, score in found.items()}
    card = CARD.format(
        parameters=sum(p.numel() for p in run.model.parameters()),
        folder=f"checkpoints/{run.folder.name}",
        vocabulary=len(run.vocabularies.tgt),
        beam=recipe.search.beam,
        alpha=recipe.search.alpha,
        figures="\n".join(lines),
        bleu=signatures["BLEU"],
        lower=signatures["BLEU, lower-cased"],
        chrf=signatures["chrF"],
        minutes=minutes,
        test=captions.TEST,
        forms=forms_of(run),
        page=page_table(run),
        recipe=json.dumps(recipe.to_settings(), indent=2),
        **{name: getattr(recipe, name) for name in ("seed", "steps", "batch_tokens")},
    )
    (run.folder / "README.md").write_text(card, encoding="utf-8")


def make_tried(tables: Tables) -> list[Row]:
    """The Transformer of the checkpoint, trained in every way of the list."""
    ways = [(way,) for way in WAYS]
    return tables.extend("capstone_tried", try_way, ways, ["name"], mark_best, workers=1, threads=2)


def make_checkpoint(tables: Tables) -> None:
    """The best of the ways as a checkpoint, with the best of several searches, and its card."""
    best = best_of(make_tried(tables))
    folder = captions.CHECKPOINT
    if tables.lacks(folder):
        Run.open(folder_of_way(best["name"])).export(folder)
    keys = ["beam", "alpha"]
    beams = tables.extend("capstone_beams", try_beam, captions.SEARCHES, keys, mark_best)
    if tables.lacks(folder / "README.md"):
        chosen = best_of(beams)
        run = Run.open(folder)
        search = Search(beam=int(chosen["beam"]), alpha=float(chosen["alpha"]))
        run = run.with_recipe(replace(run.recipe, search=search))
        write_card(run, float(best["minutes"]))


def make_lengths(tables: Tables) -> None:
    """BLEU of the checkpoint, by the length of a sentence."""
    make_checkpoint(tables)
    tables.extend("capstone_lengths", score_bin, list(pairwise(captions.EDGES)), ["low", "high"])
