"""The record of speculative decoding: what several drafts are worth to one target."""

from functools import cache, partial

import torch
from torch import Tensor

from annotated_transformer.batches import Batch
from annotated_transformer.decoding import next_log_probs
from annotated_transformer.run import Run
from annotated_transformer.speculative import speculate
from annotated_transformer.tokens import BOS, EOS
from annotated_transformer.translator import Translator, evaluating
from records.costs import times_in_turns
from records.tables import ROOT, Row, Tables
from records.toy_training import task, train
from records.transformers import build_transformer
from transformer_workbook.notebook import exactly_right

RATE, SENTENCES, REPEATS = 4e-3, 100, 5
DRAFTS: dict[str, str | int] = {  # a checkpoint, or the steps of training of a Transformer
    "random weights": 0,
    "Transformer, 50 steps": 50,
    "Transformer, 100 steps": 100,
    "Transformer, 200 steps": 200,
    "GRU": "toy-seq2seq",
    "Bahdanau": "toy-bahdanau",
    "the target itself": "toy-transformer",
}
USUAL, OTHERS = 4, (1, 2, 8)  # tokens drafted: by every draft, and by the GRU


@cache
def model(name: str | int) -> Translator:
    """Load the checkpoint of that name, or train a Transformer for so many steps."""
    if isinstance(name, str):
        return Run.open(ROOT / "checkpoints" / name).model
    young = build_transformer("sinusoidal", seed=0)
    if name:
        train(young, name, RATE, seed=0)
    return young


def write(target: Translator, src: Tensor) -> list[int]:
    """Search greedily with as little bookkeeping as the speculation has."""
    tokens = [BOS]
    with evaluating(target):
        state = target.start(src)
        while tokens[-1] != EOS and len(tokens) <= src.size(1) + 50:
            logits, state = target.extend(state, src.new_tensor([tokens[-1:]]))
            tokens.append(int(next_log_probs(logits[0]).argmax()))
    return tokens


def measure(draft: str, k: int) -> Row:
    """Translate the first test sentences one by one, with this draft and without, in turns."""
    torch.set_num_threads(1)
    target, small, test = model("toy-transformer"), model(DRAFTS[draft]), task().examples("test")
    sources = [Batch.of([pair]).src for pair in test[:SENTENCES]]
    found = [speculate(target, small, src, k) for src in sources]
    alone = [write(target, src) for src in sources]
    works = [
        partial(lambda work: [work(src) for src in sources], work)
        for work in (partial(write, target), lambda src: speculate(target, small, src, k))
    ]
    plain, faster = times_in_turns(*works, repeats=REPEATS)
    calls = [call for f in found for call in zip(f.drafted, f.accepted, strict=True)]
    return {
        "draft": draft,
        "k": k,
        "exact": sum(exactly_right(small, test)) / len(test),  # by the draft alone
        "same": sum([BOS, *f.tokens, EOS] == a for f, a in zip(found, alone, strict=True)),
        "tokens": sum(len(tokens) - 1 for tokens in alone),
        "calls": len(calls),
        "accepted": sum(accepted for _, accepted in calls),
        "rejected": sum(accepted < drafted for drafted, accepted in calls),
        "plain_milliseconds": round(1000 * plain / len(sources), 2),
        "speculative_milliseconds": round(1000 * faster / len(sources), 2),
        "ratio": round(plain / faster, 2),
    }


def make_speculative_times(tables: Tables) -> None:
    """Calls, accepted tokens and time of speculative decoding, and the time of greedy search."""
    runs = [(draft, USUAL) for draft in DRAFTS] + [("GRU", k) for k in OTHERS]
    # One at a time: nothing else may run beside what is timed.
    tables.extend("speculative_times", measure, runs, ["draft", "k"], workers=1)
