"""The records of the book say how they were made, are fair, and come out again."""

import csv
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import pytest

import make_records
import record_runs
import record_tables
import records_part1
import records_part2
from annotated_transformer.errors import InputError
from annotated_transformer.luong import DotAttention
from record_runs import RATES, SEEDS
from record_tables import RECORDS

ROOT = Path(__file__).resolve().parent.parent
TABLES = [
    "part1", "seq2seq_budgets", "part1_times", "part2", "heads_cost", "norms", "training_times",
    "transformer_budgets", "too_high", "beams", "cache_times", "copying", "layers_times", "heads",
]  # fmt: skip
PARTS = {"part1": records_part1, "part2": records_part2}
# Training differs a little between processors, and this is how far apart two may be.
TOLERANCES = {"val_perplexity": 0.1, "exact": 0.05, "longer": 0.05, "aer": 0.05}


def rows_of(name: str) -> list[dict[str, Any]]:
    return record_tables.read(RECORDS / f"{name}.csv")


@pytest.mark.parametrize("name", TABLES)
def test_a_record_says_how_it_was_made(name: str) -> None:
    made = json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))
    assert made["command"] == record_tables.COMMAND
    assert {"python", "torch", "machine"} <= made.keys()
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "\nrecords:" in makefile


@pytest.mark.parametrize("part", PARTS)
def test_every_model_had_the_same_number_of_trials(part: str) -> None:
    rows = rows_of(part)
    trials = Counter((row["model"], row["rate"]) for row in rows if row["seed"] == str(SEEDS[0]))
    assert trials == {(name, str(rate)): 1 for name in PARTS[part].MODELS for rate in RATES}


@pytest.mark.parametrize("part", PARTS)
def test_the_chosen_runs_are_those_of_the_best_trial(part: str) -> None:
    rows = rows_of(part)
    for name in PARTS[part].MODELS:
        chosen = [row for row in rows if row["model"] == name and row["chosen"] == "True"]
        assert [int(row["seed"]) for row in chosen] == list(SEEDS)
        assert {float(row["rate"]) for row in chosen} == {record_runs.best_rate(rows, name)}
        best = min(
            float(row["val_perplexity"]) for row in rows if row["model"] == name
            and row["seed"] == str(SEEDS[0])
        )  # fmt: skip
        assert float(chosen[0]["val_perplexity"]) == best


def remade(call: str) -> dict[str, Any]:
    """Make a row again, in a process without the checks of types, which would take minutes."""
    module = call.split(".")[0]
    program = f"import json, {module}; print(json.dumps({call}))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tools")])}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    row: dict[str, Any] = json.loads(result.stdout)
    return row


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("part1", "records_part1.train_and_measure('Luong, dot', 0.004, 0)"),
        ("seq2seq_budgets", "records_part1.train_and_measure('seq2seq, GRU', 0.004, 0, 500)"),
    ],
)
def test_a_row_comes_out_again(name: str, call: str) -> None:
    again = remade(call)
    measured = {"val_perplexity", "exact", "longer", "aer", *record_runs.COLUMNS}
    keys = again.keys() - measured
    (stored,) = (r for r in rows_of(name) if all(r[key] == str(again[key]) for key in keys))
    for column, tolerance in TOLERANCES.items():
        if stored[column]:
            assert again[column] == pytest.approx(float(stored[column]), abs=tolerance), column
    for column in record_runs.COLUMNS:
        assert again[column] == pytest.approx(float(stored[column]), abs=0.1), column


@pytest.mark.parametrize(
    ("name", "call", "measured"),
    [
        ("norms", "records_part3_norm.train('pre', 6, 0, 0)", ["step_200"]),
        (
            "copying",
            "records_part3_copying.measure('self-attention', 5, 0)",
            ["rate 0.003", "rate 0.01"],
        ),
    ],
)
def test_a_small_training_comes_out_again(name: str, call: str, measured: list[str]) -> None:
    """At its end; in the middle of their curves, trainings differ more between processors."""
    again = remade(call)
    keys = [key for key in again if not key.startswith(("step_", "rate "))]
    (stored,) = (r for r in rows_of(name) if all(r[key] == str(again[key]) for key in keys))
    for column in measured:
        assert again[column] == pytest.approx(float(stored[column]), abs=0.05), column


class FakeTrainer:
    """Needs 10 ms of the fake clock for a step of the GRU and 20 ms for one of another model."""

    clock = 0.0
    calls: ClassVar[list[str]] = []

    def __init__(self, name: str, *_: object) -> None:
        self.name = name

    def update(self, parts: list[object]) -> None:
        FakeTrainer.clock += 0.01 if self.name == "seq2seq, GRU" else 0.02
        FakeTrainer.calls.append(self.name)


def test_a_time_is_that_of_a_step_and_stands_beside_the_gru_in_the_same_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class NoTask:
        def examples(self, split: str) -> list[tuple[list[int], list[int]]]:
            return [([5], [6])]

    monkeypatch.setattr(records_part1, "task", NoTask)
    monkeypatch.setattr(records_part1, "build", lambda name: name)
    monkeypatch.setattr(records_part1, "Trainer", FakeTrainer)
    monkeypatch.setattr(record_runs.time, "process_time", lambda: FakeTrainer.clock)
    row = records_part1.time_steps("Bahdanau", repeats=2)
    assert row == {"model": "Bahdanau", "milliseconds": 20.0, "ratio_to_gru": 2.0}
    assert FakeTrainer.calls == (["Bahdanau"] * 5 + ["seq2seq, GRU"] * 5) * 2
    assert list(row) == list(rows_of("part1_times")[0])


def test_the_times_are_those_of_every_model() -> None:
    rows = rows_of("part1_times")
    assert [row["model"] for row in rows] == list(records_part1.MODELS)
    (itself,) = (row for row in rows if row["model"] == "seq2seq, GRU")
    assert float(itself["ratio_to_gru"]) == pytest.approx(1, abs=0.1)
    assert all(float(row["milliseconds"]) > 0 for row in rows)


def row_for(model: str, seed: int) -> dict[str, Any]:
    return {"model": model, "seed": seed, "process": os.getpid()}


def test_only_missing_rows_are_made_and_all_stand_in_the_order_of_the_tasks(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    keys = ["model", "seed"]
    first = record_tables.extend(path, row_for, [("b", 1)], keys, workers=1)
    both = record_tables.extend(path, row_for, [("a", 0), ("b", 1)], keys, workers=1)
    assert [row["model"] for row in both] == ["a", "b"]
    assert both[1]["process"] == str(first[0]["process"])
    with path.open(newline="", encoding="utf-8") as file:
        assert [row["model"] for row in csv.DictReader(file)] == ["a", "b"]


def test_rows_of_other_versions_are_not_mixed(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    record_tables.write(path, [row_for("a", 0)])
    path.with_suffix(".json").write_text('{"torch": "1.0"}')
    with pytest.raises(InputError, match=r"x\.csv was made with .*delete it first"):
        record_tables.extend(path, row_for, [("a", 0), ("b", 1)], ["model", "seed"])


def test_the_committed_records_are_complete_and_making_them_again_changes_no_byte(
    tmp_path: Path,
) -> None:
    for path in RECORDS.iterdir():
        shutil.copy(path, tmp_path)
    assert make_records.main(tmp_path) == 0
    for path in RECORDS.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("part", PARTS)
def test_the_chosen_runs_are_marked_by_the_tool(part: str) -> None:
    rows = rows_of(part)
    assert record_runs.mark_chosen(rows) == [
        {**row, "chosen": row["chosen"] == "True"} for row in rows
    ]


def test_the_models_of_part_two_differ_in_what_their_names_say() -> None:
    models = {name: records_part2.build(name) for name in records_part2.MODELS}
    heads = {name: model.config.num_heads for name, model in models.items()}
    assert heads == dict.fromkeys(heads, 4) | {"1 head": 1, "2 heads": 2, "8 heads": 8}
    learned = {name: model.src_embedding.positions.table for name, model in models.items()}
    assert {n for n, table in learned.items() if table.requires_grad} == {"learned"}
    assert {n for n, table in learned.items() if not table.any()} == {"none"}
    plain = {n for n, model in models.items() for m in model.modules() if type(m) is DotAttention}
    assert plain == {"unscaled"}


def test_the_cost_of_heads_is_that_of_the_same_operations() -> None:
    rows = rows_of("heads_cost")
    assert [int(row["num_heads"]) for row in rows] == list(records_part2.HEADS)
    positions, width = records_part2.SENTENCES * records_part2.POSITIONS, records_part2.D_MODEL
    projections = 4 * 2 * positions * width**2
    products = 2 * 2 * positions * records_part2.POSITIONS * width
    assert {int(row["operations"]) for row in rows} == {projections + products}
    assert {int(row["d_k"]) * int(row["num_heads"]) for row in rows} == {width}
    assert float(rows[0]["ratio_to_one"]) == pytest.approx(1, abs=0.1)
