"""Training runs: a recipe, the folder of a run, and the loop that trains it.

Import from here. Inside, each upon those before: ``footprint`` (memory), ``recipe``, ``presets``,
``encoded`` (text as ids), ``description`` (what a folder says of itself), ``checkpoint``,
``learning_curve``, ``interruption``, ``folder`` (the run), ``loop`` (its training).
"""

from annotated_transformer.run.folder import Run
from annotated_transformer.run.loop import new_trainer, train
from annotated_transformer.run.presets import MEANINGS, PRESETS, preset, recipe_of
from annotated_transformer.run.recipe import Recipe

__all__ = [
    "MEANINGS",
    "PRESETS",
    "Recipe",
    "Run",
    "new_trainer",
    "preset",
    "recipe_of",
    "train",
]
