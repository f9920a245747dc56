"""Checks: the questions to every module of a reader's package, with an oracle for each.

Import from here. Each module asks about neighbouring chapters; ``check`` has what they share.
"""

from transformer_workbook.own.checks.attention import ATTENTION, POSITIONAL_ENCODING
from transformer_workbook.own.checks.batch_order import BATCH_ORDER
from transformer_workbook.own.checks.batches import BATCHES
from transformer_workbook.own.checks.check import Check
from transformer_workbook.own.checks.decoding import DECODING
from transformer_workbook.own.checks.gradients import GRADIENTS
from transformer_workbook.own.checks.heads import MULTI_HEAD_ATTENTION
from transformer_workbook.own.checks.language_model import LANGUAGE_MODEL
from transformer_workbook.own.checks.layers import LAYERS
from transformer_workbook.own.checks.looking_back import BAHDANAU, LUONG
from transformer_workbook.own.checks.losses import LOSS, MASKING
from transformer_workbook.own.checks.models import SEQ2SEQ
from transformer_workbook.own.checks.of_today import GATED, ROTARY
from transformer_workbook.own.checks.placed_heads import PLACED
from transformer_workbook.own.checks.recurrent import RECURRENT
from transformer_workbook.own.checks.schedules import AVERAGING, SCHEDULE
from transformer_workbook.own.checks.soft_lookup import SOFT_LOOKUP
from transformer_workbook.own.checks.text import TOKENS
from transformer_workbook.own.checks.training import TRAINING
from transformer_workbook.own.checks.transformer import TRANSFORMER

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
    "rotary": ROTARY,
    "layers": (*LAYERS, GRADIENTS["layers"]),
    "gated_feed_forward": GATED,
    "transformer": TRANSFORMER,
    "training": (*SCHEDULE, *AVERAGING, *BATCH_ORDER, *TRAINING),
    "decoding": DECODING,
    "language_model": LANGUAGE_MODEL,
}

__all__ = ["CHECKS", "Check"]
