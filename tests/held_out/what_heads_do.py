"""Answers of readers who saw only the statement."""
import torch

from annotated_transformer.multi_head_attention import MultiHeadAttention
from answers import right, wrong


@right("relation_score")
def _(weights, relation):
    rows = relation.any(-1)
    return (weights * relation).sum(-1)[:, rows].mean(-1)


@wrong("relation_score", "the mean over all queries")
def _(weights, relation):
    return (weights * relation).sum(-1).mean(-1)


@wrong("relation_score", "the mean over related pairs")
def _(weights, relation):
    return weights[:, relation].mean(-1)


@wrong("relation_score", "sums over the queries' axis, not the keys'")
def _(weights, relation):
    some = relation.any(0)
    return (weights * relation).sum(1)[:, some].mean(-1)


@right("head_damages")
def _(W, num_heads, loss):
    whole, d = loss(W), W.size(1) // num_heads
    damages = []
    for head in range(num_heads):
        V = W.clone()
        V[:, head * d : (head + 1) * d] = 0
        damages.append(loss(V) - whole)
    return damages


@wrong("head_damages", "clears the rows instead of the columns")
def _(W, num_heads, loss):
    whole, d = loss(W), W.size(1) // num_heads
    damages = []
    for head in range(num_heads):
        cut = W.clone()
        cut[head * d : (head + 1) * d] = 0
        damages.append(loss(cut) - whole)
    return damages


@wrong("head_damages", "a second name, not a copy")
def _(W, num_heads, loss):
    whole, d = loss(W), W.size(1) // num_heads
    damages = []
    for head in range(num_heads):
        cut = W
        cut[:, head * d : (head + 1) * d] = 0
        damages.append(loss(cut) - whole)
    return damages


@wrong("head_damages", "the rise over the head before: the difference of a running sum")
def _(W, num_heads, loss):
    last, d = loss(W), W.size(1) // num_heads
    W, damages = W.clone(), []
    for head in range(num_heads):
        W[:, head * d : (head + 1) * d] = 0
        now = loss(W)
        damages.append(now - last)
        last = now
    return damages


@right("previous_by_chance")
def _(n, causal):
    if not causal:
        return 1 / n
    return sum(1 / i for i in range(2, n + 1)) / (n - 1)


@wrong("previous_by_chance", "divides by all tokens, the first included")
def _(n, causal):
    if not causal:
        return (n - 1) / n / n
    return sum(1 / i for i in range(2, n + 1)) / n


@wrong("previous_by_chance", "the token does not see itself")
def _(n, causal):
    if not causal:
        return 1 / (n - 1)
    return sum(1 / i for i in range(1, n)) / (n - 1)


@wrong("previous_by_chance", "half the keys seen on the average behind the mask")
def _(n, causal):
    return 2 / (n + 1) if causal else 1 / n


@right("parts_of_the_stream")
def _(x, A, V, W, h):
    heads = A @ V
    d = V.size(-1)
    parts = [heads[i] @ W[:, i * d : (i + 1) * d].T for i in range(len(heads))]
    whole = x + sum(parts)
    return heads[h], parts[h], whole, whole - parts[h]


@wrong("parts_of_the_stream", "rows of W as the block")
def _(x, A, V, W, h):
    heads = A @ V
    d = V.size(-1)
    parts = [heads[i] @ W[i * d : (i + 1) * d] for i in range(len(heads))]
    whole = x + sum(parts)
    return heads[h], parts[h], whole, whole - parts[h]


@wrong("parts_of_the_stream", "what the heads add, without the stream x")
def _(x, A, V, W, h):
    heads = A @ V
    d = V.size(-1)
    P = heads[h] @ W[:, h * d : (h + 1) * d].T
    whole = heads.transpose(0, 1).flatten(1) @ W.T
    return heads[h], P, whole, whole - P


@wrong("parts_of_the_stream", "heads flattened before the transpose")
def _(x, A, V, W, h):
    heads = A @ V
    d = V.size(-1)
    P = heads[h] @ W[:, h * d : (h + 1) * d].T
    whole = x + heads.reshape(x.size(0), -1) @ W.T
    return heads[h], P, whole, whole - P


@right("kendall_tau")
def _(a, b):
    a, b = torch.as_tensor(a), torch.as_tensor(b)
    n = len(a)
    s = torch.sign(a[:, None] - a) * torch.sign(b[:, None] - b)
    return s.sum().item() / (n * (n - 1))


@wrong("kendall_tau", "all ordered pairs, yet the factor 2 kept")
def _(a, b):
    n = len(a)
    s = torch.sign(a[:, None] - a) * torch.sign(b[:, None] - b)
    return 2 * s.sum().item() / (n * (n - 1))


@wrong("kendall_tau", "neighbouring places only")
def _(a, b):
    s = torch.sign(a[1:] - a[:-1]) * torch.sign(b[1:] - b[:-1])
    return s.float().mean().item()


@wrong("kendall_tau", "ties left out of the mean")
def _(a, b):
    total, pairs = 0, 0
    for i in range(len(a)):
        for j in range(i + 1, len(a)):
            s = torch.sign(a[i] - a[j]) * torch.sign(b[i] - b[j])
            if s != 0:
                total, pairs = total + s.item(), pairs + 1
    return total / max(pairs, 1)


right("enough_sentences")(100)
wrong("enough_sentences", "tenths mixed up: 1.3 is about 6/5")(30)
wrong("enough_sentences", "less than 1.1 of chance")(300)
wrong("enough_sentences", "the mean of the heads, which is at chance at once")(1)

right("said_by_the_record")("ACF")
wrong("said_by_the_record", "D follows from C")("ACDF")
wrong("said_by_the_record", "E by looking at three of five")("ACEF")
wrong("said_by_the_record", "B: takes the most frequent number for all")("ABCF")


@right("capture_heads")
def _(model, src, tgt_in):
    found, hooks = {}, []

    def hook(name):
        def keep(module, args, output):
            query, key, _, mask = args
            scores = query @ key.mT / query.size(-1) ** 0.5
            if mask is not None:
                scores = scores.masked_fill(~mask, -torch.inf)
            found[name] = scores.softmax(-1).nan_to_num(0.0).detach()

        return keep

    for name, part in model.named_modules():
        if isinstance(part, MultiHeadAttention):
            hooks.append(part.attention.register_forward_hook(hook(name)))
    try:
        with torch.no_grad():
            model(src, tgt_in)
    finally:
        for h in hooks:
            h.remove()
    return found


@wrong("capture_heads", "hooks that close over the loop's last name")
def _(model, src, tgt_in):
    found, hooks = {}, []
    for name, part in model.named_modules():
        if isinstance(part, MultiHeadAttention):

            def keep(module, args, output):
                q, k, v, mask = args
                s = (q @ k.mT / q.size(-1) ** 0.5).masked_fill(~mask, -torch.inf)
                found[name] = s.softmax(-1)

            hooks.append(part.attention.register_forward_hook(keep))
    model(src, tgt_in)
    for h in hooks:
        h.remove()
    return found


@wrong("capture_heads", "keeps the output of the attention, not the weights")
def _(model, src, tgt_in):
    found, hooks = {}, []
    for name, part in model.named_modules():
        if isinstance(part, MultiHeadAttention):
            hooks.append(
                part.attention.register_forward_hook(
                    lambda module, args, output, name=name: found.update({name: output})
                )
            )
    model(src, tgt_in)
    for h in hooks:
        h.remove()
    return found


@wrong("capture_heads", "scores without the division, mask applied")
def _(model, src, tgt_in):
    found, hooks = {}, []
    for name, part in model.named_modules():
        if isinstance(part, MultiHeadAttention):

            def keep(module, args, output, name=name):
                q, k, v, mask = args
                found[name] = (q @ k.mT).masked_fill(~mask, -torch.inf).softmax(-1)

            hooks.append(part.attention.register_forward_hook(keep))
    model(src, tgt_in)
    for h in hooks:
        h.remove()
    return found
