"""Layers: the slope of a deep stack, and the size of a layer."""

from annotated_transformer.course.checking import Exercise


def _stack_slopes(slope: float, layers: int) -> tuple[float, float]:
    return slope**layers, (1 + slope) ** layers


stack_slopes = Exercise(
    reference=_stack_slopes,
    mistakes={
        "with shortcuts you add 1 once; every layer has a shortcut, so add 1 in each factor.": (
            lambda a, n: (a**n, a**n + 1)
        ),
        "you add the slopes; the slope of a chain is the product.": (
            lambda a, n: (n * a, n * (1 + a))
        ),
        "without shortcuts it is right; with them you add where you must multiply.": (
            lambda a, n: (a**n, n * (1 + a))
        ),
        "1 + n · slope holds for a tiny slope only; multiply the factors out.": (
            lambda a, n: (a**n, 1 + n * a)
        ),
        "you multiply the slope by the number of layers; multiply the layers' slopes together.": (
            lambda a, n: (n * a, 1 + n * a)
        ),
        "these are sizes, without their signs; an odd number of negative slopes is negative.": (
            lambda a, n: (abs(a) ** n, abs(1 + a) ** n)
        ),
        "the first is a size, without its sign; an odd number of negative slopes is negative.": (
            lambda a, n: (abs(a) ** n, (1 + a) ** n)
        ),
        "both are the slope without shortcuts.": lambda a, n: (a**n, a**n),
        "the shortcut does not make the slope 1; it adds 1 to it.": lambda a, n: (a**n, 1.0),
        "you swapped the two: first without shortcuts, then with.": (
            lambda a, n: ((1 + a) ** n, a**n)
        ),
        "you count one layer too few.": lambda a, n: (a ** (n - 1), (1 + a) ** (n - 1)),
        "this is one layer; the stack has several.": lambda a, n: (a, 1 + a),
    },
    cases=[(0.5, 3), (-0.5, 4), (-0.5, 3), (-1.5, 3), (0.1, 6)],
)


def _layer_parameters(d_model: int, d_ff: int) -> int:
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norms = 2 * (d_model + d_model)
    return attention + feed_forward + norms


layer_parameters = Exercise(
    reference=_layer_parameters,
    mistakes={
        "4 · d_model are missing: the biases of the attention, or all that the LayerNorms train.": (
            lambda d, f: 4 * d * (d + 1) + 2 * d * f + f + d
        ),
        "2 · d_model are missing: there are two LayerNorms, each with a gain and a bias.": (
            lambda d, f: 4 * d * (d + 1) + 2 * d * f + f + 3 * d
        ),
        "you count one gain and one bias for a LayerNorm; it has d_model of each.": (
            lambda d, f: 4 * d * (d + 1) + 2 * d * f + f + d + 4
        ),
        "the matrix W^O of the attention is missing.": (
            lambda d, f: 3 * d * (d + 1) + 2 * d * f + f + 5 * d
        ),
        "the biases of the feed-forward network are missing.": (
            lambda d, f: 4 * d * (d + 1) + 2 * d * f + 4 * d
        ),
        "all biases of the matrices are missing.": lambda d, f: 4 * d * d + 2 * d * f + 4 * d,
        "the first bias of the feed-forward network has d_ff numbers, not d_model.": (
            lambda d, f: 4 * d * (d + 1) + 2 * d * f + 2 * d + 4 * d
        ),
        "the second bias of the feed-forward network has d_model numbers, not d_ff.": (
            lambda d, f: 4 * d * (d + 1) + 2 * d * f + 2 * f + 4 * d
        ),
        "the matrices are all there; the biases and the two LayerNorms are missing.": (
            lambda d, f: 4 * d * d + 2 * d * f
        ),
        "this is the feed-forward network alone.": lambda d, f: 2 * d * f + f + d,
        "the feed-forward network has two matrices, in and out.": (
            lambda d, f: 4 * d * (d + 1) + d * f + f + 4 * d
        ),
        "this is a decoder layer: an encoder layer has one attention and two LayerNorms.": (
            lambda d, f: 8 * d * (d + 1) + 2 * d * f + f + d + 6 * d
        ),
    },
    cases=[(6, 10), (8, 20), (5, 7)],
)
