from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from annotated_transformer.batches import pad
from annotated_transformer.tokens import BOS, EOS, PAD
from transformer_workbook.judge import (
    Unfit,
    derivation,
    exercise,
    loaded,
    normal,
    number,
    numbers_for,
)
from transformer_workbook.judge.sentences import said
from transformer_workbook.judge.trials import settings_put_back

Sentences = list[list[str]]


def _case(said: str, right: str, edges: list[int]) -> tuple[Sentences, Sentences, list[int]]:
    """Sentences, between which bars stand, and edges."""
    return [s.split() for s in said.split("|")], [s.split() for s in right.split("|")], edges


@exercise(
    [
        _case("a | b c d | b d | d a b | c d b a", "a | b c | b a | d a b | c d a b", [1, 3, 5]),
        _case(
            "a | a b | c b | a b c | b c d | a d b c | a b c d e | a c c d f f | a b c d e f g",
            "a | a b | b c | a b c | b c d a | a b c d | a b c d e | a c c d f e | a b c d e f g",
            [2, 4, 7],
        ),
        _case(
            "a b a | b | b b c | a c b | d a b b c | d c b a | e d c b | a b c a b c | d",
            "a b | b | b b c | a b c | d a b c | d c b a | e d c b a | a b c a b c | e",
            [1, 3, 5, 8],
        ),
    ]
)
def exact_accuracy_by_length(
    translations: Sentences, references: Sentences, edges: list[int]
) -> list[float]:
    """What share of the translations is exactly right, for each bin of lengths?"""
    shares = []
    for low, high in pairwise(edges):
        pairs = zip(translations, references, strict=True)
        exact = [said == right for said, right in pairs if low <= len(right) < high]
        shares.append(sum(exact) / len(exact))
    return shares


@exercise(
    [
        (pad([[5, 8, 6], [7, 4]]),),
        (pad([[3, 9], [6, 1, 5, 9], [8]]),),
        (pad([[4, 4, 6], [9], [5, 7], [8, 6, 7, 9], [6, 8, 4]]),),
    ],
    whole=True,
)
def reverse_padded(ids: Int[Tensor, "batch length"]) -> Int[Tensor, "batch length"]:
    """Reverse every sentence of a padded batch; the padding stays behind the words."""
    result = torch.full_like(ids, PAD)
    for new, old in zip(result, ids, strict=True):
        words = old[old != PAD]
        new[: len(words)] = words.flip(0)
    return result


@exercise(
    (
        normal(batch, words, features, seed=seed, dtype=dtype),
        torch.arange(words) < torch.tensor(lengths)[:, None],
        normal(4 * hidden, features, seed=seed + 1, dtype=dtype),
        normal(4 * hidden, hidden, seed=seed + 2, dtype=dtype),
        normal(4 * hidden, seed=seed + 3, dtype=dtype),
    )
    for seed, batch, words, features, hidden, lengths, dtype in (
        (0, 2, 4, 3, 5, [4, 2], torch.float64),
        (10, 3, 5, 4, 2, [2, 5, 1], torch.float32),
        (20, 6, 7, 2, 3, [3, 7, 1, 5, 2, 6], torch.float64),
    )
)
def lstm_encode(
    x: Float[Tensor, "batch words input"],
    is_word: Bool[Tensor, "batch words"],
    W: Float[Tensor, "gates input"],
    U: Float[Tensor, "gates hidden"],
    b: Float[Tensor, " gates"],
) -> Float[Tensor, "batch hidden"]:
    """Read a padded batch with an LSTM, and give h after the last word of each sentence."""
    h = c = x.new_zeros(len(x), U.size(1))
    for t in range(x.size(1)):
        here = is_word[:, t, None]
        blocks = x[:, t] @ W.T + h @ U.T + b
        i, f, g, o = blocks.chunk(4, dim=1)
        new_c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        new_h = o.sigmoid() * new_c.tanh()
        c = torch.where(here, new_c, c)
        h = torch.where(here, new_h, h)
    return h


@exercise(
    [
        (normal(2, 3, 4, seed=0), torch.tensor([1, 2])),
        (normal(3, 4, 2, seed=1, dtype=torch.float32), torch.tensor([2, 1, 3])),
        (normal(5, 6, 3, seed=2), torch.tensor([2, 3, 1, 5, 2])),
    ]
)
def last_states(
    outputs: Float[Tensor, "batch time hidden"], lengths: Int[Tensor, " batch"]
) -> Float[Tensor, "batch hidden"]:
    """Which state does each sentence of a padded batch have after its last word?"""
    sentence = torch.arange(len(lengths))
    last_word = lengths - 1
    return outputs[sentence, last_word]


VOCAB = 10
LOST = 3  # the prediction of a model that does not know how to go on
PATIENCE = 20  # tokens; whoever asks for more is in an endless loop


@dataclass(frozen=True)
class Reciter:
    """A language model that has memorised one sentence and knows nothing else."""

    words: tuple[int, ...]
    bos: int = 1

    def __call__(self, tokens: Iterable[Any]) -> Tensor:
        """The logits of the next token: the closer to the best id, the higher."""
        said = [int(token) for token in tokens]
        if len(said) > PATIENCE:
            raise RuntimeError(f"the sentence has {len(said)} tokens and does not end.")
        script = [self.bos, *self.words]
        known = said and said == script[: len(said)]
        best = [*script, LOST][len(said)] if known else LOST
        return -(torch.arange(VOCAB) - best).abs().double()


@exercise(
    [
        (Reciter((5, 6, 2, 7)), 1, 2, 8),
        (Reciter((4, 8, 5, 6, 7, 2)), 1, 2, 3),
        (Reciter((5, 2, 9, 4, 7), bos=6), 6, 9, 5),
        (Reciter((2, 5, 7)), 1, 2, 4),
    ],
    whole=True,
)
def greedy_decode(
    next_logits: Callable[[list[int]], Tensor], bos: int, eos: int, limit: int
) -> list[int]:
    """Write the most probable token, read it, and go on until EOS or the limit."""
    tokens = [bos]
    for _ in range(limit):
        token = int(next_logits(tokens).argmax())
        if token == eos:
            break
        tokens.append(token)
    return tokens[1:]


@derivation(
    [
        (0.5, 0.9, 0.2, -0.4, 1.5, -0.5, 2.0),
        (-0.8, 0.99, 0.6, 0.7, -1.0, 2.0, 0.5),
        (0.3, 0.25, 0.75, 0.1, 0.4, 1.2, -1.6),
    ]
)
def gru_derivative(
    h: float, z: float, r: float, n: float, u_z: float, u_r: float, u_n: float
) -> tuple[float, float, float, float]:
    """From the gates of a GRU to the derivative of the new state with respect to the old."""
    dz = z * (1 - z) * u_z
    dr = r * (1 - r) * u_r
    dn = (1 - n**2) * (r + h * dr) * u_n
    dh = z + (1 - z) * dn + (h - n) * dz
    return dz, dr, dn, dh


WORDS, INPUT, HIDDEN = 20, 8, 32
BIASES = range(8)


@cache
def share_left(bias: int) -> float:
    """The mean derivative of the last state by the first, in a new GRU with this bias of z."""
    with settings_put_back():
        torch.manual_seed(0)
        cell = nn.GRUCell(INPUT, HIDDEN)
        with torch.no_grad():
            cell.bias_ih[HIDDEN : 2 * HIDDEN] = bias  # the second third belongs to z
        h = first = torch.zeros(1, HIDDEN, requires_grad=True)
        for x in torch.randn(WORDS, 1, INPUT):
            h = cell(x, h)
        [gradient] = torch.autograd.grad(h.sum(), first)
    return gradient.mean().item()


@number()
def remembering_bias() -> int:
    """At which bias of z does more than half of a change last for 20 words?"""
    return next(bias for bias in BIASES if share_left(bias) > 0.5)


Weights = dict[str, Tensor]


class _NumberReader(nn.Module):
    """Two recurrent networks, of which the first reads and the second writes."""

    def __init__(self, tokens: int, d: int) -> None:
        super().__init__()
        self.source = nn.Embedding(tokens, d)
        self.reader = nn.GRU(d, d, batch_first=True)
        self.target = nn.Embedding(tokens, d)
        self.writer = nn.GRU(d, d, batch_first=True)
        self.output = nn.Linear(d, tokens)


def _read(kind: Callable[..., nn.Module], source: Int[Tensor, "b t"], weights: Weights) -> Any:
    """Build a model, give it weights, and let it read numbers."""
    layer: Any = loaded(kind(*weights["source.weight"].shape), weights)
    with torch.no_grad():
        return None if layer is None else layer.read(source)


def _numbers(
    *rows: list[int], tokens: int, d: int, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Weights]:
    """A padded batch, and weights for a model that reads it."""
    return pad(rows), numbers_for(_NumberReader, tokens, d, dtype=dtype)


@exercise(
    [
        _numbers([5, 8, 6], [7, 4], tokens=10, d=4),
        _numbers([3], [6, 4, 5, 9], [8, 7], tokens=12, d=5, dtype=torch.float32),
        _numbers([7, 9], [9, 6, 9, 4, 3], [5, 7, 3], [4, 4], tokens=11, d=3),
    ],
    ask=_read,
    gap=True,
)
def number_reader(tokens: int, d: int) -> nn.Module:
    """Read a padded batch of digits into one vector for each number."""

    class Seq2Seq(_NumberReader):
        def read(self, source: Tensor) -> Tensor:
            states, _ = self.reader(self.source(source))
            last = (source != PAD).sum(dim=1) - 1
            read: Tensor = states[torch.arange(len(source)), last]
            return read

    return Seq2Seq(tokens, d)


@dataclass(frozen=True)
class Script:
    """A model whose next word and next state depend on its state and on the word that it reads."""

    times: int
    plus: int

    def read(self, source: Int[Tensor, "one digits"]) -> Float[Tensor, "one d"]:
        """The state after the last digit."""
        state = 0
        for digit in source[0].tolist():
            state = (self.times * state + digit) % 101
        return torch.tensor([[float(state)]])

    def write(
        self, state: Float[Tensor, "one d"], words: Int[Tensor, "*any"]
    ) -> tuple[Float[Tensor, "one words vocabulary"], Float[Tensor, "one d"]]:
        """The logits after each word, and the last state."""
        if words.dim() != 2:
            shape = tuple(words.shape)
            raise Unfit(said("it reads words of shape (1, words), not {shape}.", shape=shape))
        s, best = int(state), []
        for word in words[0].tolist():
            s = (self.times * s + int(word) + self.plus) % 101
            best.append(s % VOCAB)
        logits = -(torch.arange(VOCAB) - torch.tensor(best)[:, None]).abs().float()
        return logits[None], torch.tensor([[float(s)]])


def _write(answer: Callable[..., Any], model: Script, digits: list[int], limit: int) -> Any:
    """Let the model say one number."""
    return answer(model, torch.tensor([digits]), limit)


def _speaks_after_the_end(model: Script, source: Tensor, limit: int) -> list[int]:
    state, word, said = model.read(source), BOS, []
    for _ in range(limit):
        logits, state = model.write(state, torch.tensor([[word]]))
        word = int(logits.argmax())
        said.append(word)
        if word == EOS:
            break
    return said


def _says_what_it_read(model: Script, source: Tensor, limit: int) -> list[int]:
    state, word, said = model.read(source), BOS, []
    for _ in range(limit):
        said.append(word)
        logits, state = model.write(state, torch.tensor([[word]]))
        word = int(logits.argmax())
        if word == EOS:
            break
    return said


@exercise(
    [
        (Script(7, 1), [4, 12, 3], 9),
        (Script(13, 8), [4, 5], 9),
        (Script(7, 1), [4, 5], 3),
    ],
    ask=_write,
    whole=True,
    gap=True,
)
def number_writer(model: Any, source: Int[Tensor, "one digits"], limit: int) -> list[int]:
    """Write the words of a number, one after the other, until EOS or the limit."""
    said: list[int] = []
    word, state = BOS, model.read(source)
    for _ in range(limit):
        logits, state = model.write(state, torch.tensor([[word]]))
        word = int(logits.argmax())
        if word == EOS:
            break
        said.append(word)
    return said
