"""Translation: from the perplexity per subword to that per word."""

import math
from collections.abc import Callable

from transformer_workbook.judge.exercises import Derivation


def _perplexity_per_word(
    perplexity: float, tokens: int, words: int
) -> tuple[float, float, float, float]:
    """Go from the perplexity per subword to the perplexity per word, in four steps."""
    token = math.log(perplexity)
    text = token * tokens
    word = text / words
    return token, text, word, math.exp(word)


def _per_word(
    log: Callable[[float], float] = math.log,
    text: Callable[[float, int, int], float] = lambda loss, tokens, words: loss * tokens,
    word: Callable[[float, int, int], float] = lambda loss, tokens, words: loss / words,
    back: Callable[[float], float] = math.exp,
) -> Callable[[float, int, int], tuple[float, ...]]:
    """The four steps with another one among them; the rest follows from it."""

    def steps(perplexity: float, tokens: int, words: int) -> tuple[float, ...]:
        whole = text(log(perplexity), tokens, words)
        share = word(whole, tokens, words)
        return log(perplexity), whole, share, back(share)

    return steps


def _last(of: Callable[[float, int, int], float]) -> Callable[..., tuple[float, ...]]:
    """The same steps, but the last."""
    return lambda p, tokens, words: (
        *_perplexity_per_word(p, tokens, words)[:3],
        of(p, tokens, words),
    )


perplexity_per_word = Derivation(
    reference=_perplexity_per_word,
    given={
        "step 1 is to the base 2; the loss is a natural logarithm.": _per_word(math.log2),
        "step 1 is to the base 10; the loss is a natural logarithm.": _per_word(math.log10),
        "step 1 is the perplexity; the loss is its logarithm.": _per_word(lambda p: p),
        "step 1 is e to the power of the perplexity; its logarithm is asked for.": _per_word(
            math.exp, back=lambda x: x
        ),
        "step 1 has the wrong sign: a loss is not negative.": _per_word(lambda p: -math.log(p)),
        "step 2 is multiplied by the words; the text has as many losses as subwords.": _per_word(
            text=lambda loss, tokens, words: loss * words
        ),
        "step 2 is divided by the subwords; add up the losses of all.": _per_word(
            text=lambda loss, tokens, words: loss / tokens
        ),
        "step 2 is the loss of one subword; the text has as many losses as subwords.": _per_word(
            text=lambda loss, tokens, words: loss
        ),
        "step 3 is the loss of a subword again; divide by the words.": _per_word(
            word=lambda loss, tokens, words: loss / tokens
        ),
        "step 3 is multiplied by the words; divide by them.": _per_word(
            word=lambda loss, tokens, words: loss * words, back=lambda x: x
        ),
        "step 3 is the loss of the whole text; divide it by the words.": _per_word(
            word=lambda loss, tokens, words: loss
        ),
        "step 4 is the loss again; the perplexity is e to its power.": _per_word(back=lambda x: x),
        "step 4 is a power of 2; the loss is a natural logarithm.": _per_word(back=lambda x: 2**x),
        "step 4 has the wrong sign in the exponent: this is 1 divided by the perplexity.": (
            _per_word(back=lambda x: math.exp(-x))
        ),
        "step 4 scales the perplexity itself; only losses are shared out.": _last(
            lambda p, tokens, words: p * tokens / words
        ),
        "step 4 scales the perplexity the other way; only losses are shared out.": _last(
            lambda p, tokens, words: p * words / tokens
        ),
        "step 4 is the perplexity per subword.": _last(lambda p, tokens, words: p),
        "step 4 has the exponent upside down: a word has a larger loss than a subword.": _last(
            lambda p, tokens, words: p ** (words / tokens)
        ),
        "step 3 has one word too many; nothing is added to them.": _per_word(
            word=lambda loss, tokens, words: loss / (words + 1)
        ),
        "step 3 has one word too few.": _per_word(
            word=lambda loss, tokens, words: loss / (words - 1)
        ),
        "step 2 has one subword too many; nothing is added to them.": _per_word(
            text=lambda loss, tokens, words: loss * (tokens + 1)
        ),
        "step 2 has subwords and words; the text has as many losses as subwords.": _per_word(
            text=lambda loss, tokens, words: loss * (tokens + words)
        ),
        "step 2 is divided by the words already; that is step 3.": _per_word(
            text=lambda loss, tokens, words: loss * tokens / words
        ),
        "step 2 is the logarithm of subwords times perplexity; multiply the loss.": (
            lambda p, tokens, words: (
                math.log(p),
                math.log(p * tokens),
                *_perplexity_per_word(p, tokens, words)[2:],
            )
        ),
        "step 3 is divided by subwords and words; the whole is shared by the words.": _per_word(
            word=lambda loss, tokens, words: loss / (tokens + words)
        ),
        "step 3 is the words by the loss; divide the loss by the words.": _per_word(
            word=lambda loss, tokens, words: words / loss
        ),
        "step 4 is a power of 10; the loss is a natural logarithm.": _per_word(
            back=lambda x: 10**x
        ),
        "step 4 is e to the power of the whole text's loss.": _last(
            lambda p, tokens, words: p**tokens
        ),
        "step 4 is the perplexity times the subwords; only losses are shared out.": _last(
            lambda p, tokens, words: p * tokens
        ),
        "step 4 is the logarithm of step 3; the perplexity is e to its power.": _per_word(
            back=lambda x: math.log(x)
        ),
    },
    cases=[(5.0, 30, 20), (8.0, 16, 12), (2.5, 9, 8), (12.0, 40, 25), (3.0, 50, 20)],
)
