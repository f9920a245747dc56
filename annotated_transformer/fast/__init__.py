"""Fast training and translating: the mathematics of the readable modules, for the processor.

Import from here. Each lever is a room: ``products`` (of matrices), ``dropout`` (from cheap random
bits), ``attention`` (written out where sentences are short), ``output_loss`` (the loss together
with the output layer). ``twin`` puts them where the readable modules are, to train (``trainer``)
or to translate.
"""

from annotated_transformer.fast.trainer import FastTrainer, require_fast
from annotated_transformer.fast.twin import fast_translator

__all__ = ["FastTrainer", "fast_translator", "require_fast"]
