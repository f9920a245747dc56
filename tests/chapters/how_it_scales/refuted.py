import numpy as np

from transformer_workbook.chapters.how_it_scales import proofs


def law(at, E, A, alpha, B, beta):
    N, D = at
    return E + A / (N / 1e4) ** alpha + B / (D / 1e6) ** beta


def unknown_words():
    """One word fewer is read."""
    proofs.unknown_words(lambda p, n: (p * (1 - p) ** (n - 1)).sum())


def law_is_found():
    """It always says the same."""
    proofs.law_is_found(law, lambda at, losses: np.ones(5))


def best_size():
    """All the budget is spent on a model of a thousand parameters."""
    proofs.best_size(law, lambda C, *five: (1e3, C / 6e3), 1.0, 0.5, 0.4, 0.3, 0.6)


REFUTED = {
    unknown_words: "your sum differs from the mean over all texts by",
    law_is_found: "your fit differs from two laws and their losses by",
    best_size: "your grid, in logarithms differs from SciPy's search by",
}
