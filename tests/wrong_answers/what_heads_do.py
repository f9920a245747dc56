"""Answers of readers who saw only the statement."""
from fractions import Fraction
from itertools import combinations
from math import log, sqrt

import torch

from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.soft_lookup import masked_softmax
from answers import right, wrong

torch.set_default_dtype(torch.float64)

# ---------------------------------------------------------------- 1 relation_score


@right("relation_score")
def _(weights, relation):
    return (weights * relation).sum(-1)[:, relation.any(-1)].mean(-1)


@right("relation_score")
def _(weights, relation):
    scores = []
    for head in weights:
        given = [row[r].sum() for row, r in zip(head, relation) if r.any()]
        scores.append(sum(given) / len(given))
    return torch.stack(scores)


@right("relation_score")
def _(weights, relation):
    return torch.einsum("hqk,qk->h", weights, relation.double()) / relation.any(1).sum()


@wrong("relation_score", "averages over all queries, also those without a related key")
def _(weights, relation):
    return (weights * relation).sum(-1).mean(-1)


@wrong("relation_score", "mean over the related pairs, not sum per query")
def _(weights, relation):
    return weights[:, relation].mean(-1)


@wrong("relation_score", "counts the keys that are related to a query, wrong axis of any")
def _(weights, relation):
    has = relation.any(0)
    return (weights * relation).sum(-1)[:, has].mean(-1)


@wrong("relation_score", "sums over the queries instead of the keys")
def _(weights, relation):
    given = (weights * relation).sum(1)
    return given[:, relation.any(1)].mean(-1)


@wrong("relation_score", "takes the best related key instead of all of them together")
def _(weights, relation):
    best = weights.masked_fill(~relation, 0).max(-1).values
    return best[:, relation.any(-1)].mean(-1)


@wrong("relation_score", "share of queries whose strongest key is related")
def _(weights, relation):
    strongest = weights.argmax(-1)
    scores = []
    for head in strongest:
        hits = [relation[q, k].item() for q, k in enumerate(head) if relation[q].any()]
        scores.append(sum(hits) / len(hits))
    return torch.tensor(scores)


@wrong("relation_score", "indexes the heads with the table, raises")
def _(weights, relation):
    return weights[relation].sum(-1).mean(-1)


@wrong("relation_score", "one score for all heads together")
def _(weights, relation):
    has = relation.any(-1)
    return (weights * relation).sum(-1)[:, has].mean()


@wrong("relation_score", "only leaves out queries whose related weight is exactly 0")
def _(weights, relation):
    given = (weights * relation).sum(-1)
    return torch.stack([g[g > 0].mean() for g in given])


@wrong("relation_score", "stops at the sum over the queries")
def _(weights, relation):
    return (weights * relation).sum((1, 2))


# ---------------------------------------------------------------- 2 head_damages


@right("head_damages")
def _(W, num_heads, loss):
    whole, d = loss(W), W.size(1) // num_heads
    damages = []
    for head in range(num_heads):
        without = W.clone()
        without[:, head * d : (head + 1) * d] = 0
        damages.append(loss(without) - whole)
    return damages


@right("head_damages")
def _(W, num_heads, loss):
    whole, d = loss(W), W.size(1) // num_heads
    W, damages = W.clone(), []
    for head in range(num_heads):
        block = slice(head * d, (head + 1) * d)
        kept = W[:, block].clone()
        W[:, block] = 0
        damages.append(loss(W) - whole)
        W[:, block] = kept
    return damages


@right("head_damages")
def _(W, num_heads, loss):
    of = torch.arange(W.size(1)) // (W.size(1) // num_heads)
    return [loss(W * (of != head)) - loss(W) for head in range(num_heads)]


@wrong("head_damages", "a slice is thought to be a copy, the given matrix is cleared")
def _(W, num_heads, loss):
    whole, d = loss(W), W.size(1) // num_heads
    damages = []
    for head in range(num_heads):
        without = W[:]
        without[:, head * d : (head + 1) * d] = 0
        damages.append(loss(without) - whole)
    return damages


@wrong("head_damages", "clears rows instead of columns")
def _(W, num_heads, loss):
    whole, d = loss(W), W.size(1) // num_heads
    damages = []
    for head in range(num_heads):
        without = W.clone()
        without[head * d : (head + 1) * d] = 0
        damages.append(loss(without) - whole)
    return damages


@wrong("head_damages", "keeps clearing, and subtracts the loss before")
def _(W, num_heads, loss):
    before, d = loss(W), W.size(1) // num_heads
    W, damages = W.clone(), []
    for head in range(num_heads):
        W[:, head * d : (head + 1) * d] = 0
        now = loss(W)
        damages.append(now - before)
        before = now
    return damages


@wrong("head_damages", "keeps the block before clearing as a view, so nothing is put back")
def _(W, num_heads, loss):
    whole, d = loss(W), W.size(1) // num_heads
    W, damages = W.clone(), []
    for head in range(num_heads):
        kept = W[:, head * d : (head + 1) * d]
        W[:, head * d : (head + 1) * d] = 0
        damages.append(loss(W) - whole)
        W[:, head * d : (head + 1) * d] = kept
    return damages


@wrong("head_damages", "sign: whole less without")
def _(W, num_heads, loss):
    whole, d = loss(W), W.size(1) // num_heads
    damages = []
    for head in range(num_heads):
        without = W.clone()
        without[:, head * d : (head + 1) * d] = 0
        damages.append(whole - loss(without))
    return damages


@wrong("head_damages", "clears all others: what the head can do alone")
def _(W, num_heads, loss):
    whole, d = loss(W), W.size(1) // num_heads
    damages = []
    for head in range(num_heads):
        only = torch.zeros_like(W)
        only[:, head * d : (head + 1) * d] = W[:, head * d : (head + 1) * d]
        damages.append(loss(only) - whole)
    return damages


@wrong("head_damages", "interleaved columns head::num_heads")
def _(W, num_heads, loss):
    whole, damages = loss(W), []
    for head in range(num_heads):
        without = W.clone()
        without[:, head::num_heads] = 0
        damages.append(loss(without) - whole)
    return damages


@wrong("head_damages", "losses, without subtracting the whole")
def _(W, num_heads, loss):
    d, result = W.size(1) // num_heads, []
    for head in range(num_heads):
        V = W.clone()
        V[:, head * d : (head + 1) * d] = 0
        result.append(loss(V))
    return result


@wrong("head_damages", "width of a head from the rows")
def _(W, num_heads, loss):
    whole, d = loss(W), W.size(0) // num_heads
    damages = []
    for head in range(num_heads):
        without = W.clone()
        without[:, head * d : (head + 1) * d] = 0
        damages.append(loss(without) - whole)
    return damages


@wrong("head_damages", "only reverses the order, still clears more and more")
def _(W, num_heads, loss):
    whole, d = loss(W), W.size(1) // num_heads
    W, damages = W.clone(), []
    for head in reversed(range(num_heads)):
        W[:, head * d : (head + 1) * d] = 0
        damages.append(loss(W) - whole)
    return damages[::-1]


# ---------------------------------------------------------------- 3 previous_by_chance


@right("previous_by_chance")
def _(n, causal):
    if not causal:
        return 1 / n
    return sum(1 / seen for seen in range(2, n + 1)) / (n - 1)


@right("previous_by_chance")
def _(n, causal):
    mask = torch.ones(n, n).tril() if causal else torch.ones(n, n)
    weights = mask / mask.sum(-1, keepdim=True)
    return weights.diagonal(-1).mean()


@right("previous_by_chance")
def _(n, causal):
    return float(sum(Fraction(1, i + 1 if causal else n) for i in range(1, n)) / (n - 1))


@wrong("previous_by_chance", "counts the first token too, with 0")
def _(n, causal):
    if causal:
        return sum(1 / (i + 1) for i in range(1, n)) / n
    return (n - 1) / n / n


@wrong("previous_by_chance", "does not let a token see itself")
def _(n, causal):
    if causal:
        return sum(1 / i for i in range(1, n)) / (n - 1)
    return 1 / (n - 1)


@wrong("previous_by_chance", "takes the harmonic mean over all n rows")
def _(n, causal):
    if causal:
        return sum(1 / i for i in range(1, n + 1)) / n
    return 1 / n


@wrong("previous_by_chance", "one over the mean number of tokens seen")
def _(n, causal):
    if causal:
        return 1 / (sum(range(2, n + 1)) / (n - 1))
    return 1 / n


@wrong("previous_by_chance", "encoder and decoder swapped")
def _(n, causal):
    if causal:
        return 1 / n
    return sum(1 / i for i in range(2, n + 1)) / (n - 1)


@wrong("previous_by_chance", "hard-codes the four tokens")
def _(n, causal):
    return 13 / 36 if causal else 1 / 4


@wrong("previous_by_chance", "does not divide the sum")
def _(n, causal):
    return sum(1 / k for k in range(2, n + 1)) if causal else 1 / n


@wrong("previous_by_chance", "range ends one early")
def _(n, causal):
    return sum(1 / k for k in range(2, n)) / (n - 1) if causal else 1 / n


@wrong("previous_by_chance", "log instead of the harmonic sum")
def _(n, causal):
    return log(n) / (n - 1) if causal else 1 / n


@wrong("previous_by_chance", "mean over the causal table, not the rows: pairs that can be seen")
def _(n, causal):
    return (n - 1) / (n * (n + 1) / 2) if causal else 1 / n


# ---------------------------------------------------------------- 4 parts_of_the_stream


@right("parts_of_the_stream")
def _(x, A, V, W, h):
    d = V.size(-1)
    heads = A @ V
    parts = [H @ W[:, i * d : (i + 1) * d].T for i, H in enumerate(heads)]
    stream = x + sum(parts)
    return heads[h], parts[h], stream, stream - parts[h]


@right("parts_of_the_stream")
def _(x, A, V, W, h):
    d = V.shape[2]
    concat = torch.cat(list(A @ V), dim=-1)
    gathered = A[h] @ V[h]
    added = gathered @ W.T[h * d : (h + 1) * d]
    return [gathered, added, x + concat @ W.T, x + concat @ W.T - added]


@wrong("parts_of_the_stream", "gives what fills the blanks of steps 3 and 4")
def _(x, A, V, W, h):
    blocks = W.view(W.size(0), len(A), -1)
    P = torch.einsum("hqk,hkd,mhd->hqm", A, V, blocks)
    return A[h] @ V[h], P[h], P.sum(0), P[h]


@wrong("parts_of_the_stream", "takes rows of W for the block of the head")
def _(x, A, V, W, h):
    d = V.size(-1)
    H = A @ V
    P = [H[i] @ W[i * d : (i + 1) * d] for i in range(len(A))]
    stream = x + sum(P)
    return H[h], P[h], stream, stream - P[h]


@wrong("parts_of_the_stream", "transposes the weights")
def _(x, A, V, W, h):
    d = V.size(-1)
    H = A.mT @ V
    P = [H[i] @ W[:, i * d : (i + 1) * d].T for i in range(len(A))]
    stream = x + sum(P)
    return H[h], P[h], stream, stream - P[h]


@wrong("parts_of_the_stream", "forgets the residual x")
def _(x, A, V, W, h):
    d = V.size(-1)
    H = A @ V
    P = [H[i] @ W[:, i * d : (i + 1) * d].T for i in range(len(A))]
    total = sum(P)
    return H[h], P[h], total, total - P[h]


@wrong("parts_of_the_stream", "joins the heads without bringing them to the end")
def _(x, A, V, W, h):
    d = V.size(-1)
    H = A @ V
    P = H[h] @ W[:, h * d : (h + 1) * d].T
    stream = x + H.reshape(x.size(0), -1) @ W.T
    return H[h], P, stream, stream - P


@wrong("parts_of_the_stream", "step 4 keeps only x and loses the other heads")
def _(x, A, V, W, h):
    d = V.size(-1)
    H = A @ V
    P = [H[i] @ W[:, i * d : (i + 1) * d].T for i in range(len(A))]
    return H[h], P[h], x + sum(P), x - P[h]


@wrong("parts_of_the_stream", "takes away the gathered H, widened by the neighbour's block (h counted from 1)")
def _(x, A, V, W, h):
    d = V.size(-1)
    H = A[h] @ V[h]
    P = H @ W[:, (h - 1) * d : h * d].T
    allheads = torch.cat([A[i] @ V[i] for i in range(A.size(0))], -1) @ W.T
    return H, P, x + allheads, x + allheads - P


@wrong("parts_of_the_stream", "in step 3 only head h is added")
def _(x, A, V, W, h):
    d = V.size(-1)
    H = A[h] @ V[h]
    P = H @ W[:, h * d : (h + 1) * d].T
    return H, P, x + P, x


@wrong("parts_of_the_stream", "returns only the first three steps")
def _(x, A, V, W, h):
    d = V.size(-1)
    H = A @ V
    P = [H[i] @ W[:, i * d : (i + 1) * d].T for i in range(len(A))]
    return H[h], P[h], x + sum(P)


@wrong("parts_of_the_stream", "the width of a head from d_model")
def _(x, A, V, W, h):
    d = x.size(-1) // A.size(0)
    H = A @ V
    P = [H[i] @ W[:, i * d : (i + 1) * d].T for i in range(len(A))]
    stream = x + sum(P)
    return H[h], P[h], stream, stream - P[h]


@wrong("parts_of_the_stream", "adds the head's part once more instead of taking it off")
def _(x, A, V, W, h):
    d = V.size(-1)
    H = A @ V
    P = torch.stack([H[i] @ W[:, i * d : (i + 1) * d].T for i in range(len(A))])
    stream = x + P.sum(0)
    return H[h], P[h], stream, stream + P[h]


@wrong("parts_of_the_stream", "mean of the heads instead of their sum")
def _(x, A, V, W, h):
    d = V.size(-1)
    H = A @ V
    P = torch.stack([H[i] @ W[:, i * d : (i + 1) * d].T for i in range(len(A))])
    stream = x + P.mean(0)
    return H[h], P[h], stream, stream - P[h]


# ---------------------------------------------------------------- 5 kendall_tau


@right("kendall_tau")
def _(a, b):
    n = len(a)
    total = 0
    for i in range(n):
        for j in range(i + 1, n):
            total += torch.sign(a[i] - a[j]) * torch.sign(b[i] - b[j])
    return 2 * total / (n * (n - 1))


@right("kendall_tau")
def _(a, b):
    order_a, order_b = ((x[:, None] - x).sign() for x in (a, b))
    n = a.numel()
    return (order_a * order_b).sum().item() / (n * (n - 1))


@right("kendall_tau")
def _(a, b):
    pairs = list(combinations(zip(a.tolist(), b.tolist()), 2))
    same = sum((x - y) * (u - v) > 0 for (x, u), (y, v) in pairs)
    opposite = sum((x - y) * (u - v) < 0 for (x, u), (y, v) in pairs)
    return (same - opposite) / len(pairs)


@wrong("kendall_tau", "all pairs in both orders, still with the 2")
def _(a, b):
    n = len(a)
    s = torch.sign(a[:, None] - a[None]) * torch.sign(b[:, None] - b[None])
    return 2 * s.sum() / (n * (n - 1))


@wrong("kendall_tau", "forgets the 2")
def _(a, b):
    n = len(a)
    s = torch.sign(a[:, None] - a[None]) * torch.sign(b[:, None] - b[None])
    return s.triu(1).sum() / (n * (n - 1))


@wrong("kendall_tau", "mean over the whole table, with the diagonal")
def _(a, b):
    return (torch.sign(a[:, None] - a) * torch.sign(b[:, None] - b)).mean()


@wrong("kendall_tau", "a tie counts as opposite")
def _(a, b):
    score, n = 0, len(a)
    for i, j in combinations(range(n), 2):
        score += 1 if (a[i] - a[j]) * (b[i] - b[j]) > 0 else -1
    return score * 2 / (n * (n - 1))


@wrong("kendall_tau", "a tie counts as the same order")
def _(a, b):
    score, n = 0, len(a)
    for i, j in combinations(range(n), 2):
        score += 1 if (a[i] < a[j]) == (b[i] < b[j]) else -1
    return score * 2 / (n * (n - 1))


@wrong("kendall_tau", "divides by the pairs that are not tied (gamma)")
def _(a, b):
    s = (a[:, None] - a).sign() * (b[:, None] - b).sign()
    return s.sum() / s.abs().sum()


@wrong("kendall_tau", "corrects for ties (tau-b)")
def _(a, b):
    s, t = (a[:, None] - a).sign(), (b[:, None] - b).sign()
    return (s * t).sum() / sqrt((s * s).sum() * (t * t).sum())


@wrong("kendall_tau", "Spearman: correlation of the ranks")
def _(a, b):
    ra, rb = a.argsort().argsort().double(), b.argsort().argsort().double()
    n = len(a)
    return 1 - 6 * ((ra - rb) ** 2).sum() / (n * (n**2 - 1))


@wrong("kendall_tau", "only neighbouring places")
def _(a, b):
    return (a.diff().sign() * b.diff().sign()).mean()


@wrong("kendall_tau", "no sign of the differences")
def _(a, b):
    n, total = len(a), 0
    for i in range(n):
        for j in range(i + 1, n):
            total = total + (a[i] - a[j]) * (b[i] - b[j])
    return 2 / (n * (n - 1)) * total


@wrong("kendall_tau", "second loop ends one early")
def _(a, b):
    n, total = len(a), 0
    for i in range(n - 1):
        for j in range(i + 1, n - 1):
            total += torch.sign(a[i] - a[j]) * torch.sign(b[i] - b[j])
    return 2 / (n * (n - 1)) * total


@wrong("kendall_tau", "divides by three pairs as in the example")
def _(a, b):
    s = torch.sign(a[:, None] - a[None]) * torch.sign(b[:, None] - b[None])
    return s.triu(1).sum() / 3


# ---------------------------------------------------------------- 6 enough_sentences


def best_by_luck(n):
    torch.manual_seed(0)
    weights = torch.randn(50, 24, n, 5).softmax(-1)[..., -1]
    return (weights.mean(-1).amax(1).mean() / 0.2).item()


right("enough_sentences")(next(n for n in (1, 3, 10, 30, 100, 300, 1000) if best_by_luck(n) < 1.2))
wrong("enough_sentences", "takes a third above chance for small enough")(30)
wrong("enough_sentences", "mean instead of best head")(1)
wrong("enough_sentences", "reads a tenth above chance")(300)
wrong("enough_sentences", "reads a fifth as 0.2 above 0.2, that is below 0.4")(10)
wrong("enough_sentences", "reads it as below a twentieth / wants the last of the list")(1000)
wrong("enough_sentences", "a number between the tried ones")(80)
wrong("enough_sentences", "gives the ratio itself instead of n")(1.17)

# ---------------------------------------------------------------- 7 said_by_the_record

right("said_by_the_record")("ACF")
wrong("said_by_the_record", "score above control is enough, forgets the interval (and seed 2)")("ACEF")
wrong("said_by_the_record", "believes that the better result means that the model suits better")("ACDF")
wrong("said_by_the_record", "does not compare the head's number")("ABCF")
wrong("said_by_the_record", "thinks a fiftieth is 0.002 or 0.005")("AC")
wrong("said_by_the_record", "counts seed 0 at all rates against C")("AF")
wrong("said_by_the_record", "only looks at the object heads")("F")
wrong("said_by_the_record", "lets the sentences pass that are false")("BDE")
wrong("said_by_the_record", "distrusts A because seeds name different heads")("CF")

# ---------------------------------------------------------------- 8 capture_heads


@right("capture_heads")
def _(model, src, tgt_in):
    captured, handles = {}, []

    def hook_for(name):
        def hook(part, args, output):
            query, key, _, mask = args
            captured[name] = part.weights(query, key, mask).detach()

        return hook

    for name, part in model.named_modules():
        if isinstance(part, MultiHeadAttention):
            handles.append(part.attention.register_forward_hook(hook_for(name)))
    was_training = model.training
    try:
        model.eval()
        model(src, tgt_in)
    finally:
        model.train(was_training)
        for handle in handles:
            handle.remove()
    return captured


@right("capture_heads")
def _(model, src, tgt_in):
    result = {}

    def make(name):
        def look(part, args, output):
            q, k, v, mask = args
            scores = q @ k.transpose(-2, -1) / sqrt(q.size(-1))
            result[name] = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)

        return look

    layers = {n: m for n, m in model.named_modules() if isinstance(m, MultiHeadAttention)}
    hooks = [m.attention.register_forward_hook(make(n)) for n, m in layers.items()]
    model(src, tgt_in)
    for hook in hooks:
        hook.remove()
    return result


@wrong("capture_heads", "leaves the hooks in")
def _(model, src, tgt_in):
    captured = {}

    def hook_for(name):
        def hook(part, args, output):
            captured[name] = part.weights(args[0], args[1], args[3])

        return hook

    for name, part in model.named_modules():
        if isinstance(part, MultiHeadAttention):
            part.attention.register_forward_hook(hook_for(name))
    model(src, tgt_in)
    return captured


@wrong("capture_heads", "all hooks see the last name of the loop")
def _(model, src, tgt_in):
    captured, handles = {}, []
    for name, part in model.named_modules():
        if isinstance(part, MultiHeadAttention):

            def hook(attention, args, output):
                captured[name] = attention.weights(args[0], args[1], args[3])

            handles.append(part.attention.register_forward_hook(hook))
    model(src, tgt_in)
    for handle in handles:
        handle.remove()
    return captured


@wrong("capture_heads", "forgets the mask")
def _(model, src, tgt_in):
    captured, handles = {}, []

    def hook_for(name):
        def hook(part, args, output):
            captured[name] = part.weights(args[0], args[1])

        return hook

    for name, part in model.named_modules():
        if isinstance(part, MultiHeadAttention):
            handles.append(part.attention.register_forward_hook(hook_for(name)))
    model(src, tgt_in)
    [handle.remove() for handle in handles]
    return captured


@wrong("capture_heads", "keeps the output of the attention instead of its weights")
def _(model, src, tgt_in):
    captured, handles = {}, []

    def hook_for(name):
        def hook(part, args, output):
            captured[name] = output.detach()

        return hook

    for name, part in model.named_modules():
        if isinstance(part, MultiHeadAttention):
            handles.append(part.attention.register_forward_hook(hook_for(name)))
    model(src, tgt_in)
    for handle in handles:
        handle.remove()
    return captured


@wrong("capture_heads", "the name of the inner part")
def _(model, src, tgt_in):
    captured, handles = {}, []

    def hook_for(name):
        def hook(part, args, output):
            captured[name] = part.weights(args[0], args[1], args[3]).detach()

        return hook

    for name, part in model.named_modules():
        if name.endswith("attention.attention"):
            handles.append(part.register_forward_hook(hook_for(name)))
    model(src, tgt_in)
    for handle in handles:
        handle.remove()
    return captured


@wrong("capture_heads", "does not divide the scores by the root")
def _(model, src, tgt_in):
    captured, handles = {}, []

    def hook_for(name):
        def hook(part, args, output):
            q, k, v, mask = args
            captured[name] = masked_softmax(q @ k.mT, mask)

        return hook

    for name, part in model.named_modules():
        if isinstance(part, MultiHeadAttention):
            handles.append(part.attention.register_forward_hook(hook_for(name)))
    model(src, tgt_in)
    for handle in handles:
        handle.remove()
    return captured


@wrong("capture_heads", "fills where the mask is True")
def _(model, src, tgt_in):
    captured, handles = {}, []

    def hook_for(name):
        def hook(part, args, output):
            q, k, v, mask = args
            scores = q @ k.mT / q.size(-1) ** 0.5
            captured[name] = scores.masked_fill(mask, -torch.inf).softmax(-1)

        return hook

    for name, part in model.named_modules():
        if isinstance(part, MultiHeadAttention):
            handles.append(part.attention.register_forward_hook(hook_for(name)))
    model(src, tgt_in)
    for handle in handles:
        handle.remove()
    return captured


@wrong("capture_heads", "the hook's lambda returns the weights, which become the output")
def _(model, src, tgt_in):
    captured, handles = {}, []
    for name, part in model.named_modules():
        if isinstance(part, MultiHeadAttention):
            handles.append(
                part.attention.register_forward_hook(
                    lambda m, a, out, name=name: captured.setdefault(
                        name, m.weights(a[0], a[1], a[3])
                    )
                )
            )
    model(src, tgt_in)
    for handle in handles:
        handle.remove()
    return captured


@wrong("capture_heads", "removes only the last handle")
def _(model, src, tgt_in):
    captured = {}

    def hook_for(name):
        def hook(part, args, output):
            captured[name] = part.weights(args[0], args[1], args[3]).detach()

        return hook

    for name, part in model.named_modules():
        if isinstance(part, MultiHeadAttention):
            handle = part.attention.register_forward_hook(hook_for(name))
    model(src, tgt_in)
    handle.remove()
    return captured


@wrong("capture_heads", "only the decoder's layers")
def _(model, src, tgt_in):
    captured, handles = {}, []

    def hook_for(name):
        def hook(part, args, output):
            captured[name] = part.weights(args[0], args[1], args[3]).detach()

        return hook

    for name, part in model.decoder.named_modules():
        if isinstance(part, MultiHeadAttention):
            handles.append(part.attention.register_forward_hook(hook_for("decoder." + name)))
    model(src, tgt_in)
    for handle in handles:
        handle.remove()
    return captured


@wrong("capture_heads", "averages the heads")
def _(model, src, tgt_in):
    captured, handles = {}, []

    def hook_for(name):
        def hook(part, args, output):
            captured[name] = part.weights(args[0], args[1], args[3]).mean(1)

        return hook

    for name, part in model.named_modules():
        if isinstance(part, MultiHeadAttention):
            handles.append(part.attention.register_forward_hook(hook_for(name)))
    model(src, tgt_in)
    for handle in handles:
        handle.remove()
    return captured


@wrong("capture_heads", "softmax over the queries")
def _(model, src, tgt_in):
    captured, handles = {}, []

    def hook_for(name):
        def hook(part, args, output):
            q, k, _, mask = args
            scores = (q @ k.mT / sqrt(q.size(-1))).masked_fill(~mask, -1e9)
            captured[name] = scores.softmax(-2)

        return hook

    for name, part in model.named_modules():
        if isinstance(part, MultiHeadAttention):
            handles.append(part.attention.register_forward_hook(hook_for(name)))
    model(src, tgt_in)
    for handle in handles:
        handle.remove()
    return captured
