"""Layers: the derivative of a stack, without shortcuts and with them."""

import math

from transformer_workbook.judge.exercises import Exercise


def _stack_derivatives(derivative: float, layers: int) -> tuple[float, float]:
    """What is the derivative of a stack: without shortcuts, and with them?"""
    return derivative**layers, (1 + derivative) ** layers


stack_derivatives = Exercise(
    reference=_stack_derivatives,
    given={
        "with shortcuts you add 1 once; every layer has a shortcut, so add 1 in each factor.": (
            lambda a, n: (a**n, a**n + 1)
        ),
        "these are sums; the derivative of a chain is the product.": (
            lambda a, n: (n * a, n * (1 + a))
        ),
        "without shortcuts it is right; with them you add where you must multiply.": (
            lambda a, n: (a**n, n * (1 + a))
        ),
        "1 + n · derivative holds for a tiny derivative only; multiply the factors out.": (
            lambda a, n: (a**n, 1 + n * a)
        ),
        "you multiply by the number of layers; multiply the layers' derivatives together.": (
            lambda a, n: (n * a, 1 + n * a)
        ),
        "these are sizes, without signs; an odd number of negative factors is negative.": (
            lambda a, n: (abs(a) ** n, abs(1 + a) ** n)
        ),
        "the first is a size, without its sign; an odd number of negative factors is negative.": (
            lambda a, n: (abs(a) ** n, (1 + a) ** n)
        ),
        "the sizes of negative derivatives are taken; their signs count, also in 1 + F'.": (
            lambda a, n: (abs(a) ** n, (1 + abs(a)) ** n)
        ),
        "with shortcuts the size of F' is taken; its sign counts.": (
            lambda a, n: (a**n, (1 + abs(a)) ** n)
        ),
        "with shortcuts the factor is 1 − F'; a shortcut adds 1 to F'.": (
            lambda a, n: (a**n, (1 - a) ** n)
        ),
        "with shortcuts the factor is F' − 1; a shortcut adds 1 to F'.": (
            lambda a, n: (a**n, (a - 1) ** n)
        ),
        "with shortcuts you count one layer too few.": lambda a, n: (a**n, (1 + a) ** (n - 1)),
        "with shortcuts you count one layer too many.": lambda a, n: (a**n, (1 + a) ** (n + 1)),
        "you count one layer too many.": lambda a, n: (a ** (n + 1), (1 + a) ** (n + 1)),
        "with shortcuts the factor is F' · (1 + F'); it is 1 + F'.": (
            lambda a, n: (a**n, (a * (1 + a)) ** n)
        ),
        "with shortcuts the factor is 2 F'; a shortcut adds 1, not F'.": (
            lambda a, n: (a**n, (2 * a) ** n)
        ),
        "with shortcuts n is added at the end; add 1 in each factor.": lambda a, n: (
            a**n,
            a**n + n,
        ),
        "the second is one layer's factor; multiply those of all layers.": (
            lambda a, n: (a**n, 1 + a)
        ),
        "number and exponent are swapped: the layers are the exponent.": (
            lambda a, n: (n**a, n ** (1 + a))
        ),
        "without shortcuts a layer's derivative is taken; multiply those of all layers.": (
            lambda a, n: (a, (1 + a) ** n)
        ),
        "these are the numbers for −½ and 4 layers, in every case.": (
            lambda a, n: (1 / 16, 1 / 16)
        ),
        "both are the derivative with shortcuts.": lambda a, n: ((1 + a) ** n, (1 + a) ** n),
        "both are the derivative without shortcuts.": lambda a, n: (a**n, a**n),
        "the shortcut does not make the derivative 1; it adds 1 to it.": lambda a, n: (a**n, 1.0),
        "the two are swapped: first without shortcuts, then with.": (
            lambda a, n: ((1 + a) ** n, a**n)
        ),
        "you count one layer too few.": lambda a, n: (a ** (n - 1), (1 + a) ** (n - 1)),
        "this is one layer; the stack has several.": lambda a, n: (a, 1 + a),
        "without shortcuts you count one layer too few.": lambda a, n: (a ** (n - 1), (1 + a) ** n),
        "without shortcuts you count one layer too many.": (
            lambda a, n: (a ** (n + 1), (1 + a) ** n)
        ),
        "without shortcuts you multiply by the layers; multiply their derivatives together.": (
            lambda a, n: (n * a, (1 + a) ** n)
        ),
        "with shortcuts n is added to F'; the factor 1 + F' is taken n times.": (
            lambda a, n: (a**n, n + a)
        ),
        "with shortcuts this is e to the power n F'; so it is for many tiny layers only.": (
            lambda a, n: (a**n, math.exp(n * a))
        ),
        "the second is 1 + F' + F'² + …; (1 + F')ⁿ has more terms.": (
            lambda a, n: (a**n, sum(a**k for k in range(n + 1)))
        ),
        "the second is the difference of both; the whole derivative is asked for.": (
            lambda a, n: (a**n, (1 + a) ** n - a**n)
        ),
        "the second is the sum of both; (1 + F')ⁿ holds all paths.": (
            lambda a, n: (a**n, (1 + a) ** n + a**n)
        ),
        "with shortcuts one layer only has the factor 1 + F'.": (
            lambda a, n: (a**n, a ** (n - 1) * (1 + a))
        ),
        "with shortcuts the exponent is doubled; a layer has one shortcut.": (
            lambda a, n: (a**n, (1 + a) ** (2 * n))
        ),
    },
    cases=[(0.5, 3), (-0.5, 4), (-0.5, 3), (-1.5, 3), (0.1, 6)],
)
