"""The records of what heads do: in Transformers for short sentences, and in a decoder of chapter 6.

Every choice (the rate, the head that is looked at) is made on validation sentences, every figure is
that of test sentences.
"""

import copy
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.bahdanau import Bahdanau
from annotated_transformer.batches import Batch
from annotated_transformer.evaluation import (
    alignment_error_rate,
    alignment_errors,
    forced_attention,
    perplexity,
    strongest_links,
)
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.luong import Luong, LuongConfig
from annotated_transformer.masking import padding_mask
from annotated_transformer.multi_head_attention import KeyValues, MultiHeadAttention
from annotated_transformer.seq2seq import RecurrentConfig
from annotated_transformer.text.examples import Example
from annotated_transformer.tokens import PAD
from annotated_transformer.toy import Pair, toy_corpus
from annotated_transformer.training import Trainer, endless_batches, linear_schedule
from annotated_transformer.transformer import Transformer, TransformerConfig
from annotated_transformer.translator import State
from records import toy_training
from records.tables import Row, Tables
from records.transformers import build_transformer, train_transformer
from records.trials import SEEDS, best_rate, tune, tuned_rate
from transformer_workbook.notebook import (
    ToyTask,
    exactly_right,
    paired_difference,
)

HEADS, HARMLESS = 4, 0.01  # a head is harmless if less than a hundredth of a nat is lost without it
RATES = (2.5e-3, 5e-3, 1e-2)
STEPS, BATCH_TOKENS = 450, 768
DECODER_STEPS, DECODER_RATE = 800, 4e-3

Head = tuple[str, int]  # the name of the attention, and the number of the head
Replace = Callable[[Tensor], Tensor]  # the output of a head, and what stands in its place


@cache
def short_task() -> ToyTask:
    """Return short sentences, made once in each process."""
    return ToyTask.of(toy_corpus(max_length=10, max_depth=1))


@contextmanager
def ablated(
    layer: MultiHeadAttention, head: int, replace_output: Replace = torch.zeros_like
) -> Iterator[None]:
    """Inside the block, the output of a head (batch, time, width), before W_O, is replaced."""

    def hook(_: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
        heads = list(inputs[0].chunk(HEADS, dim=-1))
        heads[head] = replace_output(heads[head])
        return (torch.cat(heads, dim=-1),)

    handle = layer.output.register_forward_pre_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def objects(pair: Pair) -> dict[int, int]:
    """Map each verb to the head noun of the object that follows it, by position."""
    categories, found = [*pair.template.split(), ""], {}
    for verb, category in enumerate(categories):
        if category in ("VT", "VD"):
            place = verb + 1
            while categories[place] in ("ART", "DET", "VERY", "ADJ"):
                place += 1
            if categories[place] in ("N", "PRO"):
                found[verb] = place
    return found


def roles(weights: list[Tensor], pairs: list[Pair]) -> tuple[Tensor, Tensor]:
    """Compute (verbs, heads): the weight from verb to object, and for other words so far apart."""
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
    return torch.stack(score), torch.stack(control)


def seen_by(model: nn.Module, examples: list[Example]) -> dict[str, list[Tensor]]:
    """Compute the weights (heads, query, key) of every attention, for each sentence."""
    found: dict[str, list[Tensor]] = defaultdict(list)
    for example in examples:
        one = Batch.of([example])
        for name, [weights] in forced_attention(model, one.src, one.tgt_in).items():
            found[name].append(weights[0])
    return found


def end_values(model: Transformer, name: str, examples: list[Example]) -> tuple[Tensor, Tensor]:
    """Compute (heads,): the mean length of the value of the source's EOS, and of its words."""
    layer, ends, words = model.get_submodule(name), [], []

    def look(module: nn.Module, arguments: Any, values: Tensor) -> None:
        norms = layer.split(values).norm(dim=-1)[0]  # (heads, key)
        ends.append(norms[:, -1])
        words.append(norms[:, :-1].mean(1))

    # On the projection: the decoder projects the source once, outside the call of the attention.
    handle = layer.value.register_forward_hook(look)
    with torch.no_grad():
        for example in examples:
            one = Batch.of([example])
            model(one.src, one.tgt_in)
    handle.remove()
    return torch.stack(ends).mean(0), torch.stack(words).mean(0)


def attentions(model: nn.Module) -> dict[str, MultiHeadAttention]:
    """All attentions of a model, by name."""
    return {n: m for n, m in model.named_modules() if isinstance(m, MultiHeadAttention)}


def damage_by_head(
    model: Transformer,
    examples: list[Example],
    replacing: Callable[[Head], Replace] = lambda _: torch.zeros_like,
) -> dict[Head, float]:
    """Compute the effect of ablating each head, in nats per token."""
    before, damage = math.log(perplexity(model, examples)), {}
    for name, layer in attentions(model).items():
        for head in range(HEADS):
            with ablated(layer, head, replacing((name, head))):
                damage[name, head] = math.log(perplexity(model, examples)) - before
    return damage


def weight_of_end(seen: dict[str, list[Tensor]], names: list[str]) -> dict[Head, float]:
    """Compute the mean weight of the source's EOS, the last key, in each head."""
    return {
        (name, head): torch.cat([table[head, :-1, -1] for table in seen[name]]).mean().item()
        for name in names
        for head in range(HEADS)
    }


def measure_heads(model: Transformer, task: ToyTask) -> Row:
    """Ablate every head by itself; find the one that attends from verb to object; look at EOS."""
    test, val = task.examples("test"), task.examples("val")
    layers = attentions(model)
    damage, damage_on_val = (damage_by_head(model, part) for part in (test, val))
    on_val, on_test = seen_by(model, val), seen_by(model, test)
    ratios: dict[Head, float] = {}
    for name in (n for n in layers if n.startswith("encoder")):
        score, control = roles(on_val[name], task.pairs["val"])
        for head, ratio in enumerate((score.mean(0) / control.mean(0)).tolist()):
            ratios[name, head] = ratio
    name, head = max(ratios, key=lambda key: ratios[key])
    score, control = (table[:, head].tolist() for table in roles(on_test[name], task.pairs["test"]))
    gain = paired_difference(score, control)
    reading = [n for n in layers if not n.startswith("decoder") or "cross" in n]
    ends, ends_on_val = (weight_of_end(seen, reading) for seen in (on_test, on_val))
    sink = max(ends_on_val, key=lambda key: ends_on_val[key])
    of_end, of_words = (value[sink[1]].item() for value in end_values(model, sink[0], test[:100]))
    worst = max(damage_on_val, key=lambda key: damage_on_val[key])
    return {
        "harmless": sum(value < HARMLESS for value in damage.values()),
        "most_missed": f"{worst[0]} {worst[1]}", "damage": round(damage[worst], 3),
        "object_head": f"{name} {head}", "verbs": len(score),
        "object_score": round(sum(score) / len(score), 3),
        "object_control": round(sum(control) / len(control), 3),
        "object_low": round(gain.low, 3), "object_high": round(gain.high, 3),
        "object_damage": round(damage[name, head], 3),
        "sink_head": f"{sink[0]} {sink[1]}", "sink_weight": round(ends[sink], 3),
        "sinks": sum(weight > 0.5 for weight in ends.values()),
        "sink_value": round(of_end, 3), "word_value": round(of_words, 3),
        "sink_damage": round(damage[sink], 3),
    }  # fmt: skip


@cache
def trained_on_short_sentences(kind: str, rate: float, seed: int, steps: int = STEPS) -> Any:
    """A model of that kind, trained once in each process."""
    task = short_task()
    model: torch.nn.Module
    if kind == "Bahdanau":
        model = task.build(Bahdanau, RecurrentConfig, seed, d_model=64, hidden_dim=64)
    else:
        sizes = {"norm_position": "pre", "dropout": 0.0, "max_length": 64}
        model = task.build(Transformer, TransformerConfig.tiny, seed, **sizes)
    model = model.float()
    toy_training.train(model, steps, rate, seed, task.examples("train"), BATCH_TOKENS)
    return model


def train_on_short_sentences(kind: str, rate: float, seed: int, steps: int = STEPS) -> Row:
    """Train one model, and measure it."""
    model, task = trained_on_short_sentences(kind, rate, seed, steps), short_task()
    test, pairs = task.examples("test"), task.pairs["test"]
    errors = alignment_errors(model, test, [pair.alignment for pair in pairs])
    row: Row = {
        "model": kind, "rate": rate, "seed": seed,
        "parameters": sum(p.numel() for p in model.parameters()),
        "val_perplexity": round(perplexity(model, task.examples("val")), 4),
        "exact": sum(exactly_right(model, test)) / len(test),
        "aer": round([*errors.values()][-1], 3),
    }  # fmt: skip
    names = ["harmless", "most_missed", "damage", "object_head", "verbs", "object_score"]
    names += ["object_control", "object_low", "object_high", "object_damage", "sink_head"]
    names += ["sink_weight", "sinks", "sink_value", "word_value", "sink_damage"]
    blank: Row = dict.fromkeys(names, "")
    return row | (measure_heads(model, task) if isinstance(model, Transformer) else blank)


@dataclass(frozen=True)
class HeadsState(State):
    """The state of the decoder between two words."""

    seen: KeyValues  # of the source, for all heads
    mask: Tensor  # (batch, 1, 1, src)
    decoder: Tensor


class LuongWithHeads(Luong):
    """The decoder of chapter 6: Luong's, with multi-head attention to the source."""

    def __init__(self, config: LuongConfig) -> None:
        super().__init__(config)
        self.attention = MultiHeadAttention(config.hidden_dim, HEADS)

    def start(self, src: Tensor) -> HeadsState:
        """Read the source; project its keys and values once."""
        memory, last = self.encoder(self.src_embedding(src), src != PAD)
        return HeadsState(self.attention.project(memory, memory), padding_mask(src), last)

    def extend(self, state: HeadsState, tokens: Tensor) -> tuple[Tensor, HeadsState]:
        """Step through the target words, then attend."""
        s, last = self.decoder(self.tgt_embedding(tokens), tokens != PAD, state.decoder)
        context = self.attention.attend(s, state.seen, state.mask)
        mixed = torch.tanh(self.readout(torch.cat([context, s], dim=-1)))
        return self.output(mixed), replace(state, decoder=last)


def take_heads_out(seed: int) -> Row:
    """Train the decoder of chapter 6; measure the ablation of each head, and how each aligns."""
    task = toy_training.task()
    model = task.build(LuongWithHeads, LuongConfig, seed).float()
    toy_training.train(model, DECODER_STEPS, DECODER_RATE, seed)
    test, gold = task.examples("test"), [pair.alignment for pair in task.pairs["test"]]
    tables = seen_by(model, test)["attention"]

    def error(pick: Callable[[Tensor], Tensor]) -> float:
        links = [
            strongest_links(pick(table), len(tgt), len(src))
            for table, (src, tgt) in zip(tables, test, strict=True)
        ]
        return round(alignment_error_rate(links, gold), 4)

    row: Row = {"seed": seed, "exact": sum(exactly_right(model, test)) / len(test)}
    for head in range(HEADS):
        with ablated(model.attention, head):
            row[f"without_{head + 1}"] = sum(exactly_right(model, test)) / len(test)
    for head in range(HEADS):
        row[f"aer_{head + 1}"] = error(lambda table, head=head: table[head])
    return row | {"aer_mean": error(lambda table: table.mean(0))}


ABLATIONS = ("zero", "mean", "mean at each position", "resample")
"""What a head's output is replaced by: nothing, its means, or that of another sentence."""


def outputs_of(model: Transformer, examples: list[Example]) -> dict[Head, Tensor]:
    """The outputs (batch, time, width) of every head, before W_O; nan at padding."""
    batch, found = Batch.of(examples), {}
    for name, layer in attentions(model).items():
        merged: list[Tensor] = []
        hook = layer.output.register_forward_pre_hook(lambda _, x, to=merged: to.append(x[0]))
        with torch.no_grad():
            model(batch.src, batch.tgt_in)
        hook.remove()
        ids = batch.src if name.startswith("encoder") else batch.tgt_in
        outputs = merged[0].masked_fill((ids == PAD)[..., None], torch.nan).chunk(HEADS, dim=-1)
        found |= {(name, head): output for head, output in enumerate(outputs)}
    return found


def replacement(kind: str, outputs: Tensor) -> Replace:
    """What stands in the place of a head's output; ``outputs`` are those that are averaged."""
    by_position = outputs.nanmean(0)  # (time, width)
    everywhere = outputs.flatten(0, 1).nanmean(0)  # (width,)
    kinds: dict[str, Replace] = {
        "zero": torch.zeros_like,
        "mean": lambda output: everywhere.expand_as(output),
        "mean at each position": lambda output: by_position[: output.size(1)].expand_as(output),
        "resample": lambda output: output.roll(1, dims=0),
    }
    return kinds[kind]


@cache
def damage_on(part: str, kind: str, rate: float, seed: int) -> dict[Head, float]:
    """Compute the effect of ablating each head in one way, by the sentences of a split."""
    model, task = trained_on_short_sentences("Transformer", rate, seed), short_task()
    outputs = outputs_of(model, task.examples("val"))
    return damage_by_head(model, task.examples(part), lambda head: replacement(kind, outputs[head]))


def ablate_heads(kind: str, rate: float, seed: int) -> Row:
    """Ablate each head in one way; the head whose ablation costs most, and what it costs."""
    zero, on_val, on_test = (
        damage_on(part, way, rate, seed)
        for part, way in (("val", "zero"), ("val", kind), ("test", kind))
    )
    first, worst = (max(effects, key=lambda key: effects[key]) for effects in (zero, on_val))
    return {
        "kind": kind, "rate": rate, "seed": seed,
        "largest": f"{worst[0]} {worst[1]}", "effect": round(on_test[worst], 3),
        "largest_by_zero": f"{first[0]} {first[1]}", "effect_of_that": round(on_test[first], 3),
        "same": int(worst == first),
    }  # fmt: skip


def ablate_every_head(kind: str, rate: float, seed: int, objects: str) -> Row:
    """Ablate each head in one way; how many heads it leaves without effect, and other effects."""
    zero, effects = damage_on("test", "zero", rate, seed), damage_on("test", kind, rate, seed)
    name, number = objects.split()
    values, idle = effects.values(), [head for head, effect in zero.items() if effect < HARMLESS]
    return {
        "kind": kind, "rate": rate, "seed": seed, "objects": objects,
        "harmless": sum(effect < HARMLESS for effect in values),
        "harmless_by_zero": len(idle), "still": sum(effects[head] < HARMLESS for head in idle),
        "mean_effect": round(sum(values) / len(effects), 4),
        "of_objects": round(effects[name, int(number)], 4),
    }  # fmt: skip


MORE_STEPS = 150
"""Of training, for a decoder that has lost a head."""


def train_on(model: LuongWithHeads, seed: int, head: int | None) -> float:
    """Train some more steps, without one head or with all; the share that is then right."""
    schedule = linear_schedule(DECODER_RATE, MORE_STEPS, warmup=MORE_STEPS // 20)
    trainer = Trainer(model, smoothed_cross_entropy, schedule)
    task = toy_training.task()
    batches = endless_batches(task.examples("train"), toy_training.BATCH_TOKENS, seed)
    for _ in range(MORE_STEPS):
        trainer.update([next(batches)])
        if head is not None:
            with torch.no_grad():
                model.attention.output.weight.chunk(HEADS, dim=1)[head].zero_()
    test = task.examples("test")
    return sum(exactly_right(model, test)) / len(test)


def retrain_without(seed: int) -> Row:
    """Train the decoder of chapter 6, ablate the head that costs least, and train both on."""
    task = toy_training.task()
    model = task.build(LuongWithHeads, LuongConfig, seed).float()
    toy_training.train(model, DECODER_STEPS, DECODER_RATE, seed)
    shares = {}
    for part in ("val", "test"):
        examples = task.examples(part)
        for head in range(HEADS):
            with ablated(model.attention, head):
                shares[part, head] = sum(exactly_right(model, examples)) / len(examples)
    least = max(range(HEADS), key=lambda head: shares["val", head])
    test = task.examples("test")
    row: Row = {"seed": seed, "head": least, "exact": sum(exactly_right(model, test)) / len(test)}
    row |= {"ablated": shares["test", least]}
    other = copy.deepcopy(model)
    return row | {
        "more_steps": train_on(model, seed + 1000, None),
        "ablated_more_steps": train_on(other, seed + 1000, least),
    }


def train_alignment(rate: float, seed: int) -> Row:
    """Train the Transformer of `transformers`; its alignment error, read in the ways of others.

    The mean of the heads of each layer or a single head, by the row that predicts the word or by
    the next one, which reads it (Chen et al. 2020); the best way is chosen on validation sentences.
    """
    model, task = build_transformer("sinusoidal", seed), toy_training.task()
    toy_training.train(model, toy_training.STEPS, rate, seed)
    errors: dict[str, dict[tuple[str, str, int], float]] = {}
    for part in ("val", "test"):
        examples = task.examples(part)
        gold = [pair.alignment for pair in task.pairs[part]]
        errors[part] = {}
        for name, tables in seen_by(model, examples).items():
            if "cross" not in name:
                continue
            ways = {"mean": [table.mean(0) for table in tables]}
            ways |= {f"{head}": [table[head] for table in tables] for head in range(HEADS)}
            for way, maps in ways.items():
                for shift in (0, 1):
                    links = [
                        strongest_links(weights[shift:], len(tgt), len(src))
                        for weights, (src, tgt) in zip(maps, examples, strict=True)
                    ]
                    errors[part][name, way, shift] = alignment_error_rate(links, gold)
    last = max(name for name, _, _ in errors["val"])
    best = min(errors["val"], key=lambda way: errors["val"][way])
    name, way, shift = best
    return {
        "rate": rate, "seed": seed, "aer": round(errors["test"][last, "mean", 0], 4),
        "attention": name, "heads": way, "row": ("predicts", "reads")[shift],
        "best_aer": round(errors["test"][best], 4),
    }  # fmt: skip


def make_alignments(tables: Tables) -> None:
    """The alignment error of the Transformer, read in the ways of others.

    It is the other method for "Bahdanau's model aligns better": the mean of the last layer's heads
    is one way to read an alignment out of a Transformer, and others found better ones.
    """
    rate = tuned_rate(tables, "transformers", train_transformer, "sinusoidal", toy_training.RATES)
    runs = [(rate, seed) for seed in SEEDS]
    tables.extend("alignments", train_alignment, runs, ["rate", "seed"])


def make_heads_ablations(tables: Tables) -> None:
    """What the head that matters most costs, by zero, mean and resample ablation.

    It is the other method for "this head is needed": zeros are an output that no layer above has
    ever met, the mean of the head's outputs is one that carries no information.
    """
    name = "Transformer"
    rows = tune(tables, "heads", train_on_short_sentences, (name, "Bahdanau"), RATES)
    rate = best_rate(rows, name)
    runs = [(kind, rate, seed) for seed in SEEDS for kind in ABLATIONS]
    # In one process, which trains each model once.
    tables.extend("heads_ablations", ablate_heads, runs, ["kind", "rate", "seed"], workers=1)


def make_heads_every(tables: Tables) -> None:
    """What the heads cost that seem to cost nothing, by zero, mean and resample ablation.

    It is the other method for "these heads do nothing", which was said by zero ablation: a head
    whose zeros do no harm may do harm with its mean, or with its output for another sentence.
    """
    names = ("Transformer", "Bahdanau")
    rows = tune(tables, "heads", train_on_short_sentences, names, RATES)
    rate, ours = best_rate(rows, names[0]), [row for row in rows if row["model"] == names[0]]
    heads = {int(row["seed"]): row["object_head"] for row in ours}
    kinds = ("zero", "mean", "resample")
    runs = [(kind, rate, seed, heads[seed]) for seed in SEEDS for kind in kinds]
    keys = ["kind", "rate", "seed", "objects"]
    tables.extend("heads_every", ablate_every_head, runs, keys, workers=1)


def make_heads_retrained(tables: Tables) -> None:
    """The decoder with four heads without its least needed one, and trained on without it.

    It is the other method for "no head can go": the ablation of a trained model leaves everything
    else as it was, training lets the others take over.
    """
    tables.extend("heads_retrained", retrain_without, [(seed,) for seed in SEEDS], ["seed"])


def make_heads(tables: Tables) -> None:
    """What heads of a Transformer for short sentences do, and what is lost without them.

    What would refute what the book says of them: a training that is four times as long
    (`heads_longer`), other ways to ablate a head (`heads_ablations`). Both were run.
    """
    tune(tables, "heads", train_on_short_sentences, ("Transformer", "Bahdanau"), RATES)


def train_four_times(kind: str, rate: float, seed: int) -> Row:
    """Train one model four times as long, and measure it."""
    return train_on_short_sentences(kind, rate, seed, 4 * STEPS)


def make_heads_longer(tables: Tables) -> None:
    """The same models, trained four times as long.

    It is the other method for what `heads` says: what heads do after 450 steps, and a lead of
    Bahdanau's model, may be a stage of training.
    """
    names = ("Transformer", "Bahdanau")
    rows = tune(tables, "heads", train_on_short_sentences, names, RATES)
    runs = [(name, best_rate(rows, name), seed) for name in names for seed in SEEDS]
    tables.extend("heads_longer", train_four_times, runs, ["model", "rate", "seed"])


def make_heads_out(tables: Tables) -> None:
    """What a decoder with four heads loses without each of them, and how well each aligns.

    What would refute "every head is needed": a training that goes on without one
    (`heads_retrained`). Run: 150 steps make up for its loss. So the book says of ten models that
    the ablation of each head costs some points as long as nothing is retrained.
    """
    seeds = [(seed,) for seed in (*SEEDS, *(seed + len(SEEDS) for seed in SEEDS))]
    tables.extend("heads_out", take_heads_out, seeds, ["seed"])
