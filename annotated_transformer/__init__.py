"""Attention, from RNN sequence-to-sequence to a complete, trainable Transformer.

Import what you need from the module that holds it, for example
``from annotated_transformer.attention import ScaledDotProductAttention``. What stands in a
folder is imported from the folder: ``from annotated_transformer.run import Run``.

Conventions, everywhere:

- Batch first: a batch of token ids is ``(batch, length)``, of vectors ``(batch, length, d_model)``.
- A mask is boolean, and ``True`` means *may attend*.
- The special tokens have the ids ``PAD = 0``, ``BOS = 1``, ``EOS = 2``, ``UNK = 3``.
"""

__version__ = "0.2.0"

MODULES: dict[str, str | None] = {
    "errors": None,
    "settings": None,
    "files": None,
    "toy.hangul": None,
    "toy.morphology": None,
    "toy.lexicon": None,
    "toy.phrases": None,
    "toy.nominals": None,
    "toy.clauses": None,
    "toy.choice": None,
    "toy.sampler": None,
    "toy.corpus": None,
    "toy": "tokens_and_batches",
    "bitext": "tokens_and_batches",
    "tokens": "tokens_and_batches",
    "multi30k": None,
    "corpora": "tokens_and_batches",
    "batches": "tokens_and_batches",
    "loss": "tokens_and_batches",
    "masking": "masking",
    "translator": "seq2seq",
    "recurrent": "seq2seq",
    "seq2seq": "seq2seq",
    "soft_lookup": "bahdanau",
    "bahdanau": "bahdanau",
    "luong": "luong",
    "attention": "self_attention",
    "multi_head_attention": "multi_head_attention",
    "positional_encoding": "positional_encoding",
    "layers": "layers",
    "transformer": "transformer",
    "capture": "transformer",
    "models": "translation",
    "schedule": "training",
    "averaging": "training",
    "devices": "training",
    "training": "training",
    "search": "decoding",
    "limits": "decoding",
    "sampling": "decoding",
    "decoding": "decoding",
    "translation": "translation",
    "alignment": "bahdanau",
    "evaluation": "translation",
    "run.footprint": None,
    "run.recipe": None,
    "run.presets": None,
    "run.encoded": None,
    "run.description": None,
    "run.checkpoint": None,
    "run.learning_curve": None,
    "run.interruption": None,
    "run.folder": None,
    "run.web": None,
    "run.loop": None,
    "run": "translation",
    "course.comparing": None,
    "course.changes": None,
    "course.relations": None,
    "course.trials": None,
    "course.progress": None,
    "course.tasks": None,
    "course.checking": None,
    "course.derivations": None,
    "course.questions": None,
    "course.experiments": None,
    "course.figures": None,
    "course.intervals": None,
    "course.listing": None,
    "course.tables": None,
    "course.explorer": None,
    "course.notebooks": None,
    "course": None,
    "course.mistakes": "find_the_bug",
    "course.faulty_trainers": "find_the_bug",
    "course.exercises": None,
    "cli.options": None,
    "cli.making": None,
    "cli.using": None,
    "cli": "translation",
}
"""Every module, in an order of imports: each needs only modules above it.

A folder stands below its rooms, and is imported as one. The value is the stem of the chapter that
explains the module, or ``None``; the chapters come in an order of their own.
"""
