"""The page of the bench says what the records say."""

import csv
import json
import re
from pathlib import Path

import bench_page
import pytest
from bench_page import NOT_RUN, WISHES, Wish

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "book" / "records"
CONTESTS = [path.stem.removeprefix("bench_") for path in sorted(RECORDS.glob("bench_*.json"))]
ROW = {"seconds": "2", "times_as_fast_cpu": "1.33", "per_second": "9", "rounds": "5"}
MADE = {"processor": "a", "machine": "b, one thread a run", "load": 1, "versions": {"torch": 2}}
EMPTY = dict.fromkeys(ROW, "")


@pytest.mark.parametrize("contest", CONTESTS)
def test_a_record_is_shown_whole(contest):
    rows = bench_page.read(RECORDS, contest)
    names, body = bench_page.shown(rows)
    assert [cells[0] for cells in body] == [row["contestant"] for row in rows]
    assert {len(cells) for cells in body} == {len(names)}
    made = json.loads((RECORDS / f"bench_{contest}.json").read_text(encoding="utf-8"))
    assert made["processor"] in bench_page.machine(made)
    [rounds] = {int(row["rounds"]) for row in rows if row["seconds"]}
    assert bench_page.how_made(rows, made, made).startswith(f"Medians of {rounds} rounds, ")
    assert f"```{{bench-table}} {contest}\n" in (ROOT / "book/deeper/bench.md").read_text("utf-8")


def test_the_records_of_the_page_are_of_one_machine_and_one_day():
    """Instructions are left out in one, and the GPU was in another machine."""
    told = set()
    for contest in {*CONTESTS} - {"accelerator"}:
        made = json.loads((RECORDS / f"bench_{contest}.json").read_text(encoding="utf-8"))
        told.add(bench_page.machine(made).replace("AVX2", "AVX512"))
    assert len(told) == 1


def test_what_differs_from_the_page_is_said_beside_the_table():
    other = MADE | {"processor": "c"}
    assert bench_page.how_made([ROW], MADE, MADE) == "Medians of 5 rounds, one thread, load 1."
    assert bench_page.how_made([ROW], other, MADE).endswith(
        "load 1. Measured on several days, on c (b); torch 2."
    )
    assert bench_page.machine(MADE | {"date": "D"}) == "Measured on D, on a (b); torch 2."


def test_the_answer_stands_in_the_first_ten_lines_and_is_taken_from_the_records():
    page = (ROOT / "book/deeper/bench.md").read_text("utf-8")
    _, _, answer, *_ = page.split("\n\n")
    wanted = re.findall(r"{bench}`(.*?)`", answer, re.DOTALL)
    assert {name.partition(" ")[0] for name in wanted} == {"training", "greedy", "accelerator"}
    for each in wanted:
        assert bench_page.number(RECORDS, each)
    assert not re.search(r"\d\.\d", answer)
    assert bench_page.number(RECORDS, "training | nn.Transformer | times_as_fast") == "1.0"
    with pytest.raises(ValueError, match="bench_training has no row of 'nobody'"):
        bench_page.number(RECORDS, "training | nobody | seconds")


def test_processes_gain_nothing_in_training_and_something_in_translating():
    gains = {
        name: float(bench_page.read(RECORDS, name)[1]["times_as_fast"])
        for name in ("processes", "workers")
    }
    assert gains["processes"] <= 1.02 < 1.05 <= gains["workers"]


def test_nobody_is_twice_as_fast_with_two_threads_as_with_one():
    one, two = (
        {row["contestant"]: float(row["per_second"]) for row in bench_page.read(RECORDS, contest)}
        for contest in ("training", "two_threads")
    )
    assert all(one[name] < two[name] < 2 * one[name] for name in one)


def test_elsewhere_fast_training_gains_more():
    with (RECORDS / "training_elsewhere.csv").open(newline="", encoding="utf-8") as file:
        _, *found = csv.reader(file)
    assert [name for name, *_ in found] == [
        row["contestant"] for row in bench_page.read(RECORDS, "training")
    ]
    for column, contest, clock in (
        (1, "training", "times_as_fast_cpu"),
        (2, "two_threads", "times_as_fast"),
    ):
        for row, there in zip(bench_page.read(RECORDS, contest), found, strict=True):
            if "fast" in row["contestant"]:
                assert 1.3 < float(row[clock]) < float(there[column])


def test_greedy_search_in_32_bits_says_the_same_of_all_sentences():
    rows = {row["contestant"]: row for row in bench_page.read(RECORDS, "greedy")}
    for name in ("ours", "Hugging Face", "CTranslate2"):
        assert (rows[name]["equal"], rows[name]["sentences"]) == ("1000", "1000")


def test_on_a_card_nobody_uses_an_eighth_and_fast_training_is_slowest_and_smallest():
    rows = bench_page.read(RECORDS, "accelerator")
    made = json.loads((RECORDS / "bench_accelerator.json").read_text(encoding="utf-8"))
    used = [row["use"] for row in bench_page.with_use(rows, made)]
    assert max(float(share.rstrip("%")) for share in used) < 100 / 8
    speeds = [float(row["times_as_fast"]) for row in rows]
    assert [row["contestant"] for row in rows][2:] == ["ours", "ours, fast"]
    assert min(speeds[:2]) > speeds[2] > speeds[3]
    *others, fast = (int(row["peak_mib"]) for row in rows)
    assert fast < min(others) / 2


def test_a_wish_is_reached_or_missed_as_the_record_has_it():
    first = ROW | {"contestant": "b", "times_as_fast": "1.0", "times_as_fast_cpu": "1.0"}

    def told(times, row, beside=first):
        rows = [row | {"contestant": "a"}, beside]
        return bench_page.outcome(Wish("training", "a", "b", times), rows)

    assert told(1.5, ROW) == ["training: a", "1.5 × b", "1.33 ×", "missed"]
    assert told(1.33, ROW) == ["training: a", "1.33 × b", "1.33 ×", "reached"]
    # Where all are compared with a third one.
    slower = first | {"times_as_fast_cpu": "0.7"}
    assert told(1.9, ROW, slower) == ["training: a", "1.9 × b", "1.90 ×", "reached"]
    by_the_wall = Wish("two_threads", "a", "b", 2.0, "times_as_fast")
    row = ROW | {"contestant": "a", "times_as_fast": "2.5"}
    assert bench_page.outcome(by_the_wall, [row, first]) == [
        "two threads: a", "2.0 × b", "2.50 ×", "reached"
    ]  # fmt: skip
    assert told(1.5, EMPTY) == ["training: a", "1.5 × b", "", NOT_RUN]


def test_every_wish_names_a_contestant():
    page = (ROOT / "book/deeper/bench.md").read_text("utf-8")
    shown = [name for names in re.findall(r"{bench-wishes} (.*)", page) for name in names.split()]
    assert sorted(shown) == sorted({wish.contest for wish in WISHES})
    for wish in WISHES:
        names = {row["contestant"] for row in bench_page.read(RECORDS, wish.contest)}
        assert {wish.contestant, wish.beside} <= names


def test_a_lever_is_worth_five_percent_somewhere_and_two_much_more_elsewhere():
    """The speed that is left without each lever: here, and on another CPU."""
    with (RECORDS / "levers_elsewhere.csv").open(newline="", encoding="utf-8") as file:
        there = {row["contestant"]: float(row["by processor time"]) for row in csv.DictReader(file)}
    rows = bench_page.read(RECORDS, "levers")
    here = {row["contestant"]: float(row["times_as_fast_cpu"]) for row in rows}
    for lever in {name.split(",")[0] for name in here} - {"all levers"}:
        left = [each for table in (here, there) for name, each in table.items() if lever in name]
        assert min(left) <= 1 / 1.05, lever
    for name in ("without oneDNN", "without copied transposes"):
        assert there[name] < 0.85 < 0.9 < here[name]


def test_a_row_is_shown_with_the_use_of_a_card_or_says_why_it_is_empty():
    row = ROW | {"contestant": "a", "seconds": "0.5", "peak_mib": "7"}
    made = {"operations": 30, "products_per_second": 400}
    names, body = bench_page.shown(bench_page.with_use([row], made))
    assert names == ["contestant", "a second", "memory, MiB", "of the card"]
    assert body == [["a", "9", "7", "15.0%"]]
    told = bench_page.machine(MADE | {"accelerator": "a card"})
    assert told.startswith("Measured on several days, on a card beside a (b)")
    ran = ROW | {"contestant": "a", "equal": "3", "sentences": "4"}
    missing = EMPTY | {"contestant": "b", "equal": "", "sentences": ""}
    names, body = bench_page.shown([ran, missing])
    assert names == ["contestant", "a second", "by processor time", "as ours says"]
    assert body == [["a", "9", "1.33", "3 of 4"], ["b", NOT_RUN, "", ""]]
