"""The whole Transformer: how many numbers it trains."""

from collections.abc import Callable

from annotated_transformer.course.checking import Derivation

Counts = tuple[int, int, int, int, int]


def _model_parameters(vocab: int, num_layers: int, d: int, d_ff: int) -> Counts:
    """Count the parameters of the parts of a Transformer, and then of the whole."""
    attention = 4 * (d + 1) * d
    feed_forward = (d + 1) * d_ff + (d_ff + 1) * d
    encoder_layer = attention + feed_forward + 4 * d
    decoder_layer = 2 * attention + feed_forward + 6 * d
    whole = num_layers * (encoder_layer + decoder_layer) + (d + 1) * vocab
    return attention, feed_forward, encoder_layer, decoder_layer, whole


def _count(
    bias: int = 1, gains: int = 2, tables: int = 1, logits: int = 1
) -> Callable[..., Counts]:
    """The same with something forgotten, or counted more than once."""

    def count(vocab: int, num_layers: int, d: int, d_ff: int) -> Counts:
        attention = 4 * (d + bias) * d
        feed_forward = (d + bias) * d_ff + (d_ff + bias) * d
        reads = attention + feed_forward + 2 * gains * d
        writes = 2 * attention + feed_forward + 3 * gains * d
        whole = num_layers * (reads + writes) + (tables * d + logits) * vocab
        return attention, feed_forward, reads, writes, whole

    return count


model_parameters = Derivation(
    reference=_model_parameters,
    mistakes={
        "steps 1 to 4 lack the biases: each matrix has one.": _count(bias=0),
        "all steps lack the biases: each matrix has one, and the logits too.": (
            _count(bias=0, logits=0)
        ),
        "step 3 is wrong: a norm has a gain and a bias, so 2 d numbers, not d.": _count(gains=1),
        "step 5 is wrong: the bias of the logits is missing, a number for each word.": (
            _count(logits=0)
        ),
        "step 5 is wrong: you count a table for each side; there is one for all.": _count(tables=2),
        "step 5 is wrong: you count three tables; source, target and logits share one.": (
            _count(tables=3)
        ),
        "step 5 is wrong: the table is missing; it is trained, too.": _count(tables=0),
    },
    cases=[(10, 2, 6, 11), (146, 4, 64, 256), (7, 6, 5, 9)],
)
