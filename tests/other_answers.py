"""Right answers to the exercises that are written differently from the references."""

import functools
import itertools
import math
import re
import statistics
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.course.exercises.find_the_bug.diagnosis import SRC, TGT_IN
from annotated_transformer.layers import EncoderLayer, FeedForward, Residual
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.positional_encoding import sinusoidal_encoding


def decode_with_lists(next_logits: Any, bos: int, eos: int, limit: int) -> list[int]:
    tokens = [bos]
    while len(tokens) < limit + 1:
        logits = next_logits(tokens).tolist()
        tokens.append(max(range(len(logits)), key=logits.__getitem__))
        if tokens[-1] == eos:
            return tokens[1:-1]
    return tokens[1:]


def decode_with_tensors(next_logits: Any, bos: int, eos: int, limit: int) -> list[Tensor]:
    tokens = [torch.tensor(bos)]
    for _ in range(limit):
        tokens.append(next_logits(tokens).softmax(-1).topk(1).indices[0])
    said = tokens[1:]
    return next((said[:i] for i, token in enumerate(said) if token == eos), said)


def accuracy_with_counts(said: Any, right: Any, edges: list[int]) -> list[float]:
    good, all_ = Counter[int](), Counter[int]()
    for x, y in zip(said, right, strict=True):
        for i in range(len(edges) - 1):
            if len(y) in range(edges[i], edges[i + 1]):
                all_[i] += 1
                good[i] += x == y
    return [good[i] / all_[i] for i in range(len(edges) - 1)]


def accuracy_with_tensors(said: Any, right: Any, edges: list[int]) -> list[Tensor]:
    lengths = torch.tensor([len(y) for y in right])
    exact = torch.tensor([" ".join(x) == " ".join(y) for x, y in zip(said, right, strict=True)])
    return [
        exact[(a <= lengths) & (lengths < b)].float().mean() for a, b in itertools.pairwise(edges)
    ]


def reverse_with_gather(ids: Tensor) -> Tensor:
    position, length = torch.arange(ids.size(1)), (ids != 0).sum(1, keepdim=True)
    source = torch.where(position < length, length - 1 - position, position)
    return ids.gather(1, source)


def additive_with_loops(s: Tensor, h: Tensor, W_s: Tensor, W_h: Tensor, v: Tensor) -> Tensor:
    scores = torch.zeros(len(s), s.size(1), h.size(1))
    for b, q, k in itertools.product(*map(range, scores.shape)):
        scores[b, q, k] = v.dot(torch.tanh(W_s.mv(s[b, q]) + W_h.mv(h[b, k])))
    return scores


def kernel_regression(query: Tensor, keys: Tensor, values: Tensor, width: float) -> Tensor:
    result = []
    for q in query.tolist():
        weights = [math.exp(-(((q - k) / width) ** 2) / 2) for k in keys.tolist()]
        pairs = zip(weights, values.tolist(), strict=True)
        result.append(sum(w * v for w, v in pairs) / sum(weights))
    return torch.tensor(result)


def sinusoids_in_loops(length: int, d: int) -> Tensor:
    table = torch.empty(length, d)
    for pos, i in itertools.product(range(length), range(d // 2)):
        table[pos, 2 * i] = math.sin(pos / 10000 ** (2 * i / d))
        table[pos, 2 * i + 1] = math.cos(pos / 10000 ** (2 * i / d))
    return table


def shift_found_by_least_squares(k: int, d: int) -> Tensor:
    table = sinusoidal_encoding(500, d)
    here = torch.arange(10, 490)
    return torch.linalg.lstsq(table[here], table[here + k]).solution.T


def adam_of_torch(gradients: Tensor, rate: float, beta1: float, beta2: float, eps: float) -> Tensor:
    weights = torch.zeros_like(gradients[0]).requires_grad_()
    adam = torch.optim.Adam([weights], lr=rate, betas=(beta1, beta2), eps=eps)
    for gradient in gradients:
        before = weights.detach().clone()
        weights.grad = gradient.clone()
        adam.step()
    return weights.detach() - before


def accumulate_in_a_loop(sums: Tensor, tokens: Tensor, every: int) -> list[Tensor]:
    found, gradient, count = [], 0, 0
    for i, (part, number) in enumerate(zip(sums, tokens, strict=True), start=1):
        gradient, count = gradient + part, count + number
        if i % every == 0 or i == len(sums):
            found.append(gradient / count)
            gradient, count = 0, 0
    return found


def hides_the_future_by_gradient(model: Any) -> bool:
    model.eval()
    seen: list[Tensor] = []

    def watch(module: Any, inputs: Any, output: Tensor) -> None:
        seen.append(output)

    handle = model.tgt_embedding.positions.register_forward_hook(watch)
    logits = model(SRC, TGT_IN)
    handle.remove()
    read = seen[-1]
    for t in range(4):
        (slope,) = torch.autograd.grad(logits[:, t].abs().sum(), read, retain_graph=True)
        if slope[:, t + 1 :].any():
            return False
    return True


def steps_of(model: Any) -> list[Tensor]:
    state, logits = model.start(SRC), []
    for t in range(TGT_IN.size(1)):
        step, state = model.step(state, TGT_IN[:, t])
        logits.append(step)
    return logits


def norms_by_hand(model: Any) -> bool:
    x = torch.linspace(-1, 3, 8, dtype=torch.float64).square()
    right = []
    for part in model.modules():
        if isinstance(part, nn.LayerNorm):
            centred = x - x.mean()
            normal = centred / torch.sqrt((centred**2).mean() + part.eps)
            right.append(torch.allclose(part(x), normal * part.weight + part.bias))
    return all(right)


OTHERS: dict[str, list[Callable[..., Any]]] = {
    "count_tokens": [
        lambda ids: torch.tensor([sum(i != 0 for i in row) for row in ids.tolist()]),
        lambda ids: ids.size(1) - (ids == 0).float().sum(-1),
    ],
    "shift": [
        lambda y: [[1, *y], [*y, 2]],
        lambda y: ((1, *y), (*y, 2)),
    ],
    "perplexity_of_two": [
        lambda a, b: torch.tensor([*a, *b]).mean().exp().item(),
        lambda a, b: torch.tensor([*a, *b]).mean().exp(),
        lambda a, b: math.prod(math.exp(x) for x in [*a, *b]) ** (1 / len([*a, *b])),
    ],
    "mean_surprise": [
        lambda z, y: F.cross_entropy(z.flatten(0, 1), y.flatten(), ignore_index=0),
        lambda z, y: F.cross_entropy(z.double().transpose(1, 2), y, ignore_index=0),
        lambda z, y: F.cross_entropy(z.transpose(1, 2), y, ignore_index=0).item(),
    ],
    "gru_update": [
        lambda z, new, old: new + z * (old - new),
        lambda z, new, old: torch.lerp(new, old, z),
    ],
    "last_states": [
        lambda x, n: torch.stack([row[length - 1] for row, length in zip(x, n, strict=True)]),
        lambda x, n: x.gather(1, (n - 1)[:, None, None].expand(-1, 1, x.size(2)))[:, 0],
        lambda x, n: torch.einsum("bth,bt->bh", x, F.one_hot(n - 1, x.size(1)).to(x)),
    ],
    "greedy_decode": [decode_with_lists, decode_with_tensors],
    "exact_accuracy_by_length": [accuracy_with_counts, accuracy_with_tensors],
    "reverse_padded": [
        reverse_with_gather,
        lambda ids: torch.tensor(
            [[i for i in row[::-1] if i] + [0] * row.count(0) for row in ids.tolist()]
        ),
    ],
    "context_vector": [
        lambda w, v: torch.einsum("...qk,...kd->...qd", w, v),
        lambda w, v: (w.unsqueeze(-1) * v.unsqueeze(-3)).sum(-2),
        torch.matmul,
    ],
    "attention_weights": [
        lambda e, mask: torch.where(mask, e, -1e9).softmax(2),
        lambda e, mask: e.exp() * mask / (e.exp() * mask).sum(-1, keepdim=True),
    ],
    "additive_scores": [
        additive_with_loops,
        lambda s, h, W_s, W_h, v: torch.einsum(
            "bqkd,d->bqk",
            torch.tanh(F.linear(s, W_s)[:, :, None] + F.linear(h, W_h)[:, None]),
            v,
        ),
    ],
    "alignment_error": [
        lambda a, g: (
            1
            - sum(2 * (link in g) for link in a)
            / (len(g) + sum(any(t == true for _, true in g) for _, t in a))
        ),
        lambda a, g: torch.tensor(
            len({link for link in a if link[1] in [t for _, t in g]} ^ g)
            / (len({link for link in a if link[1] in [t for _, t in g]}) + len(g))
        ),
    ],
    "nadaraya_watson": [
        kernel_regression,
        lambda q, k, v, width: torch.einsum(
            "nm,m->n", F.softmax(-0.5 * ((q[:, None] - k[None]) / width).square(), -1), v
        ),
    ],
    "dot_scores": [
        lambda s, h: torch.einsum("...qd,...kd->...qk", s, h),
        lambda s, h: (s[..., :, None, :] * h[..., None, :, :]).sum(-1),
    ],
    "general_scores": [
        lambda s, h, W: torch.einsum("...qs,sh,...kh->...qk", s, W, h),
        lambda s, h, W: s @ (h @ W.T).mT,
    ],
    "attentional_state": [
        lambda c, s, W: F.linear(torch.cat((c, s), 2), W).tanh(),
        lambda c, s, W: (
            c.new_tensor([[W.mv(torch.cat([c[b, t], s[b, t]])).tolist() for t in range(c.size(1))]
            for b in range(len(c))]).tanh()
        ),
    ],
    "score_parameters": [
        lambda score, d_s, d_h, d: {"dot": 0, "general": d_s * d_h, "concat": d * (d_s + d_h + 1)}[
            score
        ],
        lambda score, d_s, d_h, d: float(
            sum(
                p.numel()
                for p in {
                    "dot": [],
                    "general": [torch.ones(d_s, d_h)],
                    "concat": [torch.ones(d, d_s), torch.ones(d, d_h), torch.ones(d)],
                }[score]
            )
        ),
    ],
    "luong_context": [
        lambda s, h: torch.einsum("ts,sd->td", F.softmax(s[1:] @ h.T, dim=1), h),
        lambda s, h: torch.stack([h.T @ (h @ state).softmax(0) for state in s][1:]),
    ],
    "angle": [
        lambda pos, column, d: pos * math.exp(-math.log(10000) * (column - column % 2) / d),
        lambda pos, column, d: torch.tensor(pos) / torch.tensor(10000.0) ** (column // 2 * 2 / d),
    ],
    "sinusoids": [
        sinusoids_in_loops,
        lambda length, d: sinusoidal_encoding(length, d),
        lambda length, d: torch.view_as_real(
            torch.polar(
                torch.ones(length, d // 2),
                torch.pi / 2
                - torch.outer(torch.arange(length), 10000 ** (-torch.arange(0, d, 2) / d)),
            )
        ).reshape(length, d),
    ],
    "wavelength": [
        lambda column, d: math.tau * 10000 ** ((column - column % 2) / d),
        lambda column, d: torch.tensor(2 * torch.pi) * 100 ** (column // 2 * 4 / d),
    ],
    "shift_matrix": [
        shift_found_by_least_squares,
        lambda k, d: torch.linalg.matrix_exp(
            torch.block_diag(
                *(
                    torch.tensor([[0.0, k / 10000 ** (c / d)], [-k / 10000 ** (c / d), 0.0]])
                    for c in range(0, d, 2)
                )
            )
        ),
    ],
    "offset_distance": [
        lambda k, d: (sinusoidal_encoding(abs(k) + 1, d)[-1] - sinusoidal_encoding(1, d)[0]).norm(),
        lambda k, d: 2 * math.hypot(*(math.sin(k / 2 / 10000 ** (c / d)) for c in range(0, d, 2))),
    ],
    "embed_from": [
        lambda x, table, start: torch.stack(
            [x[:, t] * math.sqrt(x.size(2)) + table[start + t] for t in range(x.size(1))], dim=1
        ),
        lambda x, table, start: torch.add(
            table[torch.arange(x.size(1)) + start][None], x, alpha=x.size(-1) ** 0.5
        ),
    ],
    "causal_square": [
        lambda n: torch.tensor([[k <= q for k in range(n)] for q in range(n)]),
        lambda n: ~torch.ones(n, n, dtype=torch.bool).triu(1),
        lambda n: torch.ones(n, n).cumsum(0) >= torch.ones(n, n).cumsum(1),
    ],
    "padding_columns": [
        lambda ids: ids.bool()[:, None, None, :],
        lambda ids: (ids > 0).view(len(ids), 1, 1, -1),
    ],
    "both_masks": [
        lambda ids: ((ids != 0)[:, None] & torch.ones(ids.size(1), ids.size(1)).tril().bool())[
            :, None
        ],
        lambda ids: (ids != 0)[:, None, None, :].repeat(1, 1, ids.size(1), 1).tril(),
    ],
    "safe_weights": [
        lambda e, mask: torch.where(mask, e, -torch.inf).softmax(2).nan_to_num(),
        lambda e, mask: e.masked_fill(~mask, -1e9).softmax(-1) * mask,
        lambda e, mask: F.normalize(
            (e.masked_fill(~mask, -torch.inf) - e.masked_fill(~mask, -1e9).amax(-1, True)).exp(),
            p=1,
            dim=-1,
        ),
    ],
    "causal_attention": [
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        lambda q, k, v: torch.stack(
            [
                (k[..., : t + 1, :] @ q[..., t, :, None] / q.size(-1) ** 0.5).softmax(-2).mT
                @ v[..., : t + 1, :]
                for t in range(q.size(-2))
            ],
            dim=-3,
        ).squeeze(-2),
    ],
    "kept_ends": [
        lambda lengths: len(lengths) - lengths.count(max(lengths)),
        lambda lengths: torch.tensor(lengths).lt(max(lengths)).sum(),
    ],
    "sees_the_future": [
        lambda f, ids: any(
            (f(ids)[q] != f(torch.where(torch.arange(len(ids)) > q, ids + 3, ids))[q]).any().item()
            for q in range(len(ids))
        ),
        lambda f, ids: not all(
            torch.equal(f(ids)[:t], f(torch.cat([ids[:t], ids[t:].flip(0) + 9]))[:t])
            for t in range(len(ids))
        ),
        lambda f, ids: any(
            not torch.allclose(f(ids)[t], f(ids[: t + 1])[t]) for t in range(len(ids))
        ),
    ],
    "scaled_scores": [
        lambda q, k: torch.einsum("...qd,...kd->...qk", q, k) * q.size(-1) ** -0.5,
        lambda q, k: (q / q.size(-1) ** 0.25) @ (k / k.size(-1) ** 0.25).mT,
        lambda q, k: q @ k.mT / torch.sqrt(torch.tensor(k.size(-1))),
    ],
    "one_output": [
        lambda q, k, v: F.scaled_dot_product_attention(q[None], k, v)[0],
        lambda q, k, v: sum(
            w * row
            for w, row in zip(F.softmax(torch.mv(k, q) / len(q) ** 0.5, 0), v, strict=True)
        ),
    ],
    "self_attend": [
        lambda X, W_Q, W_K, W_V: F.scaled_dot_product_attention(X @ W_Q, X @ W_K, X @ W_V),
        lambda X, W_Q, W_K, W_V: (
            torch.softmax(X @ W_Q @ W_K.T @ X.mT / W_Q.size(1) ** 0.5, -1) @ X @ W_V
        ),
        lambda X, W_Q, W_K, W_V: (
            F.softmax(torch.einsum("...td,...sd->...ts", X @ (W_Q / W_K.size(-1) ** 0.5), X @ W_K),
            dim=X.dim() - 1) @ (X @ W_V)
        ),
    ],
    "score_variances": [
        lambda d_k, a, b: [sum(a * b for _ in range(d_k)), a * b],
        lambda d_k, a, b: (torch.tensor(d_k * a * b), torch.tensor(a * b)),
    ],
    "batched_attention": [
        F.scaled_dot_product_attention,
        lambda q, k, v: torch.stack(
            [
                torch.softmax(x.mm(y.t()) / y.size(1) ** 0.5, 1).mm(z)
                for x, y, z in zip(q, k, v, strict=True)
            ]
        ),
        lambda q, k, v: torch.bmm(
            F.softmax(torch.bmm(q, k.permute(0, 2, 1)).div(math.sqrt(k.shape[2])), 2), v
        ),
    ],
    "cross_mask": [
        lambda s, t: (s != 0)[:, None, None, :].repeat(1, 1, t.size(1), 1),
        lambda s, t: (
            torch.tensor([[[[i != 0 for i in row]] * t.size(1)] for row in s.tolist()])
        ),
        lambda s, t: torch.ones_like(t).bool()[:, None, :, None] & (s != 0)[:, None, None, :],
    ],
    "cross_attention_head": [
        lambda x, m, Q, K, V: F.scaled_dot_product_attention(x @ Q, m @ K, m @ V),
        lambda x, m, Q, K, V: torch.einsum(
            "bts,bsd,dv->btv",
            F.softmax(torch.einsum("btd,dk,ek,bse->bts", x, Q, K, m) / len(K.T) ** 0.5, 2),
            m,
            V,
        ),
    ],
    "cross_shapes": [
        lambda b, s, t, d, h: (
            torch.ones(b, h, t, d // h).shape,
            torch.ones(b, h, s, d // h).shape,
            torch.ones(b, h, t, s).shape,
            torch.ones(b, t, d).shape,
        ),
        lambda b, s, t, d, h: [[b, h, t, d / h], [b, h, s, d / h], [b, h, t, s], [b, t, d]],
    ],
    "projection_operations": [
        lambda s, t, d: (sum(4 * s * d**2 for _ in range(t)), 4 * s * d**2),
        lambda s, t, d: torch.tensor([t, 1]).mul(4 * s * d * d).unbind(),
    ],
    "turned_attention": [
        lambda x, m: F.scaled_dot_product_attention(x, m, m),
        lambda x, m: ((m @ x.mT / math.sqrt(len(m.T))).softmax(-2).mT @ m) if m.dim() == 2 else (
            torch.einsum("...st,...sd->...td", (m @ x.mT / m.size(-1) ** 0.5).softmax(-2), m)
        ),
    ],
    "merge_heads": [
        lambda x: torch.cat(list(x.unbind(1)), dim=-1),
        lambda x: torch.einsum("bhtd->bthd", x).reshape(x.size(0), x.size(2), -1),
    ],
    "split_heads": [
        lambda x, h: torch.stack(x.chunk(h, dim=-1), dim=1),
        lambda x, h: x.reshape(len(x), x.size(1), h, -1).permute(0, 2, 1, 3),
    ],
    "multi_head": [
        lambda X, Q, K, V, W_O: torch.cat(
            [F.scaled_dot_product_attention(X @ q, X @ k, X @ v)
            for q, k, v in zip(Q, K, V, strict=True)],
            -1,
        ) @ W_O,
        lambda X, Q, K, V, W_O: torch.einsum(
            "hsd,hdm->sm",
            F.scaled_dot_product_attention(X @ Q, X @ K, X @ V),
            W_O.view(len(V), -1, X.size(1)),
        ),
    ],
    "head_contributions": [
        lambda heads, W: torch.stack(
            [head @ part for head, part in zip(heads, W.chunk(len(heads)), strict=True)]
        ),
        lambda heads, W: torch.stack(
            [
                (heads * (torch.arange(len(heads)) == i)[:, None, None])
                .transpose(0, 1)
                .flatten(1)
                .matmul(W)
                for i in range(len(heads))
            ]
        ),
    ],
    "head_parameters": [
        lambda d, h, k, v: sum(p.numel() for p in MultiHeadAttention(d, h, k, v).parameters()),
        lambda d, h, k, v: float(2 * h * k * (d + 1) + h * v * (d + 1) + (h * v + 1) * d),
    ],
    "attend_in_heads": [
        lambda q, k, v, h: torch.cat(
            [
                F.scaled_dot_product_attention(*parts)
                for parts in zip(*(x.chunk(h, -1) for x in (q, k, v)), strict=True)
            ],
            -1,
        ),
        lambda q, k, v, h: torch.einsum(
            "bhqk,bkhd->bqhd",
            (
                torch.einsum(
                    "bqhd,bkhd->bhqk", q.unflatten(-1, (h, -1)), k.unflatten(-1, (h, -1))
                )
                / (q.size(-1) / h) ** 0.5
            ).softmax(-1),
            v.unflatten(-1, (h, -1)),
        ).flatten(2),
    ],
    "extend_beam": [
        lambda p, q, size: [
            (b, v)
            for _, b, v in sorted(
                (-float(p[b] + q[b, v]), b, v) for b in range(len(p)) for v in range(q.size(1))
            )[:size]
        ],
        lambda p, q, size: torch.stack(
            torch.unravel_index((p.unsqueeze(1) + q).flatten().topk(size).indices, q.shape), -1
        ).tolist(),
    ],
    "penalised": [
        lambda p, n, a: p * math.pow(6 / (5 + n), a),
        lambda p, n, a: p / ((5 + n) ** a / 6**a),
        lambda p, n, a: torch.tensor(p).double() / math.exp(a * math.log((5 + n) / 6)),
    ],
    "tempered": [
        lambda z, T: torch.exp(z / T - torch.logsumexp(z / T, dim=1, keepdim=True)),
        lambda z, T: F.normalize(z.softmax(1) ** (1 / T), p=1, dim=1),
    ],
    "positions_read": [
        lambda n, cached: sum(1 if cached else t for t in range(1, n + 1)),
        lambda n, cached: float(n) if cached else n * (n + 1) / 2,
    ],
    "cached_numbers": [
        lambda N, h, d, src, tgt: sum(
            2 * torch.empty(h, length, d).numel() for length in (src, tgt) for _ in range(N)
        ),
        lambda N, h, d, src, tgt: 2 * N * (h * d) * src + 2 * N * (h * d) * tgt,
    ],
    "keep_rows": [
        lambda tokens, cache, row, token: (
            torch.column_stack([tokens.index_select(0, row), token]),
            cache.index_select(0, row),
        ),
        lambda tokens, cache, row, token: (
            torch.stack([torch.cat([tokens[r], t[None]]) for r, t in zip(row, token, strict=True)]),
            torch.stack([cache[r] for r in row]),
        ),
    ],
    "attention_operations": [
        lambda n, d: 4 * n * d * (2 * d + n),
        lambda n, d: float(sum([2 * n * d * d] * 4 + [2 * n * d * n] * 2)),
    ],
    "break_even": [
        lambda gates, d: max(gates, 2) * d - 2 * d,
        lambda gates, d: max((4 * gates * d * d - 8 * d * d) / (4 * d), 0),
    ],
    "wasted_pairs": [
        lambda ns: sum(max(ns) ** 2 - n**2 for n in ns) / len(ns) / max(ns) ** 2,
        lambda ns: 1 - torch.tensor(ns).double().div(max(ns)).square().mean(),
    ],
    "window": [
        lambda n, r: torch.ones(n, n).tril(r // 2).triu(-(r // 2)).bool(),
        lambda n, r: torch.tensor([[abs(i - j) <= r / 2 for j in range(n)] for i in range(n)]),
    ],
    "layers_needed": [
        lambda n, k: (-(-(n - 1) // (k - 1)), min(m for m in range(n) if k**m >= n)),
        lambda n, k: [len(range(1, n, k - 1)), sum(k**m < n for m in range(n))],
    ],
    "path_length": [
        lambda reads: next(
            m for m in range(99) if torch.linalg.matrix_power(reads.double(), m).all()
        ),
        lambda reads: sum(
            not torch.linalg.matrix_power(reads.double(), m).all() for m in range(len(reads))
        ),
    ],
    "smoothed_targets": [
        lambda y, V, s: torch.full((len(y), V), s / V).scatter(1, y[:, None], 1 - s + s / V),
        lambda y, V, s: torch.lerp(torch.eye(V)[y], torch.full((len(y), V), 1 / V), s),
    ],
    "lowest_loss": [
        lambda s, V: torch.distributions.Categorical(
            torch.tensor([1 - s + s / V] + [s / V] * (V - 1), dtype=torch.float64)
        ).entropy(),
        lambda s, V: F.cross_entropy(
            torch.tensor([math.log(1 + (1 - s) * V / s)] + [0.0] * (V - 1)),
            torch.tensor(0),
            label_smoothing=s,
        ),
    ],
    "paper_rate": [
        lambda t, d, w: t / w / math.sqrt(d * w) if t < w else 1 / math.sqrt(d * t),
        lambda t, d, w: torch.tensor([t**-0.5, t * w**-1.5]).min() / d**0.5,
    ],
    "adam_update": [adam_of_torch],
    "clip_together": [
        lambda gs, c: [
            g / torch.stack([h.square().sum() for h in gs]).sum().sqrt().div(c).clamp(min=1)
            for g in gs
        ],
        lambda gs, c: [g * (c / max(c, torch.cat([h.flatten() for h in gs]).norm())) for g in gs],
    ],
    "accumulate": [
        lambda s, n, k: [
            s[i : i + k].sum(0) / n[i : i + k].sum() for i in range(0, len(s), k)
        ],
        accumulate_in_a_loop,
    ],
    "tied_logits": [
        lambda x, E: F.linear(x, E),
        lambda x, E: torch.einsum("btd,vd->btv", x, E),
        lambda x, E: torch.stack([x @ e for e in E], dim=-1),
    ],
    "run_stacks": [
        lambda x, y, encoder, decoder: functools.reduce(
            lambda states, layer: layer(states, functools.reduce(lambda s, f: f(s), encoder, x)),
            decoder,
            y,
        ),
    ],
    "encoder_block": [
        lambda X, Q, K, V, to_out, W_1, W_2: (
            lambda M: F.layer_norm(M + F.linear(torch.relu(M @ W_1), W_2.T), M.shape[1:])
        )(
            F.layer_norm(
                X + F.scaled_dot_product_attention(X @ Q, X @ K, X @ V) @ to_out, X.shape[1:]
            )
        ),
    ],
    "first_loss": [
        lambda vocab, variance: torch.tensor(vocab).double().log() + 0.5 * variance,
        lambda vocab, variance: math.log(vocab * math.exp(variance / 2)),
    ],
    "transformer_parameters": [
        lambda vocab, num_layers, d, d_ff: (
            num_layers * (12 * d * (d + 1) + 2 * (2 * d * d_ff + d_ff + d) + 10 * d)
            + vocab * d
            + vocab
        ),
    ],
    "make_stack": [
        lambda make, n: tuple(make() for _ in range(n)),
        lambda make, n: [make() for _ in torch.arange(n)],
    ],
    "repeats_itself": [
        lambda m: bool((m.eval()(SRC, TGT_IN) == m(SRC, TGT_IN)).all()),
        lambda m: torch.allclose(*(m.train(False)(SRC, TGT_IN) for _ in range(2))),
    ],
    "hides_the_future": [
        lambda m: all(
            torch.allclose(m.eval()(SRC, TGT_IN[:, :t]), m(SRC, TGT_IN)[:, :t])
            for t in range(1, 6)
        ),
        hides_the_future_by_gradient,
    ],
    "ignores_padding": [
        lambda m: all(
            torch.allclose(
                m.eval()(F.pad(SRC, (0, 2)), TGT_IN)[i], m(SRC[i : i + 1, :n], TGT_IN[[i]])[0]
            )
            for i, n in enumerate([6, 4])
        ),
        lambda m: bool(
            (m.eval()(SRC, TGT_IN) - m(F.pad(SRC, (0, 1)), TGT_IN)).abs().max() < 1e-6
        ),
    ],
    "steps_agree": [
        lambda m: all(
            torch.allclose(a, b)
            for a, b in zip(
                steps_of(m.eval()), m(SRC, TGT_IN).unbind(1), strict=True
            )
        ),
    ],
    "layers_differ": [
        lambda m: all(
            len({tuple(layer.self_attention.query.weight.flatten().tolist()) for layer in stack})
            == len(stack)
            for stack in (m.encoder, m.decoder)
        ),
        lambda m: len(numbers := [p for p in m.parameters() if p.dim() > 1])
        == len({p.sum().item() for p in numbers}),
    ],
    "norms_agree": [norms_by_hand],
    "feed_forward": [
        lambda x, W, b, V, c: F.linear(F.relu(F.linear(x, W.T, b)), V.T, c),
        lambda x, W, b, V, c: torch.einsum(
            "...f,fd->...d", (torch.einsum("...d,df->...f", x, W) + b).clamp(min=0), V
        ) + c,
    ],
    "layer_norm": [
        lambda x, gain, bias, eps: F.layer_norm(x, x.shape[-1:], gain, bias, eps),
        lambda x, gain, bias, eps: (
            (x - x.mean(-1, keepdim=True))
            / (x.var(-1, keepdim=True, correction=0) + eps).sqrt()
            * gain
            + bias
        ),
    ],
    "stack_slopes": [
        lambda slope, layers: (math.prod([slope] * layers), math.prod([slope + 1] * layers)),
        lambda slope, layers: [torch.tensor(a).double() ** layers for a in (slope, slope + 1)],
    ],
    "post_norm_stack": [
        lambda x, W: (
            x if not len(W) else OTHERS["post_norm_stack"][0](
                F.layer_norm(x + (x @ W[0]).clamp(min=0), x.shape[-1:]), W[1:]
            )
        ),
    ],
    "pre_norm_stack": [
        lambda x, W: (
            F.layer_norm(x, x.shape[-1:]) if not len(W) else OTHERS["pre_norm_stack"][0](
                x + F.relu(F.layer_norm(x, x.shape[-1:]) @ W[0]), W[1:]
            )
        ),
    ],
    "layer_parameters": [
        lambda d, f: sum(
            p.numel() for p in EncoderLayer(
                MultiHeadAttention(d, 1), FeedForward(d, f), lambda: Residual(d, 0.0, "post")
            ).parameters()
        ),
        lambda d, f: float(4 * d**2 + 2 * d * f + f + 9 * d),
    ],
    "relation_score": [
        lambda weights, relation: torch.stack(
            [
                torch.stack([head[t][row].sum() for t, row in enumerate(relation) if row.any()])
                .mean()
                for head in weights
            ]
        ),
        lambda weights, relation: (
            torch.einsum("hqk,qk->h", weights, relation.to(weights.dtype)) / relation.any(1).sum()
        ),
    ],
    "remove_heads": [
        lambda W, heads, h: (
            W * torch.tensor([i not in heads for i in range(h)]).repeat_interleave(W.size(1) // h)
        ),
        lambda W, heads, h: torch.cat(
            [0 * part if i in heads else part for i, part in enumerate(W.chunk(h, dim=1))], dim=1
        ),
    ],
    "kendall_tau": [
        lambda a, b: ((a[:, None] - a).sign() * (b[:, None] - b).sign()).sum()
        / (len(a) ** 2 - len(a)),
        lambda a, b: statistics.mean(
            float(((x - y) * (u - v)).sign())
            for (x, u), (y, v) in itertools.combinations(zip(a, b, strict=True), 2)
        ),
    ],
    "leave_one_out": [
        lambda predict, words: torch.tensor(
            [
                max(0, sum((predict(words) - predict(words[torch.arange(len(words)) != j]))
                    .clamp(min=0).tolist()))
                for j in range(len(words))
            ]
        ),
    ],
    "previous_by_chance": [
        lambda n, causal: (
            torch.tril(torch.ones(n, n)) / torch.arange(1, n + 1)[:, None]
            if causal else torch.full((n, n), 1 / n)
        ).diagonal(-1).mean(),
        lambda n, causal: statistics.mean(1 / (t if causal else n) for t in range(2, n + 1)),
    ],
    "head_damages": [
        lambda W, h, loss: [
            loss(W * (torch.arange(W.size(1)) // (W.size(1) // h) != i)) - loss(W)
            for i in range(h)
        ],
    ],
    "next_merge": [
        lambda words: Counter(
            pair
            for tokens, n in words.items()
            for _ in range(n)
            for pair in itertools.pairwise(tokens)
        ).most_common(1)[0][0],
    ],
    "cut_into_subwords": [
        lambda word, merges: functools.reduce(
            lambda text, pair: re.sub(
                rf"(?<!\S){re.escape(' '.join(pair))}(?!\S)", "".join(pair), text
            ),
            merges,
            " ".join(word),
        ).split(),
    ],
    "clipped_precision": [
        lambda said, wanted, n: statistics.mean(
            float(sum(said[j : j + n] == said[i : i + n] for j in range(i + 1))
            <= sum(wanted[j : j + n] == said[i : i + n] for j in range(len(wanted))))
            for i in range(len(said) - n + 1)
        ),
    ],
    "brevity_penalty": [
        lambda said, wanted: 1 if said > wanted else math.exp(1 - wanted / said),
        lambda said, wanted: math.exp(min(0, (said - wanted) / said)),
    ],
    "bleu_score": [
        lambda matches, totals, said, wanted: 100 * math.exp(min(0, 1 - wanted / said)
            + sum(math.log(m / t) if m else -math.inf for m, t in zip(matches, totals, strict=True))
            / len(totals)),
    ],
    "corpus_bleu": [
        lambda rows: 100 * math.exp(
            min(0, 1 - sum(r[3] for r in rows) / sum(r[2] for r in rows))
            + statistics.mean(
                math.log(sum(r[0][n] for r in rows) / sum(r[1][n] for r in rows))
                for n in range(len(rows[0][0]))
            )
        ),
    ],
    "perplexity_per_word": [
        lambda perplexity, tokens, words: math.exp(math.log(perplexity) * tokens / words),
    ],
    "unfair_in": [
        lambda a, b: [
            name for name in sorted(a)
            if (name == "chosen_on" and "test" in (a[name], b[name]))
            or (name not in ("chosen_on", "model", "parameters", "steps") and a[name] != b[name])
        ],
    ],
}  # fmt: skip
