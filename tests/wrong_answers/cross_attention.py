"""Answers of readers who saw only the statement."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from answers import right, wrong

torch.set_default_dtype(torch.float64)


# ---------------------------------------------------------------- 1 cross_shapes
@right("cross_shapes")
def _(batch, src, tgt, d_model, num_heads):
    d_k = d_model // num_heads
    return [
        (batch, num_heads, tgt, d_k),
        (batch, num_heads, src, d_k),
        (batch, num_heads, tgt, src),
        (batch, tgt, d_model),
    ]


@right("cross_shapes")
def _(batch, src, tgt, d_model, num_heads):
    q = torch.zeros(batch, tgt, d_model).view(batch, tgt, num_heads, -1).transpose(1, 2)
    k = torch.zeros(batch, src, d_model).view(batch, src, num_heads, -1).transpose(1, 2)
    scores = q @ k.mT
    output = (scores @ k).transpose(1, 2).flatten(2)
    return [x.shape for x in (q, k, scores, output)]


@right("cross_shapes")
def _(batch, src, tgt, d_model, num_heads):
    head = int(d_model / num_heads)
    return [[batch, num_heads, tgt, head], [batch, num_heads, src, head], [batch, num_heads, tgt, src],
            [batch, tgt, d_model]]


@wrong("cross_shapes", "source and target swapped everywhere")
def _(batch, src, tgt, d_model, num_heads):
    d_k = d_model // num_heads
    return [(batch, num_heads, src, d_k), (batch, num_heads, tgt, d_k), (batch, num_heads, src, tgt), (batch, src, d_model)]


@wrong("cross_shapes", "scores transposed")
def _(batch, src, tgt, d_model, num_heads):
    d_k = d_model // num_heads
    return [(batch, num_heads, tgt, d_k), (batch, num_heads, src, d_k), (batch, num_heads, src, tgt), (batch, tgt, d_model)]


@wrong("cross_shapes", "the output has the length of the source")
def _(batch, src, tgt, d_model, num_heads):
    d_k = d_model // num_heads
    return [(batch, num_heads, tgt, d_k), (batch, num_heads, src, d_k), (batch, num_heads, tgt, src), (batch, src, d_model)]


@wrong("cross_shapes", "forgets to split the width")
def _(batch, src, tgt, d_model, num_heads):
    return [(batch, num_heads, tgt, d_model), (batch, num_heads, src, d_model), (batch, num_heads, tgt, src), (batch, tgt, d_model)]


@wrong("cross_shapes", "heads after the positions: before the transpose")
def _(batch, src, tgt, d_model, num_heads):
    d_k = d_model // num_heads
    return [(batch, tgt, num_heads, d_k), (batch, src, num_heads, d_k), (batch, num_heads, tgt, src), (batch, tgt, d_model)]


@wrong("cross_shapes", "d_k and the number of heads exchanged")
def _(batch, src, tgt, d_model, num_heads):
    d_k = d_model // num_heads
    return [(batch, d_k, tgt, num_heads), (batch, d_k, src, num_heads), (batch, d_k, tgt, src), (batch, tgt, d_model)]


@wrong("cross_shapes", "the output before the merge")
def _(batch, src, tgt, d_model, num_heads):
    d_k = d_model // num_heads
    return [(batch, num_heads, tgt, d_k), (batch, num_heads, src, d_k), (batch, num_heads, tgt, src), (batch, num_heads, tgt, d_k)]


@wrong("cross_shapes", "scores without heads, as if averaged")
def _(batch, src, tgt, d_model, num_heads):
    d_k = d_model // num_heads
    return [(batch, num_heads, tgt, d_k), (batch, num_heads, src, d_k), (batch, tgt, src), (batch, tgt, d_model)]


@wrong("cross_shapes", "hard-codes the example")
def _(batch, src, tgt, d_model, num_heads):
    return [(2, 5, 4, 2), (2, 5, 3, 2), (2, 5, 4, 3), (2, 4, 10)]


# ---------------------------------------------------------------- 2 cross_mask
@right("cross_mask")
def _(src, tgt_in):
    return (src != 0)[:, None, None, :].expand(-1, 1, tgt_in.size(1), -1)


@right("cross_mask")
def _(src, tgt_in):
    return torch.ones_like(tgt_in, dtype=torch.bool)[:, None, :, None] & src.ne(0)[:, None, None]


@right("cross_mask")
def _(src, tgt_in):
    return torch.stack([src.bool()] * tgt_in.shape[1], dim=1).unsqueeze(1)


@wrong("cross_mask", "one row for all, as the package's padding mask")
def _(src, tgt_in):
    return (src != 0)[:, None, None, :]


@wrong("cross_mask", "hides the rows of target padding too")
def _(src, tgt_in):
    return (tgt_in != 0)[:, None, :, None] & (src != 0)[:, None, None, :]


@wrong("cross_mask", "adds causality")
def _(src, tgt_in):
    causal = torch.ones(tgt_in.size(1), src.size(1), dtype=torch.bool).tril()
    return (src != 0)[:, None, None, :] & causal


@wrong("cross_mask", "True for padding")
def _(src, tgt_in):
    return (src == 0)[:, None, None, :].expand(-1, -1, tgt_in.size(1), -1)


@wrong("cross_mask", "target and source axes swapped")
def _(src, tgt_in):
    return (src != 0)[:, None, :, None].expand(-1, -1, -1, tgt_in.size(1))


@wrong("cross_mask", "the target's padding, not the source's")
def _(src, tgt_in):
    return (tgt_in != 0)[:, None, :, None].expand(-1, -1, -1, src.size(1))


@wrong("cross_mask", "no axis for the heads")
def _(src, tgt_in):
    return (src != 0)[:, None, :].expand(-1, tgt_in.size(1), -1)


@wrong("cross_mask", "hides BOS and EOS along with PAD")
def _(src, tgt_in):
    return (src > 2)[:, None, None, :].expand(-1, -1, tgt_in.size(1), -1)


@wrong("cross_mask", "repeats along the batch axis")
def _(src, tgt_in):
    return (src != 0)[:, None, None, :].repeat(tgt_in.size(1), 1, 1, 1)


@wrong("cross_mask", "floats 0 and -inf to be added")
def _(src, tgt_in):
    mask = torch.zeros(src.size(0), 1, tgt_in.size(1), src.size(1))
    return mask.masked_fill((src == 0)[:, None, None, :], -math.inf)


# ---------------------------------------------------------------- 3 turned_attention
@right("turned_attention")
def _(x, memory):
    scores = memory @ x.mT / x.size(-1) ** 0.5
    return scores.softmax(-2).mT @ memory


@right("turned_attention")
def _(x, memory):
    scores = x @ memory.mT / x.size(-1) ** 0.5
    return scores.softmax(-1) @ memory


@right("turned_attention")
def _(x, memory):
    return F.scaled_dot_product_attention(x, memory, memory)


@wrong("turned_attention", "nothing but the order of the product: softmax still over the targets")
def _(x, memory):
    scores = x @ memory.mT / x.size(-1) ** 0.5
    return scores.softmax(-2) @ memory


@wrong("turned_attention", "softmax over axis 0: wrong with a batch")
def _(x, memory):
    scores = memory @ x.mT / x.size(-1) ** 0.5
    return scores.softmax(0).mT @ memory


@wrong("turned_attention", "takes the turn away: shape fails")
def _(x, memory):
    scores = memory @ x.mT / x.size(-1) ** 0.5
    return scores.softmax(-1) @ memory


@wrong("turned_attention", "thinks the scaling is wrong: by the source's length")
def _(x, memory):
    scores = memory @ x.mT / memory.size(-2) ** 0.5
    return scores.softmax(-1).mT @ memory


@wrong("turned_attention", "sums x in place of the memory")
def _(x, memory):
    scores = x @ memory.mT / x.size(-1) ** 0.5
    return scores.softmax(-1).mT @ x


@wrong("turned_attention", "softmax over everything, flattened")
def _(x, memory):
    scores = memory @ x.mT / x.size(-1) ** 0.5
    return scores.flatten(-2).softmax(-1).view(scores.shape).mT @ memory


@wrong("turned_attention", "softmax over axis 1: fails or errs for other numbers of axes")
def _(x, memory):
    scores = memory @ x.mT / x.size(-1) ** 0.5
    return scores.softmax(1).mT @ memory


@wrong("turned_attention", "rescales the rows after the wrong softmax")
def _(x, memory):
    scores = memory @ x.mT / x.size(-1) ** 0.5
    weights = scores.softmax(-1).mT
    return weights / weights.sum(-1, keepdim=True) @ memory


@wrong("turned_attention", "right axis, but the root forgotten")
def _(x, memory):
    scores = memory @ x.mT / x.size(-1)
    return scores.softmax(-2).mT @ memory


# ---------------------------------------------------------------- 4 unchanged_by
right("unchanged_by")("ADF")
right("unchanged_by")("FAD")
wrong("unchanged_by", "thinks attention knows no order of words at all")("ABDF")
wrong("unchanged_by", "keys and values may be ordered apart")("ACDF")
wrong("unchanged_by", "any repetition is harmless")("ADEF")
wrong("unchanged_by", "misses that softmax ignores a common shift")("AD")
wrong("unchanged_by", "thinks double rows double the output")("AF")
wrong("unchanged_by", "a common vector in the values is ignored too")("ADFG")
wrong("unchanged_by", "gives those that change it")("BCEG")
wrong("unchanged_by", "the order matters")("DF")
wrong("unchanged_by", "keys for values")("ADG")


# ---------------------------------------------------------------- 5 memory_gradient
@right("memory_gradient")
def _(X, M, A, G):
    values = A.T @ G
    B = G @ M.T
    S = A * (B - (A * B).sum(dim=-1, keepdim=True))
    keys = S.T @ X
    return values, B, S, keys, values + keys


@right("memory_gradient")
def _(X, M, A, G):
    one = torch.einsum("ts,td->sd", A, G)
    B = torch.einsum("td,sd->ts", G, M)
    S = torch.zeros_like(A)
    for t in range(len(A)):
        S[t] = A[t] * (B[t] - A[t] @ B[t])
    four = torch.einsum("ts,td->sd", S, X)
    return [one, B, S, four, one + four]


@wrong("memory_gradient", "sums over the wrong axis in step 3")
def _(X, M, A, G):
    values = A.T @ G
    B = G @ M.T
    S = A * (B - (A * B).sum(dim=0, keepdim=True))
    keys = S.T @ X
    return values, B, S, keys, values + keys


@wrong("memory_gradient", "no keepdim: raises unless square")
def _(X, M, A, G):
    values = A.T @ G
    B = G @ M.T
    S = A * (B - (A * B).sum(-1))
    keys = S.T @ X
    return values, B, S, keys, values + keys


@wrong("memory_gradient", "one number for the whole matrix in step 3")
def _(X, M, A, G):
    values = A.T @ G
    B = G @ M.T
    S = A * (B - (A * B).sum())
    keys = S.T @ X
    return values, B, S, keys, values + keys


@wrong("memory_gradient", "B made with X in place of G")
def _(X, M, A, G):
    values = A.T @ G
    B = X @ M.T
    S = A * (B - (A * B).sum(-1, keepdim=True))
    keys = S.T @ X
    return values, B, S, keys, values + keys


@wrong("memory_gradient", "forgets step 3's A in front")
def _(X, M, A, G):
    values = A.T @ G
    B = G @ M.T
    S = B - (A * B).sum(-1, keepdim=True)
    keys = S.T @ X
    return values, B, S, keys, values + keys


@wrong("memory_gradient", "keys with B before the softmax's step")
def _(X, M, A, G):
    values = A.T @ G
    B = G @ M.T
    S = A * (B - (A * B).sum(-1, keepdim=True))
    keys = B.T @ X
    return values, B, S, keys, values + keys


@wrong("memory_gradient", "stops at the keys: the last step is theirs alone")
def _(X, M, A, G):
    values = A.T @ G
    B = G @ M.T
    S = A * (B - (A * B).sum(-1, keepdim=True))
    keys = S.T @ X
    return values, B, S, keys, keys


@wrong("memory_gradient", "keys' gradient by X: S @ M, the query's")
def _(X, M, A, G):
    values = A.T @ G
    B = G @ M.T
    S = A * (B - (A * B).sum(-1, keepdim=True))
    keys = (S @ M)
    return values, B, S, keys, values.sum(0) + keys


@wrong("memory_gradient", "B transposed, and turned back later")
def _(X, M, A, G):
    values = A.T @ G
    B = M @ G.T
    S = A * (B.T - (A * B.T).sum(-1, keepdim=True))
    keys = S.T @ X
    return values, B, S, keys, values + keys


@wrong("memory_gradient", "subtracts in the last step")
def _(X, M, A, G):
    values = A.T @ G
    B = G @ M.T
    S = A * (B - (A * B).sum(-1, keepdim=True))
    keys = S.T @ X
    return values, B, S, keys, values - keys


@wrong("memory_gradient", "averages the two ways")
def _(X, M, A, G):
    values = A.T @ G
    B = G @ M.T
    S = A * (B - (A * B).sum(-1, keepdim=True))
    keys = S.T @ X
    return values, B, S, keys, (values + keys) / 2


# ---------------------------------------------------------------- 6 source_reader
@right("source_reader")
class SourceReader(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)

    def split(self, x):
        batch, time, _ = x.shape
        return x.view(batch, time, self.num_heads, -1).transpose(1, 2)

    def read(self, memory, mask):
        self.keys = self.split(self.key(memory))
        self.values = self.split(self.value(memory))
        self.mask = mask

    def forward(self, x):
        q = self.split(self.query(x))
        heads = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=self.mask)
        return self.output(heads.transpose(1, 2).flatten(2))


@right("source_reader")
class SourceReader(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.h, self.d = num_heads, d_model // num_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)
        self.kept = None

    def read(self, memory, mask):
        self.kept = self.key(memory), self.value(memory), mask[:, 0]

    def forward(self, x):
        keys, values, mask = self.kept
        queries = self.query(x)
        outs = []
        for i in range(self.h):
            cols = slice(i * self.d, (i + 1) * self.d)
            scores = queries[..., cols] @ keys[..., cols].mT / math.sqrt(self.d)
            weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
            outs.append(weights @ values[..., cols])
        return self.output(torch.cat(outs, -1))


class _Base(nn.Module):
    """What most students wrote alike."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.num_heads, -1).transpose(1, 2)

    def read(self, memory, mask):
        self.k = self.split(self.key(memory))
        self.v = self.split(self.value(memory))
        self.mask = mask

    def forward(self, x):
        q = self.split(self.query(x))
        scores = q @ self.k.mT / math.sqrt(q.size(-1))
        weights = scores.masked_fill(~self.mask, -math.inf).softmax(-1)
        return self.output((weights @ self.v).transpose(1, 2).flatten(2))


right("source_reader")(_Base)


@wrong("source_reader", "keeps the first memory for ever")
class _(_Base):
    def read(self, memory, mask):
        if not hasattr(self, "k"):
            self.k = self.split(self.key(memory))
            self.v = self.split(self.value(memory))
            self.mask = mask


@wrong("source_reader", "new keys, but the first mask")
class _(_Base):
    def read(self, memory, mask):
        self.k = self.split(self.key(memory))
        self.v = self.split(self.value(memory))
        if getattr(self, "mask", None) is None:
            self.mask = mask


@wrong("source_reader", "keeps the raw memory and projects it in every forward")
class _(_Base):
    def read(self, memory, mask):
        self.memory, self.mask = memory, mask

    def forward(self, x):
        self.k = self.split(self.key(self.memory))
        self.v = self.split(self.value(self.memory))
        return super().forward(x)


@wrong("source_reader", "projects lazily, forgets to throw the old ones away")
class _(_Base):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.k = self.v = None

    def read(self, memory, mask):
        self.memory, self.mask = memory, mask

    def forward(self, x):
        if self.k is None:
            self.k = self.split(self.key(self.memory))
            self.v = self.split(self.value(self.memory))
        return super().forward(x)


@wrong("source_reader", "no mask")
class _(_Base):
    def forward(self, x):
        q = self.split(self.query(x))
        weights = (q @ self.k.mT / math.sqrt(q.size(-1))).softmax(-1)
        return self.output((weights @ self.v).transpose(1, 2).flatten(2))


@wrong("source_reader", "mask the wrong way round")
class _(_Base):
    def forward(self, x):
        q = self.split(self.query(x))
        scores = q @ self.k.mT / math.sqrt(q.size(-1))
        weights = scores.masked_fill(self.mask, -1e9).softmax(-1)
        return self.output((weights @ self.v).transpose(1, 2).flatten(2))


@wrong("source_reader", "scales by d_model, not by d_k")
class _(_Base):
    def forward(self, x):
        q = self.split(self.query(x))
        scores = q @ self.k.mT / math.sqrt(x.size(-1))
        weights = scores.masked_fill(~self.mask, -math.inf).softmax(-1)
        return self.output((weights @ self.v).transpose(1, 2).flatten(2))


@wrong("source_reader", "cuts heads by view without transpose")
class _(_Base):
    def split(self, x):
        return x.view(x.size(0), self.num_heads, x.size(1), -1)


@wrong("source_reader", "merges heads without the transpose: wrong for several positions")
class _(_Base):
    def forward(self, x):
        q = self.split(self.query(x))
        scores = q @ self.k.mT / math.sqrt(q.size(-1))
        weights = scores.masked_fill(~self.mask, -math.inf).softmax(-1)
        return self.output((weights @ self.v).reshape(x.shape))


@wrong("source_reader", "forgets the output's matrix")
class _(_Base):
    def forward(self, x):
        q = self.split(self.query(x))
        scores = q @ self.k.mT / math.sqrt(q.size(-1))
        weights = scores.masked_fill(~self.mask, -math.inf).softmax(-1)
        return (weights @ self.v).transpose(1, 2).flatten(2)


@wrong("source_reader", "one head only: ignores num_heads")
class _(_Base):
    def split(self, x):
        return x.unsqueeze(1)


@wrong("source_reader", "values from the keys' matrix")
class _(_Base):
    def read(self, memory, mask):
        self.k = self.v = self.split(self.key(memory))
        self.mask = mask


@wrong("source_reader", "answers for one position only: the last")
class _(_Base):
    def forward(self, x):
        return super().forward(x[:, -1:])


@wrong("source_reader", "fills hidden scores with 0")
class _(_Base):
    def forward(self, x):
        q = self.split(self.query(x))
        scores = (q @ self.k.mT / math.sqrt(q.size(-1))) * self.mask
        return self.output((scores.softmax(-1) @ self.v).transpose(1, 2).flatten(2))
