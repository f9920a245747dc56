"""Attention, from RNN sequence-to-sequence to a complete, trainable Transformer.

Import what you need from the module that holds it, for example
``from annotated_transformer.attention import ScaledDotProductAttention``. What stands in a
folder is imported from the folder: ``from annotated_transformer.run import Run``.

Conventions, everywhere:

- Batch first: a batch of token ids is ``(batch, length)``, of vectors ``(batch, length, d_model)``.
- A mask is boolean, and ``True`` means *may attend*.
- The special tokens have the ids ``PAD = 0``, ``BOS = 1``, ``EOS = 2``, ``UNK = 3``.
"""

__version__ = "0.3.0"
