"""The command line in the language of its reader: help, refusals, what it says while it works."""

import os
import re
import subprocess
import sys

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from annotated_transformer.cli import app
from annotated_transformer.ground.sentences import LANGUAGE_VARIABLE, language_of_the_locale

HANGUL, ENGLISH = re.compile("[가-힣]"), re.compile("[a-z]+ [a-z]+ [a-z]+")
TINY = ("--steps", "2", *(f"--set={size}" for size in ("d_model=8", "num_layers=1", "d_ff=8")))


def call(*arguments, **given):
    return CliRunner().invoke(app, [*map(str, arguments)], **given)


@pytest.fixture
def korean(monkeypatch):
    monkeypatch.setenv(LANGUAGE_VARIABLE, "ko")


@pytest.mark.usefixtures("korean")
@pytest.mark.parametrize("name", ["", *get_command(app).commands])
def test_the_help_is_in_korean(name):
    shown = call(*[name] * bool(name), "--help")
    assert shown.exit_code == 0
    said = re.split(r"\n\n", shown.stdout)
    assert said[0].startswith("사용법: ")
    assert all(map(HANGUL.search, said))
    assert not ENGLISH.search(shown.stdout)
    wide = [len(line) + len(HANGUL.findall(line)) for line in shown.stdout.splitlines()]
    assert max(wide) <= 80
    assert "\0" not in shown.stdout


@pytest.mark.usefixtures("korean")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("trin", "'trin' 명령은 없습니다. 혹시 'train'인가요?"),
        ("nothing", "'nothing' 명령은 없습니다."),
        ("translate", "'RUN' 인수가 없습니다."),
        ("translate run x y", "인수가 너무 많습니다(y)"),
        ("translate run - x", "인수가 너무 많습니다(x)"),
        ("train --nothing", "--nothing 옵션은 없습니다"),
        ("train --fro", "--fro 옵션은 없습니다(비슷한 옵션: --force, --from, --out)"),
        ("train --steps", "'--steps' 옵션에는 값이 필요합니다."),
        ("train --strict=1", "'--strict' 옵션에는 값을 줄 수 없습니다."),
        ("train --steps many", "'--steps' 값이 잘못되었습니다. 'many': 정수여야 합니다."),
        ("translate run --alpha x", "'--alpha' 값이 잘못되었습니다. 'x': 수여야 합니다."),
        ("translate run --workers 0", "'--workers' 값이 잘못되었습니다. '0': 1 이상이어야 합니다."),
        (
            "translate run --workers 65",
            "'--workers' 값이 잘못되었습니다. '65': 64 이하여야 합니다.",
        ),
    ],
)
def test_wrong_usage_is_told_in_korean(given, said):
    shown = call(*given.split())
    assert shown.stderr == f"오류: {said}\n"
    assert shown.exit_code == 2


@pytest.mark.usefixtures("korean")
def test_what_is_said_on_the_way_is_in_korean(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = ["I am a student"] * 20 + [f"the dog sees {n} cats" for n in range(20)]
    text = "".join(f"{text}\t{text.upper()}\n" for text in texts)
    (tmp_path / "pairs.tsv").write_text(text, encoding="utf-8")
    for arguments, given in (
        (["train", "--corpus", "pairs.tsv", "--set", "batch_tokens=6", "--out", "run", *TINY], ""),
        (["translate", "run"], "I am\n \nunseen\n"),
        (["translate", "run", "I ☃"], ""),
        (["translate", "run", "pairs.tsv"], ""),
        (["evaluate", "run", "--force", "--split", "train"], ""),
        (["export", "run", "halves"], ""),
        (["export", "run", "page", "--to", "web"], ""),
        (["recipes"], ""),
    ):
        shown = call(*arguments, input=given)
        assert shown.exit_code == 0
        assert HANGUL.search(shown.output)
        assert not ENGLISH.search(re.sub("써 보기: .*|Vaswani et al", "", shown.output))


@pytest.mark.parametrize(
    ("chosen", "language"),
    [
        ({"LANG": "ko_KR.UTF-8"}, "ko"),
        ({"LC_MESSAGES": "ko_KR", "LANG": "de_DE.UTF-8"}, "ko"),
        ({"LC_ALL": "C.UTF-8", "LANG": "ko_KR.UTF-8"}, "en"),
        ({"LC_ALL": "", "LC_MESSAGES": "", "LANG": "ko"}, "ko"),
        ({"LANG": "de_DE@euro"}, "en"),
        ({}, "en"),
    ],
)
def test_the_locale_names_a_language_that_has_a_catalogue(chosen, language, monkeypatch):
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)
    assert language_of_the_locale() == language


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"LANG": "ko_KR.UTF-8"}, "오류: 'nowhere'에 실행이 없습니다."),
        ({"LANG": "ko_KR.UTF-8", LANGUAGE_VARIABLE: "en"}, "Error: nowhere holds no run"),
        ({"LANG": "fr_FR.UTF-8"}, "Error: nowhere holds no run"),
        (
            {LANGUAGE_VARIABLE: "fr"},
            f"Error: {LANGUAGE_VARIABLE} is 'fr', it must be one of en, ko.",
        ),
    ],
)
def test_the_variable_wins_over_the_locale_and_an_unknown_one_is_refused(chosen, said):
    others = {name: value for name, value in os.environ.items() if name != LANGUAGE_VARIABLE}
    command = [sys.executable, "-m", "annotated_transformer", "resume", "nowhere"]
    environment = others | {"LC_ALL": ""} | chosen
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.stderr.startswith(said)
    assert run.returncode == 2
