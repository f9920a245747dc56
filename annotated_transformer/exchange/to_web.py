"""To the web: export a run as two files for the laboratory, a page of the book."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors.torch import save
from torch import Tensor

from annotated_transformer import __version__
from annotated_transformer.corpora.drawn import toy_corpus
from annotated_transformer.exchange.eight_bits import quantised
from annotated_transformer.exchange.model_folder import EVERYWHERE
from annotated_transformer.ground.errors import InputError, require_choice
from annotated_transformer.ground.inputs import StrPath
from annotated_transformer.ground.settings import require_known
from annotated_transformer.run.checkpoint import halved
from annotated_transformer.run.files import fill_folder, require_empty, write_atomically
from annotated_transformer.run.folder import Run
from annotated_transformer.tokens import Vocabulary
from annotated_transformer.toy import Pair
from annotated_transformer.toy.lexicon import HUMAN, LEXICON
from annotated_transformer.toy.nominals import DETERMINERS, ITSELF, PREPOSITIONS, PRONOUNS
from annotated_transformer.weights import buffers_of

FORMAT = 1
"""The format of ``model.json``; the page refuses any other. The precision is not part of it: each
tensor states its own, and an older page refuses the one that it does not know."""

LARGEST = 30_000_000
"""The most bytes of weights that a page opens: a reader waits for them, and then for every word."""

PRECISIONS: dict[str, Callable[[Mapping[str, Tensor]], dict[str, Tensor]]] = {
    "float16": halved,
    "int8": quantised,
}
"""How weights are rounded, by the name of the precision."""

RECURRENT: dict[str, Collection[Any] | None] = {
    "src_vocab": None,
    "tgt_vocab": None,
    "d_model": None,
    "hidden_dim": None,
    "cell": ("rnn", "lstm", "gru"),
    "dropout": None,
}
TRANSFORMER: dict[str, Collection[Any] | None] = EVERYWHERE | {
    "activation": ("gelu_tanh", "gelu", "swish", "relu"),
    "gated": None,
    "d_k": None,
    "d_v": None,
    "num_kv_heads": None,
    "qk_norm": None,
    "bias": None,
    "norm": ("rms", "layer"),
    "epsilon": None,
    "positions": ("rotary", "none", "learned", "sinusoidal"),
    "rotary_base": None,
}
KNOWN: dict[str, Mapping[str, Collection[Any] | None]] = {
    "seq2seq": RECURRENT,
    "bahdanau": RECURRENT,
    "luong": RECURRENT | {"score": ("dot", "concat", "general")},
    "transformer": TRANSFORMER,
    "language": TRANSFORMER | {"prefix_mask": None, "has_source": None},
}
"""The settings that the page supports, by the name of the model; it refuses others."""

SENTENCES = 100
"""The number of exported sentences of the toy corpus, with their gold alignments."""


SEARCH = ("beam", "alpha", "extra_length")
"""The settings of a search that the page takes over; how it samples is chosen there."""


def export_to_web(run: Run, folder: StrPath, precision: str = "float16") -> None:
    """Write ``model.safetensors`` and ``model.json`` into an empty folder.

    The weights are those that translate, in half precision (16 bits instead of 32), or with
    ``int8`` in 8 bits and a scale for each row of a matrix. The description has all sizes, the
    search and both vocabularies; for the toy corpus also a gloss of every target token, and
    sentences of the test split with their gold alignments.

    Raises:
        InputError: if the folder is not empty, there are no weights yet, or too many, or
            the model has a setting that the page does not support, or a number that the precision
            has no room for.
    """
    require_empty(folder)
    require_choice("precision", precision, PRECISIONS)
    model = run.model
    weights = buffers_of(model) | PRECISIONS[precision](dict(model.named_parameters()))
    size = sum(tensor.nbytes for tensor in weights.values())
    if size > LARGEST:
        raise InputError(
            f"the weights have {size:,} bytes in {precision}, a page opens at most {LARGEST:,}: "
            "take int8, which halves float16, or train a smaller model."
        )
    text = json.dumps(describe(run), ensure_ascii=False, separators=(",", ":"))

    def write(path: Path) -> None:
        write_atomically(path / "model.json", text + "\n")
        (path / "model.safetensors").write_bytes(save(weights))

    fill_folder(folder, write)


def describe(run: Run) -> dict[str, Any]:
    """Describe a run, without its weights, as plain values for JSON."""
    src, tgt = run.vocabularies
    search = run.recipe.search
    described: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "model": run.recipe.model,
        "config": resolved(run.recipe.model, run.recipe.make_config(len(src), len(tgt))),
        "search": {name: getattr(search, name) for name in SEARCH},
        "src": tokens_and_merges(src),
        "tgt": "src" if tgt.to_json() == src.to_json() else tokens_and_merges(tgt),
    }
    known = GLOSSED.get(f"{run.recipe.corpus} {run.recipe.direction}")
    return described | (known() if known and not run.recipe.subwords else {})


def resolved(model: str, config: Any) -> dict[str, Any]:
    """Return the settings that the page supports; derived settings get their values.

    Raises:
        InputError: if the page does not support the model, or another setting is not its default.
    """
    if model not in KNOWN:
        raise InputError(
            f"model is {model!r}, the laboratory can only have {' or '.join(map(repr, KNOWN))}."
        )
    require_known(config, "the laboratory", KNOWN[model])
    settings = {name: value for name, value in asdict(config).items() if name in KNOWN[model]}
    if "num_heads" in settings:
        width = settings["d_model"] // settings["num_heads"]
        follow = {"d_k": width, "d_v": width, "num_kv_heads": settings["num_heads"]}
        settings |= {name: settings[name] or value for name, value in follow.items()}
    return settings


def tokens_and_merges(vocabulary: Vocabulary) -> dict[str, Any]:
    """List the tokens of a vocabulary by id; for subwords also the merges, in order.

    Raises:
        InputError: if it is neither of words nor of subwords.
    """
    model = json.loads(vocabulary.to_json())["model"]
    tokens = vocabulary.tokens(range(len(vocabulary)))
    match model["type"]:
        case "WordLevel":
            return {"kind": "words", "tokens": tokens}
        case "BPE":
            return {"kind": "subwords", "tokens": tokens, "merges": model["merges"]}
        case other:
            raise InputError(f"a vocabulary is of the kind {other}, it must be WordLevel or BPE.")


def toy_sentences() -> dict[str, Any]:
    """Return what the toy corpus knows of its target tokens, and test sentences with links.

    Every token has a gloss, its most frequent one; the grammar has what a page needs to translate
    Korean back: the words by their Korean forms, and all glosses of every token.
    """
    splits = toy_corpus()
    glosses: dict[str, Counter[str]] = {}
    for pairs in splits.values():
        for pair in pairs:
            for token, gloss in zip(pair.tgt, pair.gloss, strict=True):
                glosses.setdefault(token, Counter())[gloss] += 1
    return {
        "gloss": {token: found.most_common(1)[0][0] for token, found in sorted(glosses.items())},
        "grammar": toy_words() | {"senses": {token: [*found] for token, found in glosses.items()}},
        "sentences": [sentence(pair) for pair in splits["test"][:SENTENCES]],
    }


GLOSSED = {"toy en-ko": toy_sentences}
"""What is known of the words of a corpus, by its name and its languages."""


def toy_words() -> dict[str, Any]:
    """Return the words of the toy corpus by their Korean forms, as plain values for JSON."""
    people = {
        person.phrase.tgt[0].form: [
            person.phrase.src[0].form,
            (person.oblique or person.phrase).src[0].form,
            person.agreement,
        ]
        for person in (*PRONOUNS.values(), ITSELF)
    }
    me = PRONOUNS["I"]
    if me.embedded:
        people[me.embedded.tgt[0].form] = people[me.phrase.tgt[0].form]
    return {
        "nouns": {
            noun.korean: {
                "english": noun.english,
                "plural": noun.plural or noun.english,
                "who": noun.kind in HUMAN,
            }
            for noun in LEXICON.nouns
        },
        "verbs": {
            verb.korean: {"english": verb.english, "third": verb.third, "pattern": verb.pattern}
            for verb in LEXICON.verbs
        },
        "adjectives": {each.korean: each.english for each in LEXICON.adjectives},
        "pronouns": people,
        "determiners": {token.form: english for english, token in DETERMINERS.items()},
        "prepositions": {token.form: english for english, token in PREPOSITIONS.items()},
    }


def sentence(pair: Pair) -> dict[str, Any]:
    """Convert a sentence pair to plain values."""
    return {"src": pair.src, "tgt": pair.tgt, "links": sorted(pair.alignment)}
