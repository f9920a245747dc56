"""The record of what heads do: three seeds of the short-sentence Transformer, beside Bahdanau's."""

import math
from collections import defaultdict

import torch
from torch import Tensor

from annotated_transformer.alignment import alignment_errors, forced_attention
from annotated_transformer.bahdanau import Bahdanau
from annotated_transformer.batches import Batch
from annotated_transformer.course import ToyTask, exactly_right, train_briefly
from annotated_transformer.evaluation import perplexity
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.seq2seq import RecurrentConfig
from annotated_transformer.toy import Pair, toy_corpus
from annotated_transformer.transformer import Transformer, TransformerConfig
from records.tables import Row, Tables
from records.trials import SEEDS

SENTENCES, HEADS, HARMLESS = 200, 4, 0.01


def objects(pair: Pair) -> dict[int, int]:
    """Verb → head noun of the object that follows it, by position."""
    categories, found = [*pair.template.split(), ""], {}
    for verb, category in enumerate(categories):
        if category in ("VT", "VD"):
            place = verb + 1
            while categories[place] in ("ART", "DET", "VERY", "ADJ"):
                place += 1
            if categories[place] in ("N", "PRO"):
                found[verb] = place
    return found


def role(weights: list[Tensor], pairs: list[Pair]) -> tuple[Tensor, Tensor]:
    """For each head: the score of verb → object, and of words at the same distance."""
    score, distances, ahead = [], [], defaultdict(list)
    for pair, table in zip(pairs, weights, strict=True):
        found = objects(pair)
        for i in range(table.size(1)):
            if i in found:
                score.append(table[:, i, found[i]])
                distances.append(found[i] - i)
                continue
            for k in range(1, table.size(1) - i):
                ahead[k].append(table[:, i, i + k])
    control = [torch.stack(ahead[k]).mean(0) for k in distances]
    return torch.stack(score).mean(0), torch.stack(control).mean(0)


def measure_heads(model: Transformer, task: ToyTask) -> Row:
    """Take every head out by itself, and look for one that goes from verb to object."""
    test, pairs = task.examples("test")[:SENTENCES], task.pairs["test"][:SENTENCES]
    before, damage = math.log(perplexity(model, test)), {}
    found: dict[str, list[Tensor]] = defaultdict(list)
    for example in test:
        one = Batch.of([example])
        for name, [weights] in forced_attention(model, one.src, one.tgt_in).items():
            found[name].append(weights[0])
    roles = []
    for name, layer in model.named_modules():
        if not isinstance(layer, MultiHeadAttention):
            continue
        for head, block in enumerate(layer.output.weight.detach().chunk(HEADS, dim=1)):
            kept = block.clone()
            block.zero_()
            damage[name, head] = math.log(perplexity(model, test)) - before
            block.copy_(kept)
        if name.startswith("encoder"):
            roles += [
                (float(s / c), float(s), float(c), name, head)
                for head, (s, c) in enumerate(zip(*role(found[name], pairs), strict=True))
            ]
    worst = max(damage, key=lambda key: damage[key])
    _, score, control, name, head = max(roles)
    return {
        "harmless": sum(value < HARMLESS for value in damage.values()),
        "most_missed": f"{worst[0]} {worst[1]}", "damage": round(damage[worst], 3),
        "object_head": f"{name} {head}", "object_score": round(score, 3),
        "object_control": round(control, 3),
        "object_damage": round(damage[name, head], 3),
    }  # fmt: skip


def train_on_short_sentences(kind: str, seed: int) -> Row:
    """Train one model, and measure it."""
    torch.set_num_threads(1)
    task = ToyTask.of(toy_corpus(max_length=10, max_depth=1))
    model: torch.nn.Module
    if kind == "Bahdanau":
        model = task.build(Bahdanau, RecurrentConfig, seed, d_model=64, hidden_dim=64)
    else:
        sizes = {"norm_position": "pre", "dropout": 0.0, "max_length": 64}
        model = task.build(Transformer, TransformerConfig.tiny, seed, **sizes)
    train_briefly(model, task.examples("train"), 450, 5e-3, seed, batch_tokens=768)
    test, pairs = task.examples("test")[:SENTENCES], task.pairs["test"][:SENTENCES]
    errors = alignment_errors(model, test, [pair.alignment for pair in pairs])
    row: Row = {
        "model": kind, "seed": seed, "parameters": sum(p.numel() for p in model.parameters()),
        "exact": sum(exactly_right(model, test)) / SENTENCES,
        "aer": round([*errors.values()][-1], 3),
    }  # fmt: skip
    names = ["harmless", "most_missed", "damage", "object_head"]
    names += ["object_score", "object_control", "object_damage"]
    blank: Row = dict.fromkeys(names, "")
    return row | (measure_heads(model, task) if isinstance(model, Transformer) else blank)


def make_heads(tables: Tables) -> None:
    """What heads of a Transformer for short sentences do, and what is lost without them."""
    runs = [(kind, seed) for kind in ("Transformer", "Bahdanau") for seed in SEEDS]
    tables.extend("heads", train_on_short_sentences, runs, ["model", "seed"])
