"""The preparation of a training: its text as ids, and checks of everything it needs."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from annotated_transformer.corpora import Corpus
from annotated_transformer.ground.errors import InputError
from annotated_transformer.run.encoded import training_pairs
from annotated_transformer.run.engines import ENGINES
from annotated_transformer.run.footprint import require_memory
from annotated_transformer.run.recipe import Recipe
from annotated_transformer.text.examples import Examples
from annotated_transformer.tokens import Vocabularies
from annotated_transformer.translator import require_positions


@dataclass(frozen=True)
class Prepared:
    """The data of a training by this recipe."""

    recipe: Recipe
    train: Examples
    left_out: int  # training pairs that are too long
    val: Examples


def prepare(
    recipe: Recipe,
    corpus: Corpus,
    vocabularies: Vocabularies,
    device: torch.device,
    strict: bool = False,
) -> Prepared:
    """Encode the text of a training, and refuse one that would fail.

    Raises:
        InputError: if the optimiser does not accept its settings, the model cannot be built or does
            not fit into memory, there is no text, the validation split has a sentence that is too
            long, or all training pairs are, or, with ``strict``, one is.
    """
    recipe.require_optimizer()
    model = recipe.model_without_weights(vocabularies)
    require_memory(model, recipe.batch_tokens, len(vocabularies.tgt), device)
    ENGINES[recipe.engine].require(model)
    val = Examples.of(vocabularies.encode(corpus.split("val")))
    require_positions(model, val.lengths, partial(corpus.place, "val"))
    train, left_out = training_pairs(corpus, vocabularies, recipe.longest)
    if left_out and (strict or not train):
        first = int((train.rows == np.arange(len(train))).sum())  # number of pairs kept before it
        raise InputError(
            f"{left_out:,} training pairs have more than {recipe.longest:,} tokens on a side, "
            f"the first is {corpus.place('train', first)}: shorten them, or use a larger "
            "batch_tokens or max_length."
        )
    return Prepared(recipe, train, left_out, val)
