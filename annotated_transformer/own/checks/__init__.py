"""Checks: what every module of a reader's package is asked, with an oracle for each question.

Import from here. Each room asks about neighbouring chapters; ``check`` has what they share.
"""

from annotated_transformer.own.checks.attention import ATTENTION, POSITIONAL_ENCODING
from annotated_transformer.own.checks.batch_order import BATCH_ORDER
from annotated_transformer.own.checks.batches import BATCHES
from annotated_transformer.own.checks.check import Check
from annotated_transformer.own.checks.decoding import DECODING
from annotated_transformer.own.checks.gradients import GRADIENTS
from annotated_transformer.own.checks.heads import MULTI_HEAD_ATTENTION
from annotated_transformer.own.checks.layers import LAYERS
from annotated_transformer.own.checks.looking_back import BAHDANAU, LUONG
from annotated_transformer.own.checks.losses import LOSS, MASKING
from annotated_transformer.own.checks.models import SEQ2SEQ
from annotated_transformer.own.checks.placed_heads import PLACED
from annotated_transformer.own.checks.recurrent import RECURRENT
from annotated_transformer.own.checks.schedules import AVERAGING, SCHEDULE
from annotated_transformer.own.checks.soft_lookup import SOFT_LOOKUP
from annotated_transformer.own.checks.text import TOKENS
from annotated_transformer.own.checks.training import TRAINING
from annotated_transformer.own.checks.transformer import TRANSFORMER

CHECKS: dict[str, tuple[Check, ...]] = {
    "tokens": TOKENS,
    "batches": BATCHES,
    "loss": (*LOSS, GRADIENTS["loss"]),
    "masking": MASKING,
    "recurrent": RECURRENT,
    "seq2seq": SEQ2SEQ,
    "soft_lookup": (*SOFT_LOOKUP, GRADIENTS["soft_lookup"]),
    "bahdanau": BAHDANAU,
    "luong": LUONG,
    "attention": (*ATTENTION, GRADIENTS["attention"]),
    "multi_head_attention": (*MULTI_HEAD_ATTENTION, *PLACED, GRADIENTS["multi_head_attention"]),
    "positional_encoding": POSITIONAL_ENCODING,
    "layers": (*LAYERS, GRADIENTS["layers"]),
    "transformer": TRANSFORMER,
    "schedule": SCHEDULE,
    "averaging": AVERAGING,
    "training": (*BATCH_ORDER, *TRAINING),
    "decoding": DECODING,
}

__all__ = ["CHECKS", "Check"]
