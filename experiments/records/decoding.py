"""The records of decoding: what wider beams find, and what the cache of the decoder saves."""

from functools import cache

import torch
from torch import Tensor

from annotated_transformer.batches import Batch
from annotated_transformer.decoding import Hypothesis, Search, beam_search, greedy
from annotated_transformer.evaluation import score_translations
from annotated_transformer.masking import padding_mask
from annotated_transformer.transformer import Transformer, TransformerConfig, TransformerState
from annotated_transformer.translator import evaluating
from records.costs import times_in_turns
from records.tables import Row, Tables
from records.toy_training import task, train
from records.transformers import build_transformer
from records.trials import SEEDS

STEPS, RATE = 500, 4e-3
BEAMS, ALPHAS = (2, 4, 16), (0.0, 0.6, 1.0)
LONGER_STEPS, LONGER_BEAMS, LONGER_ALPHA = (500, 2000), (1, 4), 0.6
LENGTHS = (16, 32, 64, 128, 256)
MARGIN = 1e-6  # nats: smaller differences count as equal


@cache
def trained(seed: int, steps: int = STEPS) -> Transformer:
    """Return the small Transformer, trained once in each process."""
    model = build_transformer("sinusoidal", seed)
    train(model, steps, RATE, seed)
    return model


@cache
def greedily(seed: int) -> list[Hypothesis]:
    """Translate the test split greedily."""
    return greedy(trained(seed), Batch.of(task().examples("test")).src)


def search_with_beam(seed: int, beam_size: int, alpha: float) -> Row:
    """Translate the test split by beam search, and compare with greedy search and the truth."""
    test = task().examples("test")
    base = greedily(seed)
    way = Search(beam=beam_size, alpha=alpha)
    found = [best for best, *_ in beam_search(trained(seed), Batch.of(test).src, way)]
    gains = [new.log_prob - old.log_prob for new, old in zip(found, base, strict=True)]
    right = [new.tokens == tgt for new, (_, tgt) in zip(found, test, strict=True)]
    before = [old.tokens == tgt for old, (_, tgt) in zip(base, test, strict=True)]
    texts = [task().tgt_vocabulary.decode(new.tokens) for new in found]
    bleu = score_translations(texts, [" ".join(pair.tgt) for pair in task().pairs["test"]])[0]
    written = sum(len(new.tokens) for new in found) / sum(len(tgt) for _, tgt in test)
    return {
        "seed": seed,
        "beam_size": beam_size,
        "alpha": alpha,
        "steps": STEPS,
        "likelier": sum(gain > MARGIN for gain in gains) / len(test),
        "less_likely": sum(gain < -MARGIN for gain in gains) / len(test),
        "exact": sum(right) / len(test),
        "mended": sum(r and not b for r, b in zip(right, before, strict=True)) / len(test),
        "spoilt": sum(b and not r for r, b in zip(right, before, strict=True)) / len(test),
        "bleu": round(bleu.value, 2),
        "length": round(written, 4),
    }


def search_longer(steps: int, seed: int, beam_size: int) -> Row:
    """Translate sentences longer than those of training, by a model trained for so many steps."""
    longer, pairs = task().examples("longer"), task().pairs["longer"]
    model, src = trained(seed, steps), Batch.of(longer).src
    way = Search(beam=beam_size, alpha=LONGER_ALPHA if beam_size > 1 else 0.0)
    found = [best for best, *_ in beam_search(model, src, way)]
    texts = [task().tgt_vocabulary.decode(new.tokens) for new in found]
    bleu = score_translations(texts, [" ".join(pair.tgt) for pair in pairs])[0]
    right = [new.tokens == tgt for new, (_, tgt) in zip(found, longer, strict=True)]
    row = {"steps": steps, "seed": seed, "beam_size": beam_size, "alpha": way.alpha}
    return row | {"bleu": round(bleu.value, 2), "exact": sum(right) / len(longer)}


def write_cached(model: Transformer, src: Tensor, tgt_in: Tensor) -> Tensor:
    """Compute the logits after every token, one step at a time with a KV cache."""
    state, logits = model.start(src), []
    for token in tgt_in.T:
        last, state = model.step(state, token)
        logits.append(last)
    return torch.stack(logits, dim=1)


def write_anew(model: Transformer, src: Tensor, tgt_in: Tensor) -> Tensor:
    """Compute the same without a KV cache: every step reads memory and tokens again."""
    memory, mask, logits = model.encode(src), padding_mask(src), []
    for t in range(tgt_in.size(1)):
        projected = tuple(layer.cross_attention.project(memory, memory) for layer in model.decoder)
        past = tuple(layer.self_attention.empty(len(src)) for layer in model.decoder)
        state = TransformerState(tgt_in[:, :0], past, projected, mask)
        logits.append(model.extend(state, tgt_in[:, : t + 1])[0][:, -1])
    return torch.stack(logits, dim=1)


def time_writing(length: int, repeats: int = 3) -> Row:
    """Time the generation of one sentence of that many tokens, both ways in turns."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = TransformerConfig(
        1000, 1000, d_model=256, num_layers=3, num_heads=8, d_ff=1024, dropout=0.0
    )
    model = Transformer(config)
    src, tgt_in = torch.randint(4, 1000, (2, 1, length))
    works = [lambda way=way: way(model, src, tgt_in) for way in (write_cached, write_anew)]
    with evaluating(model):
        cached, anew = times_in_turns(*works, repeats=repeats)
    return {
        "length": length,
        "cached_milliseconds": round(1000 * cached, 1),
        "anew_milliseconds": round(1000 * anew, 1),
        "ratio": round(anew / cached, 2),
    }


def make_beams(tables: Tables) -> None:
    """What beams of several widths find, and what length penalties do to it.

    What would refute "a beam of 4 is ahead of greedy search": sentences on which it does worse.
    They were searched (`beams_longer`): on sentences longer than those of training it is behind
    after 500 steps. So the book says it of sentences as long as those of training.
    """
    settings = [(1, 0.0)] + [(beam, alpha) for beam in BEAMS for alpha in ALPHAS]
    searches = [(seed, *setting) for seed in SEEDS for setting in settings]
    keys = ["seed", "beam_size", "alpha"]
    # In one process, which trains each model once.
    tables.extend("beams", search_with_beam, searches, keys, workers=1)


def make_beams_longer(tables: Tables) -> None:
    """What a beam finds on sentences longer than those of training, by short and long trainings.

    It is the other method for "a beam of 4 is ahead of greedy search": other sentences, and models
    that have been trained for as long as those of the other records.
    """
    runs = [
        (steps, seed, beam) for steps in LONGER_STEPS for seed in SEEDS for beam in LONGER_BEAMS
    ]
    # In one process, which trains each model once.
    keys = ["steps", "seed", "beam_size"]
    tables.extend("beams_longer", search_longer, runs, keys, workers=1)


def make_cache_times(tables: Tables) -> None:
    """The time to write a sentence, with the decoder's cache and without it."""
    # One at a time: nothing else may run beside what is timed.
    lengths = [(length,) for length in LENGTHS]
    tables.extend("cache_times", time_writing, lengths, ["length"], workers=1)
