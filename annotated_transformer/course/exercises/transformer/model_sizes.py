"""The whole Transformer: how many numbers it trains."""

from collections.abc import Callable

from annotated_transformer.course.checking import Exercise


def _transformer_parameters(vocab: int, num_layers: int, d: int, d_ff: int) -> int:
    attention = 4 * (d + 1) * d
    feed_forward = (d + 1) * d_ff + (d_ff + 1) * d
    encoder_layer = attention + feed_forward + 4 * d
    decoder_layer = 2 * attention + feed_forward + 6 * d
    return num_layers * (encoder_layer + decoder_layer) + (d + 1) * vocab


def _count(
    *,
    attentions: int = 3,
    matrices: int = 4,
    norms: int = 5,
    gains: int = 2,
    biases: tuple[int, int] = (1, 1),
    feed_forwards: int = 2,
    tables: int = 1,
    logits: int = 1,
    final: int = 0,
) -> Callable[[int, int, int, int], int]:
    """The same with parts forgotten or counted twice, in all layers or at the end."""

    def count(vocab: int, num_layers: int, d: int, d_ff: int) -> int:
        attention = matrices * (d + biases[0]) * d
        feed_forward = (d + biases[1]) * d_ff + (d_ff + biases[1]) * d
        layers = attentions * attention + feed_forwards * feed_forward + norms * gains * d
        return num_layers * layers + tables * vocab * d + logits * vocab + final * 2 * d

    return count


transformer_parameters = Exercise(
    reference=_transformer_parameters,
    mistakes={
        "all biases are missing; every matrix has one, and the logits too.": (
            _count(biases=(0, 0), logits=0)
        ),
        "the biases of the layers are missing.": _count(biases=(0, 0)),
        "the biases of the attention are missing; here each of its matrices has one.": (
            _count(biases=(0, 1))
        ),
        "the biases of the feed-forward networks are missing.": _count(biases=(1, 0)),
        "the bias of the logits is missing: one number for each word.": _count(logits=0),
        "the layer norms are missing: a gain and a bias of d numbers for each.": _count(norms=0),
        "a layer norm has a gain and a bias, so 2 d numbers, not d.": _count(gains=1),
        "a decoder layer has three layer norms, an encoder layer two.": _count(norms=4),
        "the cross-attention of the decoder is missing.": _count(attentions=2),
        "W^O is missing: an attention has four matrices.": _count(matrices=3),
        "the decoder has a feed-forward network too.": _count(feed_forwards=1),
        "the embeddings are missing; they are trained too.": _count(tables=0),
        "you count one table for each side; source, target and logits share one.": (
            _count(tables=2)
        ),
        "you count three tables; source, target and logits share one.": _count(tables=3),
        "you count a norm at the end of each stack; post-norm layers end with one already.": (
            _count(final=2)
        ),
        "this is one layer of each stack; there are N.": (
            lambda vocab, num_layers, d, d_ff: _transformer_parameters(vocab, 1, d, d_ff)
        ),
        "these are N layers in both stacks together; each stack has N.": (
            lambda vocab, num_layers, d, d_ff: _transformer_parameters(
                vocab, num_layers // 2, d, d_ff
            )
        ),
        "these are the layers alone; the embeddings are missing, and the bias of the logits.": (
            lambda vocab, num_layers, d, d_ff: _transformer_parameters(0, num_layers, d, d_ff)
        ),
    },
    cases=[(10, 2, 6, 11), (146, 4, 64, 256), (7, 6, 5, 9)],
)
