"""Fast training: the same mathematics as the readable modules, arranged for the processor.

Import from here. Each lever is a room: ``products`` (of matrices), ``dropout`` (from cheap random
bits), ``attention`` (written out where sentences are short), ``output_loss`` (the loss together
with the output layer). ``twin`` puts them where the readable modules are, ``trainer`` trains.
"""

from annotated_transformer.fast.trainer import FastTrainer

__all__ = ["FastTrainer"]
