"""The editions of the book: a line for each language, with all that the site has to know of it.

English is the source. A new edition is a line here, and its catalogues in ``book/locale`` and in
``locale`` of the package and the workbook: ``make book LANGUAGE=…`` builds it then.
"""

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from contents import ROOT

LOCALE = ROOT / "book" / "locale"
SOURCE = "en"

# A sentence that can be shown has neither TeX nor the key of a citation.
SHOWN = r"(?!.*(?:[\\{}^]|[a-z]\d{4})).*[.?!][”’)]*$"


@dataclass(frozen=True)
class Edition:
    """A language of the book. What is not said is as in English."""

    code: str
    name: str
    """Its name in the language itself."""
    script: str = ""
    """The characters of its own, as a regular expression: a translation has at least one."""
    between: str = r"\n|(?<=[.?!])\s+(?=[A-Z“(])"
    """What stands between two sentences."""
    sentence: str = rf"(?=.{{30,140}}$)[A-Z“(]{SHOWN}"
    """A sentence of which the search shows that a page begins with it."""
    word: str = r"[^\W\d]{4,}"
    """A word that is worth looking for."""
    face: str = ""
    """The name of its face on the site, if the Latin ones do not have its characters."""
    font: Path = Path()
    """The file of the face; that of its bold one has "Bold" behind the name."""
    style: str = ""
    """A style sheet of its own."""
    latest: str = "latest version"
    """What the latest version of the course is called on the site."""
    numbered: str = "version {}"
    """What another one is called."""

    @property
    def folder(self) -> Path:
        """Return the folder of its catalogues."""
        return LOCALE / self.code / "LC_MESSAGES"

    @property
    def bold(self) -> Path:
        """Return the file of the bold face."""
        return self.font.with_stem(f"{self.font.stem}Bold")

    def writes(self, text: str) -> bool:
        """Tell whether a text has characters of its own, or it needs none."""
        return bool(re.search(self.script, text))


KOREAN_FONTS = Path(str(find_spec("koreanize_matplotlib").origin)).parent / "fonts"

EDITIONS = {
    edition.code: edition
    for edition in (
        Edition(SOURCE, "English"),
        Edition(
            "ko", "한국어",
            script="[\u1100-\u11ff\u3000-\u303f\u3130-\u318f\uac00-\ud7a3]",
            between=r"\n|(?<=[다까오요][.?!])\s+",
            sentence=rf"(?=.{{15,110}}$)[A-Z가-힣“‘(]{SHOWN}",
            word=r"[가-힣]{2,}|[^\W\d]{4,}",
            face="hangul", font=KOREAN_FONTS / "NanumGothic.ttf", style="korean.css",
            latest="최신판", numbered="{}판",
        ),
    )
}  # fmt: skip

TRANSLATED = {code: edition for code, edition in EDITIONS.items() if code != SOURCE}
