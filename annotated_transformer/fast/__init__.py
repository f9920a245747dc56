"""Fast training and translation: the computations of the readable modules in less time.

Import from here. For a CPU each module has one optimisation: ``products`` (of matrices),
``dropout`` (from cheap random bits), ``attention`` (written out for short sentences),
``output_loss`` (the loss together with the output layer). ``twin`` replaces the readable modules by
them, to train (``trainer``) or to translate.

For an accelerator, ``packing`` puts several sentence pairs into a row (``rows``, ``filling``),
``packed_hidden`` is the pass over such rows, which is compiled once, and ``packed_trainer`` takes
steps with it without ever waiting for the device (``late``).
"""

from annotated_transformer.fast.filling import packed_batches
from annotated_transformer.fast.packed_trainer import PackedTrainer
from annotated_transformer.fast.packing import PackedBatch, pack
from annotated_transformer.fast.trainer import FastTrainer, require_fast
from annotated_transformer.fast.twin import fast_translator

__all__ = [
    "FastTrainer",
    "PackedBatch",
    "PackedTrainer",
    "fast_translator",
    "pack",
    "packed_batches",
    "require_fast",
]
