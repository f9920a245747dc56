"""Multi-head attention: how large a layer is."""

from collections.abc import Callable

from transformer_workbook.judge.exercises import Derivation


def _head_sizes(
    d_model: int, num_heads: int, num_groups: int, d: int
) -> tuple[int, int, int, int, int]:
    """Count the parameters of a layer with groups, and what it keeps of a word."""
    query = (d_model + 1) * num_heads * d
    key_value = 2 * (d_model + 1) * num_groups * d
    output = (num_heads * d + 1) * d_model
    return query, key_value, output, query + key_value + output, 2 * num_groups * d


def _sizes(
    query: Callable[..., int] = lambda m, h, g, d: (m + 1) * h * d,
    pair: Callable[..., int] = lambda m, h, g, d: 2 * (m + 1) * g * d,
    output: Callable[..., int] = lambda m, h, g, d: (h * d + 1) * m,
    total: Callable[..., int] = lambda q, kv, out, kept: q + kv + out,
    kept: Callable[..., int] = lambda m, h, g, d: 2 * g * d,
) -> Callable[..., tuple[int, ...]]:
    """The counts with another step; the sum in step 4 follows."""

    def counts(*sizes: int) -> tuple[int, ...]:
        parts = query(*sizes), pair(*sizes), output(*sizes)
        return *parts, total(*parts, kept(*sizes)), kept(*sizes)

    return counts


def _apart(*sizes: int) -> tuple[int, ...]:
    query, pair, *others = _sizes()(*sizes)
    return query, pair // 2, pair // 2, *others


head_sizes = Derivation(
    reference=_head_sizes,
    given={
        "step 1 lacks its bias: one number for each of num_heads · d results.": (
            _sizes(query=lambda m, h, g, d: m * h * d)
        ),
        "step 1 is for heads that share d_model; here each has d numbers of its own.": (
            _sizes(query=lambda m, h, g, d: (m + 1) * m)
        ),
        "the bias of step 1 has d_model numbers; it has one for each result, num_heads · d.": (
            _sizes(query=lambda m, h, g, d: m * h * d + m)
        ),
        "step 1 is one head's matrix; there are num_heads.": (
            _sizes(query=lambda m, h, g, d: (m + 1) * d)
        ),
        "step 1 has one bias for each head; it has one for each result, num_heads · d.": (
            _sizes(query=lambda m, h, g, d: m * h * d + h)
        ),
        "step 1 has a single bias; it has one for each result, num_heads · d.": (
            _sizes(query=lambda m, h, g, d: m * h * d + 1)
        ),
        "step 1 has the bias of one head, d numbers; there are num_heads.": (
            _sizes(query=lambda m, h, g, d: m * h * d + d)
        ),
        "step 1 leaves the heads' width out: each result of each head is a number.": (
            _sizes(query=lambda m, h, g, d: (m + 1) * h)
        ),
        "step 1 counts the queries of a word, not the parameters that make them.": (
            _sizes(query=lambda m, h, g, d: h * d)
        ),
        "step 1 has the keys and values in it; they are step 2.": (
            _sizes(query=lambda m, h, g, d: (m + 1) * (h + 2 * g) * d)
        ),
        "step 1 counts the groups; each of the num_heads heads has queries of its own.": (
            _sizes(query=lambda m, h, g, d: (m + 1) * g * d)
        ),
        "step 2 has one bias for the keys and one for the values; each result has one.": (
            _sizes(pair=lambda m, h, g, d: 2 * m * g * d + 2)
        ),
        "step 2 has num_heads / num_groups heads; there are num_groups.": (
            _sizes(pair=lambda m, h, g, d: 2 * (m + 1) * (h // g) * d)
        ),
        "step 2 is the keys alone; the values need as many.": (
            _sizes(pair=lambda m, h, g, d: (m + 1) * g * d)
        ),
        "step 2 has the biases of one group; there are num_groups.": (
            _sizes(pair=lambda m, h, g, d: 2 * m * g * d + 2 * d)
        ),
        "step 2 has one bias for each group; it has one for each result, num_groups · d.": (
            _sizes(pair=lambda m, h, g, d: 2 * m * g * d + 2 * g)
        ),
        "the biases of step 2 have d_model numbers each; one has num_groups · d.": (
            _sizes(pair=lambda m, h, g, d: 2 * m * g * d + 2 * m)
        ),
        "step 2 leaves the width of a group out.": _sizes(pair=lambda m, h, g, d: 2 * (m + 1) * g),
        "step 2 is as wide as d_model; a group has d numbers.": (
            _sizes(pair=lambda m, h, g, d: 2 * (m + 1) * m)
        ),
        "step 2 lacks its biases.": _sizes(pair=lambda m, h, g, d: 2 * m * g * d),
        "step 2 has one bias for both; keys and values have one each.": (
            _sizes(pair=lambda m, h, g, d: 2 * m * g * d + g * d)
        ),
        "step 2 counts as many key heads as query heads; there are fewer groups.": (
            _sizes(pair=lambda m, h, g, d: 2 * (m + 1) * h * d)
        ),
        "step 2 is for one group; there are num_groups.": (
            _sizes(pair=lambda m, h, g, d: 2 * (m + 1) * d)
        ),
        "step 3 lacks its bias: d_model numbers.": _sizes(output=lambda m, h, g, d: h * d * m),
        "the bias of step 3 has num_heads · d numbers; it has one for each result, d_model.": (
            _sizes(output=lambda m, h, g, d: (m + 1) * h * d)
        ),
        "step 3 has a single bias; it has one for each result, d_model.": (
            _sizes(output=lambda m, h, g, d: h * d * m + 1)
        ),
        "the bias of step 3 has d numbers; it has one for each result, d_model.": (
            _sizes(output=lambda m, h, g, d: h * d * m + d)
        ),
        "step 3 reads one head; they stand side by side, num_heads · d numbers.": (
            _sizes(output=lambda m, h, g, d: (d + 1) * m)
        ),
        "step 3 takes d_model numbers in; the heads side by side have num_heads · d.": (
            _sizes(output=lambda m, h, g, d: (m + 1) * m)
        ),
        "step 3 reads the groups; the heads side by side have num_heads · d numbers.": (
            _sizes(output=lambda m, h, g, d: (g * d + 1) * m)
        ),
        "step 4 lacks the last matrix.": _sizes(total=lambda q, kv, out, kept: q + kv),
        "step 4 counts keys and values twice; step 2 has both.": (
            _sizes(total=lambda q, kv, out, kept: q + 2 * kv + out)
        ),
        "step 4 counts what is kept of a word, too; that is no parameter.": (
            _sizes(total=lambda q, kv, out, kept: q + kv + out + kept)
        ),
        "step 4 lacks the queries.": _sizes(total=lambda q, kv, out, kept: kv + out),
        "step 4 lacks keys and values.": _sizes(total=lambda q, kv, out, kept: q + out),
        "step 4 counts the queries twice.": _sizes(total=lambda q, kv, out, kept: 2 * q + kv + out),
        "keys and values have a step each here; step 2 is both together.": _apart,
        "step 5 counts the heads that are kept; each has d numbers.": (
            _sizes(kept=lambda m, h, g, d: 2 * g)
        ),
        "step 5 keeps the queries, too; keys and values alone are asked for again.": (
            _sizes(kept=lambda m, h, g, d: 2 * g * d + h * d)
        ),
        "step 5 counts parameters; what is kept of a word is its keys and values.": (
            _sizes(kept=lambda m, h, g, d: 2 * (m + 1) * g * d)
        ),
        "step 5 keeps the keys alone; the values are kept, too.": (
            _sizes(kept=lambda m, h, g, d: g * d)
        ),
        "step 5 keeps every query head; keys and values are kept for the groups alone.": (
            _sizes(kept=lambda m, h, g, d: 2 * h * d)
        ),
        "step 5 keeps one group; there are num_groups.": _sizes(kept=lambda m, h, g, d: 2 * d),
        "step 5 keeps 2 · d_model numbers, as without groups.": (
            _sizes(kept=lambda m, h, g, d: 2 * m)
        ),
    },
    cases=[(9, 3, 1, 3), (8, 4, 2, 5), (15, 6, 3, 4)],
)
