"""The exercises tell right from wrong, and one mistake from another."""

import csv
import inspect
import itertools
import json
import math
import re
import runpy
from collections import ChainMap
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.multi_head_attention import KeyValues, MultiHeadAttention
from mutate_exercises import mutants
from other_answers import OTHERS, decode_with_lists
from transformer_workbook import chapters, exercises
from transformer_workbook.chapters.find_the_bug.exercises import SRC, TGT_IN
from transformer_workbook.exercises import CHAPTERS
from transformer_workbook.judge import normal, random_cases
from transformer_workbook.judge.catalogue import changed, table
from transformer_workbook.judge.comparing import Failure, equal, is_number
from transformer_workbook.judge.diagnosis.arguments import parameters as parameters_of
from transformer_workbook.judge.exercises import Derivation, Exercise
from transformer_workbook.judge.tasks import Task

TASKS: dict[str, Task] = exercises.TASKS
ALL = {name: task for name, task in TASKS.items() if isinstance(task, Exercise)}
FOLDER = Path(chapters.__file__).parent
OF_MODELS = {"hides_the_future", "ignores_padding", "steps_agree"}  # every answer runs models: slow


def parameters(name: str, *more: str, mark: Any = pytest.mark.slow) -> Any:
    return pytest.param(name, *more, marks=[mark] if name in OF_MODELS else [])


NAMES = [parameters(name) for name in ALL]
SELDOM = [parameters(name, mark=pytest.mark.verify) for name in ALL]


def converted(function: Callable[..., Any], dtype: torch.dtype) -> Callable[..., Any]:
    """The same function, computed in one type of floating point."""

    def answer(*arguments: Any) -> Any:
        return function(
            *(
                a.to(dtype) if isinstance(a, Tensor) and a.is_floating_point() else a
                for a in arguments
            )
        )

    return answer


@pytest.mark.parametrize("name", NAMES)
def test_right_answers_are_right_however_they_are_written(name: str) -> None:
    reference, before = ALL[name].reference, torch.get_rng_state()
    dtypes = [converted(reference, dtype) for dtype in (torch.float32, torch.float64)]
    dtypes = [] if name in OF_MODELS else dtypes
    for answer in [reference, *dtypes, *OTHERS.get(name, [])]:
        verdict = ALL[name](answer)
        assert verdict.passed, verdict
    ALL[name].check(ALL[name].mistakes[0].answer)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", SELDOM)
def test_the_mistakes_and_the_right_answer_give_different_results(name: str) -> None:
    """So every mistake is told by its own name, if it gives something in one case at least.

    Nor is one the same number in every case: whatever always gives it would be told this mistake.
    """
    subject, right = ALL[name].subject, ALL[name].subject.right
    results = [list(subject.of_mistake(i)) for i in range(len(subject.mistakes))]
    said = ["the right answer", *(mistake.says for mistake in subject.mistakes)]
    pairs = itertools.combinations(zip(said, [right, *results], strict=True), 2)
    same = [(one, other) for (one, a), (other, b) in pairs if equal(a, b, ALL[name].whole)]
    assert same == []
    # In a gap the lines around are given: what always raises the same is the same mistake.
    always_raise = [all(isinstance(got, Failure) for got in result) for result in results]
    assert ALL[name].gap or not any(always_raise)
    assert len(right) == 1 or not equal([right[0]] * len(right), right)
    for sentence, (first, *others) in zip(said[1:], results, strict=True):
        if isinstance(first, bool) or is_number(first):
            assert not others or not equal([first] * len(others), others), sentence


@pytest.mark.parametrize("name", TASKS)
def test_a_task_has_its_name_a_statement_of_one_line_and_sentences_for_mistakes(name: str) -> None:
    task = TASKS[name]
    assert task.name == name
    assert re.fullmatch(r"[A-Z].{10,90}[.?]", task.statement), task.statement
    if name not in ALL:
        assert repr(task(None)) == "not attempted"
        return
    said = [mistake.says for mistake in ALL[name].mistakes]
    assert all(sentence.endswith((".", "?")) for sentence in said)
    assert len(set(said)) == len(said)
    assert isinstance(task, Derivation) or len(said) >= 5
    if not ALL[name].ask:
        assert repr(task(lambda *_: None)) == "not attempted"


def test_a_change_applies_exactly_once() -> None:
    assert changed("return mask & near", {"&": "|"}) == "return mask | near"
    for right, times in (("a", 3), ("b", 0)):
        with pytest.raises(
            ValueError, match=f"occurs in the source {times} times, it must be once"
        ):
            changed("a, a, a", {right: "c"})


def test_every_row_of_a_table_belongs_to_a_task_beside_it() -> None:
    for path in FOLDER.glob("*/mistakes.toml"):
        folder = f"{chapters.__name__}.{path.parent.name}"
        modules = [import_module(f"{folder}.{file.stem}") for file in path.parent.glob("*.py")]
        beside = ChainMap(*map(vars, modules))
        assert all(isinstance(beside[name], Task) for name in table(path))


def nothing(result: Any) -> Any:
    """A result of the same shape in which every number is 0."""
    if isinstance(result, list | tuple):
        return type(result)(map(nothing, result))
    return result * 0 if isinstance(result, Tensor) or is_number(result) else result


@pytest.mark.slow
@pytest.mark.verify
@pytest.mark.parametrize("name", ALL)
def test_what_is_always_the_same_is_told_no_cause(name: str) -> None:
    """Some mistake gives it, too, or something that it is when rounded; so do many others."""
    exercise = ALL[name]
    known = [mistake.says for mistake in exercise.mistakes]
    answers = [lambda *_, x=x: x for x in (0, 1, 0.0, 1.0, 1.7e-7, [], True, False)]
    if not exercise.ask:
        answers.append(lambda *case: nothing(exercise.reference(*case)))
    for answer in answers:
        told = exercise(answer).mistake
        assert told not in known or re.match(r"every \w+ is 0", told), told
        assert not re.search("two mistakes|rounded", told), told


# --- the chapters --------------------------------------------------------------------------------


ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "book"


def pages_of(stem: str) -> list[Path]:
    """The notebook of a chapter, whatever its number, and its second page, if there is one."""
    return [*BOOK.glob(f"[0-9][0-9]_{stem}.ipynb"), *BOOK.glob(f"further/[0-9][0-9]_{stem}.ipynb")]


def notebook_of(stem: str) -> list[tuple[str, str]]:
    """The cells of a chapter."""
    return [cell for page in pages_of(stem) for cell in cells_of(page)]


def cells_of(path: Path) -> list[tuple[str, str]]:
    """The cells of a notebook: their types and their sources."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [(cell["cell_type"], "".join(cell["source"])) for cell in cells]


def called(cells: list[tuple[str, str]]) -> list[str]:
    """The exercises that are called in the cells, in the order of their first calls."""
    code = "\n".join(source for kind, source in cells if kind == "code")
    found = re.findall(r"\bexercises\.(\w+)(?:\.check)?\(", code)
    return [name for name in dict.fromkeys(found) if name != "summary"]


def test_the_chapters_stand_in_the_order_of_the_book() -> None:
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    pages = [page["file"] for part in contents["parts"] for page in part["chapters"]]
    for folder in ("book", "book/solutions"):
        found = [re.fullmatch(rf"{folder}/\d\d_(\w+)", page) for page in pages]
        assert list(CHAPTERS) == [page[1] for page in found if page]
    assert sum(map(len, [*CHAPTERS.values(), *exercises.GAPS.values()])) == len(TASKS)


def exercise_cells(stem: str) -> list[tuple[str, str]]:
    """The cells from the heading of the exercises to the next one, of both pages."""
    found = []
    for page, heading in zip(pages_of(stem), ("## Exercises", "## More exercises"), strict=False):
        cells = cells_of(page)
        start = next(i for i, (_, source) in enumerate(cells) if heading in source.split("\n"))
        ends = ("## Common pitfalls", "## Next")
        end = next(
            i for i, (_, source) in enumerate(cells) if i > start and source.startswith(ends)
        )
        found += cells[start:end]
    return found


@pytest.mark.parametrize("stem", CHAPTERS)
def test_a_chapter_asks_its_exercises_in_order_of_every_kind_and_ends_with_a_summary(
    stem: str,
) -> None:
    cells = exercise_cells(stem)
    assert list(CHAPTERS[stem]) == called(cells)
    assert {*CHAPTERS[stem], *exercises.GAPS[stem]} == set(called(notebook_of(stem)))
    prose = "\n".join(source for kind, source in cells if kind == "markdown")
    titles = re.findall(r"(?m)^\*\*\d+\. ★+ (.+?)\*\*", prose)
    for kind in ("Build", "Experiment", "Derivation"):
        assert any(title.startswith(kind) for title in titles), f"{kind} is not in {titles}"
    more = [i for i, (_, source) in enumerate(cells) if source.startswith("## More exercises")]
    last = len(cells) if len(pages_of(stem)) == 2 else (more or [len(cells)])[0]
    assert cells[last - 1] == ("code", f'exercises.summary("{stem}")')


@pytest.mark.parametrize("stem", CHAPTERS)
def test_every_exercise_has_a_hint_and_then_a_link_to_its_solution(stem: str) -> None:
    prose = "\n".join(source for kind, source in exercise_cells(stem) if kind == "markdown")
    page = next(BOOK.glob(f"solutions/*_{stem}.ipynb"))
    numbers = re.findall(r"(?m)^\*\*(\d+)\. ★", prose)
    for number, asked in zip(numbers, re.split(r"(?m)^\*\*\d+\. ★", prose)[1:], strict=True):
        hint, _, after = asked.partition("</details>")
        assert "<details><summary>Hint</summary>" in hint
        assert re.search(rf"\[Solution\]\((\.\./)?solutions/{page.name}#exercise-{number}\)", after)
    headings = re.findall(r"(?m)^## Exercise (\d+)$", "\n".join(s for _, s in cells_of(page)))
    assert headings == numbers


@pytest.mark.parametrize("stem", CHAPTERS)
def test_a_solution_is_judged_and_is_not_remembered(stem: str) -> None:
    page = next(BOOK.glob(f"solutions/*_{stem}.ipynb"))
    for cells, wanted in ((exercise_cells(stem), ""), (cells_of(page), ".check")):
        code = "\n".join(source for kind, source in cells if kind == "code")
        for name in CHAPTERS[stem]:
            assert re.findall(rf"exercises\.{name}(\.check)?\(", code) == [wanted], name


@pytest.mark.parametrize("stem", CHAPTERS)
def test_the_exercises_do_not_say_the_number_of_a_chapter(stem: str) -> None:
    numbered = re.compile(r"\bchapters?\s+\d|\b\d\d_[a-z]", re.IGNORECASE)
    assert not numbered.search((FOLDER / stem / "exercises.py").read_text(encoding="utf-8"))


# --- the cases -----------------------------------------------------------------------------------


def axes(name: str) -> list[dict[str, set[int]]]:
    """The sizes that each axis of the signature has, in every case.

    Axes that stand under ``*batch`` are called ``*0``, ``*1``, …
    """
    known = parameters_of(ALL[name].reference, ALL[name].ask, ALL[name].cases[0])
    found = []
    for case in ALL[name].cases:
        sizes: dict[str, set[int]] = {}
        for annotation, argument in zip(known.values(), case, strict=True):
            if isinstance(argument, Tensor) and hasattr(annotation, "dim_str"):
                names = annotation.dim_str.split()
                if names[0].startswith("*"):
                    more = argument.dim() - len(names) + 1
                    names[:1] = [f"*{i}" for i in range(more)]
                for axis, size in zip(names, argument.shape, strict=True):
                    if axis[0] != "#":  # which may be 1 in place of the others of its name
                        sizes.setdefault(axis, set()).add(size)
        found.append(sizes)
    return found


AS_LONG = {
    "encoder_layer", "decoder_layer", "cross_attention_layer", "may_attend", "cut_images"
}  # fmt: skip
"""Where a mistake runs only if two axes are as long, as they are in the first case."""


IN_DOUBLE = {"train_by_hand"}
"""Where a right answer makes floats of integers, which have the precision of the notebook."""


@pytest.mark.parametrize("name", ALL)
def test_the_cases_differ_in_axes_and_precision_and_have_finite_results(name: str) -> None:
    """A result along a wrong axis then has a wrong shape, or cannot be computed."""
    sizes_of = axes(name)
    if "*" in str(inspect.signature(ALL[name].reference)):
        assert [sum(axis[0] == "*" for axis in sizes) for sizes in sizes_of] == [0, 1, 2]
    for sizes in sizes_of[name in AS_LONG :]:
        sizes.pop("1", None)  # the mask has an axis of size 1, the same for every query
        assert all(len(found) == 1 for found in sizes.values())
        different = [size for [size] in sizes.values()]
        assert len(set(different)) == len(different)
        assert 1 not in different
    given = [x for case in ALL[name].cases for x in case if isinstance(x, Tensor)]
    wanted = {torch.float64} if name in IN_DOUBLE else {torch.float32, torch.float64}
    assert {x.dtype for x in given if x.is_floating_point()} in (wanted, set())
    for result in ALL[name].subject.right:
        assert not isinstance(result, Failure)
        assert not isinstance(result, Tensor) or result.isfinite().all()


def test_every_mask_hides_something_and_leaves_something() -> None:
    for _, mask in exercises.attention_weights.cases:
        assert mask.any(-1).all()
        assert (~mask).any(-1).all()


def test_random_cases_repeat_and_differ_from_each_other() -> None:
    first, second = random_cases("... q d", "q"), random_cases("... q d", "q")
    assert equal(first, second)
    assert not equal(normal(2, 3, seed=0), normal(2, 3, seed=1))
    assert [x.dtype for x, _ in first] == [torch.float64, torch.float32, torch.float64]


def test_the_import_of_a_chapter_draws_no_number_of_the_reader() -> None:
    before = torch.get_rng_state()
    for stem in CHAPTERS:
        path = str(FOLDER / stem / "exercises.py")
        runpy.run_path(path, run_name=f"{chapters.__name__}.{stem}.exercises")
    assert torch.equal(torch.get_rng_state(), before)


# --- what readers write --------------------------------------------------------------------------


def layer_with(biased: str = "", **widths: str) -> type[nn.Module]:
    """Make a layer with projections as wide as the arguments of those names, one with a bias."""

    class Layer(nn.Module):
        def __init__(self, d_model: int, d_k: int, d_v: int) -> None:
            super().__init__()
            sizes = {"d_model": d_model, "d_k": d_k, "d_v": d_v}
            for name, width in widths.items():
                self.add_module(name, nn.Linear(d_model, sizes[width], bias=name == biased))

    return Layer


HEADS = {"query": "d_k", "key": "d_k", "value": "d_v"}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (layer_with("key", **HEADS), "key.bias is a parameter too many; say bias=False."),
        (layer_with("more", **HEADS, more="d_k"), "more.bias is a parameter too many."),
        (
            layer_with(**HEADS | {"value": "d_k"}),
            "value.weight has the shape (3, 6); the shape (5, 6) is asked for.",
        ),
        (
            layer_with(query="d_k", key="d_k"),
            "there is no parameter value.weight, for which the shape (5, 6) is asked for; "
            "found query.weight, key.weight.",
        ),
    ],
)
def test_a_layer_whose_parameters_do_not_fit_is_told(answer: type[nn.Module], told: str) -> None:
    case = "exercises.self_attention_layer.cases[0]"
    assert exercises.self_attention_layer(answer).mistake == f"for {case} {told}"


def test_an_endless_loop_over_a_model_ends_in_a_verdict() -> None:
    def forgets_everything(next_logits: Any, bos: int, eos: int, limit: int) -> None:
        tokens = [bos]
        while True:
            tokens.append(int(next_logits(tokens).argmin()))

    assert "it raises RuntimeError: the sentence has 21 tokens and does not end." in (
        exercises.greedy_decode(forgets_everything).mistake
    )


def test_ids_written_into_the_answer_are_told() -> None:
    def always_two(next_logits: Any, bos: int, eos: int, limit: int) -> list[int]:
        return decode_with_lists(next_logits, 1, 2, limit)

    assert "bos=6" in exercises.greedy_decode(always_two).mistake


def test_a_division_without_a_rest_is_not_told_as_another_step() -> None:
    def whole_subwords(perplexity: float, tokens: int, words: int) -> tuple[float, ...]:
        loss = math.log(perplexity)
        share = loss * (tokens // words)
        return loss, loss * tokens, share, math.exp(share)

    assert "step 3 is wrong" in exercises.perplexity_per_word(whole_subwords).mistake


# --- mutants -------------------------------------------------------------------------------------


EQUIVALENT = Path(__file__).parent / "equivalent_mutants.csv"
ROWS = list(csv.DictReader(EQUIVALENT.read_text(encoding="utf-8").splitlines()))


@pytest.mark.nightly
@pytest.mark.parametrize("name", ALL)
def test_a_broken_reference_is_judged_wrong_unless_it_is_equivalent(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Exercise, "_by_itself", lambda *_: "wrong.")  # why does not matter here
    judged = list(mutants(name))
    assert judged
    right = [mutant.change for mutant in judged if mutant.told == "judged right"]
    assert sorted(right) == sorted(row["change"] for row in ROWS if row["exercise"] == name)


def test_every_equivalent_mutant_has_a_reason_and_an_exercise() -> None:
    assert {row["exercise"] for row in ROWS} <= set(ALL)
    assert all(row["reason"] for row in ROWS)


def first_token_unasked(next_logits: Any, bos: int, eos: int, limit: int) -> list[int]:
    tokens = [int(next_logits([bos]).argmax())]
    while len(tokens) < limit:
        token = int(next_logits([bos, *tokens]).argmax())
        if token == eos:
            break
        tokens.append(token)
    return tokens


def future_in(where: Callable[[int], slice]) -> Callable[..., bool]:
    def sees(logits: Any, ids: Tensor) -> bool:
        found = False
        for t in range(1, len(ids)):
            changed = ids.clone()
            changed[t] += 1
            found = found or not torch.allclose(logits(ids)[where(t)], logits(changed)[where(t)])
        return found

    return sees


def all_that_differs(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    chosen = ["chosen_on"] * ("test" in (first["chosen_on"], second["chosen_on"]))
    return sorted({name for name in first if first[name] != second[name]} | set(chosen))


def only_the_second_step(model: Any) -> bool:
    _, state = model.eval().step(model.start(SRC), TGT_IN[:, 0])
    return torch.allclose(model.step(state, TGT_IN[:, 1])[0], model(SRC, TGT_IN)[:, 1])


class LateReader(MultiHeadAttention):
    """It projects the memory when it is asked, by the function and not by the layer."""

    def read(self, memory: Tensor, mask: Tensor) -> None:
        self.memory, self.mask = memory, mask

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        projected = (
            self.split(F.linear(self.memory, layer.weight, layer.bias))
            for layer in (self.key, self.value)
        )
        return self.attend(x, KeyValues(*projected), self.mask)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("greedy_decode", first_token_unasked),
        ("sees_the_future", future_in(lambda t: slice(max(t - 2, 0), t))),
        ("sees_the_future", future_in(lambda t: slice(min(t, 2)))),
        ("source_reader", LateReader),
        ("unfair_in", all_that_differs),
        pytest.param("steps_agree", only_the_second_step, marks=pytest.mark.slow),
        (
            "offset_distance",  # right for two numbers
            lambda k, d: sum(2 - 2 * math.cos(k * 1e4 ** -(i // d)) for i in range(0, d, 2)) ** 0.5,
        ),
        (
            "smoothed_targets",  # right for one token
            lambda y, V, s: torch.full((len(y), V), s / V).index_fill(1, y, 1 - s + s / V),
        ),
        (
            "train_by_hand",
            lambda *case: exercises.train_by_hand.reference(*case[:-1], 0.1),
        ),
    ],
)
def test_an_answer_that_is_right_in_few_cases_is_wrong(name: str, answer: Any) -> None:
    assert not getattr(exercises, name).check(answer).passed


def test_an_answer_to_the_last_digit_is_told_where_padding_must_not_matter() -> None:
    longer = F.pad(SRC, (0, 3))
    told = exercises.ignores_padding.check(
        lambda model: torch.equal(model.eval()(longer, TGT_IN), model(SRC, TGT_IN))
    ).mistake
    assert told.startswith("with == and torch.equal the last digit decides")


def test_a_layer_in_place_of_its_class_is_told() -> None:
    told = exercises.self_attention_layer.check(nn.Linear(4, 3)).mistake
    assert told == "this is one layer; hand over its class."
