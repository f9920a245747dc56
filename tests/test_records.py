"""The records of the book say how they were made, are fair, and come out again."""

import csv
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import make_records
from make_records import MODELS, RATES, RECORDS, SEEDS

ROOT = Path(__file__).resolve().parent.parent
TABLES = ["part1", "seq2seq_budgets", "part1_times"]
# Training differs a little between processors, and this is how far apart two may be.
TOLERANCES = {"val_perplexity": 0.1, "exact": 0.05, "longer": 0.05, "aer": 0.05}


def rows_of(name: str) -> list[dict[str, Any]]:
    return make_records.read(RECORDS / f"{name}.csv")


@pytest.mark.parametrize("name", TABLES)
def test_a_record_says_how_it_was_made(name: str) -> None:
    made = json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))
    assert made["command"] == make_records.COMMAND
    assert {"python", "torch", "machine"} <= made.keys()
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "\nrecords:" in makefile


def test_every_model_had_the_same_number_of_trials() -> None:
    rows = rows_of("part1")
    trials = Counter((row["model"], row["rate"]) for row in rows if row["seed"] == str(SEEDS[0]))
    assert trials == {(name, str(rate)): 1 for name in MODELS for rate in RATES}


def test_the_chosen_runs_are_those_of_the_best_trial() -> None:
    rows = rows_of("part1")
    for name in MODELS:
        chosen = [row for row in rows if row["model"] == name and row["chosen"] == "True"]
        assert [int(row["seed"]) for row in chosen] == list(SEEDS)
        assert {float(row["rate"]) for row in chosen} == {make_records.best_rate(rows, name)}
        best = min(
            float(row["val_perplexity"]) for row in rows if row["model"] == name
            and row["seed"] == str(SEEDS[0])
        )  # fmt: skip
        assert float(chosen[0]["val_perplexity"]) == best


def remade(call: str) -> dict[str, Any]:
    """Make a row again, in a process without the checks of types, which would take minutes."""
    program = f"import json, make_records; print(json.dumps(make_records.{call}))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tools")])}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    row: dict[str, Any] = json.loads(result.stdout)
    return row


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("part1", "train_and_measure('Luong, dot', 0.004, 0)"),
        ("seq2seq_budgets", "train_and_measure('seq2seq, GRU', 0.004, 0, 500)"),
    ],
)
def test_a_row_comes_out_again(name: str, call: str) -> None:
    again = remade(call)
    keys = ["model", "rate", "seed", "steps", "hidden_dim", "parameters", "operations"]
    (stored,) = (r for r in rows_of(name) if all(r[key] == str(again[key]) for key in keys))
    for column, tolerance in TOLERANCES.items():
        if stored[column]:
            assert again[column] == pytest.approx(float(stored[column]), abs=tolerance), column
    for column in make_records.BINS:
        assert again[column] == pytest.approx(float(stored[column]), abs=0.1), column


def test_times_are_ratios_to_a_peer_in_the_same_process() -> None:
    again = remade("time_steps('seq2seq, GRU', repeats=1)")
    stored = rows_of("part1_times")
    assert [row["model"] for row in stored] == list(MODELS)
    assert list(stored[0]) == list(again)
    assert again["ratio_to_gru"] == 1
    assert all(float(row["milliseconds"]) > 0 for row in stored)


def row_for(model: str, seed: int) -> dict[str, Any]:
    return {"model": model, "seed": seed, "process": os.getpid()}


def test_only_missing_rows_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECORD_WORKERS", "1")
    path = tmp_path / "x.csv"
    first = make_records.extend(path, row_for, [("a", 0)], ["model", "seed"])
    both = make_records.extend(path, row_for, [("a", 0), ("b", 1)], ["model", "seed"])
    assert [row["model"] for row in both] == ["a", "b"]
    assert both[0]["process"] == str(first[0]["process"])
    with path.open(newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 2
