"""Train the Transformer of the capstone, store it with half the bits, and write its model card.

    python tools/make_checkpoint.py        # more than an hour of CPU time

Every figure of the card is measured on the stored file, not on the model that was trained.
"""

import csv
import json
import sys
import tempfile
from pathlib import Path

from annotated_transformer.corpora import Corpus, load_corpus
from annotated_transformer.evaluation import perplexity, score_translations, translate
from annotated_transformer.recipes import Recipe, preset
from annotated_transformer.runs import Run
from annotated_transformer.training_runs import train

CHECKPOINT = Path(__file__).resolve().parent.parent / "checkpoints" / "multi30k-de-en"
SPLITS = ("val", "test_2016_flickr", "test_2017_flickr")
CARD = """\
# German to English image captions: a small Transformer

A Transformer of {parameters:,} parameters that translates captions of photographs from German to
English. It was trained by the package of this repository and is used in chapter 14 of the book.

```bash
annotated-transformer translate {folder} "Ein Hund rennt über die Wiese."
annotated-transformer evaluate {folder} --corpus multi30k --split test_2016_flickr
```

## What is in the folder

`checkpoint.safetensors` holds the running average of the weights, in half precision;
`vocabulary.src.json` and `vocabulary.tgt.json` the joint subword vocabulary of {vocabulary:,}
entries (the same one twice); `recipe.json` how the run was made.

## Figures

All of them are measured on the stored file, with beam {beam} and a length penalty of α = {alpha},
which were chosen on the split `val`.

{figures}

Signature of BLEU: `{bleu}`; lower-cased: `{lower}`; of chrF: `{chrf}`.

## Recipe

Seed {seed}, {steps:,} steps of at most {batch_tokens:,} tokens, {minutes:.0f} minutes of training.

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


def measured(run: Run, corpus: Corpus, beam: int, alpha: float) -> tuple[str, dict[str, str]]:
    """Score the stored model; give the table of the card, and the signatures."""
    model, signatures = run.model(), {}
    lines = ["| split | perplexity | BLEU | BLEU, lower-cased | chrF |", "|---|---|---|---|---|"]
    for split in SPLITS:
        pairs = corpus.split(split)
        sources, references = (list(side) for side in zip(*pairs, strict=True))
        vocabularies = run.src_vocabulary, run.tgt_vocabulary
        found = translate(model, sources, *vocabularies, beam_size=beam, alpha=alpha)
        bleu, lower, chrf, _ = score_translations(found, references)
        value = perplexity(model, run.encode(pairs))
        scores = " | ".join(f"{score.value:.2f}" for score in (bleu, lower, chrf))
        lines.append(f"| {split} | {value:.2f} | {scores} |")
        signatures = {"bleu": bleu.signature, "lower": lower.signature, "chrf": chrf.signature}
    return "\n".join(lines), signatures


def write_card(run: Run, corpus: Corpus, minutes: float, beam: int, alpha: float) -> None:
    """Write README.md beside the checkpoint."""
    figures, signatures = measured(run, corpus, beam, alpha)
    recipe = json.loads((run.folder / "recipe.json").read_text(encoding="utf-8"))
    card = CARD.format(
        parameters=sum(p.numel() for p in run.model().parameters()),
        folder=f"checkpoints/{run.folder.name}",
        vocabulary=len(run.tgt_vocabulary),
        figures=figures,
        beam=beam,
        alpha=alpha,
        minutes=minutes,
        recipe=json.dumps(recipe, indent=2),
        **signatures,
        **{key: recipe[key] for key in ("seed", "steps", "batch_tokens")},
    )
    (run.folder / "README.md").write_text(card, encoding="utf-8")


def make(folder: Path, recipe: Recipe, beam: int = 4, alpha: float = 0.6) -> Run:
    """Train, export and describe one model, in an empty folder."""
    corpus = load_corpus("multi30k")
    with tempfile.TemporaryDirectory() as scratch:
        run = Run.create(Path(scratch) / "run", recipe, corpus)
        train(run, corpus)
        with (run.folder / "metrics.csv").open(newline="", encoding="utf-8") as file:
            seconds = float(list(csv.DictReader(file))[-1]["seconds"])
        exported = run.export(folder)
    write_card(exported, corpus, seconds / 60, beam, alpha)
    return exported


def main() -> int:
    """Make the checkpoint, if it is not there."""
    if not CHECKPOINT.exists():
        make(CHECKPOINT, preset("transformer", "multi30k"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
