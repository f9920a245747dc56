from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.functional import jacobian

from annotated_transformer.layers import FeedForward, Residual
from annotated_transformer.multi_head_attention import MultiHeadAttention
from transformer_workbook.notebook.proofs import agree, holds, proof


@proof
def all_alike(
    words: Float[Tensor, "1 words d_model"],
    attentions: Sequence[MultiHeadAttention],
    apart: Sequence[float],
) -> None:
    """Twelve layers of attention alone make all words the same; the second weighs all equally."""
    collapse = apart[0] > 0.9 and apart[2] < 0.001 and apart[12] < 1e-9
    holds("apart is over 0.9 before the first layer and below 1e-9 after the twelfth", collapse)
    second, y = attentions[1], attentions[0](words, words, words)
    q, k = (second.split(part(y)) for part in (second.query, second.key))
    weights = (q @ k.mT / q.size(-1) ** 0.5).softmax(dim=-1)  # (1, heads, words, words)
    even = (weights * words.size(1) - 1).abs().max() < 0.02
    holds("in the second layer, all words get the same weight, within 2 %", even)


@proof
def conclusions(
    plain: Any,
    x: Float[Tensor, "phrases d_model"],
    numbers: Sequence[Float[Tensor, "..."]],
    change: Float[Tensor, "phrases d_model"],
) -> None:
    """A network that is given the numbers W₁, b₁ and W₂ computes what was computed by hand."""
    W_1, b_1, W_2 = numbers
    network = plain(*W_1.shape)
    with torch.no_grad():
        network.inner.weight.copy_(W_1.T)
        network.inner.bias.copy_(b_1)
        network.outer.weight.copy_(W_2.T)
        network.outer.bias.zero_()
        agree(1e-12, {"the change computed by hand": change, "that of your class": network(x)})


@proof
def position_wise(plain: Any) -> None:
    """The network treats positions one by one and alike; attention reads all of them."""
    x, network, attention = torch.randn(5, 4), plain(4, 6), MultiHeadAttention(4, 2)

    def read(function: Callable[[Tensor], Tensor]) -> Tensor:  # (out, in)
        return jacobian(function, x).abs().sum((1, 3)) > 0  # type: ignore[no-untyped-call]

    alone = torch.equal(read(network), torch.eye(5).bool())
    holds("each output of the network depends on its own position only", alone)
    all_read = read(lambda y: attention(*[y[None]] * 3)[0]).all()
    holds("each output of self-attention depends on all positions", all_read)
    order = torch.tensor([3, 0, 4, 2, 1])
    shuffled = {"the outputs of the network, shuffled,": network(x)[order]}
    agree(1e-12, shuffled | {"its outputs for shuffled positions": network(x[order])})


@proof
def shortcut(plain: Any) -> None:
    """With the shortcut, the Jacobian is that of the network plus the identity."""
    x, network = torch.randn(4), plain(4, 6)
    alone, past = (jacobian(f, x) for f in (network, lambda y: y + network(y)))  # type: ignore[no-untyped-call]
    agree(
        1e-12,
        {"the Jacobian of F plus the identity": torch.eye(4) + alone, "that of x + F(x)": past},
    )


@proof
def layer_norm(normalise: Callable[[Tensor], Tensor]) -> None:
    """Without gain and bias and with them, a function normalises as PyTorch's class."""
    x, theirs = torch.randn(2, 5, 4), nn.LayerNorm(4)
    agree(1e-12, {"the output of nn.LayerNorm": theirs(x), "yours": normalise(x)})
    with torch.no_grad():
        gain = theirs.weight.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]))
        bias = theirs.bias.copy_(torch.tensor([0.5, 0.0, -0.5, 2.0]))
    found = gain * normalise(x) + bias
    agree(1e-12, {"its output with gain and bias": theirs(x), "yours with the same": found})


@proof
def layer_or_batch() -> None:
    """BatchNorm depends on neighbours and padding, LayerNorm on neither."""
    sentence, neighbour = torch.randn(1, 3, 6), torch.randn(1, 3, 6)
    padded = torch.cat([sentence, torch.zeros(1, 2, 6)], dim=1)
    beside = torch.cat([sentence, neighbour]), padded
    by_layer, by_batch = nn.LayerNorm(6), lambda y: nn.BatchNorm1d(6)(y.mT).mT

    def changes(norm: Callable[[Tensor], Tensor]) -> list[Tensor]:
        return [(norm(more)[0, :3] - norm(sentence)[0]).abs().max() for more in beside]

    holds("LayerNorm of a sentence ignores neighbours and padding", max(changes(by_layer)) < 1e-12)
    holds("each of the two changes its BatchNorm by over 0.1", min(changes(by_batch)) > 0.1)


@proof
def encoder_layer(plain: Any, package: Any) -> None:
    """In both orders, two classes of encoder layers compute what PyTorch's computes."""
    x, everywhere = torch.randn(2, 5, 8), torch.ones(1, 1, 5, 5).bool()
    for is_pre, position in ((False, "post"), (True, "pre")):
        ours = plain(8, 2, 20, is_pre).eval()
        with torch.no_grad():  # fresh gains are all 1 and would hide a swap
            for parameter in ours.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
        parts = MultiHeadAttention(8, 2), FeedForward(8, 20)
        packaged = package(*parts, lambda position=position: Residual(8, 0.0, position))
        packaged.load_state_dict(ours.state_dict())
        results = {
            f"{position}-norm in nn.TransformerEncoderLayer": _of_torch(ours, is_pre)(x),
            "your class": ours(x),
            "the package": packaged(x, everywhere),
        }
        agree(1e-12, results)


def _of_torch(ours: Any, norm_first: bool) -> nn.TransformerEncoderLayer:
    theirs = nn.TransformerEncoderLayer(8, 2, 20, 0.0, batch_first=True, norm_first=norm_first)
    mine = ours.self_attention
    parts = mine.query, mine.key, mine.value  # one matrix in theirs
    with torch.no_grad():
        theirs.self_attn.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        theirs.self_attn.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
    theirs.self_attn.out_proj = mine.output
    theirs.linear1, theirs.linear2 = ours.feed_forward.inner, ours.feed_forward.outer
    theirs.norm1, theirs.norm2 = ours.residual_1.norm, ours.residual_2.norm
    return theirs


@proof
def depth(
    fit: Callable[[int, bool, float], tuple[float, float]], kinds: Mapping[str, tuple[int, bool]]
) -> None:
    """The plain stack of 24 learns at one rate and not at another, from the same first gradient."""
    runs = {(kind, rate): fit(*kinds[kind], rate) for kind in kinds for rate in (0.001, 0.003)}
    (slow, first), (fast, again) = (runs["plain, 24", rate] for rate in (0.001, 0.003))
    large = first == again and first > 0.8 * runs["shortcut, 24", 0.001][1]
    holds("the plain stack of 24 begins with about as large a gradient as with shortcuts", large)
    learns = slow < 0.5 and fast > 0.7
    holds("after 150 steps it has learned at a rate of 0.001 and not at 0.003", learns)
    failed = [run for run, (loss, _) in runs.items() if loss > 0.5]
    holds("the other two stacks have learned at both rates", failed == [("plain, 24", 0.003)])
