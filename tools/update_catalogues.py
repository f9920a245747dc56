"""Bring the catalogues of all editions up to date with the pages (``make catalogues``).

Sphinx's builder ``gettext`` has written the messages of every page into a folder; those of the site
come from the extensions, the scripts and the theme, those of outputs from the notebooks. A page has
a catalogue from the day on which it is named here: ``python tools/update_catalogues.py
_build/gettext book/06_multi_head_attention``.
"""

import re
import sys
import tomllib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from babel.messages import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from catalogues import messages, open_catalogue, translated_pages  # noqa: E402
from contents import entries  # noqa: E402
from editions import LOCALE, TRANSLATED  # noqa: E402
from laboratory_page import OFFERS  # noqa: E402
from languages import THEME_WORDS  # noqa: E402
from printed import NAME as PRINTED  # noqa: E402

from annotated_transformer.ground.sentences import CATALOGUES  # noqa: E402
from printed_phrases import all_messages  # noqa: E402
from spoken_sentences import spoken_sentences  # noqa: E402
from transformer_workbook.exercises import TASKS, TITLES  # noqa: E402
from transformer_workbook.lessons.gaps import gaps_of  # noqa: E402
from transformer_workbook.lessons.to_do import lessons, read  # noqa: E402

WORKBOOK = ROOT / "transformer_workbook"
SCRIPTS = [("**.js", "javascript")]
SPOKEN = {"_": None, "localised": None}
SAID = {"said": None, "to_say": None, "Way": None, "Check": (2,)}
SUMMARY = re.compile(r"<summary>([^<{]+)</summary>")
THEME = Path(find_spec("pydata_sphinx_theme").origin).parent / "locale" / "sphinx.pot"


def of_the_site() -> Catalog:
    """Collect the messages that belong to no page."""
    catalogue = Catalog(project="The Annotated Transformer")
    with THEME.open("rb") as file:
        for message in messages(read_po(file)):
            catalogue.add(message.id, flags=message.flags)
    book = ROOT / "book"
    options = {"**.js": {"parse_template_string": "true"}}
    for folder in (book / "_static", WORKBOOK / "notebook"):
        for _, _, message, *_ in extract_from_dir(folder, SCRIPTS, options, SPOKEN):
            catalogue.add(message)
    for _, _, message, *_ in extract_from_dir(book / "_ext", [("**.py", "python")]):
        catalogue.add(message)
    for _, title, _ in OFFERS.values():
        catalogue.add(title)
    parts = dict.fromkeys(entry.part for entry in entries() if entry.part)
    for message in (*parts, *THEME_WORDS):
        catalogue.add(message)
    sources = [*ROOT.glob("book/**/*.ipynb"), *ROOT.glob("book/_ext/*.py")]
    texts = [path.read_text(encoding="utf-8") for path in sorted(sources)]
    for summary in dict.fromkeys(SUMMARY.findall("\n".join(texts))):
        catalogue.add(summary)
    return catalogue


def of_the_outputs() -> Catalog:
    """Collect what the code of all pages prints, with the first page of each phrase."""
    catalogue = Catalog(project="The Annotated Transformer")
    for message, page in all_messages():
        if message not in catalogue:
            catalogue.add(message, auto_comments=[page])
    return catalogue


def of_the_workbook() -> Catalog:
    """Collect the sentences about answers, of code and tables of mistakes; all tasks and hints."""
    catalogue = Catalog(project="The Annotated Transformer")
    for _, _, message, *_ in extract_from_dir(WORKBOOK, [("**.py", "python")], keywords=SAID):
        catalogue.add(message)
    for path in sorted(WORKBOOK.glob("**/*.toml")):
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        for row in (row for rows in tables.values() for row in rows if "says" in row):
            catalogue.add(row["says"])
    gaps = (gap for path in lessons().values() for gap in gaps_of(read(path)))
    hints = [paragraph for gap in gaps for paragraph in gap.hint.split("\n\n")]
    for message in (*TITLES.values(), *(task.statement for task in TASKS.values()), *hints):
        catalogue.add(message)
    return catalogue


def of_the_command_line() -> Catalog:
    """Collect what the command line says."""
    catalogue = Catalog(project="The Annotated Transformer")
    for message in spoken_sentences():
        catalogue.add(message)
    return catalogue


def main(folder: Path, new: list[str]) -> None:
    """Update the catalogues that there are, and begin those that are named."""
    old = [page for language in TRANSLATED for page in translated_pages(language)]
    pages = {page: open_catalogue(folder / f"{page}.pot") for page in (*old, *new)}
    site = {"sphinx": of_the_site(), PRINTED: of_the_outputs()}
    bring({name: page for name, page in pages.items() if page} | site, LOCALE)
    bring({"workbook": of_the_workbook()}, WORKBOOK / "locale")
    bring({"annotated_transformer": of_the_command_line()}, CATALOGUES)


def bring(templates: Mapping[str, Catalog], locale: Path) -> None:
    """Update the catalogues in a folder by their templates.

    A sentence that changed is translated anew: a guess from a similar one is hardly ever right, and
    to look for it took ten minutes.
    """
    for name, template in templates.items():
        for language in TRANSLATED:
            target = locale / language / "LC_MESSAGES" / f"{name}.po"
            catalogue = open_catalogue(target) or Catalog(language, project=template.project)
            catalogue.update(template, no_fuzzy_matching=True, update_creation_date=False)
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as file:
                write_po(file, catalogue, width=0, ignore_obsolete=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
