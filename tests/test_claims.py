"""What the pages claim of trained models is what the rows of the records say.

Two conditions and a direction stand in `book/records/comparisons.toml`; here is what is claimed
otherwise: a number of parameters that is the same, an order of several.
"""

import math
from itertools import pairwise
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from scipy import stats

from transformer_workbook.notebook import (
    Interval,
    comparisons,
    difference,
    mean_interval,
    paired_difference,
)
from transformer_workbook.notebook.comparisons import Comparison

RECORDS = Path(__file__).resolve().parent.parent / "book" / "records"
PAGES = [
    "".join(cell.source for cell in nbformat.read(path, 4).cells)
    for path in sorted(RECORDS.parent.glob("**/*.ipynb"))
]

BINS = ["4-6", "7-9", "10-12", "13-15", "16-18"]


def record(name: str) -> pd.DataFrame:
    return pd.read_csv(RECORDS / f"{name}.csv")


def fresh(name: str, column: str, **wanted: object) -> list[float]:
    """Per cent, one for each fresh seed, of the runs with these settings."""
    rows = record(name)
    for key, value in wanted.items():
        rows = rows[rows[key] == value]
    return (100 * rows[rows.seed > 0].sort_values("seed")[column]).tolist()


COMPARISONS = comparisons(RECORDS)


def p_value(comparison: Comparison, first: str, second: str) -> float:
    ours, theirs = comparison.runs(first), comparison.runs(second)
    if len(set(ours)) == len(set(theirs)) == 1:
        return float(ours == theirs)
    if comparison.paired:
        return stats.ttest_rel(ours, theirs).pvalue
    return stats.ttest_ind(ours, theirs, equal_var=False).pvalue


CLAIMS = [(name, *claim) for name, c in COMPARISONS.items() for claim in c.claims]


@pytest.fixture(scope="module")
def chance() -> dict[tuple[str, ...], float]:
    """The share of claims that may be chance, if each with a p-value up to this one is made."""
    p_values = [p_value(COMPARISONS[name], first, second) for name, first, _, second in CLAIMS]
    return dict(zip(CLAIMS, stats.false_discovery_control(p_values), strict=True))


@pytest.mark.filterwarnings("ignore:Precision loss")
@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_is_what_the_rows_say(
    claim: tuple[str, ...], chance: dict[tuple[str, ...], float]
) -> None:
    name, first, relation, second = claim
    gain, margin = COMPARISONS[name].difference(first, second), COMPARISONS[name].margin
    if relation == "~":
        assert -margin <= gain.low <= gain.high <= margin
    else:
        settled = gain.sign if chance[claim] < 0.05 else 0
        assert settled == {">": 1, "<": -1, "?": 0}[relation], f"{gain:.3f}"


@pytest.mark.parametrize("name", COMPARISONS)
def test_each_condition_has_five_runs_that_chose_nothing_and_a_page_shows_it(name: str) -> None:
    comparison = COMPARISONS[name]
    assert min(len(comparison.runs(condition)) for condition in comparison.conditions) >= 5
    assert any(f'compare("{name}"' in source for source in PAGES)


LESSONS = "".join(
    cell.source
    for path in [*RECORDS.parent.glob("[0-9]*.ipynb"), *RECORDS.parent.glob("further/*.ipynb")]
    for cell in nbformat.read(path, 4).cells
)


@pytest.mark.parametrize("name", [name for name in COMPARISONS if f'compare("{name}"' in LESSONS])
def test_what_a_lesson_concludes_has_rows_of_another_method(name: str) -> None:
    refuter = COMPARISONS[name].refuter
    assert refuter in COMPARISONS or (RECORDS / f"{refuter}.csv").exists()


@pytest.mark.parametrize("budget", [{"steps": 4000}, {"hidden_dim": 256}])
def test_with_more_steps_or_width_the_share_falls_with_every_bin(budget: dict[str, int]) -> None:
    by_bin = [fresh("recurrent_budgets", column, **budget) for column in BINS]
    assert all(sum(shorter) > sum(longer) for shorter, longer in pairwise(by_bin))


def test_heads_with_fast_pairs_alone_make_no_mistake_at_the_length_of_training() -> None:
    assert set(fresh("length_heads", "plain_16", model="rotary 32, fast pairs only")) == {100}


def to_the_right(reads: str) -> Interval:
    rows = record("recurrent_looks").query("reads == @reads")
    return mean_interval((100 * rows.right / (rows.right + rows.left)).tolist())


def test_the_misses_turn_round_with_the_encoder() -> None:
    assert to_the_right("left to right").low > 50
    assert to_the_right("right to left").high < 50


def test_the_factor_buys_time_and_later_nothing_that_one_would_notice() -> None:
    factor = COMPARISONS["factor"]
    early, late = (
        difference(
            factor.runs(f"{steps} steps, divided by √d_k"),
            factor.runs(f"{steps} steps, not divided"),
        )
        for steps in ("100", "1,000")
    )
    assert early.low > 10
    assert -2 < late.low < late.high < 2


def test_one_matrix_or_none_for_queries_and_keys_does_not_solve_the_party() -> None:
    rows = record("scaling").query("model != 'shared' or d_k == 256")
    most = rows.groupby("model")[["right_100", "right_300", "right_1000"]].max().max(axis=1)
    assert most["shared"] < 1 / 7
    assert max(most["itself"], most["itself, small"]) < 1 / 7
    assert rows[rows.model == "itself, small"].on_itself.max() < 0.5


@pytest.mark.parametrize(
    ("ours", "theirs", "sign"),
    [
        ("shortcut, 24", "plain, 24", 1),
        ("plain, 24, looks linear", "plain, 24", 1),
        ("shortcut, 24", "plain, 24, looks linear", -1),
    ],
)
def test_shortcuts_or_linear_first_layers_make_more_learning_rates_usable(
    ours: str, theirs: str, sign: int
) -> None:
    rows = record("stacks").query("seed >= 10 and warmup == 0")
    usable = (rows.loss_600 < 0.1).groupby([rows.kind, rows.seed]).sum().astype(float)
    assert difference(usable[ours].tolist(), usable[theirs].tolist()).sign == sign


def test_the_checkpoint_goes_by_the_order_in_active_sentences_and_reads_the_passive() -> None:
    rows = record("who_acts").set_index("construction")
    assert (rows["first"]["object first"] >= 19).all()
    assert (rows["second"]["passive"] >= 14).all()


def test_heads_cost_no_parameters() -> None:
    assert record("heads_cost").parameters.nunique() == 1
    transformers = record("transformers")
    of_heads = transformers[
        transformers.model.str.contains("head") | (transformers.model == "sinusoidal")
    ]
    assert of_heads.model.nunique() == 4
    assert of_heads.parameters.nunique() == 1


def test_zero_ablation_of_any_head_of_the_decoders_costs_translations() -> None:
    ten = record("heads_out")
    kept = ten[[f"without_{head}" for head in range(1, 5)]]
    assert (kept.lt(ten.exact, axis=0)).all(axis=None)


def test_heads_align_better_together_and_the_best_of_them_costs_more_than_the_worst() -> None:
    ten = record("heads_out")
    errors = ten[[f"aer_{head}" for head in range(1, 5)]].to_numpy()
    kept = ten[[f"without_{head}" for head in range(1, 5)]].to_numpy()
    rows = range(len(ten))
    best, worst = (kept[rows, pick].tolist() for pick in (errors.argmin(1), errors.argmax(1)))
    assert paired_difference(errors.min(1).tolist(), ten.aer_mean.tolist()).sign == 1
    assert paired_difference(best, worst).sign == -1


def test_no_difference_is_seen_between_objects_and_other_words_at_their_distance() -> None:
    heads = record("heads").query("model == 'Transformer' and seed > 0")
    scores = heads.object_score.tolist(), heads.object_control.tolist()
    assert paired_difference(*scores).sign == 0


def test_four_ways_of_ablation_agree_on_the_head_with_the_largest_effect() -> None:
    rows = record("heads_ablations")
    assert len(rows) == 20
    assert rows.same.all()


def test_trained_for_longer_all_models_have_a_head_for_objects_and_four_hardly_need_it() -> None:
    longer = record("heads_longer").query("model == 'Transformer'")
    assert (longer.object_low > 0).sum() == len(longer) == 5
    assert (longer.object_damage < 0.01).sum() == 4


def test_the_cache_saves_more_the_longer_the_sentence() -> None:
    times = record("cache_times").sort_values("length")
    assert times.ratio.is_monotonic_increasing
    assert (times.ratio < (times.length + 1) / 2).all()


def test_no_head_of_the_recorded_models_uses_the_end_symbol_as_a_sink() -> None:
    heads = record("heads").query("model == 'Transformer'")
    assert (heads.sinks == 0).all()


PARTS = {  # first Bahdanau's choice, then Luong's
    "encoder": ("both directions", "one direction"),
    "context": ("before the step", "after the step"),
    "readout": ("with the word", "without the word"),
}
COSTS = {  # of what a choice of Bahdanau's costs more than one of Luong's
    "val_perplexity": {"encoder": 1, "context": 1, "readout": -1},
    "val_perplexity_equal_steps": {"encoder": 0, "context": 1, "readout": -1},
}


@pytest.mark.parametrize("measure", COSTS)
def test_two_parts_gain_time_and_after_as_many_steps_the_models_are_not_apart(measure: str) -> None:
    rows = record("race_parts").query("seed > 0")
    found = rows.set_index([*PARTS, "seed"])[measure].map(math.log).unstack("seed")
    for part, choices in PARTS.items():
        sides = [found.xs(choice, level=part) for choice in choices]
        alike = sides[0].index.intersection(sides[1].index)
        gain = difference(*(side.loc[alike].mean().tolist() for side in sides))
        assert gain.sign == COSTS[measure][part]
    ends = (found.loc[model].tolist() for model in zip(*PARTS.values(), strict=True))
    assert difference(*ends).sign == (measure == "val_perplexity")


@pytest.mark.parametrize(("name", "exact"), [("Bahdanau", 1), ("Luong, dot", -1)])
def test_on_longer_toy_sentences_both_recurrent_models_are_better_than_the_transformer(
    name: str, exact: int
) -> None:
    for column, sign in (("exact", exact), ("longer", 1)):
        mine = fresh("recurrent", column, model=name)
        theirs = fresh("transformers", column, model="sinusoidal")
        assert difference(mine, theirs).sign == sign


@pytest.mark.parametrize("name", ["block", "block_narrow"])
def test_every_block_is_as_large_as_that_of_2017(name: str) -> None:
    rows = record(name)
    [wanted] = rows[rows.model.isin(["2017", "2017, narrow"])].parameters.unique()
    assert (rows.parameters / wanted - 1).abs().max() < 0.002


@pytest.mark.parametrize("ours", ["QK-norm", "today"])
def test_with_qk_norm_rates_that_are_too_high_do_less_harm(ours: str) -> None:
    rows = record("block_rates").set_index(["rate", "seed", "model"]).val_perplexity.unstack()
    higher = rows[rows.index.get_level_values("rate") >= 0.016]
    assert (higher[ours] < higher["2017"]).all()
    losses = rows.map(math.log).groupby("rate").median()
    harm = losses - losses.iloc[0]
    assert harm[ours].iloc[3] < harm["2017"].iloc[2]  # at eight times the rate, and at four


def test_in_all_five_models_the_two_heads_are_the_circuit_of_induction() -> None:
    five = record("induction").query("model == 'two layers' and seed > 0")
    assert len(five) == 5
    assert (five[["previous", "prefix", "copies"]] > 0.9).all(axis=None)
    assert (five.matches == 1).all()
