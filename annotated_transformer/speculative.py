"""Speculative decoding: a small model drafts tokens, and the large one checks them in one call."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.decoding import Limits, Search, next_log_probs, without_end
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_ids, require_number, require_whole
from annotated_transformer.multi_head_attention import KeyValues
from annotated_transformer.tokens import BOS
from annotated_transformer.translator import NextTokenModel, evaluating


@dataclass(frozen=True)
class Speculation:
    """A translation, and for each call of the target the drafted and the accepted tokens."""

    tokens: list[int]  # without BOS and EOS
    drafted: list[int]
    accepted: list[int]


def probabilities(
    logits: Float[Tensor, "time vocab"], t: float, begin: int | None = BOS
) -> Float[Tensor, "time vocab"]:
    """Compute p^(1/t), scaled to sum to 1; at temperature t = 0 the most probable token has 1."""
    log_p = next_log_probs(logits, begin)
    if t:
        return (log_p / t).softmax(dim=-1)
    return torch.zeros_like(log_p).scatter(1, log_p.argmax(dim=1, keepdim=True), 1.0)


def rewind(model: NextTokenModel, before: Any, after: Any, tokens: Int[Tensor, "1 kept"]) -> Any:
    """Return the state ``before`` extended by ``tokens``; ``after`` has read these and more.

    A KV cache is cut. Another state cannot forget: the one before reads the tokens again.
    """
    if not all(isinstance(kept, KeyValues) for kept in getattr(after, "past", [None])):
        return model.extend(before, tokens)[1]
    n = before.tokens.size(1) + tokens.size(1)
    past = tuple(KeyValues(kv.keys[:, :, :n], kv.values[:, :, :n]) for kv in after.past)
    return replace(after, tokens=after.tokens[:, :n], past=past)


def speculate(
    target: NextTokenModel,
    draft: NextTokenModel,
    src: Int[Tensor, "1 src"],
    k: int = 4,
    temperature: float = 0.0,
    seed: int = 0,
    extra_length: int = 50,
    prefix: Sequence[int] = (),
) -> Speculation:
    """Translate one sentence as ``target`` would, in fewer calls of it.

    ``draft`` draws k tokens, each x with probability q(x), and one call of the target computes its
    p(x) of all. In turn they are accepted with probability min(1, p(x) / q(x)). In place of the
    first rejected one, a token is drawn from max(0, p − q), scaled to sum to 1; if none is
    rejected, one more is drawn from p. So all tokens have the distribution p; at temperature 0 the
    translation is that of greedy search. It has to begin with ``prefix``.

    Source: Leviathan et al. 2023, Algorithm 1; Chen et al. 2023b, Algorithm 2.

    Raises:
        InputError: if a setting is out of its range, there is more than one sentence, of which each
            would advance by another number of tokens, the two vocabularies or their special tokens
            differ, or the prefix cannot be continued.
    """
    require_whole("k", k, 1)
    require_number("temperature", temperature)
    # Refuses what is out of range; a temperature of 0 is greedy search.
    Search(sample=True, temperature=temperature or 1.0, seed=seed, extra_length=extra_length)
    require_ids("src", src, None)
    limits = [Limits(m, src, extra_length, [prefix] * len(src)) for m in (target, draft)]
    given = limits[0].given
    most = [int(limit.longest.min()) + 1 - given for limit in limits]  # with what is read first
    if len(src) != 1:
        raise InputError(f"there are {len(src)} sentences, there must be one.")
    sizes = [model.vocabulary_size("tgt") for model in (target, draft)]
    if sizes[0] != sizes[1]:
        raise InputError(f"the target vocabularies have {sizes[0]} and {sizes[1]} tokens, not one.")
    special = [(model.begin, *model.ends) for model in (target, draft)]
    if special[0] != special[1]:
        raise InputError(f"the special tokens are {special[0]} and {special[1]}, not the same.")
    random, drafted, accepted, ends = Random(seed), list[int](), list[int](), target.ends
    tokens = unread = [*limits[0].first.tolist(), *prefix[given:]]
    with evaluating(target), evaluating(draft):
        # The target has read all tokens but the newest, the draft all that are not ``unread``.
        known, state = target.start(src), draft.start(src)
        if tokens[1:]:
            known = target.extend(known, src.new_tensor([tokens[:-1]]))[1]
        ended = False
        while not ended and len(tokens) < most[0]:
            guess, q, states = list[int](), list[Tensor](), [state]
            room = min(k, min(most) - 1 - len(tokens))
            while len(guess) < room and guess == without_end(guess, ends):
                logits, state = draft.extend(states[-1], src.new_tensor([unread]))
                q.append(probabilities(logits[:, -1], temperature, draft.begin)[0])
                states.append(state)
                unread = random.choices(range(len(q[-1])), q[-1].tolist())
                guess += unread
            reading = src.new_tensor([[tokens[-1], *without_end(guess, ends)]])
            logits, after = target.extend(known, reading)
            p, n = probabilities(logits[0], temperature, target.begin), 0
            while n < len(guess) and random.random() * q[n][guess[n]] < p[n][guess[n]]:
                n += 1
            all_accepted, more = n == len(guess), guess[:n]
            if without_end(more, ends) == more:
                rest = p[n] if all_accepted else (p[n] - q[n]).clamp(min=0)
                more += random.choices(range(len(rest)), rest.tolist())
            ended, tokens = more[-1] in ends, tokens + more
            drafted.append(len(guess))
            accepted.append(n)
            known = after if all_accepted else rewind(target, known, after, reading[:, : n + 1])
            state, unread = states[: n + 2][-1], tokens[-2:] if all_accepted else tokens[-1:]
    return Speculation(without_end(tokens[1 - given :], ends), drafted, accepted)
