from answers import wrong


@wrong("turned_attention", "turns the scores, but keeps the second .mT")
def _(x, memory):
    scores = x @ memory.mT / x.size(-1) ** 0.5
    return scores.softmax(-1).mT @ memory


wrong("unchanged_by", "G shifts as F does, so thought harmless")("ADFG")
wrong("unchanged_by", "B is an order as A")("ABDF")
wrong("unchanged_by", "adding to the keys must change the scores")("AD")


@wrong("memory_gradient", "the values' gradient A G without a transpose, shapes do not fit")
def _(X, M, A, G):
    first = A @ G
    B = G @ M.T
    S = A * (B - (A * B).sum(1, keepdim=True))
    return first, B, S, S.T @ X, first + S.T @ X


@wrong("turned_attention", "scores divided by their sum, no exponential")
def _(x, memory):
    scores = x @ memory.mT / x.size(-1) ** 0.5
    return scores / scores.sum(-1, keepdim=True) @ memory


@wrong("memory_gradient", "the weights taken where the scores' gradient belongs")
def _(X, M, A, G):
    values, B = A.mT @ G, G @ M.mT
    S = A * (B - (A * B).sum(1, keepdim=True))
    return values, B, S, A.mT @ X, values + A.mT @ X
