"""Answers of readers who saw only the statement."""
import torch
from torch import nn
from torch.nn import functional as F

from annotated_transformer.soft_lookup import masked_softmax
from answers import right, wrong

# ---------------------------------------------------------------- 1 attention_weights


@right("attention_weights")
def _(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)


@right("attention_weights")
def _(scores, mask):
    e = torch.exp(scores - scores.amax(-1, keepdim=True)) * mask
    return e / e.sum(dim=-1, keepdim=True)


@right("attention_weights")
def _(scores, mask):
    return F.softmax(torch.where(mask, scores, -1e9), dim=2)


@right("attention_weights")
def _(scores, mask):
    weights = torch.zeros_like(scores)
    for i in range(scores.size(0)):
        keys = mask[i, 0].nonzero().squeeze(1)
        weights[i, :, keys] = scores[i][:, keys].softmax(-1)
    return weights


@wrong("attention_weights", "softmax over the queries")
def _(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=1)


@wrong("attention_weights", "mask after the softmax, sum below 1")
def _(scores, mask):
    return scores.softmax(dim=-1) * mask


@wrong("attention_weights", "score 0 where it may not look")
def _(scores, mask):
    return (scores * mask).softmax(dim=-1)


@wrong("attention_weights", "mask the wrong way round")
def _(scores, mask):
    return scores.masked_fill(mask, -torch.inf).softmax(dim=-1)


@wrong("attention_weights", "minus a billionth instead of minus a billion")
def _(scores, mask):
    return scores.masked_fill(~mask, -1e-9).softmax(-1)


@wrong("attention_weights", "no softmax, only masked scores")
def _(scores, mask):
    return scores.masked_fill(~mask, 0.0)


@wrong("attention_weights", "divides by the sum of raw scores, no exp")
def _(scores, mask):
    kept = scores * mask
    return kept / kept.sum(dim=-1, keepdim=True)


@wrong("attention_weights", "exp right, sum over the wrong axis")
def _(scores, mask):
    e = scores.exp() * mask
    total = e.sum(dim=1, keepdim=True)
    return e / total.clamp(min=1e-12)


@wrong("attention_weights", "fills with -10, which is not little enough")
def _(scores, mask):
    return scores.masked_fill(~mask, -10.0).softmax(dim=-1)


@wrong("attention_weights", "indexing with the mask of another shape")
def _(scores, mask):
    scores = scores.clone()
    scores[~mask] = -torch.inf
    return scores.softmax(-1)


@wrong("attention_weights", "uses the first sentence's mask for all")
def _(scores, mask):
    return scores.masked_fill(~mask[0], float("-inf")).softmax(-1)


@wrong("attention_weights", "log_softmax, logarithms of the weights")
def _(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).log_softmax(dim=-1)


# ---------------------------------------------------------------- 2 nadaraya_watson


@right("nadaraya_watson")
def _(query, keys, values, width):
    distance = (query[:, None] - keys[None, :]) / width
    kernel = torch.exp(-(distance**2) / 2)
    return kernel @ values / kernel.sum(dim=1)


@right("nadaraya_watson")
def _(query, keys, values, width):
    distance = (query[:, None] - keys[None, :]) / width
    return (-(distance**2) / 2).softmax(dim=-1) @ values


@right("nadaraya_watson")
def _(query, keys, values, width):
    guesses = []
    for q in query:
        weights = torch.exp(-(((q - keys) / width) ** 2) / 2)
        guesses.append((weights * values).sum() / weights.sum())
    return torch.stack(guesses)


@wrong("nadaraya_watson", "normalised over the queries")
def _(query, keys, values, width):
    distance = (query[:, None] - keys[None, :]) / width
    kernel = torch.exp(-(distance**2) / 2)
    return (kernel / kernel.sum(0)) @ values


@wrong("nadaraya_watson", "mean over all keys, near or far")
def _(query, keys, values, width):
    distance = (query[:, None] - keys[None, :]) / width
    kernel = torch.exp(-(distance**2) / 2)
    return kernel @ values / len(keys)


@wrong("nadaraya_watson", "factor of the normal density instead of the sum")
def _(query, keys, values, width):
    distance = (query[:, None] - keys[None, :]) / width
    kernel = torch.exp(-(distance**2) / 2) / (width * (2 * torch.pi) ** 0.5)
    return kernel @ values


@wrong("nadaraya_watson", "divides by the sum over everything")
def _(query, keys, values, width):
    distance = (query[:, None] - keys[None, :]) / width
    kernel = torch.exp(-(distance**2) / 2)
    return (kernel / kernel.sum()) @ values


@wrong("nadaraya_watson", "no keepdim, fails or divides columns")
def _(query, keys, values, width):
    distance = (query[:, None] - keys[None, :]) / width
    kernel = torch.exp(-(distance**2) / 2)
    kernel = kernel / kernel.sum(dim=-1)
    return kernel @ values


@wrong("nadaraya_watson", "softmax on top of the exp")
def _(query, keys, values, width):
    distance = (query[:, None] - keys[None, :]) / width
    kernel = torch.exp(-(distance**2) / 2)
    return kernel.softmax(dim=-1) @ values


@wrong("nadaraya_watson", "length 1 instead of sum 1")
def _(query, keys, values, width):
    distance = (query[:, None] - keys[None, :]) / width
    kernel = F.normalize(torch.exp(-(distance**2) / 2), dim=-1)
    return kernel @ values


@wrong("nadaraya_watson", "loses the half while rewriting it as softmax")
def _(query, keys, values, width):
    distance = (query[:, None] - keys[None, :]) / width
    return torch.softmax(-(distance**2), dim=1) @ values


@wrong("nadaraya_watson", "softmax of the wrong sign, far keys win")
def _(query, keys, values, width):
    distance = (query[:, None] - keys[None, :]) / width
    return torch.softmax(distance**2 / 2, dim=1) @ values


@wrong("nadaraya_watson", "divides by the width only once more")
def _(query, keys, values, width):
    distance = (query[:, None] - keys[None, :]) / width
    kernel = torch.exp(-(distance**2) / 2)
    return kernel @ values / width


@wrong("nadaraya_watson", "every weight relative to the largest")
def _(query, keys, values, width):
    distance = (query[:, None] - keys[None, :]) / width
    kernel = torch.exp(-(distance**2) / 2)
    return (kernel / kernel.amax(dim=1, keepdim=True)) @ values


# ---------------------------------------------------------------- 3 same_weights

right("same_weights")("ACEF")
wrong("same_weights", "the query cannot be without effect")("ACE")
wrong("same_weights", "thinks that doubling keeps proportions")("ABCEF")
wrong("same_weights", "thinks that a shift of all h is a shift of all scores")("ACDEF")
wrong("same_weights", "misses the odd tanh")("AEF")
wrong("same_weights", "misses the new order")("ACF")
wrong("same_weights", "forgets that softmax ignores a constant")("CEF")
wrong("same_weights", "only the obvious one")("A")
wrong("same_weights", "those that do change")("BD")
wrong("same_weights", "takes the shift of h for that of the scores, no more")("AD")


# ---------------------------------------------------------------- 4 alignment_error


@right("alignment_error")
def _(predicted, gold):
    targets = {t for _, t in gold}
    kept = {(s, t) for s, t in predicted if t in targets}
    return 1 - 2 * len(kept & gold) / (len(kept) + len(gold))


@right("alignment_error")
def _(predicted, gold):
    kept = [link for link in predicted if any(link[1] == g[1] for g in gold)]
    hits = sum(1 for link in kept if link in gold)
    total = len(kept) + len(gold)
    return (total - 2 * hits) / total


@right("alignment_error")
def _(predicted, gold):
    kept = frozenset(filter(lambda p: p[1] in [b for _a, b in gold], predicted))
    return len(kept ^ gold) / (len(kept) + len(gold))


@wrong("alignment_error", "leaves nothing out")
def _(predicted, gold):
    return 1 - 2 * len(predicted & gold) / (len(predicted) + len(gold))


@wrong("alignment_error", "looks at the source where it should look at the target")
def _(predicted, gold):
    sources = {s for s, _ in gold}
    kept = {link for link in predicted if link[0] in sources}
    return 1 - 2 * len(kept & gold) / (len(kept) + len(gold))


@wrong("alignment_error", "forgets the factor 2")
def _(predicted, gold):
    targets = {t for _, t in gold}
    kept = {link for link in predicted if link[1] in targets}
    return 1 - len(kept & gold) / (len(kept) + len(gold))


@wrong("alignment_error", "intersection over union")
def _(predicted, gold):
    targets = {t for _, t in gold}
    kept = {link for link in predicted if link[1] in targets}
    return 1 - len(kept & gold) / len(kept | gold)


@wrong("alignment_error", "agreement instead of error")
def _(predicted, gold):
    targets = {t for _, t in gold}
    kept = {link for link in predicted if link[1] in targets}
    return 2 * len(kept & gold) / (len(kept) + len(gold))


@wrong("alignment_error", "filters for the hits only, all links in the denominator")
def _(predicted, gold):
    targets = {t for _, t in gold}
    kept = {link for link in predicted if link[1] in targets}
    return 1 - 2 * len(kept & gold) / (len(predicted) + len(gold))


@wrong("alignment_error", "precision, and divides by 0 if nothing is left")
def _(predicted, gold):
    targets = {t for _, t in gold}
    kept = {link for link in predicted if link[1] in targets}
    return 1 - len(kept & gold) / len(kept)


@wrong("alignment_error", "recall")
def _(predicted, gold):
    targets = {t for _, t in gold}
    kept = {link for link in predicted if link[1] in targets}
    return 1 - len(kept & gold) / len(gold)


@wrong("alignment_error", "leaves out gold links without prediction as well")
def _(predicted, gold):
    gold_targets = {t for _, t in gold}
    kept = {link for link in predicted if link[1] in gold_targets}
    found = {t for _, t in predicted}
    judged = {link for link in gold if link[1] in found}
    return 1 - 2 * len(kept & judged) / (len(kept) + len(judged))


@wrong("alignment_error", "leaves out all predictions that are not gold")
def _(predicted, gold):
    kept = {link for link in predicted if link in gold}
    return 1 - 2 * len(kept & gold) / (len(kept) + len(gold))


@wrong("alignment_error", "one link per target, a dict loses the others")
def _(predicted, gold):
    best = {t: s for s, t in sorted(gold)}
    kept = {(s, t) for s, t in predicted if t in best}
    hits = sum(best[t] == s for s, t in kept)
    return 1 - 2 * hits / (len(kept) + len(best))


# ---------------------------------------------------------------- 5 best_sharpness

right("best_sharpness")(0.3)
wrong("best_sharpness", "no mask, every hour looks at itself")(10.0)
wrong("best_sharpness", "guess in the middle of the rest")(1.0)
wrong("best_sharpness", "largest error instead of smallest")(0.01)
wrong("best_sharpness", "smooth is good, a guess")(0.03)
wrong("best_sharpness", "wants a wide, smooth mean")(0.1)
wrong("best_sharpness", "the nearest neighbours only")(3.0)
wrong("best_sharpness", "the place in the list")(3)
wrong("best_sharpness", "the error instead of the sharpness")(2.916)


# ---------------------------------------------------------------- 6 by_one_score


@right("by_one_score")
def _(e, h, j):
    alpha = e.softmax(0)
    c = alpha @ h
    d_alpha = -alpha * alpha[j]
    d_alpha[j] = alpha[j] * (1 - alpha[j])
    return alpha, c, d_alpha, alpha[j] * (h[j] - c)


@right("by_one_score")
def _(e, h, j):
    alpha = torch.exp(e) / torch.exp(e).sum()
    context = (alpha[:, None] * h).sum(dim=0)
    one = F.one_hot(torch.tensor(j), len(e))
    d_alpha = alpha[j] * (one - alpha)
    return [alpha, context, d_alpha, (d_alpha[:, None] * h).sum(0)]


@right("by_one_score")
def _(e, h, j):
    alpha = e.softmax(-1)
    jacobian = torch.autograd.functional.jacobian(lambda x: x.softmax(-1), e)
    return alpha, h.T @ alpha, jacobian[:, j], h.T @ jacobian[:, j]


@wrong("by_one_score", "plus for the others")
def _(e, h, j):
    alpha = e.softmax(0)
    c = alpha @ h
    d_alpha = alpha * alpha[j]
    d_alpha[j] = alpha[j] * (1 - alpha[j])
    return alpha, c, d_alpha, alpha[j] * (h[j] - c)


@wrong("by_one_score", "others do not change")
def _(e, h, j):
    alpha = e.softmax(0)
    d_alpha = torch.zeros_like(alpha)
    d_alpha[j] = alpha[j] * (1 - alpha[j])
    return alpha, alpha @ h, d_alpha, d_alpha @ h


@wrong("by_one_score", "the diagonal of the Jacobian, every key by its own score")
def _(e, h, j):
    alpha = e.softmax(0)
    d_alpha = alpha * (1 - alpha)
    c = alpha @ h
    return alpha, c, d_alpha, alpha[j] * (h[j] - c)


@wrong("by_one_score", "forgets to subtract the context")
def _(e, h, j):
    alpha = e.softmax(0)
    d_alpha = -alpha[j] * alpha
    d_alpha[j] += alpha[j]
    return alpha, alpha @ h, d_alpha, alpha[j] * h[j]


@wrong("by_one_score", "context minus h_j, sign")
def _(e, h, j):
    alpha = e.softmax(0)
    c = alpha @ h
    d_alpha = -alpha[j] * alpha
    d_alpha[j] += alpha[j]
    return alpha, c, d_alpha, alpha[j] * (c - h[j])


@wrong("by_one_score", "no factor alpha_j in the last")
def _(e, h, j):
    alpha = e.softmax(0)
    c = alpha @ h
    d_alpha = -alpha[j] * alpha
    d_alpha[j] += alpha[j]
    return alpha, c, d_alpha, h[j] - c


@wrong("by_one_score", "all weights at j too: minus alpha_j squared without its alpha_j")
def _(e, h, j):
    alpha = e.softmax(0)
    c = alpha @ h
    d_alpha = -alpha * alpha[j]
    return alpha, c, d_alpha, alpha[j] * (h[j] - c)


@wrong("by_one_score", "1 - alpha_i with i for j: each gets the others' factor")
def _(e, h, j):
    alpha = e.softmax(0)
    c = alpha @ h
    d_alpha = -alpha[j] * (1 - alpha)
    d_alpha[j] = alpha[j] * (1 - alpha[j])
    return alpha, c, d_alpha, alpha[j] * (h[j] - c)


@wrong("by_one_score", "gives the whole Jacobian")
def _(e, h, j):
    alpha = e.softmax(0)
    c = alpha @ h
    jacobian = torch.diag(alpha) - alpha[:, None] * alpha[None, :]
    return alpha, c, jacobian, jacobian @ h


@wrong("by_one_score", "in place: spoils the weights that it returns")
def _(e, h, j):
    alpha = e.softmax(0)
    c = alpha @ h
    aj = alpha[j].clone()
    d_alpha = alpha
    d_alpha *= -aj
    d_alpha[j] += aj
    return alpha, c, d_alpha, aj * (h[j] - c)


@wrong("by_one_score", "other order: each with its derivative")
def _(e, h, j):
    alpha = e.softmax(0)
    c = alpha @ h
    d_alpha = -alpha[j] * alpha
    d_alpha[j] += alpha[j]
    return alpha, d_alpha, c, alpha[j] * (h[j] - c)


@wrong("by_one_score", "only the term of j in the sum")
def _(e, h, j):
    alpha = e.softmax(0)
    d_alpha = -alpha[j] * alpha
    d_alpha[j] += alpha[j]
    return alpha, alpha @ h, d_alpha, d_alpha[j] * h[j]


@wrong("by_one_score", "a finite step that is too large")
def _(e, h, j):
    step = 0.1
    more = e.clone()
    more[j] += step
    alpha, beta = e.softmax(0), more.softmax(0)
    return alpha, alpha @ h, (beta - alpha) / step, (beta @ h - alpha @ h) / step


@wrong("by_one_score", "h @ alpha, shapes do not fit")
def _(e, h, j):
    alpha = e.softmax(0)
    c = h @ alpha
    d_alpha = -alpha[j] * alpha
    d_alpha[j] += alpha[j]
    return alpha, c, d_alpha, alpha[j] * (h[j] - c)


# ---------------------------------------------------------------- 7 additive_attention


class _Base(nn.Module):
    """What most students have in common."""

    def __init__(self, query_dim, memory_dim, hidden):
        super().__init__()
        self.W_s = nn.Linear(query_dim, hidden, bias=False)
        self.W_h = nn.Linear(memory_dim, hidden, bias=False)
        self.v_a = nn.Linear(hidden, 1, bias=False)

    def score(self, query, memory):
        pairs = self.W_s(query).unsqueeze(-2) + self.W_h(memory).unsqueeze(-3)
        return self.v_a(torch.tanh(pairs)).squeeze(-1)


@right("additive_attention")
class _(_Base):
    def forward(self, query, memory, mask):
        return masked_softmax(self.score(query, memory), mask) @ memory


@right("additive_attention")
class _(_Base):
    def forward(self, query, memory, mask):
        scores = self.score(query, memory).masked_fill(~mask, -torch.inf)
        return scores.softmax(-1).nan_to_num(0.0) @ memory


@right("additive_attention")
class _(nn.Module):
    def __init__(self, query_dim, memory_dim, hidden):
        super().__init__()
        self.W_h = nn.Linear(memory_dim, hidden, bias=False)
        self.W_s = nn.Linear(query_dim, hidden, bias=False)
        self.v_a = nn.Linear(hidden, 1, bias=False)

    def forward(self, query, memory, mask):
        q = self.W_s(query)[..., :, None, :]
        k = self.W_h(memory)[..., None, :, :]
        scores = self.v_a((q + k).tanh())[..., 0]
        e = (scores - scores.amax(-1, keepdim=True)).exp() * mask
        total = e.sum(-1, keepdim=True)
        weights = e / torch.where(total == 0, 1.0, total)
        return torch.einsum("...qk,...kd->...qd", weights, memory)


@right("additive_attention")
class _(_Base):
    def forward(self, query, memory, mask):
        scores = self.score(query, memory).masked_fill(~mask, -1e9)
        context = scores.softmax(-1) @ memory
        return torch.where(mask.any(-1, keepdim=True), context, 0.0)


@wrong("additive_attention", "nan where there is nothing to attend to")
class _(_Base):
    def forward(self, query, memory, mask):
        scores = self.score(query, memory).masked_fill(~mask, -torch.inf)
        return scores.softmax(-1) @ memory


@wrong("additive_attention", "mean of the memory where there is nothing to attend to")
class _(_Base):
    def forward(self, query, memory, mask):
        scores = self.score(query, memory).masked_fill(~mask, -1e9)
        return scores.softmax(-1) @ memory


@wrong("additive_attention", "one batch axis only")
class _(_Base):
    def forward(self, query, memory, mask):
        pairs = self.W_s(query)[:, :, None] + self.W_h(memory)[:, None]
        scores = self.v_a(pairs.tanh()).squeeze(-1)
        return masked_softmax(scores, mask) @ memory


@wrong("additive_attention", "transposes fixed axes, fails without a batch axis")
class _(_Base):
    def forward(self, query, memory, mask):
        scores = self.score(query, memory)
        weights = masked_softmax(scores, mask)
        return (memory.transpose(1, 2) @ weights.transpose(1, 2)).transpose(1, 2)


@wrong("additive_attention", "no tanh")
class _(_Base):
    def forward(self, query, memory, mask):
        pairs = self.W_s(query).unsqueeze(-2) + self.W_h(memory).unsqueeze(-3)
        return masked_softmax(self.v_a(pairs).squeeze(-1), mask) @ memory


@wrong("additive_attention", "biases are left on")
class _(nn.Module):
    def __init__(self, query_dim, memory_dim, hidden):
        super().__init__()
        self.W_s = nn.Linear(query_dim, hidden)
        self.W_h = nn.Linear(memory_dim, hidden)
        self.v_a = nn.Linear(hidden, 1)

    def forward(self, query, memory, mask):
        pairs = self.W_s(query).unsqueeze(-2) + self.W_h(memory).unsqueeze(-3)
        return masked_softmax(self.v_a(pairs.tanh()).squeeze(-1), mask) @ memory


@wrong("additive_attention", "mean of W_h h instead of h")
class _(_Base):
    def forward(self, query, memory, mask):
        keys = self.W_h(memory)
        pairs = self.W_s(query).unsqueeze(-2) + keys.unsqueeze(-3)
        return masked_softmax(self.v_a(pairs.tanh()).squeeze(-1), mask) @ keys


@wrong("additive_attention", "softmax over the queries")
class _(_Base):
    def forward(self, query, memory, mask):
        scores = self.score(query, memory).masked_fill(~mask, -torch.inf)
        return scores.softmax(-2).nan_to_num(0.0) @ memory


@wrong("additive_attention", "zeros only if nobody in the batch may look")
class _(_Base):
    def forward(self, query, memory, mask):
        if not mask.any():
            return memory.new_zeros(*query.shape[:-1], memory.size(-1))
        scores = self.score(query, memory).masked_fill(~mask, -torch.inf)
        return scores.softmax(-1) @ memory


@wrong("additive_attention", "all for any: zeros as soon as one key is hidden")
class _(_Base):
    def forward(self, query, memory, mask):
        scores = self.score(query, memory).masked_fill(~mask, -1e9)
        return (scores.softmax(-1) @ memory) * mask.all(-1, keepdim=True)


@wrong("additive_attention", "mask after the softmax, not normalised again")
class _(_Base):
    def forward(self, query, memory, mask):
        return (self.score(query, memory).softmax(-1) * mask) @ memory


@wrong("additive_attention", "names of the layers from the chapter's class")
class _(nn.Module):
    def __init__(self, query_dim, memory_dim, hidden):
        super().__init__()
        self.query = nn.Linear(query_dim, hidden, bias=False)
        self.key = nn.Linear(memory_dim, hidden, bias=False)
        self.v = nn.Linear(hidden, 1, bias=False)

    def forward(self, query, memory, mask):
        pairs = torch.tanh(self.query(query).unsqueeze(-2) + self.key(memory).unsqueeze(-3))
        return masked_softmax(self.v(pairs).squeeze(-1), mask) @ memory


@wrong("additive_attention", "returns the weights too")
class _(_Base):
    def forward(self, query, memory, mask):
        weights = masked_softmax(self.score(query, memory), mask)
        return weights @ memory, weights


@wrong("additive_attention", "divides by the root as Transformers do")
class _(_Base):
    def forward(self, query, memory, mask):
        scores = self.score(query, memory) / self.W_s.out_features**0.5
        return masked_softmax(scores, mask) @ memory


@wrong("additive_attention", "v_a is a vector, not a layer")
class _(nn.Module):
    def __init__(self, query_dim, memory_dim, hidden):
        super().__init__()
        self.W_s = nn.Linear(query_dim, hidden, bias=False)
        self.W_h = nn.Linear(memory_dim, hidden, bias=False)
        self.v_a = nn.Parameter(torch.randn(hidden))

    def forward(self, query, memory, mask):
        pairs = torch.tanh(self.W_s(query).unsqueeze(-2) + self.W_h(memory).unsqueeze(-3))
        return masked_softmax(pairs @ self.v_a, mask) @ memory
