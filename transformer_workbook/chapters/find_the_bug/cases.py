"""Models of the chapter "Find the bug", on which a reader's tests are tried.

Some are healthy, some have the fault that a test should find, and some another. A test that
compares what need not agree fails every other healthy model; which of them it passes says what it
compares.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.tokens import BOS, EOS, PAD
from annotated_transformer.transformer import Transformer
from transformer_workbook.chapters.find_the_bug.faulty.models import SMALL, patient
from transformer_workbook.judge import normal

SRC = torch.tensor([[5, 6, 7, 8, 9, EOS], [10, 11, 4, EOS, PAD, PAD]])
"""Two source sentences; the second is shorter."""
TGT_IN = torch.tensor([[BOS, 6, 7, 8, 9], [BOS, 9, 10, 11, 5]])
"""What the decoder reads; there is no padding."""
LONG, SHORT, ANY = range(5, 100), range(5), range(100)
"""Lengths of source sentences: the first above is long, the second is short."""

Change = Callable[[Transformer], None]
Test = Callable[[Transformer], Any]


@dataclass(frozen=True, repr=False)
class Model:
    """A model to be tested, made anew for every test; it is shown as what it is."""

    what: str
    change: Change = lambda model: None
    number: int = 0
    layers: int = 2
    trains: bool = False

    def make(self) -> Transformer:
        """The model, with weights that do not depend on what else is tested."""
        model = patient(self.number, replace(SMALL, num_layers=self.layers))
        self.change(model)
        return model.train(self.trains)

    def __repr__(self) -> str:
        return self.what


def put_to_test(test: Test, case: Model) -> Any:
    """Ask a test, which may draw random numbers, whether a model is healthy."""
    torch.manual_seed(0)
    return test(case.make())


# --- what is seen --------------------------------------------------------------------------------


def of_length(memory_mask: Tensor, lengths: range) -> Tensor:
    """Tell which sentences of a batch have one of the lengths."""
    return torch.tensor([n in lengths for n in memory_mask.sum((1, 2, 3)).tolist()])


def leak(query: int, key: int, lengths: range = ANY) -> Change:
    """Let one target position attend to one other in the last layer, when all are read at once."""

    def change(model: Transformer) -> None:
        def open_mask(layer: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
            x, past, mask, memory, memory_mask, positions = arguments
            mask = mask.clone()
            mask[of_length(memory_mask, lengths), :, query : query + 1, key : key + 1] = True
            return x, past, mask, memory, memory_mask, positions

        model.decoder[-1].register_forward_pre_hook(open_mask)

    return change


def see_everything(model: Transformer) -> None:
    """Let every target position attend to every other and to padding, when all are read at once."""

    def open_mask(layer: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        x, past, mask, *others = arguments
        return x, past, torch.ones_like(mask), *others

    for layer in model.decoder:
        layer.register_forward_pre_hook(open_mask)


def read_padding_in_the_encoder(model: Transformer) -> None:
    """Let the encoder attend to padding."""

    def open_mask(layer: nn.Module, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        x, mask = arguments
        return x, torch.ones_like(mask)

    for layer in model.encoder:
        layer.register_forward_pre_hook(open_mask)


def read_padding_at(position: int, lengths: range = ANY) -> Change:
    """Let one target position attend to the padding of the source, in the last layer."""

    def change(model: Transformer) -> None:
        def open_mask(attention: nn.Module, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            queries, keys, values, mask = arguments
            targets = queries.size(2)
            opened = mask.repeat(1, 1, targets, 1)
            if targets > 1:  # one position alone is a step of a search
                opened[of_length(mask, lengths), :, position] = True
            return queries, keys, values, opened

        last: Any = model.decoder[-1]
        last.cross_attention.attention.register_forward_pre_hook(open_mask)

    return change


# --- what is said --------------------------------------------------------------------------------


def read_at_once(then: Callable[[Tensor, Tensor], Tensor]) -> Change:
    """Change the logits of what is read at once: ``then(src, logits)`` gives the new ones."""

    def change(model: Transformer) -> None:
        model.register_forward_hook(lambda part, given, logits: then(given[0], logits))

    return change


def beside_padding(then: Callable[[Tensor], Tensor]) -> Change:
    """Change the logits where the source is longer than the one above."""
    return read_at_once(lambda src, x: then(x) if src.size(1) > SRC.size(1) else x)


def turn_third(turn: Callable[[Tensor], Tensor]) -> Change:
    """Change the third logits when all are read at once."""
    return read_at_once(lambda src, x: torch.cat([x[:, :2], turn(x[:, 2:3]), x[:, 3:]], dim=1))


def turn_first(turn: Callable[[Tensor], Tensor]) -> Change:
    """Change the first logits when all are read at once."""
    return read_at_once(lambda src, x: torch.cat([turn(x[:, :1]), x[:, 1:]], dim=1))


def turn_last(axis: int, turn: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Change what stands at the end of an axis."""

    def change(logits: Tensor) -> Tensor:
        others = logits.narrow(axis, 0, logits.size(axis) - 1)
        return torch.cat([others, turn(logits.narrow(axis, -1, 1))], axis)

    return change


def leak_faintly(src: Tensor, logits: Tensor) -> Tensor:
    """A thousandth of each position's logits gets into the position before."""
    return logits + 1e-3 * torch.cat([logits[:, 1:], 0 * logits[:, :1]], dim=1)


def leak_last(src: Tensor, logits: Tensor) -> Tensor:
    """The last word's logit is that of the next position."""
    return turn_last(-1, lambda last: last.roll(-1, 1))(logits)


def round_logits(model: Transformer) -> None:
    """Let equal logits be equal to the last digit, however they are computed."""
    model.output.register_forward_hook(lambda part, given, logits: logits.round(decimals=6))


# --- what does not matter ------------------------------------------------------------------------


def without(attention: str) -> Change:
    """Let an attention of the decoder find nothing."""

    def change(model: Transformer) -> None:
        for layer in model.decoder:
            getattr(layer, attention).output.weight.data.zero_()

    return change


def forget_positions(model: Transformer) -> None:
    """Add no positions to the words of the target."""
    model.tgt_embedding.positions.register_forward_hook(lambda part, given, out: given[0])


def never_drop(model: Transformer) -> None:
    """Compute the same in training."""
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0


def read(other: Callable[[Tensor], Tensor]) -> Change:
    """Let the decoder read other words than it is given."""

    def change(model: Transformer) -> None:
        extend = model.extend
        model.extend = lambda state, tokens: extend(state, other(tokens))  # type: ignore[method-assign]

    return change


read_nothing = read(lambda tokens: torch.full_like(tokens, BOS))


def both(*changes: Change) -> Change:
    """One change after the other."""

    def change(model: Transformer) -> None:
        for one in changes:
            one(model)

    return change


# --- normalisations ------------------------------------------------------------------------------

Numbers = Callable[[int], Tensor]


def drawn(size: float, around: float = 0.0, seed: int = 0) -> Numbers:
    """Draw random numbers for every normalisation, by its index among all."""
    return lambda i: around + size * normal(8, seed=seed + i)


ONES, ZEROS = drawn(0.0, around=1.0), drawn(0.0)


def norms_with(gains: Numbers = ONES, biases: Numbers = ZEROS, eps: float = 1e-5) -> Change:
    """Let the normalisations have other gains and biases, as if trained, or another ε."""

    def change(model: Transformer) -> None:
        for i, part in enumerate(norms(model)):
            part.weight.data, part.bias.data, part.eps = gains(i), biases(i), eps

    return change


def norms(model: Transformer) -> list[nn.LayerNorm]:
    """All layer normalisations of a model."""
    return [part for part in model.modules() if isinstance(part, nn.LayerNorm)]


class Renamed(nn.LayerNorm):
    """It does what nn.LayerNorm does."""


class Reversed(nn.LayerNorm):
    """The right numbers in the opposite order."""

    def forward(self, input: Tensor) -> Tensor:
        """The numbers of each vector in the opposite order."""
        return super().forward(input).flip(-1)


def norms_of(kind: type[nn.LayerNorm]) -> Change:
    """Let all normalisations be of another kind."""

    def change(model: Transformer) -> None:
        for part in norms(model):
            part.__class__ = kind

    return change


def cure_all_but(chosen: int) -> Change:
    """Let only one normalisation stay wrong."""

    def change(model: Transformer) -> None:
        wrong = norms(model)[chosen]
        for part in norms(model):
            if part is not wrong:
                part.__class__ = nn.LayerNorm

    return change


def cure(stack: str) -> Change:
    """Let the normalisations of one half be right."""

    def change(model: Transformer) -> None:
        for name, part in model.named_modules():
            if isinstance(part, nn.LayerNorm) and stack in name:
                part.__class__ = nn.LayerNorm

    return change


SMALL_GAINS, LARGE_BIASES = drawn(0.1), drawn(1.0, around=5.0, seed=100)
"""With these it is not seen what a tiny ε does."""
as_if_trained = norms_with(SMALL_GAINS, LARGE_BIASES)


# --- the models of each exercise -----------------------------------------------------------------

HEALTHY = Model("a healthy model")
TRAINING = Model("a healthy model that comes in training mode", trains=True)
ROUNDED = Model("a healthy model that rounds its logits", round_logits)
STEADY = Model("a healthy model without dropout", never_drop)
IGNORING = Model("a model that ignores the source", without("cross_attention"))
COUNTING = Model("a healthy model that reads no word of the target", read_nothing)
POSITIONS = Model("a model that writes every word at position 0", number=1)
NORMS = Model("a model with another layer normalisation", number=2)
HEADS = Model("a model whose heads are split across positions", number=3)
PADDING = Model("a model whose decoder reads the padding of the source", number=6)
FUTURE = Model("a model that sees the future when it does not train", number=8)
LEAKS = [
    Model("a model whose first position sees the second", leak(0, 1)),
    Model("a model whose third position sees the fourth", leak(2, 3)),
]
LEAKS_OF_SOME = [
    Model("a model that sees the future if the source is long", leak(2, 3, LONG)),
    Model("a model that sees the future if the source is short", leak(2, 3, SHORT)),
]

LAST_WORD = Model(
    "a healthy model that reads the last word alone",
    both(forget_positions, without("self_attention")),
)

FOR_PADDING = [
    HEALTHY,
    TRAINING,
    PADDING,
    HEADS,
    IGNORING,
    Model("a healthy model without positions", forget_positions),
    STEADY,
    Model("a model whose encoder reads padding", read_padding_in_the_encoder),
    Model("a model that reads the padding of long sentences", read_padding_at(2, LONG)),
    Model("a model that reads the padding of short sentences", read_padding_at(0, SHORT)),
    Model("a model that reads padding at its first word", read_padding_at(0)),
    Model("a model that reads padding at its last word", read_padding_at(4)),
    Model("a model that sees every word of the target", see_everything),
    Model(
        "a model whose logits are a little larger beside padding",
        beside_padding(lambda x: 1.01 * x),
    ),
    Model(
        "a model whose logits are in reverse order beside padding",
        beside_padding(lambda x: x.flip(-1)),
    ),
    Model(
        "a model whose last logit changes beside padding", beside_padding(turn_last(-1, torch.neg))
    ),
    Model("a model whose logits move by 0.005 beside padding", beside_padding(lambda x: x + 0.005)),
    ROUNDED,
    FUTURE,
    POSITIONS,
    NORMS,
    Model("a model whose layers start as copies", number=5),
]
FOR_STEPS = [
    HEALTHY,
    TRAINING,
    POSITIONS,
    FUTURE,
    HEADS,
    PADDING,
    NORMS,
    *LEAKS,
    *LEAKS_OF_SOME,
    Model("a model whose third logits are turned round", turn_third(torch.neg)),
    Model("a model whose third logits are in reverse order", turn_third(lambda x: x.flip(-1))),
    Model(
        "a model whose last logits are turned round",
        read_at_once(lambda src, x: turn_last(1, torch.neg)(x)),
    ),
    Model(
        "a model whose third logits differ in the last word", turn_third(turn_last(-1, torch.neg))
    ),
    Model("a model whose third logits are a little larger", turn_third(lambda x: 1.01 * x)),
    ROUNDED,
    STEADY,
    Model("a healthy model that says the same everywhere", both(read_nothing, forget_positions)),
    COUNTING,
    LAST_WORD,
    Model(
        "a model that reads the last word alone and whose first logits are turned round",
        both(LAST_WORD.change, turn_first(torch.neg)),
    ),
]
FOR_FUTURE = [
    HEALTHY,
    TRAINING,
    FUTURE,
    Model("the same, when it comes in training mode", number=8, trains=True),
    HEADS,
    PADDING,
    POSITIONS,
    *LEAKS,
    Model("a model whose second position sees the last", leak(1, 4), layers=1),
    Model("a model whose fourth position sees the last", leak(3, 4), layers=1),
    *LEAKS_OF_SOME,
    Model("a model with a small leak", read_at_once(leak_faintly)),
    Model("a model with a leak into its last logit", read_at_once(leak_last)),
    IGNORING,
    COUNTING,
    Model(
        "a healthy model that does not read the last word",
        read(lambda tokens: torch.cat([tokens[:, :1], tokens[:, :-1]], dim=1)),
    ),
    STEADY,
]
FOR_NORMS = [
    HEALTHY,
    TRAINING,
    NORMS,
    Model("a healthy model with trained norms", as_if_trained),
    Model("a healthy model with a large ε", norms_with(eps=10.0)),
    Model("a healthy model whose norms are of a class of its own", norms_of(Renamed)),
    Model("a model with one wrong norm, the last", cure_all_but(-1), number=2),
    Model("a model with one wrong norm, the last but one", cure_all_but(-2), number=2),
    Model("a model with wrong norms and small gains", as_if_trained, number=2),
    Model("a model whose norms reverse the numbers", norms_of(Reversed)),
    Model("a model with one wrong norm, the first", cure_all_but(0), number=2),
    Model("a model with one wrong norm inside", cure_all_but(3), number=2),
    Model("a model that scales after the softmax", number=7),
    HEADS,
    Model(
        "a model whose trained norms reverse the numbers", both(as_if_trained, norms_of(Reversed))
    ),
    Model("a healthy model whose norms have other gains", norms_with(gains=drawn(2.0))),
    Model("a healthy model whose norms have other biases", norms_with(biases=drawn(2.0))),
    Model("a healthy model whose norms have gains of 0", norms_with(ZEROS, drawn(1.0))),
    Model(
        "a healthy model whose norms have gains that are equal to their biases",
        norms_with(drawn(1.0), drawn(1.0)),
    ),
    Model("a healthy model whose norms have an ε of 0", norms_with(eps=0.0)),
    Model("a model with wrong norms in the decoder only", cure("encoder"), number=2),
    Model("a model with wrong norms in the encoder only", cure("decoder"), number=2),
    Model("a model with one wrong norm, the second", cure_all_but(1), number=2),
]
