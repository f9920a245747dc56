"""The records of tied output weights: untrained logits, and whether to start with smaller ones.

The logit of the token just read begins near √d_model, so that an untrained model repeats it: today,
as in tensor2tensor, fairseq and T5. Compared are a smaller gain of the last normalisation, as in
μP, and embeddings of standard deviation 0.02, as in GPT-2.
"""

from functools import cache
from itertools import islice, product
from typing import Any

import torch

from annotated_transformer.corpora import load_corpus
from annotated_transformer.evaluation import perplexity
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.models import make_config, make_model
from annotated_transformer.text.examples import Example
from annotated_transformer.tokens import SPECIALS, Vocabularies
from annotated_transformer.training import Trainer, endless_batches, linear_schedule
from records import toy_training
from records.optimisers import SYMBOLS, TESTS, TEXTS, texts
from records.tables import Row, Tables
from records.trials import tune
from transformer_workbook.notebook import drawn_in_float64

BATCH_TOKENS, SUBWORDS, VOCAB, TIME = 512, 2000, 64, 16
RATES, WIDTHS = (2e-3, 4e-3, 8e-3), (64, 128, 256, 512)
SIZES = {"num_layers": 2, "num_heads": 4, "d_ff": 256, "dropout": 0.0, "norm_position": "pre"}
GAIN = 4.0  # the small gain times √d_model: logits begin as those of today do at a width of 16
KEYS = ["model", "norm_position", "d_model", "start"]
STARTS = ("today", "small gain", "std 0.02")
TASKS: dict[str, tuple[int, dict[str, Any]]] = {
    "toy": (300, {"d_model": 64}),
    "captions": (300, {"d_model": 128, "has_source": False}),
    "Multi30k": (150, {"d_model": 128, "share_embeddings": True}),
    "trigrams": (300, {"d_model": 128, "has_source": False}),
}
"""Steps, so few that what is seen is how training begins, and sizes."""
MODELS = [f"{task}: {start}" for task in TASKS for start in STARTS[:2]] + ["captions: std 0.02"]


def build(kind: str, vocabularies: tuple[int, int], sizes: dict[str, Any], start: str) -> Any:
    """Build an untrained model that begins in one of the ways."""
    model: Any = make_model(kind, make_config(kind, *vocabularies, SIZES | sizes))
    width, is_pre = model.config.d_model, model.config.norm_position == "pre"
    if start == "small gain":
        last = model.decoder_norm if is_pre else model.decoder[-1].residual_3.norm
        last.weight.data.fill_(GAIN / width**0.5)
    elif start == "std 0.02":
        for embedding in {model.src_embedding, model.tgt_embedding}:
            embedding.tokens.weight.data.mul_(0.02 * width**0.5)
    return model


def measure_start(kind: str, norm_position: str, d_model: int, start: str) -> Row:
    """Measure how an untrained model repeats the token that it just read."""
    torch.manual_seed(0)
    sizes = {"d_model": d_model, "d_ff": 4 * d_model, "norm_position": norm_position}
    model = build(kind, (VOCAB, VOCAB), sizes, start).eval()
    src, tgt = torch.randint(len(SPECIALS), VOCAB, (2, 64, TIME))
    with torch.no_grad():
        logs = model(src, tgt).log_softmax(dim=-1)
    row: Row = dict(zip(KEYS, (kind, norm_position, d_model, start), strict=True))
    row["p_last_token"] = f"{logs.gather(-1, tgt[..., None]).exp().mean():.3f}"
    return row | {"loss": f"{-logs[:, :-1].gather(-1, tgt[:, 1:, None]).mean():.2f}"}


def make_tied_start(tables: Tables) -> None:
    """How probable an untrained model with tied weights finds its last token again, by width.

    What would refute "it comes from how large the logits begin": the same with a smaller gain or
    smaller embeddings. Run: both lower it; with the gain it is the same at every width.
    """
    tasks = [*product(("transformer", "language"), ("pre", "post"), WIDTHS, STARTS)]
    tables.extend("tied_start", measure_start, tasks, KEYS, workers=1)


@cache
def examples(task: str) -> tuple[tuple[int, int], list[Example], list[Example]]:
    """Return the sizes of both vocabularies, and the examples to train and validate on."""
    if task == "toy":
        (src, tgt), of = toy_training.task().vocabularies, toy_training.task().examples
        return (len(src), len(tgt)), of("train"), of("val")
    if task == "trigrams":  # its symbols 1, 2, … get the ids after those of the special tokens
        size = SYMBOLS - 1 + len(SPECIALS)
        drawn = [texts(n, torch.Generator().manual_seed(n)) for n in (300 * TEXTS, TESTS)]
        read, kept = ((ids - 1 + len(SPECIALS)).tolist() for ids in drawn)
        return (size, size), [(row,) for row in read], [(row,) for row in kept]
    split = load_corpus("multi30k", "en" if task == "captions" else "de-en").split
    train, val = list(split("train")), list(split("val"))
    both = Vocabularies.learn(train, SUBWORDS)
    return (len(both.src), len(both.tgt)), both.encode(train), both.encode(val)


def train_tied(name: str, rate: float, seed: int) -> Row:
    """Train one small model with tied weights; its perplexity on validation."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    task, start = name.split(": ")
    (steps, sizes), (vocabularies, train, val) = TASKS[task], examples(task)
    kind = "language" if "has_source" in sizes else "transformer"
    with drawn_in_float64():
        model = build(kind, vocabularies, sizes | {"max_length": 128}, start).float()
    trainer = Trainer(model, smoothed_cross_entropy, linear_schedule(rate, steps, steps // 10))
    for batch in islice(endless_batches(train, BATCH_TOKENS, seed), steps):
        trainer.update([batch])
    keys = {"model": name, "rate": rate, "seed": seed}
    return keys | {"val_perplexity": f"{perplexity(model, val):.4f}"}


def make_tied(tables: Tables) -> None:
    """Perplexities of small models with tied weights, by how their logits begin.

    What would refute "to start with smaller logits is no better": one that is, each at its
    best rate. Run: the small gain is behind on captions and Multi30k, the small embeddings more so;
    on the toy corpus it is not settled. On trigrams of 63 symbols the small gain is ahead. So
    today's start stays. Longer trainings were not run.
    """
    tune(tables, "tied", train_tied, MODELS, RATES)
