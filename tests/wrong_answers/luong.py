"""Answers of readers who saw only the statement."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from annotated_transformer import luong as luong_package
from annotated_transformer.soft_lookup import masked_softmax
from answers import right, wrong

torch.set_default_dtype(torch.float64)  # as the notebook does


# ---------------------------------------------------------------- 1 general_scores
@right("general_scores")
def _(query, key, W):
    return query @ W @ key.transpose(-2, -1)


@right("general_scores")
def _(query, key, W):
    return torch.einsum("...qs,sh,...kh->...qk", query, W, key)


@right("general_scores")
def _(query, key, W):
    turned = F.linear(key, W)  # W h of every key
    columns = []
    for j in range(key.shape[-2]):
        columns.append((query * turned[..., j : j + 1, :]).sum(-1))
    return torch.stack(columns, dim=-1)


@right("general_scores")
def _(query, key, W):
    """loops over everything, for each sentence of the flattened front axes"""
    front = query.shape[:-2]
    q, k = query.reshape(-1, *query.shape[-2:]), key.reshape(-1, *key.shape[-2:])
    out = query.new_empty(len(q), q.size(1), k.size(1))
    for b in range(len(q)):
        for i in range(q.size(1)):
            for j in range(k.size(1)):
                out[b, i, j] = q[b, i].dot(W.mv(k[b, j]))
    return out.reshape(*front, q.size(1), k.size(1))


@wrong("general_scores", "exchanges axes 1 and 2, which only one batch axis allows")
def _(query, key, W):
    return torch.matmul(torch.matmul(query, W), key.transpose(1, 2))


@wrong("general_scores", "uses .T on a key with batch axes")
def _(query, key, W):
    return query @ W @ key.T


@wrong("general_scores", "takes W the other way round")
def _(query, key, W):
    return query @ W.T @ key.transpose(-2, -1)


@wrong("general_scores", "gives a row per key instead of a row per query")
def _(query, key, W):
    q = query @ W
    return key @ q.transpose(-2, -1)


@wrong("general_scores", "returns the weights, softmax included")
def _(query, key, W):
    scores = query @ W @ key.mT
    return scores.softmax(-1)


@wrong("general_scores", "divides by the root of the width as the Transformer does")
def _(query, key, W):
    scores = query @ W @ key.mT
    return scores / math.sqrt(key.size(-1))


@wrong("general_scores", "einsum with exactly one batch axis")
def _(query, key, W):
    return torch.einsum("bqs,sh,bkh->bqk", query, W, key)


@wrong("general_scores", "puts a tanh around the product like the concat score")
def _(query, key, W):
    return torch.tanh(query @ W) @ key.mT


@wrong("general_scores", "tensordot: every sentence with every other sentence")
def _(query, key, W):
    return torch.tensordot(query @ W, key, dims=([-1], [-1]))


# ---------------------------------------------------------------- 2 score_parameters
@right("score_parameters")
def _(score, d_s, d_h, d):
    if score == "dot":
        return 0
    if score == "general":
        return d_s * d_h
    if score == "concat":
        return d * (d_s + d_h) + d


@right("score_parameters")
def _(score, d_s, d_h, d):
    match score:
        case "dot":
            layers = []
        case "general":
            layers = [nn.Linear(d_h, d_s, bias=False)]
        case "concat":
            layers = [nn.Linear(d_s + d_h, d, bias=False), nn.Linear(d, 1, bias=False)]
    return sum(p.numel() for layer in layers for p in layer.parameters())


@right("score_parameters")
def _(score, d_s, d_h, d):
    if score == "dot" and d_s != d_h:
        raise ValueError("the dot score needs d_s = d_h")
    return {"dot": 0, "general": d_s * d_h, "concat": d_s * d + d_h * d + d}[score]


@wrong("score_parameters", "forgets the vector v of concat")
def _(score, d_s, d_h, d):
    if score == "dot":
        return 0
    return d_s * d_h if score == "general" else d * (d_s + d_h)


@wrong("score_parameters", "counts a bias inside the tanh")
def _(score, d_s, d_h, d):
    if score == "dot":
        return 0
    if score == "general":
        return d_s * d_h
    return (d_s + d_h + 1) * d + d


@wrong("score_parameters", "adds the two widths in general instead of multiplying")
def _(score, d_s, d_h, d):
    sizes = {"dot": 0, "general": d_s + d_h, "concat": (d_s + d_h) * d + d}
    return sizes[score]


@wrong("score_parameters", "counts the width of dot as parameters")
def _(score, d_s, d_h, d):
    sizes = {"dot": d_s, "general": d_s * d_h, "concat": (d_s + d_h) * d + d}
    return sizes[score]


@wrong("score_parameters", "v has as many numbers as s and h together")
def _(score, d_s, d_h, d):
    if score == "dot":
        return 0
    if score == "general":
        return d_s * d_h
    return d * (d_s + d_h) + (d_s + d_h)


@wrong("score_parameters", "general projects both to the width d")
def _(score, d_s, d_h, d):
    if score == "dot":
        return 0
    if score == "general":
        return d * (d_s + d_h)
    return d * (d_s + d_h) + d


@wrong("score_parameters", "answers with the numbers of the example")
def _(score, d_s, d_h, d):
    return {"dot": 0, "general": 12, "concat": 40}[score]


@wrong("score_parameters", "takes general's matrix as square in d_h")
def _(score, d_s, d_h, d):
    if score == "general":
        return d_h**2
    if score == "concat":
        return d * (d_h + d_s + 1)
    return 0


@wrong("score_parameters", "knows only general and concat: nothing comes back for dot")
def _(score, d_s, d_h, d):
    if score == "general":
        return d_s * d_h
    if score == "concat":
        return d * (d_s + d_h) + d


@wrong("score_parameters", "multiplies the widths of the concatenated vector")
def _(score, d_s, d_h, d):
    if score == "dot":
        return 0
    if score == "general":
        return d_s * d_h
    return d * d_s * d_h + d


# ---------------------------------------------------------------- 3 luong_context
@right("luong_context")
def _(states, memory):
    scores = states[1:] @ memory.T
    return scores.softmax(-1) @ memory


@right("luong_context")
def _(states, memory):
    contexts = []
    for t in range(1, len(states)):
        weights = F.softmax(memory.mv(states[t]), dim=0)
        contexts.append((weights[:, None] * memory).sum(0))
    return torch.stack(contexts)


@right("luong_context")
def _(states, memory):
    return luong_package.DotAttention()(states[1:], memory, memory)


@wrong("luong_context", "keeps the state before the word and changes the axis of the softmax")
def _(states, memory):
    scores = states[:-1] @ memory.T
    return scores.softmax(0) @ memory


@wrong("luong_context", "takes all states, s_0 too")
def _(states, memory):
    scores = states @ memory.T
    return scores.softmax(-1) @ memory


@wrong("luong_context", "thinks the scale is missing, and leaves the states")
def _(states, memory):
    scores = states[:-1] @ memory.T / memory.size(-1) ** 0.5
    return scores.softmax(-1) @ memory


@wrong("luong_context", "right states, but a scaled score")
def _(states, memory):
    scores = states[1:] @ memory.T / math.sqrt(states.size(1))
    return scores.softmax(-1) @ memory


@wrong("luong_context", "softmax over the steps")
def _(states, memory):
    scores = states[1:] @ memory.T
    return scores.softmax(dim=0) @ memory


@wrong("luong_context", "rolls the states the wrong way")
def _(states, memory):
    scores = states.roll(1, dims=0)[1:] @ memory.T
    return scores.softmax(-1) @ memory


@wrong("luong_context", "leaves out the first source word too")
def _(states, memory):
    memory = memory[1:]
    scores = states[1:] @ memory.T
    return scores.softmax(-1) @ memory


@wrong("luong_context", "goes on to the attentional state: tanh of the context")
def _(states, memory):
    scores = states[1:] @ memory.T
    return torch.tanh(scores.softmax(-1) @ memory)


@wrong("luong_context", "two too late: skips s_1, fills with the last state")
def _(states, memory):
    states = torch.cat([states[2:], states[-1:]])
    return (states @ memory.T).softmax(-1) @ memory


@wrong("luong_context", "removes s_0 from the sums but computes contexts in reversed order")
def _(states, memory):
    scores = states.flip(0)[:-1] @ memory.T
    return scores.softmax(-1) @ memory


# ---------------------------------------------------------------- 4 narrowest_window
right("narrowest_window")(8)
wrong("narrowest_window", "89.94 % rounded to 90 %")(7)
wrong("narrowest_window", "counts only distances below D")(9)
wrong("narrowest_window", "90 % of the sentences wholly within the window")(11)
wrong("narrowest_window", "gives the number of words in the window, 2D + 1")(17)
wrong("narrowest_window", "gives both sides together, 2D")(16)
wrong("narrowest_window", "forgets the absolute value: target - source may be as negative as it likes")(4)
wrong("narrowest_window", "the smallest that holds half of the links")(2)
wrong("narrowest_window", "returns the share and not the width")(0.930)


# ---------------------------------------------------------------- 5 by_the_query
@right("by_the_query")
def _(s, memory, W):
    a = (memory @ W.T @ s).softmax(0)
    c = a @ memory
    de_ds = memory @ W.T
    dc_de = (a[:, None] * (memory - c)).T
    return de_ds, dc_de, dc_de @ de_ds


@right("by_the_query")
def _(s, memory, W):
    n, d_h, d_s = len(memory), memory.size(1), len(s)
    e = torch.stack([s @ W @ h for h in memory])
    alpha = torch.softmax(e, dim=0)
    c = sum(alpha[j] * memory[j] for j in range(n))
    first = torch.stack([W @ h for h in memory])
    second = torch.stack([alpha[j] * (memory[j] - c) for j in range(n)], dim=1)
    third = memory.new_zeros(d_h, d_s)
    for j in range(n):
        third += alpha[j] * torch.outer(memory[j] - c, W @ memory[j])
    return [first, second, third]


@right("by_the_query")
def _(s, memory, W):
    """asks autograd"""
    jacobian = torch.autograd.functional.jacobian
    score = lambda s: memory @ (W.T @ s)
    context = lambda e: e.softmax(-1) @ memory
    return (
        jacobian(score, s),
        jacobian(context, score(s)),
        jacobian(lambda s: context(score(s)), s),
    )


@wrong("by_the_query", "forgets W in de/ds")
def _(s, memory, W):
    a = (memory @ W.T @ s).softmax(0)
    c = a @ memory
    dc_de = (a[:, None] * (memory - c)).T
    return memory, dc_de, dc_de @ memory


@wrong("by_the_query", "forgets to subtract the context")
def _(s, memory, W):
    a = (memory @ W.T @ s).softmax(0)
    de_ds = memory @ W.T
    dc_de = (a[:, None] * memory).T
    return de_ds, dc_de, dc_de @ de_ds


@wrong("by_the_query", "dc/de left with the source as its first axis")
def _(s, memory, W):
    a = (memory @ W.T @ s).softmax(0)
    c = a @ memory
    de_ds = memory @ W.T
    dc_de = a[:, None] * (memory - c)
    return de_ds, dc_de, dc_de.T @ de_ds


@wrong("by_the_query", "subtracts the plain mean of the memory")
def _(s, memory, W):
    a = (memory @ W.T @ s).softmax(0)
    de_ds = memory @ W.T
    dc_de = (a[:, None] * (memory - memory.mean(0))).T
    return de_ds, dc_de, dc_de @ de_ds


@wrong("by_the_query", "multiplies by the weight twice in the last step")
def _(s, memory, W):
    a = torch.softmax(s @ W @ memory.T, dim=-1)
    c = a @ memory
    de_ds = memory @ W.T
    dc_de = (memory - c).T * a
    dc_ds = sum(a[j] * torch.outer(dc_de[:, j], de_ds[j]) for j in range(len(a)))
    return de_ds, dc_de, dc_ds


@wrong("by_the_query", "sign: context minus word")
def _(s, memory, W):
    a = torch.softmax(s @ W @ memory.T, dim=-1)
    c = a @ memory
    de_ds = memory @ W.T
    dc_de = ((c - memory) * a[:, None]).T
    return de_ds, dc_de, dc_de @ de_ds


@wrong("by_the_query", "returns only the last step")
def _(s, memory, W):
    a = torch.softmax(s @ W @ memory.T, dim=-1)
    c = a @ memory
    return ((memory - c) * a[:, None]).T @ (memory @ W.T)


@wrong("by_the_query", "gives the softmax's own derivative as dc/de")
def _(s, memory, W):
    a = torch.softmax(s @ W @ memory.T, dim=-1)
    de_ds = memory @ W.T
    da_de = torch.diag(a) - torch.outer(a, a)
    return de_ds, da_de, memory.T @ da_de @ de_ds


@wrong("by_the_query", "diagonal part of the softmax only: alpha (1 - alpha) h")
def _(s, memory, W):
    a = torch.softmax(s @ W @ memory.T, dim=-1)
    de_ds = memory @ W.T
    dc_de = memory.T * (a * (1 - a))
    return de_ds, dc_de, dc_de @ de_ds


@wrong("by_the_query", "last step transposed, outer product the wrong way round")
def _(s, memory, W):
    a = torch.softmax(s @ W @ memory.T, dim=-1)
    c = a @ memory
    de_ds = memory @ W.T
    dc_de = (memory - c).T * a
    dc_ds = sum(a[j] * torch.outer(W @ memory[j], memory[j] - c) for j in range(len(a)))
    return de_ds, dc_de, dc_ds


@wrong("by_the_query", "weights without W: dot score, which needs equal widths")
def _(s, memory, W):
    a = torch.softmax(memory @ s, dim=-1)
    c = a @ memory
    de_ds = memory @ W.T
    dc_de = (memory - c).T * a
    return de_ds, dc_de, dc_de @ de_ds


# ---------------------------------------------------------------- 6 local_attention
@right("local_attention")
def _(states, memory, W_p, v_p, D):
    S = memory.size(0)
    p = S * torch.sigmoid(torch.tanh(states @ W_p.T) @ v_p)
    j = torch.arange(1, S + 1)
    away = j - p[:, None]
    scores = states @ memory.T
    weights = scores.masked_fill(away.abs() > D, -torch.inf).softmax(-1)
    return p, weights * torch.exp(-(away**2) / (2 * (D / 2) ** 2))


@right("local_attention")
def _(states, memory, W_p, v_p, D):
    S, T = len(memory), len(states)
    centres = states.new_zeros(T)
    weights = states.new_zeros(T, S)
    sigma = D / 2
    for t in range(T):
        s = states[t]
        p = S / (1 + math.exp(-float(v_p @ torch.tanh(W_p @ s))))
        centres[t] = p
        near = [j for j in range(1, S + 1) if abs(j - p) <= D]
        top = max(float(s @ memory[j - 1]) for j in near)
        total = sum(math.exp(float(s @ memory[j - 1]) - top) for j in near)
        for j in near:
            a = math.exp(float(s @ memory[j - 1]) - top) / total
            weights[t, j - 1] = a * math.exp(-((j - p) ** 2) / (2 * sigma**2))
    return [centres, weights]


@right("local_attention")
def _(states, memory, W_p, v_p, D):
    n = memory.shape[0]
    centre = n * F.linear(F.linear(states, W_p).tanh(), v_p[None]).squeeze(-1).sigmoid()
    distance2 = (torch.arange(1.0, n + 1).unsqueeze(0) - centre.unsqueeze(1)).square()
    weights = masked_softmax(states @ memory.mT, distance2 <= D * D)
    return centre, weights * (-2 * distance2 / D**2).exp()


@wrong("local_attention", "numbers the words from 0")
def _(states, memory, W_p, v_p, D):
    S = memory.size(0)
    p = S * torch.sigmoid(torch.tanh(states @ W_p.T) @ v_p)
    away = torch.arange(S) - p[:, None]
    weights = masked_softmax(states @ memory.T, away.abs() <= D)
    return p, weights * torch.exp(-(away**2) / (2 * (D / 2) ** 2))


@wrong("local_attention", "softmax over all words, cut to the window afterwards")
def _(states, memory, W_p, v_p, D):
    S = memory.size(0)
    p = S * torch.sigmoid(torch.tanh(states @ W_p.T) @ v_p)
    away = torch.arange(1, S + 1) - p[:, None]
    weights = (states @ memory.T).softmax(-1) * (away.abs() <= D)
    return p, weights * torch.exp(-(away**2) / (2 * (D / 2) ** 2))


@wrong("local_attention", "divides again at the end")
def _(states, memory, W_p, v_p, D):
    S = memory.size(0)
    p = S * torch.sigmoid(torch.tanh(states @ W_p.T) @ v_p)
    away = torch.arange(1, S + 1) - p[:, None]
    weights = masked_softmax(states @ memory.T, away.abs() <= D)
    weights = weights * torch.exp(-(away**2) / (2 * (D / 2) ** 2))
    return p, weights / weights.sum(-1, keepdim=True)


@wrong("local_attention", "sigma is D")
def _(states, memory, W_p, v_p, D):
    S = memory.size(0)
    p = S * torch.sigmoid(torch.tanh(states @ W_p.T) @ v_p)
    away = torch.arange(1, S + 1) - p[:, None]
    weights = masked_softmax(states @ memory.T, away.abs() <= D)
    return p, weights * torch.exp(-(away**2) / (2 * D**2))


@wrong("local_attention", "integer division of D by two")
def _(states, memory, W_p, v_p, D):
    S = memory.size(0)
    sigma = D // 2
    p = S * torch.sigmoid(torch.tanh(states @ W_p.T) @ v_p)
    away = torch.arange(1, S + 1) - p[:, None]
    weights = masked_softmax(states @ memory.T, away.abs() <= D)
    return p, weights * torch.exp(-(away**2) / (2 * sigma**2))


@wrong("local_attention", "rounds the centre to a whole word for the window")
def _(states, memory, W_p, v_p, D):
    S = memory.size(0)
    p = S * torch.sigmoid(torch.tanh(states @ W_p.T) @ v_p)
    j = torch.arange(1, S + 1)
    window = (j - p.round()[:, None]).abs() <= D
    weights = masked_softmax(states @ memory.T, window)
    return p, weights * torch.exp(-((j - p[:, None]) ** 2) / (2 * (D / 2) ** 2))


@wrong("local_attention", "forgets the bell curve")
def _(states, memory, W_p, v_p, D):
    S = memory.size(0)
    p = S * torch.sigmoid(torch.tanh(states @ W_p.T) @ v_p)
    away = torch.arange(1, S + 1) - p[:, None]
    return p, masked_softmax(states @ memory.T, away.abs() <= D)


@wrong("local_attention", "forgets the tanh of the centre")
def _(states, memory, W_p, v_p, D):
    S = memory.size(0)
    p = S * torch.sigmoid(states @ W_p.T @ v_p)
    away = torch.arange(1, S + 1) - p[:, None]
    weights = masked_softmax(states @ memory.T, away.abs() <= D)
    return p, weights * torch.exp(-(away**2) / (2 * (D / 2) ** 2))


@wrong("local_attention", "the number of steps instead of the number of source words")
def _(states, memory, W_p, v_p, D):
    p = len(states) * torch.sigmoid(torch.tanh(states @ W_p.T) @ v_p)
    away = torch.arange(1, len(memory) + 1) - p[:, None]
    weights = masked_softmax(states @ memory.T, away.abs() <= D)
    return p, weights * torch.exp(-(away**2) / (2 * (D / 2) ** 2))


@wrong("local_attention", "sets scores outside to 0 instead of minus infinity")
def _(states, memory, W_p, v_p, D):
    S = memory.size(0)
    p = S * torch.sigmoid(torch.tanh(states @ W_p.T) @ v_p)
    away = torch.arange(1, S + 1) - p[:, None]
    scores = (states @ memory.T) * (away.abs() <= D)
    return p, scores.softmax(-1) * torch.exp(-(away**2) / (2 * (D / 2) ** 2))


@wrong("local_attention", "the bell curve multiplies the scores before the softmax")
def _(states, memory, W_p, v_p, D):
    S = memory.size(0)
    p = S * torch.sigmoid(torch.tanh(states @ W_p.T) @ v_p)
    away = torch.arange(1, S + 1) - p[:, None]
    scores = states @ memory.T * torch.exp(-(away**2) / (2 * (D / 2) ** 2))
    return p, masked_softmax(scores, away.abs() <= D)


@wrong("local_attention", "only the words before the centre: forgets the absolute value")
def _(states, memory, W_p, v_p, D):
    S = memory.size(0)
    p = S * torch.sigmoid(torch.tanh(states @ W_p.T) @ v_p)
    away = torch.arange(1, S + 1) - p[:, None]
    weights = masked_softmax(states @ memory.T, away <= D)
    return p, weights * torch.exp(-(away**2) / (2 * (D / 2) ** 2))


@wrong("local_attention", "sigma not squared")
def _(states, memory, W_p, v_p, D):
    S = memory.size(0)
    p = S * torch.sigmoid(torch.tanh(states @ W_p.T) @ v_p)
    away = torch.arange(1, S + 1) - p[:, None]
    weights = masked_softmax(states @ memory.T, away.abs() <= D)
    return p, weights * torch.exp(-(away**2) / (2 * (D / 2)))


# ---------------------------------------------------------------- 7 input_feeding
@right("input_feeding")
class _(nn.Module):
    def __init__(self, word_dim, hidden, width):
        super().__init__()
        self.cell = nn.GRUCell(word_dim + width, hidden)
        self.W_c = nn.Linear(2 * hidden, width, bias=False)

    def forward(self, words, s, memory, mask):
        h = words.new_zeros(words.size(0), self.W_c.out_features)
        out = []
        for t in range(words.size(1)):
            s = self.cell(torch.cat([words[:, t], h], dim=-1), s)
            scores = s[:, None] @ memory.transpose(1, 2)
            weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
            c = (weights @ memory)[:, 0]
            h = torch.tanh(self.W_c(torch.cat([c, s], dim=-1)))
            out.append(h)
        return torch.stack(out, dim=1)


@right("input_feeding")
class _(nn.Module):
    def __init__(self, word_dim, hidden, width):
        super().__init__()
        self.width = width
        self.attention = luong_package.DotAttention()
        self.W_c = nn.Linear(hidden + hidden, width, bias=False)
        self.cell = nn.GRUCell(input_size=word_dim + width, hidden_size=hidden)

    def forward(self, words, s, memory, mask):
        batch, steps, _ = words.shape
        attentional = words.new_zeros(batch, steps + 1, self.width)
        results = [attentional[:, 0]]
        for word in words.unbind(1):
            s = self.cell(torch.hstack([word, results[-1]]), s)
            context = self.attention(s.unsqueeze(1), memory, memory, mask).squeeze(1)
            results.append(self.W_c(torch.hstack([context, s])).tanh())
        return torch.stack(results[1:], 1)


@right("input_feeding")
class _(nn.Module):
    """einsum, and the output written into a tensor"""

    def __init__(self, word_dim, hidden, width):
        super().__init__()
        self.cell = nn.GRUCell(word_dim + width, hidden)
        self.W_c = nn.Linear(2 * hidden, width, bias=False)

    def forward(self, words, s, memory, mask):
        n, T, _ = words.shape
        out = words.new_empty(n, T, self.W_c.weight.shape[0])
        fed = torch.zeros_like(out[:, 0]) if T else None
        for t in range(T):
            s = self.cell(torch.cat((words[:, t, :], fed), 1), s)
            e = torch.einsum("bh,bjh->bj", s, memory)
            e = torch.where(mask.squeeze(1), e, float("-inf"))
            c = torch.einsum("bj,bjh->bh", torch.softmax(e, 1), memory)
            fed = torch.tanh(self.W_c(torch.cat((c, s), 1)))
            out[:, t] = fed
        return out


class _Feeding(nn.Module):
    """What most students wrote; each of them changed something."""

    def __init__(self, word_dim, hidden, width):
        super().__init__()
        self.word_dim, self.hidden, self.width = word_dim, hidden, width
        self.cell = nn.GRUCell(word_dim + width, hidden)
        self.W_c = nn.Linear(2 * hidden, width, bias=False)

    def look(self, s, memory, mask):
        scores = (s[:, None] @ memory.mT).masked_fill(~mask, -torch.inf)
        return (scores.softmax(-1) @ memory).squeeze(1)


@wrong("input_feeding", "attentional state first, then the word")
class _(_Feeding):
    def forward(self, words, s, memory, mask):
        h = words.new_zeros(len(words), self.width)
        out = []
        for t in range(words.size(1)):
            s = self.cell(torch.cat([h, words[:, t]], -1), s)
            h = torch.tanh(self.W_c(torch.cat([self.look(s, memory, mask), s], -1)))
            out.append(h)
        return torch.stack(out, 1)


@wrong("input_feeding", "state before context in W_c")
class _(_Feeding):
    def forward(self, words, s, memory, mask):
        h = words.new_zeros(len(words), self.width)
        out = []
        for t in range(words.size(1)):
            s = self.cell(torch.cat([words[:, t], h], -1), s)
            h = torch.tanh(self.W_c(torch.cat([s, self.look(s, memory, mask)], -1)))
            out.append(h)
        return torch.stack(out, 1)


@wrong("input_feeding", "asks with the old state, as Bahdanau")
class _(_Feeding):
    def forward(self, words, s, memory, mask):
        h = words.new_zeros(len(words), self.width)
        out = []
        for t in range(words.size(1)):
            c = self.look(s, memory, mask)
            s = self.cell(torch.cat([words[:, t], h], -1), s)
            h = torch.tanh(self.W_c(torch.cat([c, s], -1)))
            out.append(h)
        return torch.stack(out, 1)


@wrong("input_feeding", "never updates the fed attentional state: always zeros")
class _(_Feeding):
    def forward(self, words, s, memory, mask):
        h = words.new_zeros(len(words), self.width)
        out = []
        for t in range(words.size(1)):
            s = self.cell(torch.cat([words[:, t], h], -1), s)
            out.append(torch.tanh(self.W_c(torch.cat([self.look(s, memory, mask), s], -1))))
        return torch.stack(out, 1)


@wrong("input_feeding", "does not use the mask")
class _(_Feeding):
    def forward(self, words, s, memory, mask):
        h = words.new_zeros(len(words), self.width)
        out = []
        for t in range(words.size(1)):
            s = self.cell(torch.cat([words[:, t], h], -1), s)
            c = ((s[:, None] @ memory.mT).softmax(-1) @ memory)[:, 0]
            h = torch.tanh(self.W_c(torch.cat([c, s], -1)))
            out.append(h)
        return torch.stack(out, 1)


@wrong("input_feeding", "mask the other way: hides the words and sees the padding")
class _(_Feeding):
    def forward(self, words, s, memory, mask):
        h = words.new_zeros(len(words), self.width)
        out = []
        for t in range(words.size(1)):
            s = self.cell(torch.cat([words[:, t], h], -1), s)
            c = self.look(s, memory, ~mask)
            h = torch.tanh(self.W_c(torch.cat([c, s], -1)))
            out.append(h)
        return torch.stack(out, 1)


@wrong("input_feeding", "forgets the tanh")
class _(_Feeding):
    def forward(self, words, s, memory, mask):
        h = words.new_zeros(len(words), self.width)
        out = []
        for t in range(words.size(1)):
            s = self.cell(torch.cat([words[:, t], h], -1), s)
            h = self.W_c(torch.cat([self.look(s, memory, mask), s], -1))
            out.append(h)
        return torch.stack(out, 1)


@wrong("input_feeding", "the state is not carried on: every step starts from the first s")
class _(_Feeding):
    def forward(self, words, s, memory, mask):
        h = words.new_zeros(len(words), self.width)
        out = []
        for t in range(words.size(1)):
            s_t = self.cell(torch.cat([words[:, t], h], -1), s)
            h = torch.tanh(self.W_c(torch.cat([self.look(s_t, memory, mask), s_t], -1)))
            out.append(h)
        return torch.stack(out, 1)


@wrong("input_feeding", "ignores the given state, begins with zeros")
class _(_Feeding):
    def forward(self, words, s, memory, mask):
        h = words.new_zeros(len(words), self.width)
        s, out = None, []
        for t in range(words.size(1)):
            s = self.cell(torch.cat([words[:, t], h], -1), s)
            h = torch.tanh(self.W_c(torch.cat([self.look(s, memory, mask), s], -1)))
            out.append(h)
        return torch.stack(out, 1)


@wrong("input_feeding", "returns the last attentional state only")
class _(_Feeding):
    def forward(self, words, s, memory, mask):
        h = words.new_zeros(len(words), self.width)
        for t in range(words.size(1)):
            s = self.cell(torch.cat([words[:, t], h], -1), s)
            h = torch.tanh(self.W_c(torch.cat([self.look(s, memory, mask), s], -1)))
        return h


@wrong("input_feeding", "stacks the steps before the batch")
class _(_Feeding):
    def forward(self, words, s, memory, mask):
        h = words.new_zeros(len(words), self.width)
        out = []
        for t in range(words.size(1)):
            s = self.cell(torch.cat([words[:, t], h], -1), s)
            h = torch.tanh(self.W_c(torch.cat([self.look(s, memory, mask), s], -1)))
            out.append(h)
        return torch.stack(out)


@wrong("input_feeding", "first attentional state as wide as the cell's state")
class _(_Feeding):
    def forward(self, words, s, memory, mask):
        h = torch.zeros_like(s)
        out = []
        for t in range(words.size(1)):
            s = self.cell(torch.cat([words[:, t], h], -1), s)
            h = torch.tanh(self.W_c(torch.cat([self.look(s, memory, mask), s], -1)))
            out.append(h)
        return torch.stack(out, 1)


@wrong("input_feeding", "W_c keeps its bias")
class _(_Feeding):
    def __init__(self, word_dim, hidden, width):
        super().__init__(word_dim, hidden, width)
        self.W_c = nn.Linear(2 * hidden, width)

    def forward(self, words, s, memory, mask):
        h = words.new_zeros(len(words), self.width)
        out = []
        for t in range(words.size(1)):
            s = self.cell(torch.cat([words[:, t], h], -1), s)
            h = torch.tanh(self.W_c(torch.cat([self.look(s, memory, mask), s], -1)))
            out.append(h)
        return torch.stack(out, 1)


@wrong("input_feeding", "returns h̃_0 … h̃_{t-1}: appends before it updates")
class _(_Feeding):
    def forward(self, words, s, memory, mask):
        h = words.new_zeros(len(words), self.width)
        out = []
        for t in range(words.size(1)):
            out.append(h)
            s = self.cell(torch.cat([words[:, t], h], -1), s)
            h = torch.tanh(self.W_c(torch.cat([self.look(s, memory, mask), s], -1)))
        return torch.stack(out, 1)


@wrong("input_feeding", "feeds the context instead of the attentional state")
class _(_Feeding):
    def __init__(self, word_dim, hidden, width):
        super().__init__(word_dim, hidden, width)
        self.cell = nn.GRUCell(word_dim + hidden, hidden)

    def forward(self, words, s, memory, mask):
        c = torch.zeros_like(s)
        out = []
        for t in range(words.size(1)):
            s = self.cell(torch.cat([words[:, t], c], -1), s)
            c = self.look(s, memory, mask)
            out.append(torch.tanh(self.W_c(torch.cat([c, s], -1))))
        return torch.stack(out, 1)
