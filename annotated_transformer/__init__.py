"""Attention, from RNN sequence-to-sequence to a complete, trainable Transformer.

The modules stand in one order, the book's: each imports only from modules above it. Import what
you need from the module that holds it, for example
``from annotated_transformer.attention import ScaledDotProductAttention``.

Conventions, everywhere:

- Batch first: a batch of token ids is ``(batch, length)``, of vectors ``(batch, length, d_model)``.
- A mask is boolean, and ``True`` means *may attend*.
- The special tokens have the ids ``PAD = 0``, ``BOS = 1``, ``EOS = 2``, ``UNK = 3``.
"""

MODULES: dict[str, str | None] = {
    "errors": None,
    "hangul": None,
    "morphology": None,
    "lexicon": None,
    "phrases": None,
    "nominals": None,
    "clauses": None,
    "sampler": None,
    "toy": "01_tokens_and_batches",
    "corpora": "01_tokens_and_batches",
    "tokens": "01_tokens_and_batches",
    "batches": "01_tokens_and_batches",
    "loss": "01_tokens_and_batches",
    "checking": None,
    "figures": None,
    "diagrams": None,
    "explorer": None,
    "notebooks": None,
    "recurrent": "02_seq2seq",
    "seq2seq": "02_seq2seq",
    "soft_lookup": "03_bahdanau",
    "bahdanau": "03_bahdanau",
    "luong": "04_luong",
    "attention": "05_self_attention",
    "multi_head_attention": "06_multi_head_attention",
    "positional_encoding": "07_positional_encoding",
    "masking": "08_masking",
    "layers": "10_layers",
    "transformer": "11_transformer",
    "capture": "11_transformer",
    "schedule": "12_training",
    "averaging": "12_training",
    "training": "12_training",
    "decoding": "13_decoding",
    "alignment": "03_bahdanau",
    "evaluation": "14_translation",
    "experiments": "02_seq2seq",
    "mistakes": "17_find_the_bug",
    "exercises": "01_tokens_and_batches",
    "checkpoints": "14_translation",
    "metrics": "14_translation",
    "interruption": "14_translation",
    "recipes": "14_translation",
    "runs": "14_translation",
    "training_runs": "14_translation",
    "cli": "14_translation",
}
"""Every module, in the order of the book, with the chapter that builds it (or ``None``)."""
