"""Answers of readers who saw only the statement."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from annotated_transformer.multi_head_attention import MultiHeadAttention
from answers import right, wrong

torch.set_default_dtype(torch.float64)  # as the notebook does


# ---------------------------------------------------------------- 1 head_contributions
@right("head_contributions")
def _(heads, W_O):
    return heads @ W_O.view(heads.size(0), heads.size(2), -1)


@right("head_contributions")
def _(heads, W_O):
    d_v = heads.shape[-1]
    return torch.stack([h @ W_O[i * d_v : (i + 1) * d_v] for i, h in enumerate(heads)])


@right("head_contributions")
def _(heads, W_O):
    blocks = torch.stack(W_O.chunk(len(heads)))
    return torch.einsum("htv,hvm->htm", heads, blocks)


@right("head_contributions")
def _(heads, W_O):
    """all other heads set to zero, then the layer as it is"""
    n, time, d_v = heads.shape
    out = []
    for i in range(n):
        alone = torch.zeros_like(heads)
        alone[i] = heads[i]
        out.append(alone.transpose(0, 1).reshape(time, n * d_v) @ W_O)
    return torch.stack(out)


@wrong("head_contributions", "rows of W_O dealt out to the heads in turn")
def _(heads, W_O):
    n, _, d_v = heads.shape
    return heads @ W_O.view(d_v, n, -1).transpose(0, 1)


@wrong("head_contributions", "already sums over the heads")
def _(heads, W_O):
    return torch.einsum("htv,hvm->tm", heads, W_O.view(heads.size(0), heads.size(2), -1))


@wrong("head_contributions", "divides by the number of heads")
def _(heads, W_O):
    return heads @ W_O.view(heads.size(0), heads.size(2), -1) / heads.size(0)


@wrong("head_contributions", "every head with the first block")
def _(heads, W_O):
    return heads @ W_O[: heads.size(-1)]


@wrong("head_contributions", "blocks as long as there are heads, not as d_v")
def _(heads, W_O):
    n = heads.size(0)
    return torch.stack([heads[i] @ W_O[i * n : (i + 1) * n] for i in range(n)])


@wrong("head_contributions", "time before heads in the result")
def _(heads, W_O):
    parts = [h @ w for h, w in zip(heads, W_O.chunk(len(heads)))]
    return torch.stack(parts, dim=1)


@wrong("head_contributions", "cuts the columns of W_O and not its rows")
def _(heads, W_O):
    return torch.stack([h @ w for h, w in zip(heads, W_O.chunk(len(heads), dim=1))])


@wrong("head_contributions", "reshapes W_O's blocks with d_model before d_v and transposes")
def _(heads, W_O):
    n, _, d_v = heads.shape
    return heads @ W_O.reshape(n, -1, d_v).transpose(1, 2)


@wrong("head_contributions", "blocks taken in reverse order")
def _(heads, W_O):
    n, _, d_v = heads.shape
    return heads @ W_O.view(n, d_v, -1).flip(0)


@wrong("head_contributions", "block i begins at row i")
def _(heads, W_O):
    d_v = heads.size(2)
    return torch.stack([heads[i] @ W_O[i : i + d_v] for i in range(len(heads))])


@wrong("head_contributions", "one output for all heads side by side, shared out equally")
def _(heads, W_O):
    n, time, d_v = heads.shape
    whole = heads.transpose(0, 1).reshape(time, n * d_v) @ W_O
    return (whole / n).expand(n, -1, -1)


@wrong("head_contributions", "list cut into two heads by hand")
def _(heads, W_O):
    half = W_O.size(0) // 2
    return torch.stack([heads[0] @ W_O[:half], heads[1] @ W_O[half:]])


# ---------------------------------------------------------------- 2 attend_in_heads
@right("attend_in_heads")
def _(query, key, value, num_heads):
    batch, time, _ = query.shape
    q = query.view(batch, time, num_heads, -1).transpose(1, 2)
    k = key.view(batch, time, num_heads, -1).transpose(1, 2)
    v = value.view(batch, time, num_heads, -1).transpose(1, 2)
    weights = (q @ k.transpose(2, 3) / q.size(3) ** 0.5).softmax(dim=3)
    return (weights @ v).transpose(1, 2).reshape(batch, time, -1)


@right("attend_in_heads")
def _(query, key, value, num_heads):
    parts = zip(*(x.chunk(num_heads, dim=-1) for x in (query, key, value)))
    return torch.cat([F.scaled_dot_product_attention(q, k, v) for q, k, v in parts], dim=-1)


@right("attend_in_heads")
def _(query, key, value, num_heads):
    q, k, v = (x.unflatten(-1, (num_heads, -1)) for x in (query, key, value))
    scores = torch.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(q.shape[-1])
    return torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), v).flatten(2)


@wrong("attend_in_heads", "mends the cut, not the merge")
def _(query, key, value, num_heads):
    batch, time, _ = query.shape
    q = query.view(batch, time, num_heads, -1).transpose(1, 2)
    k = key.view(batch, time, num_heads, -1).transpose(1, 2)
    v = value.view(batch, time, num_heads, -1).transpose(1, 2)
    weights = (q @ k.transpose(2, 3) / q.size(3) ** 0.5).softmax(dim=3)
    return (weights @ v).reshape(batch, time, -1)


@wrong("attend_in_heads", "mends the merge, not the cut")
def _(query, key, value, num_heads):
    batch, time, _ = query.shape
    q = query.view(batch, num_heads, time, -1)
    k = key.view(batch, num_heads, time, -1)
    v = value.view(batch, num_heads, time, -1)
    weights = (q @ k.transpose(2, 3) / q.size(3) ** 0.5).softmax(dim=3)
    return (weights @ v).transpose(1, 2).reshape(batch, time, -1)


@wrong("attend_in_heads", "forgets the values when cutting")
def _(query, key, value, num_heads):
    batch, time, _ = query.shape
    q = query.view(batch, time, num_heads, -1).transpose(1, 2)
    k = key.view(batch, time, num_heads, -1).transpose(1, 2)
    v = value.view(batch, num_heads, time, -1)
    weights = (q @ k.transpose(2, 3) / q.size(3) ** 0.5).softmax(dim=3)
    return (weights @ v).transpose(1, 2).reshape(batch, time, -1)


@wrong("attend_in_heads", "views after the transpose: error")
def _(query, key, value, num_heads):
    batch, time, _ = query.shape
    q = query.view(batch, time, num_heads, -1).transpose(1, 2)
    k = key.view(batch, time, num_heads, -1).transpose(1, 2)
    v = value.view(batch, time, num_heads, -1).transpose(1, 2)
    weights = (q @ k.transpose(2, 3) / q.size(3) ** 0.5).softmax(dim=3)
    return (weights @ v).transpose(1, 2).view(batch, time, -1)


@wrong("attend_in_heads", "leaves heads before words: no transposition, attention between heads")
def _(query, key, value, num_heads):
    batch, time, _ = query.shape
    q = query.view(batch, time, num_heads, -1)
    k = key.view(batch, time, num_heads, -1)
    v = value.view(batch, time, num_heads, -1)
    weights = (q @ k.transpose(2, 3) / q.size(3) ** 0.5).softmax(dim=3)
    return (weights @ v).reshape(batch, time, -1)


@wrong("attend_in_heads", "numbers dealt out to the heads in turn")
def _(query, key, value, num_heads):
    batch, time, _ = query.shape
    q, k, v = (
        x.reshape(batch, time, -1, num_heads).permute(0, 3, 1, 2) for x in (query, key, value)
    )
    weights = (q @ k.transpose(2, 3) / q.size(3) ** 0.5).softmax(dim=3)
    return (weights @ v).permute(0, 2, 3, 1).reshape(batch, time, -1)


@wrong("attend_in_heads", "merges with heads inside: last axis by number, then head")
def _(query, key, value, num_heads):
    batch, time, _ = query.shape
    q, k, v = (x.view(batch, time, num_heads, -1).transpose(1, 2) for x in (query, key, value))
    weights = (q @ k.transpose(2, 3) / q.size(3) ** 0.5).softmax(dim=3)
    return (weights @ v).permute(0, 2, 3, 1).reshape(batch, time, -1)


@wrong("attend_in_heads", "thinks the scale must be of the whole width")
def _(query, key, value, num_heads):
    batch, time, width = query.shape
    q, k, v = (x.view(batch, time, num_heads, -1).transpose(1, 2) for x in (query, key, value))
    weights = (q @ k.transpose(2, 3) / width**0.5).softmax(dim=3)
    return (weights @ v).transpose(1, 2).reshape(batch, time, -1)


@wrong("attend_in_heads", "thinks the softmax has the wrong axis")
def _(query, key, value, num_heads):
    batch, time, _ = query.shape
    q, k, v = (x.view(batch, time, num_heads, -1).transpose(1, 2) for x in (query, key, value))
    weights = (q @ k.transpose(2, 3) / q.size(3) ** 0.5).softmax(dim=2)
    return (weights @ v).transpose(1, 2).reshape(batch, time, -1)


@wrong("attend_in_heads", "transposes words and numbers first, then cuts as before")
def _(query, key, value, num_heads):
    batch, time, _ = query.shape
    q, k, v = (
        x.transpose(1, 2).reshape(batch, num_heads, time, -1) for x in (query, key, value)
    )
    weights = (q @ k.transpose(2, 3) / q.size(3) ** 0.5).softmax(dim=3)
    return (weights @ v).transpose(1, 2).reshape(batch, time, -1)


@wrong("attend_in_heads", "chunks are stacked as batches in one place and merged as others")
def _(query, key, value, num_heads):
    q, k, v = (torch.cat(x.chunk(num_heads, dim=-1), dim=0) for x in (query, key, value))
    out = F.scaled_dot_product_attention(q, k, v)  # (heads · batch, time, d)
    batch, time, _ = query.shape
    return out.view(batch, num_heads, time, -1).transpose(1, 2).reshape(batch, time, -1)


# ---------------------------------------------------------------- 3 mixing_cuts
right("mixing_cuts")("AD")
right("mixing_cuts")("DA")
wrong("mixing_cuts", "thinks F mixes too, because of its transpositions")("ADF")
wrong("mixing_cuts", "only the plain reshape")("A")
wrong("mixing_cuts", "those that do not mix")("BCEF")
wrong("mixing_cuts", "those that are not the usual cut")("ADEF")
wrong("mixing_cuts", "E mixes numbers of heads, taken for words")("ADE")
wrong("mixing_cuts", "only D")("D")
wrong("mixing_cuts", "F for D")("AF")
wrong("mixing_cuts", "thinks D is saved by its transpose, and E is not")("AE")


# ---------------------------------------------------------------- 4 head_sizes
@right("head_sizes")
def _(d_model, num_heads, num_groups, d):
    q = (d_model + 1) * num_heads * d
    kv = 2 * (d_model + 1) * num_groups * d
    o = (num_heads * d + 1) * d_model
    return q, kv, o, q + kv + o, 2 * num_groups * d


@right("head_sizes")
def _(d_model, num_heads, num_groups, d):
    layers = {
        "query": nn.Linear(d_model, num_heads * d),
        "key": nn.Linear(d_model, num_groups * d),
        "value": nn.Linear(d_model, num_groups * d),
        "output": nn.Linear(num_heads * d, d_model),
    }
    n = {name: sum(p.numel() for p in layer.parameters()) for name, layer in layers.items()}
    kept = layers["key"].out_features + layers["value"].out_features
    return [n["query"], n["key"] + n["value"], n["output"], sum(n.values()), kept]


@wrong("head_sizes", "no biases")
def _(d_model, num_heads, num_groups, d):
    q = d_model * num_heads * d
    kv = 2 * d_model * num_groups * d
    o = num_heads * d * d_model
    return q, kv, o, q + kv + o, 2 * num_groups * d


@wrong("head_sizes", "keys alone, values forgotten")
def _(d_model, num_heads, num_groups, d):
    q = (d_model + 1) * num_heads * d
    kv = (d_model + 1) * num_groups * d
    o = (num_heads * d + 1) * d_model
    return q, kv, o, q + kv + o, 2 * num_groups * d


@wrong("head_sizes", "keeps keys only")
def _(d_model, num_heads, num_groups, d):
    q = (d_model + 1) * num_heads * d
    kv = 2 * (d_model + 1) * num_groups * d
    o = (num_heads * d + 1) * d_model
    return q, kv, o, q + kv + o, num_groups * d


@wrong("head_sizes", "keeps a key and a value for every query head")
def _(d_model, num_heads, num_groups, d):
    q = (d_model + 1) * num_heads * d
    kv = 2 * (d_model + 1) * num_groups * d
    o = (num_heads * d + 1) * d_model
    return q, kv, o, q + kv + o, 2 * num_heads * d


@wrong("head_sizes", "takes heads times d for d_model")
def _(d_model, num_heads, num_groups, d):
    q = d_model * d_model + d_model
    kv = 2 * (d_model + 1) * num_groups * d
    o = d_model * d_model + d_model
    return q, kv, o, q + kv + o, 2 * num_groups * d


@wrong("head_sizes", "bias of the output as wide as its input")
def _(d_model, num_heads, num_groups, d):
    q = d_model * num_heads * d + num_heads * d
    kv = 2 * (d_model * num_groups * d + num_groups * d)
    o = num_heads * d * d_model + num_heads * d
    return q, kv, o, q + kv + o, 2 * num_groups * d


@wrong("head_sizes", "one bias for keys and values together")
def _(d_model, num_heads, num_groups, d):
    q = d_model * num_heads * d + num_heads * d
    kv = 2 * d_model * num_groups * d + num_groups * d
    o = num_heads * d * d_model + d_model
    return q, kv, o, q + kv + o, 2 * num_groups * d


@wrong("head_sizes", "groups take the place of heads in the output")
def _(d_model, num_heads, num_groups, d):
    q = (d_model + 1) * num_heads * d
    kv = 2 * (d_model + 1) * num_groups * d
    o = (num_groups * d + 1) * d_model
    return q, kv, o, q + kv + o, 2 * num_groups * d


@wrong("head_sizes", "a group has heads / groups key heads")
def _(d_model, num_heads, num_groups, d):
    shared = num_heads // num_groups
    q = (d_model + 1) * num_heads * d
    kv = 2 * (d_model + 1) * shared * d
    o = (num_heads * d + 1) * d_model
    return q, kv, o, q + kv + o, 2 * shared * d


@wrong("head_sizes", "counts parameters twice: all has the kept numbers too")
def _(d_model, num_heads, num_groups, d):
    q = (d_model + 1) * num_heads * d
    kv = 2 * (d_model + 1) * num_groups * d
    o = (num_heads * d + 1) * d_model
    kept = 2 * num_groups * d
    return q, kv, o, q + kv + o + kept, kept


@wrong("head_sizes", "bias of the queries per head width, not for all heads")
def _(d_model, num_heads, num_groups, d):
    q = d_model * num_heads * d + d
    kv = 2 * (d_model * num_groups * d + d)
    o = num_heads * d * d_model + d_model
    return q, kv, o, q + kv + o, 2 * num_groups * d


@wrong("head_sizes", "keys and values as two entries, six in all")
def _(d_model, num_heads, num_groups, d):
    q = (d_model + 1) * num_heads * d
    k = (d_model + 1) * num_groups * d
    o = (num_heads * d + 1) * d_model
    return q, k, k, o, q + 2 * k + o, 2 * num_groups * d


# ---------------------------------------------------------------- 5 grouped_attention
@right("grouped_attention")
class _(nn.Module):
    def __init__(self, d_model, num_heads, num_groups):
        super().__init__()
        self.num_heads, self.num_groups, self.d = num_heads, num_groups, d_model // num_heads
        self.query = nn.Linear(d_model, num_heads * self.d)
        self.key = nn.Linear(d_model, num_groups * self.d)
        self.value = nn.Linear(d_model, num_groups * self.d)
        self.output = nn.Linear(num_heads * self.d, d_model)

    def forward(self, x):
        batch, time, _ = x.shape
        q = self.query(x).view(batch, time, self.num_heads, self.d).transpose(1, 2)
        k = self.key(x).view(batch, time, self.num_groups, self.d).transpose(1, 2)
        v = self.value(x).view(batch, time, self.num_groups, self.d).transpose(1, 2)
        repeats = self.num_heads // self.num_groups
        k, v = k.repeat_interleave(repeats, dim=1), v.repeat_interleave(repeats, dim=1)
        weights = (q @ k.mT / math.sqrt(self.d)).softmax(-1)
        return self.output((weights @ v).transpose(1, 2).reshape(batch, time, -1))


@right("grouped_attention")
class _(nn.Module):
    """a loop over the heads"""

    def __init__(self, d_model, num_heads, num_groups):
        super().__init__()
        self.h, self.g = num_heads, num_groups
        width = d_model // num_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, num_groups * width)
        self.value = nn.Linear(d_model, num_groups * width)
        self.output = nn.Linear(d_model, d_model)

    def forward(self, x):
        queries = self.query(x).chunk(self.h, dim=-1)
        keys, values = self.key(x).chunk(self.g, dim=-1), self.value(x).chunk(self.g, dim=-1)
        heads = []
        for i, q in enumerate(queries):
            j = i * self.g // self.h
            scores = q @ keys[j].transpose(1, 2) / q.size(-1) ** 0.5
            heads.append(torch.softmax(scores, -1) @ values[j])
        return self.output(torch.cat(heads, dim=-1))


@right("grouped_attention")
class _(nn.Module):
    """einsum with an axis for the group and one for its members"""

    def __init__(self, d_model, num_heads, num_groups):
        super().__init__()
        self.groups, self.members = num_groups, num_heads // num_groups
        d = d_model // num_heads
        self.query = nn.Linear(d_model, num_heads * d)
        self.key = nn.Linear(d_model, num_groups * d)
        self.value = nn.Linear(d_model, num_groups * d)
        self.output = nn.Linear(num_heads * d, d_model)

    def forward(self, x):
        q = self.query(x).unflatten(2, (self.groups, self.members, -1))
        k, v = (f(x).unflatten(2, (self.groups, -1)) for f in (self.key, self.value))
        e = torch.einsum("bigmd,bjgd->bgmij", q, k) / q.size(-1) ** 0.5
        return self.output(torch.einsum("bgmij,bjgd->bigmd", e.softmax(-1), v).flatten(2))


@right("grouped_attention")
class _(nn.Module):
    """PyTorch's enable_gqa"""

    def __init__(self, d_model, num_heads, num_groups):
        super().__init__()
        self.d = d_model // num_heads
        self.query = nn.Linear(d_model, num_heads * self.d)
        self.key, self.value = (nn.Linear(d_model, num_groups * self.d) for _ in "kv")
        self.output = nn.Linear(num_heads * self.d, d_model)

    def forward(self, x):
        q, k, v = (
            f(x).unflatten(-1, (-1, self.d)).transpose(1, 2)
            for f in (self.query, self.key, self.value)
        )
        heads = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        return self.output(heads.transpose(1, 2).flatten(2))


@right("grouped_attention")
class _(MultiHeadAttention):
    """inherits from the package"""

    def __init__(self, d_model, num_heads, num_groups):
        super().__init__(d_model, num_heads, num_kv_heads=num_groups)

    def forward(self, x):
        return super().forward(x, x, x)


class _Grouped(nn.Module):
    """What most students wrote; each of them changed something."""

    def __init__(self, d_model, num_heads, num_groups):
        super().__init__()
        self.num_heads, self.num_groups, self.d = num_heads, num_groups, d_model // num_heads
        self.query = nn.Linear(d_model, num_heads * self.d)
        self.key = nn.Linear(d_model, num_groups * self.d)
        self.value = nn.Linear(d_model, num_groups * self.d)
        self.output = nn.Linear(num_heads * self.d, d_model)

    def cut(self, x, heads):
        return x.view(x.size(0), x.size(1), heads, -1).transpose(1, 2)

    def all_three(self, x):
        n = self.num_heads // self.num_groups
        q = self.cut(self.query(x), self.num_heads)
        k = self.cut(self.key(x), self.num_groups).repeat_interleave(n, 1)
        v = self.cut(self.value(x), self.num_groups).repeat_interleave(n, 1)
        return q, k, v

    def merge(self, heads):
        return heads.transpose(1, 2).flatten(2)


@wrong("grouped_attention", "repeats the groups in turn: head 1 uses group 1")
class _(_Grouped):
    def forward(self, x):
        n = self.num_heads // self.num_groups
        q = self.cut(self.query(x), self.num_heads)
        k = self.cut(self.key(x), self.num_groups).repeat(1, n, 1, 1)
        v = self.cut(self.value(x), self.num_groups).repeat(1, n, 1, 1)
        weights = (q @ k.mT / math.sqrt(self.d)).softmax(-1)
        return self.output(self.merge(weights @ v))


@wrong("grouped_attention", "group of head i is i // groups: right for four heads and two groups")
class _(_Grouped):
    def forward(self, x):
        q = self.query(x).chunk(self.num_heads, -1)
        k = self.key(x).chunk(self.num_groups, -1)
        v = self.value(x).chunk(self.num_groups, -1)
        out = []
        for i in range(self.num_heads):
            j = i // self.num_groups
            out.append(F.scaled_dot_product_attention(q[i], k[j], v[j]))
        return self.output(torch.cat(out, -1))


@wrong("grouped_attention", "members of a group fixed to two, as in the example")
class _(_Grouped):
    def forward(self, x):
        q = self.cut(self.query(x), self.num_heads)
        k = self.cut(self.key(x), self.num_groups).repeat_interleave(2, dim=1)
        v = self.cut(self.value(x), self.num_groups).repeat_interleave(2, dim=1)
        weights = (q @ k.mT / math.sqrt(self.d)).softmax(-1)
        return self.output(self.merge(weights @ v))


@wrong("grouped_attention", "root of d_model")
class _(_Grouped):
    def forward(self, x):
        q, k, v = self.all_three(x)
        weights = (q @ k.mT / math.sqrt(x.size(-1))).softmax(-1)
        return self.output(self.merge(weights @ v))


@wrong("grouped_attention", "leaves out the output layer")
class _(_Grouped):
    def forward(self, x):
        q, k, v = self.all_three(x)
        weights = (q @ k.mT / math.sqrt(self.d)).softmax(-1)
        return self.merge(weights @ v)


@wrong("grouped_attention", "merges without transposing back")
class _(_Grouped):
    def forward(self, x):
        q, k, v = self.all_three(x)
        weights = (q @ k.mT / math.sqrt(self.d)).softmax(-1)
        return self.output((weights @ v).reshape(x.shape))


@wrong("grouped_attention", "relies on broadcasting heads with groups")
class _(_Grouped):
    def forward(self, x):
        q = self.cut(self.query(x), self.num_heads)
        k = self.cut(self.key(x), self.num_groups)
        v = self.cut(self.value(x), self.num_groups)
        weights = (q @ k.mT / math.sqrt(self.d)).softmax(-1)
        return self.output(self.merge(weights @ v))


@wrong("grouped_attention", "a word sees only the words before it")
class _(_Grouped):
    def forward(self, x):
        q, k, v = self.all_three(x)
        return self.output(self.merge(F.scaled_dot_product_attention(q, k, v, is_causal=True)))


@wrong("grouped_attention", "repeats the keys, but the values in the other order")
class _(_Grouped):
    def forward(self, x):
        n = self.num_heads // self.num_groups
        q, k, _ = self.all_three(x)
        v = self.cut(self.value(x), self.num_groups).repeat(1, n, 1, 1)
        weights = (q @ k.mT / math.sqrt(self.d)).softmax(-1)
        return self.output(self.merge(weights @ v))


@wrong("grouped_attention", "keys and values for all heads: not grouped")
class _(_Grouped):
    def __init__(self, d_model, num_heads, num_groups):
        super().__init__(d_model, num_heads, num_groups)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)

    def forward(self, x):
        q, k, v = (self.cut(f(x), self.num_heads) for f in (self.query, self.key, self.value))
        weights = (q @ k.mT / math.sqrt(self.d)).softmax(-1)
        return self.output(self.merge(weights @ v))


@wrong("grouped_attention", "key heads are wider: d_model // groups for keys and values")
class _(_Grouped):
    def __init__(self, d_model, num_heads, num_groups):
        super().__init__(d_model, num_heads, num_groups)
        self.key = nn.Linear(d_model, num_groups * (d_model // num_groups))
        self.value = nn.Linear(d_model, num_groups * (d_model // num_groups))

    def forward(self, x):
        q, k, v = self.all_three(x)
        weights = (q @ k.mT / math.sqrt(self.d)).softmax(-1)
        return self.output(self.merge(weights @ v))


@wrong("grouped_attention", "layers of queries, keys and values without bias")
class _(_Grouped):
    def __init__(self, d_model, num_heads, num_groups):
        super().__init__(d_model, num_heads, num_groups)
        self.query = nn.Linear(d_model, num_heads * self.d, bias=False)
        self.key = nn.Linear(d_model, num_groups * self.d, bias=False)
        self.value = nn.Linear(d_model, num_groups * self.d, bias=False)

    def forward(self, x):
        q, k, v = self.all_three(x)
        weights = (q @ k.mT / math.sqrt(self.d)).softmax(-1)
        return self.output(self.merge(weights @ v))


@wrong("grouped_attention", "softmax over the query words")
class _(_Grouped):
    def forward(self, x):
        q, k, v = self.all_three(x)
        weights = (q @ k.mT / math.sqrt(self.d)).softmax(-2)
        return self.output(self.merge(weights @ v))
