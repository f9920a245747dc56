"""Numbers and their English words: a translation of which anybody can say whether it is right."""

ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
SIZES = {"billion": 10**9, "million": 10**6, "thousand": 1000, "hundred": 100}


def aloud(number: int) -> list[str]:
    """Say a number from 0 to 999,999,999,999 in English words.

    >>> " ".join(aloud(1907))
    'one thousand nine hundred and seven'
    """
    for name, size in SIZES.items():
        if number >= size:
            rest = number % size
            link = ["and"] if 0 < rest < 100 else []
            return [*aloud(number // size), name, *link, *(aloud(rest) if rest else [])]
    if number < 20:
        return [ONES.split()[number]]
    return [TENS.split()[number // 10 - 2], *(aloud(number % 10) if number % 10 else [])]
