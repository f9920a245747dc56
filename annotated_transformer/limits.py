"""Limits: how long translations may become, and with what they have to begin."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from annotated_transformer.errors import InputError
from annotated_transformer.inputs import require_ids, require_sentences
from annotated_transformer.tokens import EOS, PAD, UNK
from annotated_transformer.translator import Translator


class Limits:
    """Of every sentence of a batch, the longest length and the prefix of its translation."""

    def __init__(
        self,
        model: Translator,
        src: Int[Tensor, "batch src"],
        extra_length: int,
        prefixes: Sequence[Sequence[int]] | None,
    ) -> None:
        """Work out the limits for sentences, ``EOS`` counted: their own length and some more.

        No translation has more tokens than the model has positions.

        Raises:
            InputError: if the sentences are no ids of the model's vocabulary or too long for it,
                there are not as many prefixes, one holds a special token or is longer than its
                translation may be.
        """
        require_ids("src", src, model.vocabulary_size("src"))
        longest = (src != PAD).sum(dim=1) + extra_length
        self.longest = longest if model.max_length is None else longest.clamp(max=model.max_length)
        prefixes = [[]] * len(src) if prefixes is None else prefixes
        if len(prefixes) != len(src):
            raise InputError(f"there are {len(prefixes)} prefixes for {len(src)} sentences.")
        require_sentences(prefixes)
        for prefix, limit in zip(prefixes, self.longest.tolist(), strict=True):
            if min(prefix, default=UNK) <= EOS or len(prefix) > limit:
                raise InputError(
                    f"a prefix is {list(prefix)}: it may have {limit} tokens, and no special one."
                )
        width = max(map(len, prefixes))
        rows = [[*prefix, *[PAD] * (width - len(prefix))] for prefix in prefixes]
        self.prefixes = src.new_tensor(rows).view(len(src), width)

    def force(
        self, log_probs: Float[Tensor, "rows vocab"], sentence: Int[Tensor, " rows"], length: int
    ) -> Float[Tensor, "rows vocab"]:
        """Log-probabilities in which only the token of the prefix remains, where there is one."""
        if length >= self.prefixes.size(1):
            return log_probs
        wanted = self.prefixes[sentence, length, None]
        if wanted.max() >= log_probs.size(1):
            raise InputError(
                f"a prefix holds id {wanted.max()}, the vocabulary has {log_probs.size(1)} tokens."
            )
        tokens = torch.arange(log_probs.size(1), device=log_probs.device)
        return log_probs.masked_fill((wanted != PAD) & (tokens != wanted), -torch.inf)

    def reached(
        self, token: Int[Tensor, " rows"], sentence: Int[Tensor, " rows"], length: int
    ) -> Bool[Tensor, " rows"]:
        """Which rows end with their newest token, the ``length``-th: by ``EOS``, or the limit."""
        return (token == EOS) | (length >= self.longest[sentence])
