from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.batches import pad
from annotated_transformer.layers import FeedForward
from annotated_transformer.masking import causal_mask
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.tokens import BOS, EOS, PAD
from transformer_workbook.judge import derivation, exercise, letters, normal


class Block(nn.Module):
    """A block of the lesson, pre-norm."""

    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d, heads)
        self.network = FeedForward(d, 4 * d)
        self.norm_1, self.norm_2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Add what the attention and the network say."""
        y = self.norm_1(x)
        x = x + self.attention(y, y, y, mask)
        network: Tensor = self.network(self.norm_2(x))
        return x + network


def logits_of(answer: Callable[..., Any], sizes: tuple[int, ...], ids: Tensor) -> Any:
    """Build the reader's model, give it weights that matter, and let it read."""
    model = answer(*sizes)
    if model is None:
        return None
    generator = torch.Generator().manual_seed(len(ids))
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator) / 3)
        return model(ids)


@exercise(
    [
        ((9, 8, 8, 2, 2), torch.tensor([[3, 7, 4, 8, 5, 6]])),
        ((11, 12, 12, 3, 3), torch.tensor([[1, 7, 4, 9], [5, 8, 10, 2]])),
        ((7, 6, 16, 4, 2), torch.tensor([[2, 2, 6], [3, 1, 5], [4, 4, 4]])),
    ],
    ask=logits_of,
    gap=True,
)
def decoder_only(vocab: int, longest: int, d: int, heads: int, layers: int) -> nn.Module:
    """Write a model that gives, at each position, one logit for every possible next word."""

    class LanguageModel(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.longest = longest
            self.tokens = nn.Embedding(vocab, d)
            self.positions = nn.Embedding(longest, d)
            for table in (self.tokens, self.positions):
                nn.init.normal_(table.weight, std=0.1)
            self.layers = nn.ModuleList(Block(d, heads) for _ in range(layers))
            self.norm = nn.LayerNorm(d)
            self.output = nn.Linear(d, vocab)

        def forward(self, ids: Tensor) -> Tensor:
            time = ids.size(1)
            x = self.tokens(ids)
            x = x + self.positions(torch.arange(time))
            mask = causal_mask(time)
            for layer in self.layers:
                x = layer(x, mask)
            logits: Tensor = self.output(self.norm(x))
            return logits

    return LanguageModel()


def loss_of(answer: Callable[..., Any], table: Tensor, ids: Tensor) -> Any:
    """Ask for the loss of a model that looks its logits up, by the word just read."""
    return answer(lambda ids: table[ids], ids)


@exercise(
    [
        (normal(7, 7, seed=0), torch.tensor([[3, 5, 2, 6], [1, 4, 6, 2]])),
        (normal(6, 6, seed=1).float(), torch.tensor([[1, 4, 5, 2, 1], [1, 3, 1, 0, 0]])),
        (normal(9, 9, seed=2), torch.tensor([[1, 8, 7, 1], [1, 2, 1, 0], [1, 1, 0, 0]])),
    ],
    ask=loss_of,
    gap=True,
)
def loss_of_every_word(model: Callable[[Tensor], Tensor], ids: Tensor) -> Tensor:
    """Write the mean of −ln p of every next word, padding left out."""
    logits = model(ids[:, :-1])
    targets = ids[:, 1:]
    return F.cross_entropy(logits.mT, targets, ignore_index=PAD)


class TableModel(nn.Module):
    """Logits by all words read so far, without weights to train."""

    def __init__(self, table: Tensor, longest: int) -> None:
        super().__init__()
        self.table, self.longest = table, longest

    def forward(self, ids: Tensor) -> Tensor:
        """Add the rows of the words read so far."""
        return self.table[ids].cumsum(dim=1)


def text_of(
    answer: Callable[..., Any], table: Tensor, longest: int, ids: Tensor, temperature: float
) -> Any:
    """Let the reader's function continue a text, always with the same random numbers."""
    with torch.random.fork_rng():
        torch.manual_seed(5)
        return answer(TableModel(table, longest), ids, temperature)


@exercise(
    [
        (normal(9, 9, seed=0), 24, torch.tensor([[1]]), 1.0),
        (normal(7, 7, seed=1).float(), 20, torch.tensor([[1, 5, 3]]), 0.5),
        (normal(8, 8, seed=2), 16, torch.tensor([[1, 6], [1, 4], [1, 2]]), 2.0),
    ],
    ask=text_of,
    whole=True,
    gap=True,
)
def sampled_text(model: Any, ids: Tensor, temperature: float) -> Tensor:
    """Write the loop that draws one word after another."""
    while ids.size(1) < model.longest:
        logits = model(ids)[:, -1]
        p = (logits / temperature).softmax(dim=-1)
        token = torch.multinomial(p, 1)
        ids = torch.cat([ids, token], dim=1)
    return ids


@letters
def without_the_mask() -> str:
    """Is the loss higher or lower if every word sees the whole text?"""
    return "C"  # the notebook's solution tries it


def positions_of_tokens(answer: Callable[..., Any], ids: Tensor) -> Any:
    """Ask for positions; that of padding, which nobody sees, may be any from 0 on."""
    positions = answer(ids)
    if not isinstance(positions, Tensor) or positions.shape != ids.shape:
        return positions
    return positions.where((ids != PAD) | (positions < 0), 0)


@exercise(
    [
        (pad([[1, 5, 6], [1, 7]]).flip(1),),  # padded on the left
        (torch.tensor([[0, 0, 1, 7], [0, 1, 8, 9], [1, 5, 6, 7]]),),
        (torch.tensor([[5, 2, 0, 1, 9], [6, 7, 2, 1, 8]]),),  # in the middle, behind a source
        (pad([[1, 4, 9, 8, 6, 5], [1], [1, 5, 8], [1, 6]]),),  # on the right
    ],
    ask=positions_of_tokens,
    whole=True,
)
def token_positions(ids: Int[Tensor, "batch time"]) -> Int[Tensor, "batch time"]:
    """Count the positions of tokens, wherever the padding is; the friend counts columns."""
    real = ids != PAD
    counted = real.cumsum(dim=1)
    positions = counted - 1
    return positions * real


@exercise(
    [
        ([5, 6], [7, 8, 9]),
        ([9], [4, 4]),
        ([6, 7, 8, 5], [9]),
        ([4, 8, 8], [5, 9, 6, 7, 4]),
    ],
    whole=True,
)
def text_and_targets(src: list[int], tgt: list[int]) -> tuple[list[int], list[int]]:
    """Make the text that a language model reads of a pair, and the targets of its loss."""
    text = [*src, EOS, BOS, *tgt]
    prompt = len(src) + 1
    targets = [PAD] * prompt + [*tgt, EOS]
    return text, targets


@exercise(
    [
        (normal(2, 3, 5, seed=0), torch.tensor([[1, 3, 4], [1, 4, 0]])),
        (normal(3, 4, 6, seed=1).float(), torch.tensor([[1, 5, 4, 3], [1, 3, 5, 0], [1, 4, 0, 0]])),
        (normal(4, 3, 7, seed=2), torch.tensor([[1, 6, 4], [1, 5, 0], [1, 3, 5], [1, 6, 0]])),
    ]
)
def next_token_loss(
    logits: Float[Tensor, "batch time vocab"], ids: Int[Tensor, "batch time"]
) -> Float[Tensor, ""]:
    """Compute the loss of every next token of a text; the friend shifts the targets twice."""
    predicted = logits[:, :-1]
    targets = ids[:, 1:]
    return F.cross_entropy(predicted.mT, targets, ignore_index=PAD)


@derivation([(2, 64, 256), (6, 8, 20), (3, 5, 12)])
def sizes_of_the_same_model(num_layers: int, d: int, d_ff: int) -> tuple[float | int, ...]:
    """Give a language model as many parameters as an encoder–decoder, in four steps."""
    attention = 4 * (d * d + d)
    feed_forward = 2 * d * d_ff + d_ff + d
    norm = 2 * d
    both_stacks = num_layers * (3 * attention + 2 * feed_forward + 5 * norm)
    layer = attention + feed_forward + 2 * norm
    layers = both_stacks / layer
    room = both_stacks / (2 * num_layers) - attention - 2 * norm - d
    wider = room / (2 * d + 1)
    return both_stacks, layer, layers, wider


@letters
def with_a_prefix_mask() -> str:
    """Does a model that was trained with a causal mask translate better with a prefix mask?"""
    return "C"  # the notebook's solution tries it
