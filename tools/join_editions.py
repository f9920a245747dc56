"""Put the site of an edition beside the English one, and open the way between them.

``python tools/join_editions.py _build/ko/_build/html _build/html ko``: what both have (figures,
notebooks, the laboratory with its models) is kept once; a page that exists on both sides shows its
link to the other.
"""

import filecmp
import re
import shutil
import sys
from itertools import starmap
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

SHARED = ("_images", "_sources", "_downloads", "_static/laboratory")
TO_SHARED = re.compile(rf'(?<=")((?:\.\./)*)((?:{"|".join(SHARED)})/[^"]*)')
HIDDEN = re.compile(r'(<a class="language [^>]*hreflang="([^"]*)") data-address="([^"]*)" hidden>')
LANGUAGE = re.compile(r'<html\b[^>]* lang="([^"]*)"')
CANONICAL = re.compile(r'<link rel="canonical" href="([^"]*)"')
ALTERNATE = '<link rel="alternate" hreflang="{}" href="{}">\n'
STATED = re.compile(ALTERNATE.format('([^"]*)', '([^"]*)'))


def share(edition: Path, site: Path, language: str) -> None:
    """Delete from an edition what the site has as well, and lead its pages there.

    What is in its language stays: a figure with other labels, a notebook to do.

    Raises:
        ValueError: if the site lacks a file of the edition.
    """
    for path in [p for name in SHARED for p in (edition / name).rglob("*") if p.is_file()]:
        twin = site / path.relative_to(edition)
        if twin.exists():
            if filecmp.cmp(path, twin, shallow=False):
                path.unlink()
        elif not path.stem.endswith(f"-{language}"):
            raise ValueError(f"{path} has no twin in {site}: build both again.")

    def address(found: re.Match[str]) -> str:
        up, name = found.groups()
        stays = (edition / unquote(urlsplit(name).path)).exists()
        return found[0] if stays else f"../{up}{name}"

    for page in edition.rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        page.write_text(TO_SHARED.sub(address, html), encoding="utf-8")


def link(pages: list[Path]) -> None:
    """Show the links to other editions that lead to a page.

    A search engine is told of all editions where the site has a public address.
    """
    for page in pages:
        html = page.read_text(encoding="utf-8")
        found = {
            language: (link, address)
            for link, language, address in HIDDEN.findall(html)
            if (page.parent / address).exists()
        }
        for link, address in found.values():
            hidden = f'{link} data-address="{address}" hidden>'
            html = html.replace(hidden, f'{link} href="{address}">')
        if found and (public := CANONICAL.search(html)):
            known = dict(STATED.findall(html)) or {LANGUAGE.search(html)[1]: public[1]}
            known |= {language: urljoin(public[1], found[language][1]) for language in found}
            html = STATED.sub("", html).replace(
                "</head>", "".join(starmap(ALTERNATE.format, known.items())) + "</head>", 1
            )
        page.write_text(html, encoding="utf-8")


def join(edition: Path, site: Path, language: str) -> None:
    """Move an edition into a folder of the site."""
    target = site / language
    shutil.rmtree(target, ignore_errors=True)
    share(edition, site, language)
    shutil.move(edition, target)
    link(sorted(site.rglob("*.html")))


if __name__ == "__main__":
    join(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
