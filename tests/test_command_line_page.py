"""The page of the command line: every command is on it, and its examples run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from annotated_transformer.cli import app
from test_import import published, texts_folder  # noqa: F401

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "book" / "command_line.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```\{command\} (\w+)\n(.+?)```", PAGE, re.DOTALL)


def test_every_command_is_on_the_page_with_an_example_of_it() -> None:
    assert sorted(name for name, _ in BLOCKS) == sorted(get_command(app).commands)
    for name, example in BLOCKS:
        assert f"annotated-transformer {name} " in f"{example} ".replace("\n", " ")


@pytest.mark.slow
def test_the_examples_run_one_after_the_other(tmp_path: Path, texts_folder: Path) -> None:  # noqa: F811
    published(tmp_path / "opus-mt-en-ko", texts_folder)
    (tmp_path / "checkpoints").symlink_to(ROOT / "checkpoints")
    script = "\n".join(["set -euo pipefail", *(example for _, example in BLOCKS)])
    place = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PATH": place},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert len((tmp_path / "english.txt").read_text(encoding="utf-8").splitlines()) == 2
