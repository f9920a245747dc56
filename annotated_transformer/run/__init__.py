"""Training runs: a recipe, the folder of a run, and the loop that trains it.

Import from here. Each module uses only those before it: ``files`` (never half-written), ``screen``,
``sentences`` (of a line), ``sentence_pieces`` (vocabularies of SentencePiece), ``footprint``
(memory), ``recipe``, ``presets``, ``encoded`` (text as ids), ``description`` (of a run),
``checkpoint``, ``learning_curve``, ``interruption``, ``preparation`` (of a training), ``folder``
(the run), ``lines`` (translation line by line), ``processes``
(several that train one run), ``loop`` (its training).
"""

from annotated_transformer.run.folder import Run
from annotated_transformer.run.lines import Line, LineTranslator, lines_of
from annotated_transformer.run.loop import new_trainer, train
from annotated_transformer.run.presets import PRESETS, preset, recipe_of
from annotated_transformer.run.processes import Processes, joined
from annotated_transformer.run.recipe import Recipe

__all__ = [
    "PRESETS",
    "Line",
    "LineTranslator",
    "Processes",
    "Recipe",
    "Run",
    "joined",
    "lines_of",
    "new_trainer",
    "preset",
    "recipe_of",
    "train",
]
