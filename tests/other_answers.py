"""Right answers to the exercises that are written differently from the references."""

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.bahdanau import AdditiveAttention
from annotated_transformer.layers import EncoderLayer, FeedForward, Residual
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.positional_encoding import sinusoidal_encoding
from annotated_transformer.recurrent import RecurrentLayer


def decode_with_lists(next_logits: Any, bos: int, eos: int, limit: int) -> list[int]:
    tokens = [bos]
    while len(tokens) < limit + 1:
        logits = next_logits(tokens).tolist()
        tokens.append(max(range(len(logits)), key=logits.__getitem__))
        if tokens[-1] == eos:
            return tokens[1:-1]
    return tokens[1:]


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


def rotary_as_in_llama(query: Tensor, key: Tensor, start: int) -> list[Tensor]:
    d, position = query.size(-1), torch.arange(query.size(-2)).to(query) + start
    angle = torch.outer(position, 10000 ** (-torch.arange(0, d, 2) / d)).repeat(1, 2)
    half = torch.eye(d).roll(d // 2, 0).to(query)
    half[: d // 2] *= -1
    return [x * angle.cos() + x @ half.T * angle.sin() for x in (query, key)]


def gradients_by_autograd(z: Tensor, right: int, smoothing: float) -> tuple[Any, ...]:
    losses = [
        lambda z: -z.log_softmax(0)[right],
        lambda z: -z.log_softmax(0).mean(),
        lambda z: F.cross_entropy(z, torch.tensor(right), label_smoothing=smoothing),
    ]
    gap = math.log(1 - smoothing + smoothing / len(z)) - math.log(smoothing / len(z))
    return *(torch.func.grad(loss)(z) for loss in losses), gap


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


OTHERS: dict[str, list[Callable[..., Any]]] = {
    "mean_surprisal": [
        lambda z, y: F.cross_entropy(z.double().transpose(1, 2), y, ignore_index=0),
        lambda z, y: F.cross_entropy(z.transpose(1, 2), y, ignore_index=0).item(),
    ],
    "gru_derivative": [gru_derivative_by_autograd],
    "lstm_encode": [lstm_of_the_package],
    "greedy_decode": [decode_with_lists],
    "by_one_score": [
        lambda e, h, j: [
            e.softmax(0),
            e.softmax(0) @ h,
            torch.autograd.functional.jacobian(lambda e: e.softmax(0), e)[:, j],
            torch.autograd.functional.jacobian(lambda e: e.softmax(0) @ h, e)[:, j],
        ],
    ],
    "additive_attention": [AdditiveOfThePackage],
    "offset_distance": [
        lambda k, d: (sinusoidal_encoding(abs(k) + 1, d)[-1] - sinusoidal_encoding(1, d)[0]).norm()
    ],
    "llama_rotary": [rotary_as_in_llama],
    "causal_attention": [lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)],
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
    "batched_attention": [F.scaled_dot_product_attention],
    "source_reader": [FusedReader],
    "turned_attention": [lambda x, m: F.scaled_dot_product_attention(x, m, m)],
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
    "block_attention": [join_whole_blocks],
    "smoothed_gradient": [gradients_by_autograd],
    "model_parameters": [model_parameters_of_modules],
    "rms_norm": [lambda x, gain, eps: F.rms_norm(x, x.shape[-1:], gain, eps)],
    "layer_norm_derivative": [layer_norm_derivative_by_formulas],
    "encoder_layer": [LayerWithDropout],
    "capture_heads": [heads_by_patching],
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
}
