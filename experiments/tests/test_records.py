"""The records of the book say how they were made, are fair, and come out again."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import records
from annotated_transformer.ground.errors import InputError
from annotated_transformer.luong import DotAttention
from annotated_transformer.transformer import Transformer, TransformerConfig
from annotated_transformer.translator import evaluating
from records import (
    block,
    decoding,
    norm,
    parts,
    recurrent,
    scaling,
    tables,
    transformers,
    trials,
    tying,
)
from records.__main__ import main
from records.tables import RECORDS, Tables
from records.trials import SEEDS

ROOT = Path(__file__).resolve().parents[2]
TUNED = {
    "recurrent": tuple(recurrent.MODELS),
    "recurrent_scaled": tuple(recurrent.SCALED),
    "recurrent_as_large": tuple(recurrent.AS_LARGE),
    "transformers": tuple(transformers.MODELS),
    "heads": ("Transformer", "Bahdanau"),
    "block": tuple(block.MODELS),
    "block_narrow": tuple(block.NARROWED),
    "race_parts": tuple(parts.MODELS),
    "tied": tuple(tying.MODELS),
}


def rows_of(name: str) -> list[dict[str, Any]]:
    return tables.read(RECORDS / f"{name}.csv")


TWO_THREADS = {"capstone_tried"} | {
    f"bench_{name}" for name in ("two_threads", "levers_two_threads", "processes", "workers")
}


@pytest.mark.parametrize("name", records.TABLE)
def test_a_record_says_how_it_was_made(name: str) -> None:
    made = json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))
    group = records.TABLE[name].group
    assert made["command"] == f"make {group}"
    assert {"python", "torch"} <= made.keys()
    threads = "two threads" if name in TWO_THREADS else "one thread"
    assert made["machine"].endswith(f"{threads} a run")
    _, target = (ROOT / "tools" / "research.mk").read_text(encoding="utf-8").split(f"\n{group}:")
    assert target.split("\n\n")[0].endswith(f"-m records --group {group}")


@pytest.mark.parametrize("name", records.names_in("records"))
def test_a_record_names_the_run_that_would_refute_it(name: str) -> None:
    """Times and counts of operations claim nothing about models that another run would refute."""
    if not name.endswith(("_times", "_cost")):
        assert len(records.TABLE[name].refuter) > 60
    made = json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))
    assert made["about"] == records.TABLE[name].about
    assert made["refuter"] == records.TABLE[name].refuter


def test_every_table_that_was_made_is_in_the_table_of_names() -> None:
    assert {path.stem for path in RECORDS.glob("*.json")} == set(records.TABLE)
    assert {record.group for record in records.TABLE.values()} == set(records.GROUPS)


@pytest.mark.parametrize("name", TUNED)
def test_the_best_rate_lies_inside_the_grid_and_five_fresh_seeds_ran_with_it(name: str) -> None:
    rows = rows_of(name)
    assert {row["model"] for row in rows} == set(TUNED[name])
    for model in TUNED[name]:
        grid = [float(row["rate"]) for row in rows if is_trial(row) and row["model"] == model]
        assert len(set(grid)) == len(grid) >= 3
        assert min(grid) < trials.best_rate(rows, model) < max(grid)
        mine = [row for row in rows if row["model"] == model and not is_trial(row)]
        assert [int(row["seed"]) for row in mine] == list(SEEDS)
        assert {float(row["rate"]) for row in mine} == {trials.best_rate(rows, model)}


@pytest.mark.parametrize(
    ("name", "tuned", "model"),
    [
        ("recurrent_budgets", "recurrent", "seq2seq, GRU"),
        ("transformer_budgets", "transformers", "sinusoidal"),
    ],
)
def test_every_budget_is_that_of_five_fresh_seeds_at_the_best_rate(
    name: str, tuned: str, model: str
) -> None:
    rows = rows_of(name)
    assert {row["model"] for row in rows} == {model}
    assert {float(row["rate"]) for row in rows} == {trials.best_rate(rows_of(tuned), model)}
    budgets = [(row["steps"], row.get("hidden_dim")) for row in rows]
    for budget in budgets:
        mine = [int(r["seed"]) for r, b in zip(rows, budgets, strict=True) if b == budget]
        assert mine == list(SEEDS)


def is_trial(row: dict[str, Any]) -> bool:
    return int(row["seed"]) == trials.TRIAL


def test_fresh_seeds_choose_nothing() -> None:
    assert trials.TRIAL not in SEEDS
    assert len(set(SEEDS)) >= 5
    rows = [{"model": "a", "rate": 1, "seed": 0, "val_perplexity": 2.0}]
    rows += [{"model": "a", "rate": 2, "seed": seed, "val_perplexity": 1.0} for seed in SEEDS]
    assert trials.best_rate(rows, "a") == 1


def run(program: str) -> str:
    """Run a program in a process of its own, without the checks of types; return its output."""
    paths = os.pathsep.join(str(ROOT / part) for part in ("", "experiments", "tools", "tests"))
    result = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": paths},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return result.stdout


def remade(call: str) -> dict[str, Any]:
    """Make a row again: with the checks of types it would take minutes."""
    module = call.split(".")[0]
    row: dict[str, Any] = json.loads(
        run(f"import json; from records import {module}; print(json.dumps({call}))")
    )
    return row


def test_with_a_choice_more_in_every_table_of_the_package_no_row_is_missing() -> None:
    """A finished record names what it was made with."""
    program = (
        "import sys, longer_tables; longer_tables.lengthen(); import records\n"
        "from records.__main__ import main\n"
        "sys.exit(any([main(['--check', '--group', group]) for group in records.GROUPS]))"
    )
    run(program)


# Training differs a little between processors, and this is how far apart two may be.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "call", "keys", "tolerances"),
    [
        (
            "recurrent",
            "recurrent.train_recurrent('seq2seq, RNN', 0.004, 0)",
            ["model", "rate", "seed"],
            {"val_perplexity": 0.1, "exact": 0.05, "longer": 0.05, "aer": 0.05},
        ),
        (
            "scaling",
            "scaling.train_party('1/√d_k', 16, 0.004, 10)",
            scaling.KEYS,
            {"right_300": 0.05},
        ),
        (
            "norms",  # in the middle of their curves, trainings differ more
            "norm.train_reverser('pre', 6, 0, 'xavier', 0.01, 0)",
            norm.KEYS,
            {"score": 0.05},
        ),
    ],
)
def test_a_row_comes_out_again(
    name: str, call: str, keys: list[str], tolerances: dict[str, float]
) -> None:
    again = remade(call)
    (stored,) = (r for r in rows_of(name) if all(r[key] == str(again[key]) for key in keys))
    for column, tolerance in tolerances.items():
        if stored[column]:
            assert again[column] == pytest.approx(float(stored[column]), abs=tolerance), column


def row_for(model: str, seed: int) -> dict[str, Any]:
    return {"model": model, "seed": seed, "process": os.getpid()}


@pytest.mark.slow
def test_only_missing_rows_are_made_and_all_stand_in_the_order_of_the_tasks(tmp_path: Path) -> None:
    keys = ["model", "seed"]
    here = Tables(tmp_path)
    first = here.extend("x", row_for, [("b", 1)], keys, workers=1)
    both = here.extend("x", row_for, [("a", 0), ("b", 1)], keys, workers=1)
    assert [row["model"] for row in both] == ["a", "b"]
    assert both[1]["process"] == str(first[0]["process"])
    with (tmp_path / "x.csv").open(newline="", encoding="utf-8") as file:
        assert [row["model"] for row in csv.DictReader(file)] == ["a", "b"]


def test_rows_of_other_versions_are_not_mixed(tmp_path: Path) -> None:
    here = Tables(tmp_path)
    here.write("x", [row_for("a", 0)])
    (tmp_path / "x.json").write_text('{"torch": "1.0"}')
    with pytest.raises(InputError, match=r"x\.csv was made with .*delete it first"):
        here.extend("x", row_for, [("a", 0), ("b", 1)], ["model", "seed"])


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the records, to break."""
    without = shutil.ignore_patterns("trained", "small_bert")
    return Path(shutil.copytree(RECORDS, tmp_path / "records", ignore=without))


@pytest.mark.parametrize("group", records.GROUPS)
def test_making_them_again_changes_no_byte(
    copied: Path, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is any row missing, which the check would say."""
    assert main(["--check", "--group", group]) == 0
    monkeypatch.setattr(tables.multiprocessing, "get_context", no_training)
    records.make(records.names_in(group), copied)
    for path in copied.iterdir():
        assert path.read_bytes() == (RECORDS / path.name).read_bytes()


def no_training(_: str) -> None:
    pytest.fail("a row was made")


@pytest.mark.parametrize("name", records.TABLE)
def test_a_missing_row_is_named_and_not_made(
    copied: Path, name: str, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables.multiprocessing, "get_context", no_training)
    path = copied / f"{name}.csv"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    (missing,) = csv.DictReader([lines[0], lines.pop()])
    path.write_text("".join(lines), encoding="utf-8")
    before = {p.name: p.read_bytes() for p in copied.iterdir()}
    with pytest.raises(InputError, match=rf"^{name}\.csv lacks 1 of \d+ rows, first that") as error:
        records.make([name], copied, check=True)
    named = re.findall(r"(\w+) ('[^']*'|[\d.]+)(?=, |: )", str(error.value).split("that of ")[1])
    assert named
    assert all(missing[key] == value.strip("'") for key, value in named)
    assert main([name, "--check", "--folder", str(copied)]) == 1
    assert f"'make {records.TABLE[name].group}' makes what is missing" in capsys.readouterr().err
    assert {p.name: p.read_bytes() for p in copied.iterdir()} == before


def test_the_entry_point_lists_the_tables(capsys: pytest.CaptureFixture) -> None:
    assert main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(records.TABLE)
    assert all(len(line.split(" min  ")[1]) > 20 for line in lines)


def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="record is 'part3', it must be one of recurrent, "):
        records.make(["beams", "part3"], tmp_path)


@pytest.mark.slow
def test_the_models_of_part_two_differ_in_what_their_names_say() -> None:
    models = {name: transformers.build_transformer(name) for name in transformers.MODELS}
    heads = {name: model.config.num_heads for name, model in models.items()}
    assert heads == dict.fromkeys(heads, 4) | {"1 head": 1, "2 heads": 2, "8 heads": 8}
    learned = {name: model.src_embedding.positions.table for name, model in models.items()}
    starts = {n: t.norm(dim=1).mean().item() for n, t in learned.items() if t.requires_grad}
    assert starts == pytest.approx({"learned": 8.0, "learned, small start": 1.0}, rel=0.05)
    assert {n for n, table in learned.items() if not table.any()} == {"none"}
    plain = {n for n, model in models.items() for m in model.modules() if type(m) is DotAttention}
    assert plain == {"unscaled"}


def test_the_cost_of_heads_is_that_of_the_same_operations() -> None:
    rows = rows_of("heads_cost")
    positions, width = transformers.SENTENCES * transformers.POSITIONS, transformers.D_MODEL
    projections = 4 * 2 * positions * width**2
    products = 2 * 2 * positions * transformers.POSITIONS * width
    assert {int(row["operations"]) for row in rows} == {projections + products}


def test_both_ways_of_writing_that_are_timed_write_the_same() -> None:
    config = TransformerConfig(9, 9, d_model=8, num_layers=2, num_heads=2, d_ff=8, dropout=0.0)
    model, (src, tgt_in) = Transformer(config).double(), torch.randint(4, 9, (2, 3, 6))
    with evaluating(model):
        logits = model(src, tgt_in)
        torch.testing.assert_close(decoding.write_cached(model, src, tgt_in), logits)
        torch.testing.assert_close(decoding.write_anew(model, src, tgt_in), logits)
