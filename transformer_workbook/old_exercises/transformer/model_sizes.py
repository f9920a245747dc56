"""The whole Transformer: how many numbers it trains."""

from collections.abc import Callable

from transformer_workbook.judge.exercises import Derivation

Counts = tuple[int | float, ...]


def _model_parameters(vocab: int, num_layers: int, d: int, d_ff: int) -> Counts:
    """Count the parameters of the parts of a Transformer, and then of the whole."""
    attention = 4 * (d + 1) * d
    feed_forward = (d + 1) * d_ff + (d_ff + 1) * d
    encoder_layer = attention + feed_forward + 4 * d
    decoder_layer = 2 * attention + feed_forward + 6 * d
    whole = num_layers * (encoder_layer + decoder_layer) + (d + 1) * vocab
    return attention, feed_forward, encoder_layer, decoder_layer, whole


def _count(
    gains: int = 2,
    tables: int = 1,
    logits: int = 1,
    *,
    matrices: tuple[int, int] = (4, 4),  # and their biases
    inside: tuple[int, int] = (1, 1),  # biases of d_ff and of d numbers
    norms: tuple[int | float, int | float] = (2, 3),
    attentions: int = 2,
    ends: int = 0,
    stacks: tuple[int, int] = (0, 0),  # layers that are counted as if there were so many
) -> Callable[..., Counts]:
    """The same with something forgotten, or counted more than once."""

    def count(vocab: int, num_layers: int, d: int, d_ff: int) -> Counts:
        attention = matrices[0] * d * d + matrices[1] * d
        feed_forward = 2 * d * d_ff + inside[0] * d_ff + inside[1] * d
        reads = attention + feed_forward + norms[0] * gains * d
        writes = attentions * attention + feed_forward + norms[1] * gains * d
        stacked = (stacks[0] or num_layers) * reads + (stacks[1] or num_layers) * writes
        whole = stacked + (tables * d + logits) * vocab + ends * d
        return attention, feed_forward, reads, writes, whole

    return count


def _other(steps: Callable[[int, int, int, int], Counts]) -> Callable[..., Counts]:
    """Other first steps, of the right attention and network; what follows them is right."""

    def count(vocab: int, num_layers: int, d: int, d_ff: int) -> Counts:
        right = _model_parameters(vocab, num_layers, d, d_ff)
        found = steps(int(right[0]), int(right[1]), d, d_ff)
        return *found, *right[len(found) :]

    return count


model_parameters = Derivation(
    reference=_model_parameters,
    given={
        "step 1 is wrong: there are four matrices; that of the output is one of them.": (
            _count(matrices=(3, 3))
        ),
        "step 1 is wrong: this is one matrix; there are four.": _count(matrices=(1, 1)),
        "step 1 is wrong: its biases are missing, d numbers for each matrix.": (
            _count(matrices=(4, 0))
        ),
        "step 1 is wrong: each of the four matrices has a bias; you count one for all.": (
            _count(matrices=(4, 1))
        ),
        "step 1 is wrong: three matrices have a bias here; the output's has one, too.": (
            _count(matrices=(4, 3))
        ),
        "step 2 is wrong: you count two biases of d_ff; the second has d numbers.": (
            _count(inside=(2, 0))
        ),
        "step 2 is wrong: you count two biases of d; the first has d_ff numbers.": (
            _count(inside=(0, 2))
        ),
        "step 2 is wrong: the bias of the second matrix is missing, d numbers.": (
            _count(inside=(1, 0))
        ),
        "step 2 is wrong: the bias of the first matrix is missing, d_ff numbers.": (
            _count(inside=(0, 1))
        ),
        "step 2 is wrong: both biases are missing.": _count(inside=(0, 0)),
        "step 3 is wrong: it has 2 d for the norms; both have a gain and a bias, so 4 d.": (
            _count(norms=(1, 3))
        ),
        "step 3 is wrong: it has one norm too many.": _count(norms=(3, 4)),
        "step 3 is wrong: the norms are missing; they are trained, too.": _count(gains=0),
        "step 4 is wrong: a decoder layer has two attentions and three norms.": (
            _count(attentions=1, norms=(2, 2))
        ),
        "step 4 is wrong: a decoder layer has two attentions.": _count(attentions=1),
        "step 4 is wrong: a decoder layer has three norms.": _count(norms=(2, 2)),
        "step 4 is wrong: a decoder layer has two attentions, not three.": _count(attentions=3),
        "step 5 is wrong: you count a norm at the end of each stack; post-norm has none.": (
            _count(ends=4)
        ),
        "step 5 is wrong: you count a norm at the end of the model; post-norm has none.": (
            _count(ends=2)
        ),
        "step 5 is wrong: the bias of the logits has a number for each word, not d.": (
            _count(logits=0, ends=1)
        ),
        "step 5 is wrong: table and bias of the logits are missing.": _count(tables=0, logits=0),
        "step 5 is wrong: two tables, and no bias; there is one table, and a bias.": (
            _count(tables=2, logits=0)
        ),
        "step 5 is wrong: three tables, and no bias; there is one table, and a bias.": (
            _count(tables=3, logits=0)
        ),
        "step 5 is wrong: the bias of the logits is there for each table; only they have one.": (
            _count(tables=2, logits=2)
        ),
        "step 5 is wrong: one layer in each stack; there are N.": _count(stacks=(1, 1)),
        "step 5 is wrong: one layer in the decoder; there are N.": _count(stacks=(0, 1)),
        "step 5 is wrong: the bias of the logits is missing, a number for each word.": (
            _count(logits=0)
        ),
        "step 5 is wrong: you count a table for each side; there is one for all.": _count(tables=2),
        "step 5 is wrong: you count three tables; source, target and logits share one.": (
            _count(tables=3)
        ),
        "step 5 is wrong: the table is missing; it is trained, too.": _count(tables=0),
        "step 1 is wrong: this is two matrices; there are four.": _count(matrices=(2, 2)),
        "step 1 is wrong: two matrices have a bias here; all four have one.": (
            _count(matrices=(4, 2))
        ),
        "step 1 is wrong: this has five matrices; there are four.": _count(matrices=(5, 5)),
        "step 2 is wrong: each bias is counted twice.": _count(inside=(2, 2)),
        "step 2 is wrong: this is the first matrix and its bias; there are two matrices.": (
            _other(lambda a, f, d, d_ff: (a, d * d_ff + d_ff))
        ),
        "step 2 is wrong: this is one matrix with both biases; there are two matrices.": (
            _other(lambda a, f, d, d_ff: (a, d * d_ff + d_ff + d))
        ),
        "step 3 is wrong: it has d for the norms; both have a gain and a bias, so 4 d.": (
            _count(norms=(0.5, 3))
        ),
        "step 3 is wrong: it has two attentions; an encoder layer has one.": (
            _other(lambda a, f, d, d_ff: (a, f, 2 * a + f + 4 * d))
        ),
        "step 3 is wrong: it has 3 d for the norms; both have a gain and a bias, so 4 d.": (
            _count(norms=(1.5, 3))
        ),
        "step 4 is wrong: it has 3 d for the norms; all three have a gain and a bias.": (
            _count(norms=(2, 1.5))
        ),
        "step 4 is wrong: it has 2 d for the norms; there are three, of 2 d each.": (
            _count(norms=(2, 1))
        ),
        "step 4 is wrong: it has no norms; there are three.": _count(norms=(2, 0)),
        "step 4 is wrong: a decoder layer has three norms, not four.": _count(norms=(2, 4)),
        "step 4 is wrong: there are two attentions, not three, and three norms, not four.": (
            _count(attentions=3, norms=(2, 4))
        ),
        "step 4 is wrong: it has two feed-forward networks; there is one.": (
            _other(lambda a, f, d, d_ff: (a, f, a + f + 4 * d, 2 * a + 2 * f + 6 * d))
        ),
        "step 5 is wrong: one layer in the encoder; there are N.": _count(stacks=(1, 0)),
        "step 5 is wrong: the bias of the logits is counted twice.": _count(logits=2),
        "step 5 is wrong: two norms at the ends, and no bias of the logits.": (
            _count(logits=0, ends=4)
        ),
        "step 5 is wrong: a norm at the end, and no bias of the logits.": (
            _count(logits=0, ends=2)
        ),
    },
    cases=[(10, 2, 6, 11), (146, 4, 64, 256), (7, 6, 5, 9)],
)
