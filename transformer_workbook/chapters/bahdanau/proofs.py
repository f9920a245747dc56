import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer import decoding
from annotated_transformer.bahdanau import AttentionState, Bahdanau, BidirectionalEncoder
from annotated_transformer.batches import Batch
from annotated_transformer.text.examples import Example
from transformer_workbook.notebook.proofs import agree, holds, proof


@proof
def by_hand(
    h: Float[Tensor, "words d"],
    scores: Float[Tensor, "query words"],
    weights: Float[Tensor, "query words"],
    context: Float[Tensor, "query d"],
) -> None:
    """The weights are a softmax of the scores; the context is a sum over the words."""
    powers = scores.exp()
    alpha = powers / powers.sum(dim=-1, keepdim=True)
    total = torch.zeros(len(alpha), h.size(1))
    for i, j in itertools.product(range(len(alpha)), range(len(h))):
        total[i] += alpha[i, j] * h[j]
    agree(
        1e-12,
        {"the exponentials of the scores divided by their sum": alpha, "your weights": weights},
    )
    agree(1e-12, {"the weighted sum of the words": total, "your context": context})


@proof
def a_mixture() -> None:
    """A mixture lies within the range of the words, and each is one step away from it."""
    h, weights = torch.randn(4, 2), torch.randn(100, 4).softmax(dim=-1)
    mixed = weights @ h
    inside = (mixed >= h.amin(dim=0)) & (mixed <= h.amax(dim=0))
    holds("each number of 100 random mixtures lies within the range of the words", inside.all())
    expected = torch.stack([alpha * torch.eye(2) for alpha in weights[0]], dim=1)
    jacobian = torch.func.jacrev(lambda h: weights[0] @ h)(h)  # (2, 4, 2)
    agree(1e-12, {"αⱼ times the identity": expected, "the derivative of c by hⱼ": jacobian})


@proof
def annotations(
    readers: Sequence[Any],
    x: Float[Tensor, "batch source width"],
    is_word: Bool[Tensor, "batch source"],
    memory: Float[Tensor, "batch source memory"],
) -> None:
    """The package's encoder makes the same annotations, and its halves read from both ends."""
    encoder = BidirectionalEncoder("gru", x.size(-1), memory.size(-1) // 2)
    encoder.forwards, encoder.backwards = readers
    other = x.clone()
    other[0, 2] += 1.0
    with torch.no_grad():
        before, after = (encoder(each, is_word)[0] for each in (x, other))
    agree(1e-12, {"your memory": memory, "that of the package's encoder": before})
    forwards, backwards = (before != after)[0].chunk(2, dim=-1)  # each (source, hidden)
    position = torch.arange(x.size(1))
    seen = torch.equal(forwards.any(-1), position >= 2)
    seen &= torch.equal(backwards.any(-1), position <= 2)
    holds("a new third word changes one half of h from there on, the other half up to there", seen)


@proof
def additive_score(plain: Any, package: Any) -> None:
    """The weights are the softmax of a loop over all pairs; the contexts are the package's."""
    ours, theirs = plain(3, 4, 5), package(3, 4, 5)
    theirs.query, theirs.key, theirs.v = ours.W, ours.U, ours.v
    query, memory = torch.randn(2, 3), torch.randn(2, 6, 4)
    mask = torch.arange(6) < torch.tensor([6, 4])[:, None]  # (2, 6)
    W, v = torch.cat([ours.W.weight, ours.U.weight], dim=1), ours.v.weight[0]
    loop = torch.zeros(2, 6)
    with torch.no_grad():
        for b, j in itertools.product(range(2), range(6)):
            score = v @ torch.tanh(W @ torch.cat([query[b], memory[b, j]]))
            loop[b, j] = score.exp() * mask[b, j]
        loop = loop / loop.sum(dim=1, keepdim=True)
        context, weights = ours(query, memory, mask)
        contexts = theirs(query[:, None], theirs.keys(memory), memory, mask[:, None])[:, 0]
        agree(1e-12, {"a loop over exp(vᵀ tanh(W [s; h]))": loop, "your weights": weights})
        agree(1e-12, {"the contexts of the package": contexts, "your contexts": context})


@proof
def one_loss(model: Any, examples: Sequence[Example]) -> None:
    """The loss of one sentence has a gradient for every parameter."""
    one = Batch.of(examples)
    logits = model(one.src, one.tgt_in).flatten(0, 1)
    loss = F.cross_entropy(logits, one.tgt_out.flatten())
    gradients = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    reached = [gradient is not None and bool(gradient.any()) for gradient in gradients]
    holds("the loss of one sentence sends a gradient to every parameter", all(reached))


@proof
def decoder(plain: Any, model: Any, examples: Sequence[Example]) -> None:
    """A short decoder, given the parameters of the package's model, gives its logits."""
    ours, theirs = plain(model.config.tgt_vocab), model.decoder
    ours.embedding, layer = model.tgt_embedding, ours.attention
    layer.W, layer.U = model.attention.query, model.attention.key
    layer.v = model.attention.v
    ours.readout, ours.output = model.readout, model.output
    cell = ours.cell
    cell.weight_ih, cell.bias_ih = theirs.read.weight, theirs.read.bias
    cell.weight_hh, cell.bias_hh = theirs.recur.weight, theirs.recur.bias
    batch, steps = Batch.of(examples), []
    with torch.no_grad():
        expected = model(batch.src, batch.tgt_in)
        state = model.start(batch.src)
        s = state.decoder
        for word in batch.tgt_in.T:
            logits, s = ours(word, s, state.memory, state.mask[:, 0])
            steps.append(logits)
    logits = {"the logits of Bahdanau": expected}
    agree(1e-12, logits | {"those of your decoder": torch.stack(steps, dim=1)})


@proof
def mask(model: Any, examples: Sequence[Example], longer: Sequence[Example]) -> None:
    """With the mask, a sentence beside a long one is translated as if alone; without, not all."""

    class Unmasked(Bahdanau):
        def start(self, src: Int[Tensor, "batch src"]) -> AttentionState:
            state = super().start(src)
            return replace(state, mask=torch.ones_like(state.mask))

    leaky = Unmasked(model.config)
    leaky.load_state_dict(model.state_dict())
    longest = max(longer, key=lambda pair: len(pair[0]))
    src = Batch.of([*examples, longest]).src
    *masked, _ = (found.tokens for found in decoding.greedy(model, src))
    *leaked, _ = (found.tokens for found in decoding.greedy(leaky, src))
    alone = [decoding.greedy(model, Batch.of([pair]).src)[0].tokens for pair in examples]
    changed = sum(one != other for one, other in zip(masked, leaked, strict=True))
    number = len(examples)
    beside = "padded beside a very long one"
    holds(f"with the mask, {number} sentences {beside} are translated as if alone", alone == masked)
    holds(f"without it, {changed} of these translations change", changed > 0)
