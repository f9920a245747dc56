"""How well counting predicts captions, beside a language model that reads the same tokens.

The card of ``checkpoints/multi30k-en`` says how they are printed.
"""

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from annotated_transformer.corpora import load_corpus
from annotated_transformer.evaluation import perplexity
from annotated_transformer.exchange.eight_bits import quantised, restored
from annotated_transformer.run import Run
from annotated_transformer.tokens import BOS, EOS
from annotated_transformer.weights import load_tensors
from records.captions import TEST

ORDERS = {"unigrams": 1, "trigrams": 3}


class Counts:
    """N-grams of texts, each order interpolated with the one below it.

    Source: Witten and Bell 1991, method C.
    """

    def __init__(self, texts: Iterable[Sequence[int]], order: int, vocabulary: int) -> None:
        self.order, self.vocabulary = order, vocabulary
        self.after: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
        for text in texts:
            for before, token in self.steps(text):
                for start in range(len(before) + 1):
                    self.after[before[start:]][token] += 1

    def steps(self, text: Sequence[int]) -> list[tuple[tuple[int, ...], int]]:
        """List every token of a text and its end, each with the tokens that predict it."""
        row, length = [*[BOS] * (self.order - 1), *text, EOS], self.order - 1
        return [(tuple(row[i - length : i]), row[i]) for i in range(length, len(row))]

    def probability(self, before: tuple[int, ...], token: int) -> float:
        """Compute the probability of a token after those before it."""
        below = self.probability(before[1:], token) if before else 1 / self.vocabulary
        found = self.after.get(before, Counter())
        if not found:
            return below
        return (found[token] + len(found) * below) / (found.total() + len(found))

    def perplexity(self, texts: Iterable[Sequence[int]]) -> float:
        """Compute exp of the mean negative log-likelihood of a token, the ends included."""
        steps = [step for text in texts for step in self.steps(text)]
        return math.exp(-sum(math.log(self.probability(*step)) for step in steps) / len(steps))


def main(folder: str) -> None:
    """Print a table: the perplexity of a token, and what it makes for a word."""
    run, corpus = Run.open(folder), load_corpus("multi30k", "en")
    train, test = (list(corpus.split(name)) for name in ("train", TEST))
    examples = run.vocabularies.encode(test)
    texts, unseen = (
        [ids for (ids,) in each] for each in (run.vocabularies.encode(train), examples)
    )
    tokens, words = (
        sum(len(each) + 1 for each in x) for x in (unseen, [t.split() for (t,) in test])
    )
    found = {
        name: Counts(texts, order, len(run.vocabularies.tgt)).perplexity(unseen)
        for name, order in ORDERS.items()
    }
    print("| model | perplexity of a token | of a word |\n|---|---|---|")
    found["this model"] = perplexity(run.model, examples)
    load_tensors(run.model, restored(quantised(dict(run.model.named_parameters()))))
    found["in 8 bits, as in a page"] = perplexity(run.model, examples)
    for name, value in found.items():
        print(f"| {name} | {value:.1f} | {value ** (tokens / words):.1f} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
