"""What the site has once the repository has an address; all of it comes from that one setting."""

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import nbformat
import pytest
import yaml
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.utils import new_document
from feed import feed
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from public_address import lesson_launchers, site_address, sitemap, summarise_card

import launch_cell

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = "https://github.com/Someone/a-course"
SITE = "https://someone.github.io/a-course/"


@pytest.mark.parametrize(
    ("repository", "site"),
    [
        (ADDRESS, SITE),
        (f"{ADDRESS}.git", SITE),
        ("https://github.com/Someone/someone.github.io", "https://someone.github.io/"),
        ("https://gitlab.com/someone/course", ""),
        ("https://github.com/someone", ""),
    ],
)
def test_the_site_stands_where_github_puts_it(repository: str, site: str) -> None:
    assert site_address(repository) == site


@pytest.mark.parametrize(
    ("repository", "places"),
    [
        ("", {}),
        ("https://gitlab.com/someone/course", {}),
        (
            ADDRESS,
            {
                "Colab": "https://colab.research.google.com/github/Someone/a-course/blob/lessons/lessons/x.ipynb",
                "Binder": "https://mybinder.org/v2/gh/Someone/a-course/lessons?urlpath=lab/tree/lessons/x.ipynb",
            },
        ),
    ],
)
def test_a_lesson_to_do_opens_from_the_branch_of_the_lessons(repository, places) -> None:
    assert lesson_launchers(repository, "x.ipynb") == places


def test_the_sitemap_has_every_page() -> None:
    root = ET.fromstring(sitemap(SITE, ["a.html", "b/c&d.html"]).encode())
    assert [loc.text for loc in root.iterfind(".//{*}loc")] == [
        f"{SITE}a.html",
        f"{SITE}b/c&d.html",
    ]


def test_the_feed_has_every_dated_version() -> None:
    dated = "## 1.1 - 2027-02-03\n\n- b & *d*\n\n## 1.0 - 2027-01-02\n\n- a\n"
    written = f"# Log\n\n## 2.0 - unreleased\n\n- c\n\n{dated}"
    root = ET.fromstring(feed(written, "A course", SITE, "log.html").encode())
    entries = [
        [each.findtext(f"{{*}}{name}") for name in ("title", "updated", "content")]
        for each in root.iterfind("{*}entry")
    ]
    assert entries == [
        ["A course 1.1", "2027-02-03T00:00:00Z", "<ul>\n<li>b &amp; <em>d</em></li>\n</ul>\n"],
        ["A course 1.0", "2027-01-02T00:00:00Z", "<ul>\n<li>a</li>\n</ul>\n"],
    ]
    assert root.findtext("{*}updated") == "2027-02-03T00:00:00Z"
    assert len({each.text for each in root.iter("{http://www.w3.org/2005/Atom}id")}) == 3


def test_a_card_says_how_the_text_begins() -> None:
    document = new_document("page", get_default_settings())
    minutes = nodes.paragraph("", "5 minutes to read", classes=["reading-time"])
    document += nodes.section("", minutes, nodes.paragraph("", "Who looks at whom?"))
    context: dict[str, object] = {"meta": None}
    summarise_card(None, "page", "page.html", context, document)
    text = "Who looks at whom?"
    assert context == {"meta": {"og:description": text, "og:image:alt": text}}
    own = {"meta": {"og:description": "The page's own."}}
    summarise_card(None, "page", "page.html", own, document)
    assert own == {"meta": {"og:description": "The page's own.", "og:image:alt": text}}


def test_the_cell_stands_under_the_title_and_goes_with_the_address() -> None:
    notebook = new_notebook(cells=[new_markdown_cell("# Title"), new_code_cell("import math")])
    one = launch_cell.with_launch_cell(notebook, "book", ADDRESS)
    again = launch_cell.with_launch_cell(one, "book", ADDRESS)
    assert [cell.cell_type for cell in again.cells] == ["markdown", "code", "code"]
    assert f"--depth 1 {ADDRESS} course" in again.cells[1].source
    assert len(launch_cell.with_launch_cell(again, "book", "").cells) == 2


def test_the_notebooks_have_the_cell_of_the_setting() -> None:
    for path in sorted((ROOT / "book").rglob("*.ipynb")):
        stored = nbformat.read(path, as_version=4)
        sources = [cell.source for cell in stored.cells if cell.get("id") == launch_cell.ID]
        folder = path.parent.relative_to(ROOT).as_posix()
        address = launch_cell.address()
        assert sources == ([launch_cell.source(address, folder)] if address else []), path.name


def in_ipython(python: Path | str, folder: Path, source: str, **environment: str) -> str:
    """Run a cell as a notebook in a folder would; return what it prints, and where it ends."""
    program = (
        "from IPython.core.interactiveshell import InteractiveShell as Shell\n"
        "import os\n"
        f"Shell.instance().run_cell({source!r}).raise_error()\n"
        "import annotated_transformer\n"
        "print('AT', annotated_transformer.__file__, os.getcwd())\n"
    )
    result = subprocess.run(
        [python, "-c", program], cwd=folder, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
def test_the_cell_is_silent_where_the_course_is(tmp_path: Path) -> None:
    source = launch_cell.source("https://nowhere.invalid/x", "book")
    shown = in_ipython(
        sys.executable, tmp_path, source, PYTHONPATH=str(ROOT), HOME=str(tmp_path), PATH="/bin"
    )
    assert shown == f"AT {ROOT / 'annotated_transformer' / '__init__.py'} {tmp_path}\n"


@pytest.mark.slow
def test_the_cell_fetches_and_installs_the_course(tmp_path: Path) -> None:
    """From a repository on this machine, of which pip builds and installs the wheel."""
    repository = tmp_path / "repository"
    subprocess.run(["git", "clone", "-q", "--depth", "1", ROOT.as_uri(), repository], check=True)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    # Everything but the course is there already: packages are not downloaded by a test.
    (packages,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    libraries = next(path for path in sys.path if path.endswith("site-packages"))
    (packages / "libraries.pth").write_text(f"{libraries}\n")
    alone = tmp_path / "alone"
    alone.mkdir()
    shown = in_ipython(
        tmp_path / "venv" / "bin" / "python",
        alone,
        launch_cell.source(repository.as_uri(), "book/deeper"),
        PATH="/usr/bin:/bin",
        HOME=str(tmp_path),
        PIP_NO_DEPS="1",
        PIP_NO_BUILD_ISOLATION="no",  # pip reads it as the value of "build isolation"
        PIP_FORCE_REINSTALL="1",
    )
    where = shown.splitlines()[-1].split()
    assert where[1].startswith(str(packages))
    assert Path(where[2]) == alone / "course" / "book" / "deeper"


def test_there_is_one_setting() -> None:
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    assert settings["repository"]["url"] == launch_cell.address()
