from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence

from annotated_transformer import decoding, evaluation
from annotated_transformer.batches import Batch
from annotated_transformer.seq2seq import RecurrentConfig, Seq2Seq
from annotated_transformer.text.examples import Example
from annotated_transformer.tokens import EOS, PAD
from transformer_workbook.notebook import ToyTask, exactly_right, train_briefly
from transformer_workbook.notebook.proofs import agree, holds, proof
from transformer_workbook.places import course_file

MODULES = [
    *("src_embedding", "encoder.cell", "bridge"),
    *("tgt_embedding", "decoder.cell", "readout", "output"),
]
"""The modules of the package's model, as the lesson makes them one after the other."""


@proof
def gru_cell(plain: Any, package: Any) -> None:
    """The two cells compute what torch.nn.GRUCell computes, word by word."""
    ours, theirs, torchs = plain(3, 4), package(3, 4), nn.GRUCell(3, 4)
    theirs.load_state_dict(ours.state_dict())
    torchs.weight_ih, torchs.weight_hh = ours.read.weight, ours.recur.weight
    torchs.bias_ih, torchs.bias_hh = ours.read.bias, ours.recur.bias
    h = from_package = from_torch = torch.zeros(2, 4)
    for x in torch.randn(5, 2, 3):  # (words, batch, input)
        h = ours(x, h)
        from_package = theirs(theirs.read(x), from_package)
        from_torch = torchs(x, from_torch)
    agree(
        1e-12,
        {
            "after five words the state of torch.nn.GRUCell": from_torch,
            "of your cell": h,
            "of the package's cell": from_package,
        },
    )


@proof
def encoder(
    encode: Callable[..., Any], src: Int[Tensor, "batch words"], embedding: Any, cell: Any
) -> None:
    """The state after the last word is that of torch.nn.GRU, which packs the words."""
    layer = nn.GRU(embedding.embedding_dim, cell.recur.in_features, batch_first=True)
    layer.load_state_dict(
        {
            f"{torchs}_{kind}_l0": getattr(getattr(cell, ours), name)
            for ours, kind in (("read", "ih"), ("recur", "hh"))
            for torchs, name in (("weight", "weight"), ("bias", "bias"))
        }
    )
    lengths = (src != PAD).sum(dim=1)
    packed = pack_padded_sequence(embedding(src), lengths, batch_first=True, enforce_sorted=False)
    alone = [encode(row[None, :n]) for row, n in zip(src, lengths.tolist(), strict=True)]
    agree(
        1e-12,
        {
            "the last states of a packed batch in torch.nn.GRU": layer(packed)[1][0],
            "those of your padded batch": encode(src),
            "those of each sentence alone": torch.cat(alone),
        },
    )


@proof
def seq2seq(
    encode: Callable[..., Any],
    decode_step: Callable[..., Any],
    modules: Sequence[Any],
    package: Any,
    examples: Sequence[Example],
) -> None:
    """With the same parameters, the modules give the logits of the package's model."""
    for name, module in zip(MODULES, modules, strict=True):
        package.get_submodule(name).load_state_dict(module.state_dict())
    batch, steps = Batch.of(examples), []
    with torch.no_grad():
        c = encode(batch.src)
        s = torch.tanh(package.bridge(c))
        for word in batch.tgt_in.T:
            logits, s = decode_step(word, c, s)
            steps.append(logits)
        expected = package(batch.src, batch.tgt_in)
        x, is_word = package.src_embedding(batch.src), batch.src != PAD
        states = package.encoder(x, is_word)[0]
        last = states[torch.arange(len(states)), is_word.sum(dim=1) - 1]
        context = package.start(batch.src).context
    is_word = batch.tgt_in != PAD
    ours = torch.stack(steps, dim=1)[is_word]
    agree(1e-12, {"the logits of Seq2Seq": expected[is_word], "your logits": ours})
    contexts = {"the encoder's state after the last word": last, "the context of Seq2Seq": context}
    agree(1e-12, contexts | {"your context": c})


@proof
def training(fit: Callable[..., Any], task: ToyTask) -> None:
    """A short loop gives, at each of five steps, the loss of `train_briefly`."""
    examples = task.examples("train")
    first = fit(task.build(Seq2Seq, RecurrentConfig), examples, steps=5, rate=4e-3)
    second = train_briefly(task.build(Seq2Seq, RecurrentConfig), examples, steps=5)
    losses = {"the first five losses of train_briefly": torch.tensor(second)}
    agree(1e-9, losses | {"those of your loop": torch.tensor(first)})


@proof
def perplexity(model: Any, examples: Sequence[Example]) -> None:
    """The perplexity is exp of the mean loss of a token, whatever stands beside a sentence."""
    from myst_nb import glue

    total = torch.zeros(())
    with torch.no_grad():
        for example in examples:
            one = Batch.of([example])
            logits = model(one.src, one.tgt_in)[0]
            total += F.cross_entropy(logits, one.tgt_out[0], reduction="sum")
    mean = total / sum(len(tgt) + 1 for _, tgt in examples)
    found = evaluation.perplexity(model, examples)
    results = {"the exponential of the mean loss of a token": mean.exp()}
    agree(1e-9, results | {"the package's perplexity": torch.tensor(found)})
    glue("perplexity", f"{found:.1f}", display=False)


@proof
def translation(translate: Callable[..., Any], model: Any, task: ToyTask) -> None:
    """A short greedy search writes what the package's writes, on sentences never seen."""
    english, korean = task.src_vocabulary, task.tgt_vocabulary
    seen = {tuple(src) for src, _ in task.examples("train")}
    sample = task.examples("test")[:100]
    found = decoding.greedy(model, Batch.of(sample).src)
    theirs = [korean.tokens(each.tokens) for each in found]
    ours = [translate(model, english.decode(src)) for src, _ in sample]
    unseen = all(tuple(src) not in seen for src, _ in sample)
    holds("none of 100 test sentences is in the training split", unseen)
    holds(
        "your translate and the package's greedy search give the same 100 translations",
        ours == theirs,
    )
    exact = sum(exactly_right(model, sample))
    holds("more than 20 of these translations match the reference exactly", exact > 20)


@proof
def teacher_forcing(model: Any, examples: Sequence[Example]) -> None:
    """A model that reads its own words is correct less often at positions 6 to 10."""
    from myst_nb import glue

    forced: list[list[bool]] = []
    free: list[list[bool]] = []
    for src, tgt in (each for each in examples if 10 <= len(each[1]) <= 12):
        one = Batch.of([(src, tgt)])
        with torch.no_grad():
            forced_ids = model(one.src, one.tgt_in)[0].argmax(dim=-1).tolist()
        (hypothesis,) = decoding.greedy(model, one.src)
        free_ids = [*hypothesis.tokens, *[EOS] * 12]
        for right, ids in ((forced, forced_ids), (free, free_ids)):
            right.append([a == b for a, b in zip(ids[:10], tgt[:10], strict=True)])
    forced_later, free_later = (
        torch.tensor(right)[:, 5:].double().mean() for right in (forced, free)
    )
    claim = "at positions 6 to 10 the model is correct less often if it reads its own words"
    holds(claim, free_later < forced_later)
    glue("forced", f"{forced_later:.0%}", display=False)
    glue("free", f"{free_later:.0%}", display=False)


def numbers() -> None:
    """Glue the share of right sentences that independent tokens would have, from the records."""
    import pandas as pd
    from myst_nb import glue

    budgets = pd.read_csv(course_file("records/recurrent_budgets.csv"))
    shortest = budgets[budgets.steps == 4000]["4-6"]
    chance = shortest ** (1 / 6)  # for each of six tokens
    glue("expected", f"{100 * (chance**18).mean():.0f}", display=False)
