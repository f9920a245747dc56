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

from annotated_transformer.bahdanau import AdditiveAttention
from annotated_transformer.layers import EncoderLayer, FeedForward, Residual
from annotated_transformer.masking import causal_mask, padding_mask
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.positional_encoding import sinusoidal_encoding
from annotated_transformer.recurrent import RecurrentLayer
from annotated_transformer.transformer import Embedding
from transformer_workbook.chapters.find_the_bug.exercises import SRC, TGT_IN


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


def accuracy_with_tensors(said: Any, right: Any, edges: list[int]) -> list[Tensor]:
    lengths = torch.tensor([len(y) for y in right])
    exact = torch.tensor([" ".join(x) == " ".join(y) for x, y in zip(said, right, strict=True)])
    return [
        exact[(a <= lengths) & (lengths < b)].float().mean() for a, b in itertools.pairwise(edges)
    ]


def gru_derivative_by_autograd(
    h: float, z: float, r: float, n: float, u_z: float, u_r: float, u_n: float
) -> Tensor:
    old = torch.tensor(h, dtype=torch.float64, requires_grad=True)

    def written(gate: float, u: float) -> Tensor:
        return torch.sigmoid(math.log(gate / (1 - gate)) + u * (old - h))

    new_z, new_r = written(z, u_z), written(r, u_r)
    new_n = torch.tanh(math.atanh(n) - r * u_n * h + new_r * u_n * old)
    steps = new_z, new_r, new_n, (1 - new_z) * new_n + new_z * old
    return torch.stack([torch.autograd.grad(step, old, retain_graph=True)[0] for step in steps])


def lstm_of_the_package(x: Tensor, is_word: Tensor, W: Tensor, U: Tensor, b: Tensor) -> Tensor:
    layer = RecurrentLayer("lstm", W.size(1), U.size(1)).to(x.dtype)
    layer.cell.read.weight.data, layer.cell.read.bias.data = W, b
    layer.cell.recur.weight.data, layer.cell.recur.bias.data = U, 0 * b
    outputs, _ = layer(x, is_word)
    return outputs[:, -1]


def lead_with_softmax(logits: Tensor, wanted: float) -> list[Tensor]:
    surprisal = F.cross_entropy(logits, torch.tensor(0))
    lead = torch.tensor(len(logits) - 1).log() - math.log(wanted - 1)
    return [logits.softmax(0)[0], surprisal, surprisal.exp(), lead]


def fill_with_tensors(lengths: list[int], limit: int) -> list[Tensor]:
    ordered, places = torch.tensor(lengths).sort(stable=True)
    groups, start = [], 0
    for end in range(1, len(lengths) + 1):
        if end == len(lengths) or (end - start + 1) * ordered[end] > limit:
            groups.append(places[start:end])
            start = end
    return groups


class AdditiveOfThePackage(nn.Module):
    def __init__(self, query_dim: int, memory_dim: int, hidden: int) -> None:
        super().__init__()
        self.W_s = nn.Linear(query_dim, hidden, bias=False)
        self.W_h = nn.Linear(memory_dim, hidden, bias=False)
        self.v_a = nn.Linear(hidden, 1, bias=False)

    def forward(self, query: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        layer = AdditiveAttention(1, 1, 1)
        layer.query, layer.key, layer.v = self.W_s, self.W_h, self.v_a
        return layer(query, layer.keys(memory), memory, mask)


class Fed(nn.Module):
    def __init__(self, word_dim: int, hidden: int, width: int) -> None:
        super().__init__()
        self.cell = nn.GRUCell(word_dim + width, hidden)
        self.W_c = nn.Linear(2 * hidden, width, bias=False)

    def attend(self, s: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        scores = torch.einsum("bd,bsd->bs", s, memory).masked_fill(~mask[:, 0], -1e9)
        return torch.einsum("bs,bsd->bd", scores.softmax(1), memory)

    def forward(self, words: Tensor, s: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        steps = [words.new_zeros(len(words), self.W_c.out_features)]
        for t in range(words.size(1)):
            s = self.cell(torch.cat([words[:, t], steps[-1]], dim=-1), s)
            steps.append(self.W_c(torch.cat([self.attend(s, memory, mask), s], dim=-1)).tanh())
        return torch.stack(steps[1:], dim=1)


def local_in_slices(
    states: Tensor, memory: Tensor, W_p: Tensor, v_p: Tensor, D: int
) -> tuple[Tensor, Tensor]:
    centres, rows = [], []
    for state in states:
        centre = len(memory) / (1 + torch.exp(-v_p.dot(torch.tanh(W_p.mv(state)))))
        first = max(1, math.ceil(centre - D))
        last = min(len(memory), math.floor(centre + D))
        row = [0.0] * len(memory)
        inside = memory[first - 1 : last].mv(state).softmax(0).tolist()
        for j, weight in zip(range(first, last + 1), inside, strict=True):
            row[j - 1] = weight * math.exp(-((j - float(centre)) ** 2) / (2 * (D / 2) ** 2))
        centres.append(centre)
        rows.append(row)
    return torch.stack(centres), torch.tensor(rows)


def rotary_as_in_llama(query: Tensor, key: Tensor, start: int) -> list[Tensor]:
    d, position = query.size(-1), torch.arange(query.size(-2)).to(query) + start
    angle = torch.outer(position, 10000 ** (-torch.arange(0, d, 2) / d)).repeat(1, 2)
    half = torch.eye(d).roll(d // 2, 0).to(query)
    half[: d // 2] *= -1
    return [x * angle.cos() + x @ half.T * angle.sin() for x in (query, key)]


def score_of_complex_numbers(
    q: Tensor, k: Tensor, p: int, m: int, omega: float
) -> tuple[Any, Any, float, float, float]:
    query, key = complex(*q.tolist()), complex(*k.tolist())
    product = query.conjugate() * key
    angle = (m - p) * omega
    turned = [
        x * complex(math.cos(n * omega), -math.sin(n * omega)) for x, n in ((query, p), (key, m))
    ]
    return (
        torch.tensor([turned[0].real, turned[0].imag]),
        torch.tensor([turned[1].real, turned[1].imag]),
        product.real,
        product.imag,
        product.real * math.cos(angle) + product.imag * math.sin(angle),
    )


def train_with_our_own_adam(
    W: Tensor, b: Tensor, x: Tensor, y: Tensor, rate: float, clip: float, smoothing: float
) -> list[Tensor]:
    weights = torch.cat([W, b[None]])  # the bias as one more row
    m = v = torch.zeros_like(weights)
    for t in range(len(x)):
        inputs = F.pad(x[t].flatten(0, 1), (0, 1), value=1.0)[y[t].flatten() > 0]
        right = F.one_hot(y[t][y[t] > 0], len(b))
        wanted = torch.lerp(
            right.to(W), torch.full_like(right, 1 / len(b), dtype=W.dtype), smoothing
        )
        g = inputs.T @ ((inputs @ weights).softmax(-1) - wanted) / len(inputs)
        g = g / max(1.0, float(g.norm()) / clip)
        m, v = 0.9 * m + 0.1 * g, 0.98 * v + 0.02 * g**2
        weights = weights - rate * (m / (1 - 0.9 ** (t + 1))) / (
            (v / (1 - 0.98 ** (t + 1))).sqrt() + 1e-9
        )
    return [weights[:-1], weights[-1]]


def gradients_by_autograd(z: Tensor, right: int, smoothing: float) -> tuple[Any, ...]:
    losses = [
        lambda z: -z.log_softmax(0)[right],
        lambda z: -z.log_softmax(0).mean(),
        lambda z: F.cross_entropy(z, torch.tensor(right), label_smoothing=smoothing),
    ]
    gap = math.log(1 - smoothing + smoothing / len(z)) - math.log(smoothing / len(z))
    return *(torch.func.grad(loss)(z) for loss in losses), gap


def exact_search_in_layers(following: Any, bos: int, eos: int) -> list[int]:
    live, best = [(0.0, [bos])], (-math.inf, [bos])
    while live:
        grown = [(p + q, [*t, i]) for p, t in live for i, q in enumerate(following(t).tolist())]
        best = max([best, *(pair for pair in grown if pair[1][-1] == eos)])
        live = [pair for pair in grown if pair[1][-1] != eos and pair[0] > best[0]]
    return best[1][1:-1]


class SelfAttentionInLoops(nn.Module):
    def __init__(self, d_model: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.query, self.key = (nn.Linear(d_model, d_k, bias=False) for _ in range(2))
        self.value = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() > 2:
            return torch.stack([self(sentence) for sentence in x])
        rows = []
        for word in x:
            scores = torch.stack([self.query(word).dot(self.key(other)) for other in x])
            powers = (scores / self.query.out_features**0.5).exp()
            rows.append((powers / powers.sum()) @ self.value(x))
        return torch.stack(rows)


class GroupedByPyTorch(nn.Module):
    def __init__(self, d_model: int, num_heads: int, num_groups: int) -> None:
        super().__init__()
        self.d = d_model // num_heads
        self.query, self.output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, num_groups * self.d)
        self.value = nn.Linear(d_model, num_groups * self.d)

    def forward(self, x: Tensor) -> Tensor:
        parts = [
            part(x).unflatten(-1, (-1, self.d)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        ]
        heads = F.scaled_dot_product_attention(*parts, enable_gqa=True)
        return self.output(heads.transpose(1, 2).flatten(2))


def chrf_in_loops(said: str, wanted: str) -> float:
    said, wanted = said.replace(" ", ""), wanted.replace(" ", "")
    precisions, recalls = 0.0, 0.0
    for n in range(1, 7):
        left = [wanted[i : i + n] for i in range(len(wanted) - n + 1)]
        runs, all_ = [said[i : i + n] for i in range(len(said) - n + 1)], len(left)
        for run in runs:
            if run in left:
                left.remove(run)
        hits = all_ - len(left)
        precisions, recalls = precisions + hits / len(runs), recalls + hits / all_
    score = 100 * 5 * precisions * recalls / max(4 * precisions + recalls, 1e-9)
    return score / 6


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


def heads_by_patching(model: Any, src: Tensor, tgt_in: Tensor) -> dict[str, Tensor]:
    found, parts = {}, [p for p in model.named_modules() if isinstance(p[1], MultiHeadAttention)]
    for name, part in parts:

        def forward(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, name: str = name) -> Tensor:
            scores = torch.where(mask, q @ k.mT / math.sqrt(q.size(-1)), -torch.inf)
            found[name] = scores.softmax(-1)
            return found[name] @ v

        part.attention.forward = forward
    model(src, tgt_in)
    for _, part in parts:
        del part.attention.forward
    return found


def norms_by_hand(model: Any) -> bool:
    x = torch.linspace(-1, 3, 8, dtype=torch.float64).square()
    right = []
    for part in model.modules():
        if isinstance(part, nn.LayerNorm):
            centred = x - x.mean()
            normal = centred / torch.sqrt((centred**2).mean() + part.eps)
            right.append(torch.allclose(part(x), normal * part.weight + part.bias))
    return all(right)


def layer_norm_derivative_by_formulas(x: Tensor, g: Tensor) -> Any:
    sigma = x.std(correction=0)
    n = (x - x.mean()) / sigma
    steps = n / len(x), (torch.eye(len(x)) - (1 + torch.outer(n, n)) / len(x)) / sigma
    return *steps, (g - g.mean() - n * (g * n).mean()) / sigma


class LayerWithDropout(nn.TransformerEncoderLayer):
    """PyTorch's own, whose dropout stays on in training only."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int, norm_first: bool) -> None:
        super().__init__(d_model, num_heads, d_ff, norm_first=norm_first)

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        return super().forward(x.transpose(0, 1), src_key_padding_mask=hidden).transpose(0, 1)


def model_parameters_of_modules(vocab: int, num_layers: int, d: int, d_ff: int) -> list[int]:
    residual = functools.partial(Residual, d, 0.0, "post")
    parts = [
        MultiHeadAttention(d, 1),
        FeedForward(d, d_ff),
        EncoderLayer(MultiHeadAttention(d, 1), FeedForward(d, d_ff), residual),
        nn.TransformerDecoderLayer(d, 1, d_ff),
    ]
    counts = [sum(p.numel() for p in part.parameters()) for part in parts]
    return [*counts, num_layers * sum(counts[2:]) + nn.Linear(d, vocab).weight.numel() + vocab]


class LanguageModelWithOutput(nn.Module):
    """The tied matrix stands in a layer of its own, which is made first."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.output = nn.Linear(config.d_model, config.tgt_vocab, bias=False)
        self.embedding = Embedding(config.tgt_vocab, config)
        self.embedding.tokens.weight = self.output.weight
        self.layers = nn.ModuleList(self.layer(config) for _ in range(config.num_layers))
        self.norm = nn.LayerNorm(config.d_model)

    def layer(self, config: Any) -> EncoderLayer:
        attention = MultiHeadAttention(config.d_model, config.num_heads)
        network = FeedForward(config.d_model, config.d_ff)
        return EncoderLayer(attention, network, lambda: Residual(config.d_model, 0.0, "pre"))

    def forward(self, tokens: Tensor) -> Tensor:
        x, mask = self.embedding(tokens), causal_mask(tokens.size(1)) & padding_mask(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return self.output(self.norm(x))


class FusedReader(nn.Module):
    """PyTorch's own attention, with heads cut by ``chunk``."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.heads = num_heads
        for name in ("query", "key", "value", "output"):
            self.add_module(name, nn.Linear(d_model, d_model))

    def read(self, memory: Tensor, mask: Tensor) -> None:
        self.past = [torch.stack(f(memory).chunk(self.heads, 2), 1) for f in (self.key, self.value)]
        self.allowed = mask

    def forward(self, x: Tensor) -> Tensor:
        query = torch.stack(self.query(x).chunk(self.heads, 2), 1)
        heads = F.scaled_dot_product_attention(query, *self.past, attn_mask=self.allowed)
        return self.output(torch.cat(heads.unbind(1), 2))


def join_whole_blocks(q: Tensor, k: Tensor, v: Tensor, width: int) -> Tensor:
    outputs, log_sums = [], []
    for keys, values in zip(k.split(width), v.split(width), strict=True):
        scores = q @ keys.T / q.size(1) ** 0.5
        outputs.append(scores.softmax(1) @ values)
        log_sums.append(scores.logsumexp(1))
    shares = torch.stack(log_sums).softmax(0)
    return (shares[..., None] * torch.stack(outputs)).sum(0)


def attend_key_by_key(q: Tensor, k: Tensor, v: Tensor, width: int) -> Tensor:
    rows = []
    for row in q:
        high, total, output = -math.inf, 0.0, torch.zeros_like(v[0])
        for key, value in zip(k, v, strict=True):
            score = float(row @ key) / math.sqrt(len(row))
            new = max(high, score)
            shrink, weight, high = math.exp(high - new), math.exp(score - new), new
            total, output = total * shrink + weight, output * shrink + weight * value
        rows.append(output / total)
    return torch.stack(rows)


def scores_by_complex_numbers(query: Tensor, key: Tensor, cached: Tensor) -> Tensor:
    """The real part of a product with the conjugate is the dot product of two vectors."""

    def as_complex(x: Tensor) -> Tensor:
        return torch.view_as_complex(x.double().reshape(len(x), -1, 2).contiguous())

    d_k, old, new = query.size(-1), len(cached), len(query)
    frequencies = torch.tensor([10000 ** (-2 * i / d_k) for i in range(d_k // 2)]).double()
    at = torch.arange(old, old + new).double()[:, None] * frequencies
    turning = torch.polar(torch.ones_like(at), at)
    keys = torch.cat([as_complex(cached), as_complex(key) * turning])
    scores = ((as_complex(query) * turning) @ keys.conj().T).real
    return (scores / d_k**0.5).to(query.dtype)


def packed_in_loops(ids: Tensor) -> tuple[Tensor, Tensor]:
    n = len(ids)
    positions, mask, begun = torch.zeros(n, dtype=torch.long), torch.zeros(n, n).bool(), 0
    for i, token in enumerate(ids.tolist()):
        positions[i] = i - begun
        mask[i, begun : i + 1] = True
        if token == 2:
            begun = i + 1
    return positions, mask


OTHERS: dict[str, list[Callable[..., Any]]] = {
    "count_tokens": [lambda ids: ids.size(1) - (ids == 0).float().sum(-1)],
    "shift": [lambda y: F.pad(y.where(y != 2, 0), (1, -1), value=1)],
    "perplexity_of_two": [lambda a, b: torch.tensor([*a, *b]).mean().exp()],
    "mean_surprisal": [
        lambda z, y: F.cross_entropy(z.double().transpose(1, 2), y, ignore_index=0),
        lambda z, y: F.cross_entropy(z.transpose(1, 2), y, ignore_index=0).item(),
    ],
    "perplexity_of_lead": [
        lambda n, a, k: lead_with_softmax(torch.tensor([a, *[0.0] * int(n - 1)]), k)
    ],
    "fill_batches": [fill_with_tensors],
    "gru_derivative": [gru_derivative_by_autograd],
    "lstm_encode": [lstm_of_the_package],
    "last_states": [
        lambda x, n: torch.stack([row[length - 1] for row, length in zip(x, n, strict=True)])
    ],
    "greedy_decode": [decode_with_lists, decode_with_tensors],
    "exact_accuracy_by_length": [accuracy_with_tensors],
    "reverse_padded": [
        lambda ids: torch.tensor(
            [[i for i in row[::-1] if i] + [0] * row.count(0) for row in ids.tolist()]
        ),
    ],
    "attention_weights": [lambda e, mask: torch.where(mask, e, -1e9).softmax(2)],
    "by_one_score": [
        lambda e, h, j: [
            e.softmax(0),
            e.softmax(0) @ h,
            torch.autograd.functional.jacobian(lambda e: e.softmax(0), e)[:, j],
            torch.autograd.functional.jacobian(lambda e: e.softmax(0) @ h, e)[:, j],
        ],
    ],
    "additive_attention": [AdditiveOfThePackage],
    "alignment_error": [
        lambda a, g: torch.tensor(
            len({link for link in a if link[1] in [t for _, t in g]} ^ g)
            / (len({link for link in a if link[1] in [t for _, t in g]}) + len(g))
        ),
    ],
    "nadaraya_watson": [
        lambda q, k, v, width: torch.einsum(
            "nm,m->n", F.softmax(-0.5 * ((q[:, None] - k[None]) / width).square(), -1), v
        ),
    ],
    "general_scores": [lambda s, h, W: s @ (h @ W.T).mT],
    "score_parameters": [
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
    "luong_context": [lambda s, h: torch.einsum("ts,sd->td", F.softmax(s[1:] @ h.T, dim=1), h)],
    "by_the_query": [
        lambda s, h, W: (
            (W @ h.mT).mT,
            torch.stack(
                [
                    a * (x - (h @ W.mT @ s).softmax(0) @ h)
                    for a, x in zip((h @ W.mT @ s).softmax(0), h, strict=True)
                ],
                dim=1,
            ),
            torch.cov(h.mT, correction=0, aweights=(h @ W.mT @ s).softmax(0)) @ W.mT,
        ),
    ],
    "local_attention": [local_in_slices],
    "input_feeding": [Fed],
    "wavelength": [lambda column, d: torch.tensor(2 * torch.pi) * 100 ** (column // 2 * 4 / d)],
    "offset_distance": [
        lambda k, d: (sinusoidal_encoding(abs(k) + 1, d)[-1] - sinusoidal_encoding(1, d)[0]).norm()
    ],
    "embed_from": [
        lambda x, table, start: torch.add(
            table[torch.arange(x.size(1)) + start][None], x, alpha=x.size(-1) ** 0.5
        ),
    ],
    "turned_score": [score_of_complex_numbers],
    "alibi_biases": [
        lambda n, heads: (
            -torch.einsum(
                "h,qk->hqk",
                2.0 ** (-8 * torch.arange(1, heads + 1) / heads),
                (torch.arange(n)[:, None] - torch.arange(n)).abs().float(),
            )
        ),
    ],
    "llama_rotary": [rotary_as_in_llama],
    "window_mask": [
        lambda ids, width: (
            (ids != 0)[:, None, None, :].repeat(1, 1, ids.size(1), 1).tril().triu(1 - width)
        ),
    ],
    "causal_attention": [lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)],
    "through_the_mask": [
        lambda e, mask, x: (
            e.softmax(0),
            e.softmax(0)[mask].sum(),
            e.masked_fill(~mask, -torch.inf).softmax(0),
            e.masked_fill(~mask, -torch.inf).softmax(0) @ x,
            e.masked_fill(~mask, -torch.inf).softmax(0)
            * (x - e.masked_fill(~mask, -torch.inf).softmax(0) @ x),
        ),
    ],
    "kept_ends": [lambda lengths: torch.tensor(lengths).lt(max(lengths)).sum()],
    "sees_the_future": [
        lambda f, ids: (
            not all(
                torch.equal(f(ids)[:t], f(torch.cat([ids[:t], ids[t:].flip(0) + 9]))[:t])
                for t in range(len(ids))
            )
        ),
        lambda f, ids: any(
            not torch.allclose(f(ids)[t], f(ids[: t + 1])[t]) for t in range(len(ids))
        ),
    ],
    "one_output": [lambda q, k, v: F.scaled_dot_product_attention(q[None], k, v)[0]],
    "score_variances": [
        lambda d, a, b: torch.tensor([a * b, sum(a * b for _ in range(d)), a * b, (a * b) ** 0.5])
    ],
    "self_attention_layer": [SelfAttentionInLoops],
    "multi_head_layer": [MultiHeadAttention],
    "batched_attention": [F.scaled_dot_product_attention],
    "cross_mask": [lambda s, t: (s != 0)[:, None, None, :].repeat(1, 1, t.size(1), 1)],
    "memory_gradient": [
        lambda X, M, A, G: [
            torch.einsum("ts,td->sd", A, G),
            torch.einsum("td,sd->ts", G, M),
            (S := torch.stack([(a.diag() - a.outer(a)) @ M @ G[t] for t, a in enumerate(A)])),
            S.T @ X,
            A.T @ G + S.T @ X,
        ],
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
    "source_reader": [FusedReader],
    "turned_attention": [lambda x, m: F.scaled_dot_product_attention(x, m, m)],
    "head_contributions": [
        lambda heads, W: torch.stack(
            [head @ part for head, part in zip(heads, W.chunk(len(heads)), strict=True)]
        ),
    ],
    "head_sizes": [
        lambda m, h, g, d: (
            [*(sum(p.numel() for p in part.parameters()) for part in parts), total, 2 * g * d]
            if (layer := MultiHeadAttention(m, h, d, d, g))
            and (parts := [layer.query, nn.ModuleList([layer.key, layer.value]), layer.output])
            and (total := sum(p.numel() for p in layer.parameters()))
            else None
        ),
    ],
    "grouped_attention": [GroupedByPyTorch],
    "attend_in_heads": [
        lambda q, k, v, h: torch.cat(
            [
                F.scaled_dot_product_attention(*parts)
                for parts in zip(*(x.chunk(h, -1) for x in (q, k, v)), strict=True)
            ],
            -1,
        ),
    ],
    "extend_beam": [
        lambda p, q, size: torch.stack(
            torch.unravel_index((p.unsqueeze(1) + q).flatten().topk(size).indices, q.shape), -1
        ).tolist(),
    ],
    "turning_point": [
        lambda short, long: (
            (a := torch.tensor(short).double().log().sum()),
            (b := torch.tensor(long).double().log().sum()),
            b / a,
            (b / a).log() / math.log((len(long) + 5) / (len(short) + 5)),
        ),
    ],
    "exact_search": [exact_search_in_layers],
    "positions_read": [lambda n, cached: float(n) if cached else n * (n + 1) / 2],
    "cached_numbers": [lambda N, h, d, src, tgt: 2 * N * (h * d) * src + 2 * N * (h * d) * tgt],
    "keep_rows": [
        lambda tokens, cache, row, token: (
            torch.column_stack([tokens.index_select(0, row), token]),
            cache.index_select(0, row),
        ),
    ],
    "break_even": [
        lambda n, g, d: [
            2 * (4 * n * d**2 + 2 * n**2 * d) / n,
            g * (2 * d) ** 2,
            g * d - 2 * d,
            1 - 2 / g,
            torch.tensor(2 - 2 / g, dtype=torch.float64),
        ],
    ],
    "block_attention": [join_whole_blocks, attend_key_by_key],
    "wasted_pairs": [lambda ns: 1 - torch.tensor(ns).double().div(max(ns)).square().mean()],
    "window": [lambda n, r: torch.ones(n, n).tril(r // 2).triu(-(r // 2)).bool()],
    "path_length": [
        lambda reads: next(
            m for m in range(99) if torch.linalg.matrix_power(reads.double(), m).all()
        ),
    ],
    "smoothed_targets": [
        lambda y, V, s: torch.full((len(y), V), s / V).scatter(1, y[:, None], 1 - s + s / V)
    ],
    "smoothed_gradient": [gradients_by_autograd],
    "train_by_hand": [train_with_our_own_adam],
    "paper_rate": [lambda t, d, w: torch.tensor([t**-0.5, t * w**-1.5]).min() / d**0.5],
    "accumulate": [
        lambda s, n, k: [s[i : i + k].sum(0) / n[i : i + k].sum() for i in range(0, len(s), k)],
    ],
    "tied_logits": [lambda x, E: F.linear(x, E)],
    "encoder_block": [
        lambda X, Q, K, V, to_out, W_1, W_2: (
            lambda M: F.layer_norm(M + F.linear(torch.relu(M @ W_1), W_2.T), M.shape[1:])
        )(
            F.layer_norm(
                X + F.scaled_dot_product_attention(X @ Q, X @ K, X @ V) @ to_out, X.shape[1:]
            )
        ),
    ],
    "model_parameters": [model_parameters_of_modules],
    "half_a_transformer": [LanguageModelWithOutput],
    "make_stack": [lambda make, n: tuple(make() for _ in range(n))],
    "hides_the_future": [
        lambda m: all(
            torch.allclose(m.eval()(SRC, TGT_IN[:, :t]), m(SRC, TGT_IN)[:, :t]) for t in range(1, 6)
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
        lambda m: bool((m.eval()(SRC, TGT_IN) - m(F.pad(SRC, (0, 1)), TGT_IN)).abs().max() < 1e-6),
    ],
    "steps_agree": [
        lambda m: all(
            torch.allclose(a, b)
            for a, b in zip(steps_of(m.eval()), m(SRC, TGT_IN).unbind(1), strict=True)
        ),
    ],
    "what_a_pass_shows": [
        lambda p, n: (
            q := 1 - p,
            math.prod([q] * n),
            math.log(0.05, q),
            1 - math.exp(math.log(0.05) / n),
        ),
    ],
    "norms_agree": [norms_by_hand],
    "rms_norm": [lambda x, gain, eps: F.rms_norm(x, x.shape[-1:], gain, eps)],
    "stack_derivatives": [lambda a, n: [torch.tensor(b).double() ** n for b in (a, a + 1)]],
    "layer_norm_derivative": [layer_norm_derivative_by_formulas],
    "encoder_layer": [LayerWithDropout],
    "pre_norm_stack": [
        lambda x, W: (
            F.layer_norm(x, x.shape[-1:])
            if not len(W)
            else OTHERS["pre_norm_stack"][0](
                x + F.relu(F.layer_norm(x, x.shape[-1:]) @ W[0]), W[1:]
            )
        ),
    ],
    "relation_score": [
        lambda weights, relation: (
            torch.einsum("hqk,qk->h", weights, relation.to(weights.dtype)) / relation.any(1).sum()
        ),
    ],
    "parts_of_the_stream": [
        lambda x, A, V, W, h: (
            H := A[h] @ V[h],
            part := H @ W[:, h * V.size(2) : (h + 1) * V.size(2)].T,
            x + (A @ V).transpose(0, 1).flatten(1) @ W.T,
            x + (A @ V).transpose(0, 1).flatten(1) @ W.T - part,
        ),
    ],
    "capture_heads": [heads_by_patching],
    "kendall_tau": [
        lambda a, b: (
            ((a[:, None] - a).sign() * (b[:, None] - b).sign()).sum() / (len(a) ** 2 - len(a))
        ),
    ],
    "previous_by_chance": [
        lambda n, causal: (
            (
                torch.tril(torch.ones(n, n)) / torch.arange(1, n + 1)[:, None]
                if causal
                else torch.full((n, n), 1 / n)
            )
            .diagonal(-1)
            .mean()
        ),
    ],
    "head_damages": [
        lambda W, h, loss: [
            loss(W * (torch.arange(W.size(1)) // (W.size(1) // h) != i)) - loss(W) for i in range(h)
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
    "corpus_bleu": [
        lambda rows: (
            100
            * math.exp(
                min(0, 1 - sum(r[3] for r in rows) / sum(r[2] for r in rows))
                + statistics.mean(
                    math.log(sum(r[0][n] for r in rows) / sum(r[1][n] for r in rows))
                    for n in range(len(rows[0][0]))
                )
            )
        ),
    ],
    "perplexity_per_word": [
        lambda p, tokens, words: [
            math.log(p),
            tokens * math.log(p),
            math.log(p ** (tokens / words)),
            p ** (tokens / words),
        ],
    ],
    "chrf": [chrf_in_loops],
    "unfair_in": [
        lambda a, b: [
            name
            for name in sorted(a)
            if (name == "chosen_on" and "test" in (a[name], b[name]))
            or (name not in ("chosen_on", "model", "parameters", "steps") and a[name] != b[name])
        ],
    ],
    "text_and_targets": [
        lambda src, tgt: (
            list(itertools.chain(src, (2, 1), tgt)),
            [0 for _ in [*src, 0]] + tgt + [2],
        ),
    ],
    "token_positions": [
        lambda ids: (ids.ne(0).cumsum(-1) - 1).where(ids != 0, 0),
        lambda ids: ((ids != 0).cumsum(1) - 1).clamp(min=0),  # the chapter's own line
    ],
    "next_token_loss": [
        lambda logits, ids: (
            -logits[:, :-1]
            .log_softmax(-1)
            .gather(-1, ids[:, 1:, None])[..., 0][ids[:, 1:] != 0]
            .mean()
        ),
    ],
    "rows_of_llama": [
        lambda weight, num_heads: torch.cat(
            [torch.stack(head.chunk(2), dim=1).flatten(0, 1) for head in weight.chunk(num_heads)]
        ),
    ],
    "scores_with_a_cache": [scores_by_complex_numbers],
    "packed": [packed_in_loops],
    "base_for_a_longer_text": [
        lambda d_k, b, length, factor: (
            (slowest := 2 * math.pi / b ** (2 / d_k - 1)),
            length / slowest,
            d_k / 2 * math.log(length / 2 / math.pi, b),
            (b ** (1 - 2 / d_k) * factor) ** (1 / (1 - 2 / d_k)),
        ),
    ],
}
