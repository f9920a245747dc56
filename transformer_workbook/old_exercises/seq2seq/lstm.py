"""Sequence to sequence: an encoder whose cell has a memory of its own."""

from itertools import permutations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.seq2seq.faulty_lstm import faulty, keep, update


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


lstm_encode = Exercise(
    reference=_lstm_encode,
    given={
        "the padding is read, too: where there is no word, h and c stay as they are.": (
            faulty(mask=lambda is_word, new, old: new)
        ),
        "at padding c stays, but h changes; both have to stay.": (
            faulty(mask=lambda is_word, new, old: (new[0], torch.where(is_word, new[1], old[1])))
        ),
        "at padding the state becomes 0; it has to stay as it was.": (
            faulty(mask=lambda is_word, new, old: (is_word * new[0], is_word * new[1]))
        ),
        "all sentences stop where the shortest ends; each stops at its own end.": (
            faulty(mask=lambda is_word, new, old: keep(is_word.all(), new, old))
        ),
        "all sentences stop where the first ends; each stops at its own end.": (
            faulty(mask=lambda is_word, new, old: keep(is_word[0], new, old))
        ),
        "all sentences stop where the last ends; each stops at its own end.": (
            faulty(mask=lambda is_word, new, old: keep(is_word[-1], new, old))
        ),
        "the mask is inverted: the padding is read, and the words are not.": (
            faulty(mask=lambda is_word, new, old: keep(~is_word, new, old))
        ),
        "these are the states one word before the last.": (
            faulty(result=lambda h, c, is_word: h[torch.arange(len(h)), is_word.sum(1) - 2])
        ),
        "the words are replaced by 0 in the padding, but it is read; h and c have to stay.": (
            lambda x, is_word, W, U, b: faulty(mask=lambda _, new, old: new)(
                x * is_word[..., None], is_word, W, U, b
            )
        ),
        "these are the memories c; h is asked for.": (
            faulty(result=lambda h, c, is_word: c[:, -1])
        ),
        "these are the states at all positions; the last of each sentence is asked for.": (
            faulty(result=lambda h, c, is_word: h)
        ),
        "these are the states after the first words.": (
            faulty(result=lambda h, c, is_word: h[:, 0])
        ),
        "these are means over the words; the last state alone is asked for.": (
            faulty(
                result=lambda h, c, is_word: (
                    (h * is_word[..., None]).sum(1) / is_word.sum(1, keepdim=True)
                )
            )
        ),
        "o and g have changed places: the blocks are i, f, g, o.": faulty("ifog"),
        "i and f have changed places: the blocks are i, f, g, o.": faulty("figo"),
        "i and f have changed places, and o and g: the blocks are i, f, g, o.": faulty("fiog"),
        **{
            f"the blocks are taken as {', '.join(order)}; they are i, f, g, o.": faulty(order)
            for order in map("".join, permutations("ifgo"))
            if order not in ("ifgo", "ifog", "figo", "fiog")
        },
        "the gates are cut from every fourth number; each is a block of its own.": (
            faulty(cut=lambda z: z.view(len(z), -1, 4).unbind(-1))
        ),
        "these are tanh(c), without the gate o.": (
            faulty(result=lambda h, c, is_word: c[:, -1].tanh())
        ),
        "the sentences are read from right to left.": (
            lambda x, is_word, W, U, b: faulty()(x.flip(1), is_word.flip(1), W, U, b)
        ),
        "these are sums over the words; the last state alone is asked for.": (
            faulty(result=lambda h, c, is_word: (h * is_word[..., None]).sum(1))
        ),
        "these are the largest numbers over the words; the last state alone is asked for.": (
            faulty(result=lambda h, c, is_word: h.amax(1))
        ),
        "the gate i is missing: g is added to c as it is.": (
            faulty(update=lambda f, i, g, o, c: update(f, torch.ones_like(i), g, o, c))
        ),
        "the gate f is missing: all of c is kept.": (
            faulty(update=lambda f, i, g, o, c: update(torch.ones_like(f), i, g, o, c))
        ),
        "h is tanh(o ⊙ c); the tanh is that of c alone.": (
            faulty(update=lambda f, i, g, o, c: ((o * (f * c + i * g)).tanh(), f * c + i * g))
        ),
        "h is o ⊙ σ(c); it is o ⊙ tanh(c).": (
            faulty(update=lambda f, i, g, o, c: (o * (f * c + i * g).sigmoid(), f * c + i * g))
        ),
        "h is o ⊙ tanh(c); its tanh is missing.": (
            faulty(update=lambda f, i, g, o, c: (o * (f * c + i * g), f * c + i * g))
        ),
        "h is c, and o is not used; the LSTM shows o ⊙ tanh(c).": (
            faulty(update=lambda f, i, g, o, c: (f * c + i * g, f * c + i * g))
        ),
        "h is tanh(c), and o is not used; the LSTM shows o ⊙ tanh(c).": (
            faulty(update=lambda f, i, g, o, c: ((f * c + i * g).tanh(), f * c + i * g))
        ),
        "c goes on through its tanh; only h is made from tanh(c).": (
            faulty(
                update=lambda f, i, g, o, c: (
                    o * (f * c + i * g).tanh(),
                    (f * c + i * g).tanh(),
                )
            )
        ),
        "the proposal has the factor 1 − f; the LSTM has a gate i of its own.": (
            faulty(update=lambda f, i, g, o, c: update(f, 1 - f, g, o, c))
        ),
        "h is made from the old c; it needs the new one.": (
            faulty(update=lambda f, i, g, o, c: (o * c.tanh(), f * c + i * g))
        ),
        "g goes through σ; it is a proposal, not a gate, and needs tanh.": (
            faulty(squash=torch.sigmoid)
        ),
        "c keeps 1 − i of the old; the LSTM has a gate f of its own.": (
            faulty(update=lambda f, i, g, o, c: update(1 - i, i, g, o, c))
        ),
        "h is 0 at every word: it does not go from word to word.": faulty(carried=(0, 1)),
        "c is 0 at every word: it does not go from word to word.": faulty(carried=(1, 0)),
        "h and c are 0 at every word: no state goes from word to word.": faulty(carried=(0, 0)),
        "the bias b is missing.": lambda x, is_word, W, U, b: faulty()(x, is_word, W, U, 0 * b),
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
