"""Sequence to sequence: an encoder whose cell has a memory of its own."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal

State = tuple[Tensor, Tensor]


def _lstm_encode(
    x: Float[Tensor, "batch words input"],
    is_word: Bool[Tensor, "batch words"],
    W: Float[Tensor, "gates input"],
    U: Float[Tensor, "gates hidden"],
    b: Float[Tensor, " gates"],
) -> Float[Tensor, "batch hidden"]:
    """Read a padded batch with an LSTM, and give h after the last word of each sentence."""
    layer = nn.LSTM(x.size(-1), U.size(-1), dtype=x.dtype)
    biases = {"bias_ih_l0": b, "bias_hh_l0": torch.zeros_like(b)}
    layer.load_state_dict({"weight_ih_l0": W, "weight_hh_l0": U} | biases)
    packed = pack_padded_sequence(x, is_word.sum(dim=1), batch_first=True, enforce_sorted=False)
    _, (last, _) = layer(packed)
    return last.squeeze(0)


def _update(f: Tensor, i: Tensor, g: Tensor, o: Tensor, c: Tensor) -> State:
    """The new h and c, when σ and tanh are taken."""
    c = f * c + i * g
    return o * c.tanh(), c


def _keep(is_word: Tensor, new: State, old: State) -> State:
    h, c = (torch.where(is_word, *pair) for pair in zip(new, old, strict=True))
    return h, c


def _wrong(
    order: str = "ifgo",
    update: Callable[..., State] = _update,
    mask: Callable[[Tensor, State, State], State] = _keep,
    carried: tuple[int, int] = (1, 1),
    squash: Callable[[Tensor], Tensor] = torch.tanh,
    result: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda h, c, is_word: h[:, -1],
) -> Callable[..., Tensor]:
    """The encoder with one faulty part; ``result`` gets h and c at all positions."""

    def answer(x: Tensor, is_word: Tensor, W: Tensor, U: Tensor, b: Tensor) -> Tensor:
        h = c = x.new_zeros(len(x), U.size(1))
        states = []
        for t in range(x.size(1)):
            blocks = (x[:, t] @ W.T + carried[0] * h @ U.T + b).chunk(4, dim=1)
            part = dict(zip(order, blocks, strict=True))
            f, i, o = (part[name].sigmoid() for name in "fio")
            new = update(f, i, squash(part["g"]), o, carried[1] * c)
            h, c = mask(is_word[:, t, None], new, (h, c))
            states.append((h, c))
        hs, cs = (torch.stack(found, dim=1) for found in zip(*states, strict=True))
        return result(hs, cs, is_word)

    return answer


lstm_encode = Exercise(
    reference=_lstm_encode,
    mistakes={
        "the padding is read, too: where there is no word, h and c stay as they are.": (
            _wrong(mask=lambda is_word, new, old: new)
        ),
        "at padding c stays, but h changes; both have to stay.": (
            _wrong(mask=lambda is_word, new, old: (new[0], torch.where(is_word, new[1], old[1])))
        ),
        "at padding the state becomes 0; it has to stay as it was.": (
            _wrong(mask=lambda is_word, new, old: (is_word * new[0], is_word * new[1]))
        ),
        "all sentences stop where the shortest ends; each stops at its own end.": (
            _wrong(mask=lambda is_word, new, old: _keep(is_word.all(), new, old))
        ),
        "all sentences stop where the first ends; each stops at its own end.": (
            _wrong(mask=lambda is_word, new, old: _keep(is_word[0], new, old))
        ),
        "all sentences stop where the last ends; each stops at its own end.": (
            _wrong(mask=lambda is_word, new, old: _keep(is_word[-1], new, old))
        ),
        "the mask is inverted: the padding is read, and the words are not.": (
            _wrong(mask=lambda is_word, new, old: _keep(~is_word, new, old))
        ),
        "these are the states one word before the last.": (
            _wrong(result=lambda h, c, is_word: h[torch.arange(len(h)), is_word.sum(1) - 2])
        ),
        "the words are replaced by 0 in the padding, but it is read; h and c have to stay.": (
            lambda x, is_word, W, U, b: _wrong(mask=lambda _, new, old: new)(
                x * is_word[..., None], is_word, W, U, b
            )
        ),
        "these are the memories c; h is asked for.": (
            _wrong(result=lambda h, c, is_word: c[:, -1])
        ),
        "these are the states at all positions; the last of each sentence is asked for.": (
            _wrong(result=lambda h, c, is_word: h)
        ),
        "these are the states after the first words.": (
            _wrong(result=lambda h, c, is_word: h[:, 0])
        ),
        "these are means over the words; the last state alone is asked for.": (
            _wrong(
                result=lambda h, c, is_word: (
                    (h * is_word[..., None]).sum(1) / is_word.sum(1, keepdim=True)
                )
            )
        ),
        "o and g have changed places: the blocks are i, f, g, o.": _wrong("ifog"),
        "i and f have changed places: the blocks are i, f, g, o.": _wrong("figo"),
        "i and f have changed places, and o and g: the blocks are i, f, g, o.": _wrong("fiog"),
        "h is o ⊙ tanh(c); its tanh is missing.": (
            _wrong(update=lambda f, i, g, o, c: (o * (f * c + i * g), f * c + i * g))
        ),
        "h is c, and o is not used; the LSTM shows o ⊙ tanh(c).": (
            _wrong(update=lambda f, i, g, o, c: (f * c + i * g, f * c + i * g))
        ),
        "h is tanh(c), and o is not used; the LSTM shows o ⊙ tanh(c).": (
            _wrong(update=lambda f, i, g, o, c: ((f * c + i * g).tanh(), f * c + i * g))
        ),
        "c goes on through its tanh; only h is made from tanh(c).": (
            _wrong(
                update=lambda f, i, g, o, c: (
                    o * (f * c + i * g).tanh(),
                    (f * c + i * g).tanh(),
                )
            )
        ),
        "the proposal has the factor 1 − f; the LSTM has a gate i of its own.": (
            _wrong(update=lambda f, i, g, o, c: _update(f, 1 - f, g, o, c))
        ),
        "h is made from the old c; it needs the new one.": (
            _wrong(update=lambda f, i, g, o, c: (o * c.tanh(), f * c + i * g))
        ),
        "g goes through σ; it is a proposal, not a gate, and needs tanh.": (
            _wrong(squash=torch.sigmoid)
        ),
        "c keeps 1 − i of the old; the LSTM has a gate f of its own.": (
            _wrong(update=lambda f, i, g, o, c: _update(1 - i, i, g, o, c))
        ),
        "h is 0 at every word: it does not go from word to word.": _wrong(carried=(0, 1)),
        "c is 0 at every word: it does not go from word to word.": _wrong(carried=(1, 0)),
        "h and c are 0 at every word: no state goes from word to word.": _wrong(carried=(0, 0)),
        "the bias b is missing.": lambda x, is_word, W, U, b: _wrong()(x, is_word, W, U, 0 * b),
    },
    cases=[
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
    ],
)
