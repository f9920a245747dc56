"""Answers of readers who saw only the statement."""
import torch

from annotated_transformer.multi_head_attention import MultiHeadAttention
from answers import right, wrong


@right("relation_score")
def _(weights, relation):
    rows = relation.any(-1)
    return (weights * relation).sum(-1)[:, rows].mean(-1)








@right("head_damages")
def _(W, num_heads, loss):
    whole, d = loss(W), W.size(1) // num_heads
    damages = []
    for head in range(num_heads):
        V = W.clone()
        V[:, head * d : (head + 1) * d] = 0
        damages.append(loss(V) - whole)
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




@right("previous_by_chance")
def _(n, causal):
    if not causal:
        return 1 / n
    return sum(1 / i for i in range(2, n + 1)) / (n - 1)








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






@right("kendall_tau")
def _(a, b):
    a, b = torch.as_tensor(a), torch.as_tensor(b)
    n = len(a)
    s = torch.sign(a[:, None] - a) * torch.sign(b[:, None] - b)
    return s.sum().item() / (n * (n - 1))








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






