"""Requests and answers from the toy corpus: the texts with which a predictor learns to follow."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.batches import pad
from annotated_transformer.decoding import without_end
from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.tokens import EOS, PAD, Vocabulary
from annotated_transformer.toy import Pair, toy_corpus
from transformer_workbook.notebook.experiments import drawn_in_float64

TASKS = ("translate", "reverse", "tag", "count")
USER, ASSISTANT = "<user>", "<assistant>"
KEPT = ("dog", "tiger", "book", "teacher", "girl", "king", "letter", "robot")
"""Nouns whose sentences are never reversed in training, though they occur in all other tasks."""

Example = tuple[list[int], list[int]]
"""What a model reads, and the label at each position: the next token, or PAD if none counts."""


def answer(task: str, pair: Pair) -> list[str]:
    """Answer a request about the English sentence of a pair."""
    return {
        "translate": list(pair.tgt),
        "reverse": [*reversed(pair.src)],
        "tag": pair.template.split(),
        "count": [str(len(pair.src))],
    }[task]


def example(prompt: list[int], wanted: list[int], everything: bool = False) -> Example:
    """Make what is read and the labels, of the answer and ``EOS`` alone or of everything."""
    text = [*prompt, *wanted, EOS]
    start = 1 if everything else len(prompt)
    return text[:-1], [PAD] * (start - 1) + text[start:]


@dataclass(frozen=True)
class Following:
    """Short sentence pairs, and one vocabulary of both languages, the tasks, tags and numbers."""

    pairs: dict[str, list[Pair]]
    vocabulary: Vocabulary

    @classmethod
    @cache
    def make(cls) -> "Following":
        """Make sentences of up to eight words or morphemes."""
        pairs = toy_corpus(4000, max_length=8, max_depth=1)
        words = [word for pair in pairs["train"] for task in TASKS for word in answer(task, pair)]
        return cls(pairs, Vocabulary.words([" ".join([USER, *TASKS, ASSISTANT, ".", *words])]))

    def build(self, seed: int = 0) -> LanguageModel:
        """Build an untrained language model, whose weights were drawn in float64."""
        sizes = {"d_ff": 128, "dropout": 0.0, "norm_position": "pre", "max_length": 64}
        size = len(self.vocabulary)
        config: Any = LanguageModelConfig.tiny(size, size, has_source=False, **sizes)
        with drawn_in_float64():
            torch.manual_seed(seed)
            model = LanguageModel(config)
        return model.float()

    def ids(self, words: Sequence[str]) -> list[int]:
        """Convert words to ids."""
        return self.vocabulary.encode(" ".join(words))

    def prompt(self, task: str, pair: Pair) -> list[int]:
        """Write a request, up to the token after which the answer begins."""
        return self.ids([USER, task, *pair.src, ASSISTANT])

    def example(self, task: str, pair: Pair, everything: bool = False) -> Example:
        """Write a request with its answer; the prompt has no labels, unless everything has."""
        return example(self.prompt(task, pair), self.ids(answer(task, pair)), everything)

    def plain(self, split: str, seed: int = 0, apart: bool = False) -> list[Example]:
        """Write texts of two sentences, in which every token is a label.

        Half of the texts are an English sentence and its translation, the others two sentences of
        one language. With ``apart`` all are of one language: none is beside its translation.
        """
        draw, examples = random.Random(seed), []
        pairs = draw.sample(self.pairs[split], len(self.pairs[split]))
        for first, second in zip(pairs[::2], pairs[1::2], strict=True):
            texts = [(first.src, second.src), (first.tgt, second.tgt)]
            if draw.random() < 0.5 and not apart:
                texts = [(first.src, first.tgt), (second.src, second.tgt)]
            for one, two in texts:
                text = [*self.ids([*one, ".", *two, "."]), EOS]
                examples.append((text[:-1], text[1:]))
        return examples

    def mixture(self, number: int, seed: int = 0, everything: bool = False) -> list[Example]:
        """Draw as many examples from all tasks in equal shares, without the pairs that are kept."""
        pairs = random.Random(seed).sample(self.pairs["train"], number)
        tasks = [TASKS[n % len(TASKS)] for n in range(number)]
        tasks = [
            "translate" if task == "reverse" and set(pair.src) & set(KEPT) else task
            for task, pair in zip(tasks, pairs, strict=True)
        ]
        return [self.example(*one, everything) for one in zip(tasks, pairs, strict=True)]


def batch_of(examples: Sequence[Example]) -> tuple[Tensor, Tensor]:
    """Pad what is read and the labels to two tensors (batch, time)."""
    texts, labels = zip(*examples, strict=True)
    return pad(texts), pad(labels)


def loss_of(model: LanguageModel, examples: Sequence[Example]) -> Any:
    """Compute the mean cross-entropy over the labels that count."""
    texts, labels = batch_of(examples)
    return F.cross_entropy(model(texts).mT, labels, ignore_index=PAD)


def continued(
    model: LanguageModel,
    prompts: Sequence[list[int]],
    choose: Callable[[Tensor], Tensor],
    longest: int = 12,
) -> list[list[int]]:
    """Continue every prompt to its ``EOS``, or to the longest answer, by tokens chosen from p."""
    read = pad([prompt[::-1] for prompt in prompts]).flip(1)  # padded on the left
    written: list[Tensor] = []
    with torch.no_grad():
        logits, state = model.extend(model.empty(len(read)), read)
        for _ in range(longest):
            written.append(choose(logits[:, -1].softmax(dim=-1)))  # (batch, 1)
            logits, state = model.extend(state, written[-1])
    rows = torch.cat(written, dim=1).tolist()
    return [row[: row.index(EOS) + 1] if EOS in row else row for row in rows]


def answers(model: LanguageModel, prompts: Sequence[list[int]]) -> list[list[int]]:
    """Continue every prompt by its most probable tokens; ``EOS`` is left out."""
    rows = continued(model, prompts, lambda p: p.argmax(dim=-1, keepdim=True))
    return [without_end(row) for row in rows]
