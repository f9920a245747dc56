"""What pages print and draw, said in another language: words change, and nothing else."""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "book" / "_ext")]

from editions import TRANSLATED  # noqa: E402
from printed import LABEL, NAME, PROGRAM, Phrases, phrases_of  # noqa: E402

from annotated_transformer.ground.sentences import translations  # noqa: E402
from printed_phrases import all_messages, messages  # noqa: E402

PRINTED = translations(TRANSLATED["ko"].folder / f"{NAME}.po")
PAGES = sorted(ROOT.glob("book/**/*.ipynb"))
HREF = "{http://www.w3.org/1999/xlink}href"
DIGITS = re.compile(r"\d+")


def outputs(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the kinds and texts of what is stored on a page."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            yield "text", "".join(output.get("text", []))
            for kind, text in output.get("data", {}).items():
                yield kind, "".join(text)


def test_every_value_of_a_message_has_its_place() -> None:
    """Bare places keep the order; numbered ones turn it round."""
    for message, said in PRINTED.items():
        numbered = sorted(map(int, re.findall(r"\{(\d+)\}", said)))
        bare = said.count("{}")
        assert message.count("{}") == bare + len(numbered), message
        assert numbered == list(range(len(numbered))), message
        assert not (bare and numbered), message


def lost(text: str, said: str) -> Counter[str]:
    """Return the numbers of a text that are gone; of a word, "a tenth", there may be new ones."""
    return Counter(DIGITS.findall(text)) - Counter(DIGITS.findall(said))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_numbers_and_tags_of_every_output_stay(path: Path) -> None:
    phrases = Phrases(PRINTED)
    for kind, text in outputs(path):
        if kind == "text":
            assert lost(text, phrases.say(text)) == Counter()
            assert phrases.say(text).count("\n") == text.count("\n")
        elif kind == "text/html" and not PROGRAM.search(text):
            said = phrases.say_html(text)
            assert re.findall("<[^<>]*>", said) == re.findall("<[^<>]*>", text)
            assert lost(unescape(text), unescape(said)) == Counter()
        elif kind == "image/svg+xml":
            figure = ElementTree.fromstring(phrases.say_svg(text))
            parts = list(figure.iter())
            used = {part.get(HREF) for part in parts if part.get(HREF, "").startswith("#")}
            assert used <= {f"#{part.get('id')}" for part in parts}
            drawn = len(LABEL.findall(phrases.say_svg(text)))
            written = sum(1 for _ in figure.iter("{http://www.w3.org/2000/svg}text"))
            assert drawn + written == len(LABEL.findall(text)) > 0


def test_the_longest_message_that_fits_is_said_and_columns_stay_in_line() -> None:
    said = {"loss": "손실", "held out loss {}": "검증 손실 {}", "{} of {}": "{1}개 중 {0}개"}
    phrases = Phrases(said | {"mean": "평균", "{} drew {}": "{}의 카드는 {}"}, {"state": "상태"})
    assert phrases.say("held out loss 0.5") == "검증 손실 0.5"
    assert phrases.say("loss 0.5, mean 3") == "손실 0.5, 평균 3"
    assert phrases.say("loss 0.5, median 3") == "loss 0.5, median 3"
    assert phrases.say("mean: one, two") == "평균: one, two"
    assert phrases.say("3 of 4") == "4개 중 3개"
    assert phrases.say("in 12 runs, held out loss 0.5, %") == "in 12 runs, held out loss 0.5, %"
    assert Phrases({"of {} lines": "줄 {}개 중"}).say("2, of 9 lines, %") == "2, 줄 9개 중, %"
    assert phrases.say("Oki drew Pia") == "Oki의 카드는 Pia"
    assert phrases.say("state") == "상태"
    for same in ("bag of digits", "lossless means", "a state, unsaid", "that cat drew a car too"):
        assert phrases.say(same) == same
    table = ["held out loss 0.25   loss      1", "mean                 held out  2"]
    lines = phrases.say("\n".join(table)).split("\n")
    assert lines == ["검증 손실 0.25       손실      1", "평균                 held out  2"]


def test_what_is_said_of_an_answer_is_found_where_a_cell_shows_it() -> None:
    assert phrases_of("ko").say_html("<p>○ <strong>not attempted</strong> </p>") == (
        "<p>○ <strong>아직 풀지 않음</strong> </p>"
    )


def test_a_message_is_what_the_code_says_and_a_models_words_are_none() -> None:
    source = 'print(f"{name} drew {gift}")\nprint("right:", share)\nmodel_says()'
    printed = "Oki drew jam\nright: 0.5\nthe cat sleeps\n"
    output = {"output_type": "stream", "name": "stdout", "text": printed}
    cell = {"cell_type": "code", "id": "x", "source": source, "outputs": [output]}
    assert list(messages({"cells": [cell]})) == ["{} drew {}", "right: {}"]


@pytest.mark.parametrize(
    ("part", "anchor", "x"), [("text", "middle", 3.0), ("legend", "start", 0), ("ytick", "end", 6)]
)
def test_a_label_is_written_where_it_was_drawn(part: str, anchor: str, x: float) -> None:
    """At the end of a tick of the y-axis, the beginning of a legend's line, else in its middle."""
    drawn = (
        '<svg xmlns="http://www.w3.org/2000/svg"><g id="ytick_7"><g><use href="#a"/></g></g>'
        f'<g id="{part}_1"><!-- loss -->\n'
        '<g transform="translate(7 8) rotate(-90) scale(0.1 -0.1)"><use href="#a"/></g></g></svg>'
    )
    (label,) = ElementTree.fromstring(Phrases({"loss": "손실"}).say_svg(drawn))[1]
    assert label.text == "손실"
    assert label.get("transform") == "translate(7 8) rotate(-90)"
    assert (label.get("text-anchor"), float(label.get("x"))) == (anchor, x)
    assert label.get("font-size") == "10"


def test_what_is_collected_is_found_again_on_its_page() -> None:
    """The build looks in one catalogue of all pages, and has not read their code."""
    collected = dict(all_messages())
    every = Phrases({message: message for message in collected})
    assert [m for m in collected if not list(every.find(m.replace("{}", "7")))] == []
