"""Numbers are said as English says them: the words, read by another rule, give the number back."""

import random

import pytest

from transformer_workbook.notebook import aloud

UP_TO_NINETEEN = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
SMALL = {word: i for i, word in enumerate(UP_TO_NINETEEN.split(), start=1)}
SMALL |= {word: 10 * i for i, word in enumerate(TENS.split(), start=2)}
LARGE = {"thousand": 10**3, "million": 10**6, "billion": 10**9}


def value(words: list[str]) -> int:
    """From left to right: *hundred* multiplies what is open, a larger word closes it."""
    closed = still_open = 0
    for word in words:
        if word == "hundred":
            still_open *= 100
        elif word in LARGE:
            closed, still_open = closed + still_open * LARGE[word], 0
        elif word != "and":
            still_open += SMALL[word]
    return closed + still_open


def test_words_give_the_number_back() -> None:
    random.seed(0)
    longer = [random.randrange(10 ** random.randint(5, 12)) for _ in range(2000)]
    for number in [*range(1, 10_000), *longer]:
        assert value(aloud(number)) == number


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "zero"),
        (2000, "two thousand"),
        (1907, "one thousand nine hundred and seven"),
        (1_000_013, "one million and thirteen"),
        (10**11 + 10**5, "one hundred billion one hundred thousand"),
    ],
)
def test_and_stands_before_the_last_two_digits(number: int, said: str) -> None:
    assert " ".join(aloud(number)) == said
