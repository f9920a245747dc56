"""Attention, from RNN sequence-to-sequence to a complete, trainable Transformer.

Import what you need from the module that holds it, for example
``from annotated_transformer.attention import ScaledDotProductAttention``. What a folder
exports is imported from the folder: ``from annotated_transformer.run import Run``.

To read it, begin with ``tokens``, ``batches`` and ``loss``; then one attention after the other
(``soft_lookup``, ``bahdanau``, ``luong``, ``attention``, ``multi_head_attention``), the model
(``positional_encoding``, ``masking``, ``layers``, ``transformer``), and training and using it
(``training``, ``decoding``, ``evaluation``).

These modules are what the lessons teach. All else is in folders: ``ground`` (errors, settings,
which input is refused, devices), ``text`` (cleaned, and as ids), ``toy`` and ``corpora`` stand
below the lessons; ``fast`` (the same steps in less time), ``run`` (a training and its folder),
``exchange`` (with other programs) and ``cli`` (the command line) above. None imports from one that
is named later.

Conventions:

- Batch first: a batch of token ids is ``(batch, length)``, of vectors ``(batch, length, d_model)``.
- A mask is boolean, and ``True`` means *may attend*.
- The special tokens have the ids ``PAD = 0``, ``BOS = 1``, ``EOS = 2``, ``UNK = 3``.
"""

import sys

from annotated_transformer.ground.old_names import OldNames

sys.meta_path.append(OldNames())

__version__ = "1.0.0"
