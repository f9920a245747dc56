"""Fast training and translation: the computations of the readable modules in less time.

Import from here. For a CPU each module has one optimisation: ``products`` (of matrices),
``dropout`` (from cheap random bits), ``attention`` (written out for short sentences),
``output_loss`` (the loss together with the output layer). ``twin`` replaces the readable modules by
them, to train (``trainer``) or to translate.
"""

from annotated_transformer.fast.trainer import FastTrainer, require_fast
from annotated_transformer.fast.twin import fast_translator

__all__ = [
    "FastTrainer",
    "fast_translator",
    "require_fast",
]
