"""Lead from every page of a site to the same page of its other versions, and back.

``PYTHONPATH=book/_ext python tools/join_versions.py _build/html``: the site is that of the latest
version; each folder in it that is called like a version (``1.0``) has the site of that one. A page
that another version does not have leads to its front page.
"""

import re
import sys
from os.path import relpath
from pathlib import Path

from editions import EDITIONS, Edition

from join_editions import LANGUAGE

VERSION = re.compile(r"\d+\.\d+")
PLACE = '<nav class="bd-links bd-docs-nav"'
LINE = re.compile(r'<nav class="versions">.*?</nav>')


def pages_of(site: Path) -> dict[Path, list[Path]]:
    """Return the pages of each version, by its folder, the latest first."""
    numbered = [each for each in site.iterdir() if VERSION.fullmatch(each.name)]
    numbered.sort(key=lambda folder: [-int(part) for part in folder.name.split(".")])
    inside = {path for folder in numbered for path in folder.rglob("*.html")}
    latest = [path for path in site.rglob("*.html") if path not in inside]
    return {site: latest} | {folder: list(folder.rglob("*.html")) for folder in numbered}


def switch(page: Path, own: Path, site: Path, versions: list[Path], edition: Edition) -> str:
    """Return the line of a page that names all versions; its own is no link."""
    found = []
    for version in versions:
        name = edition.latest if version == site else edition.numbered.format(version.name)
        same = version / page.relative_to(own)
        to = same if same.is_file() else version / "index.html"
        link = f'<a href="{relpath(to, page.parent)}">{name}</a>'
        found.append(f"<strong>{name}</strong>" if version == own else link)
    return f'<nav class="versions">{" · ".join(found)}</nav>'


def join(site: Path) -> None:
    """Write the lines into all pages, if there is more than one version."""
    versions = pages_of(site)
    for own, pages in versions.items() if len(versions) > 1 else ():
        for page in pages:
            html = LINE.sub("", page.read_text(encoding="utf-8"))
            if language := LANGUAGE.search(html):
                line = switch(page, own, site, list(versions), EDITIONS[language[1]])
                page.write_text(html.replace(PLACE, line + PLACE, 1), encoding="utf-8")


if __name__ == "__main__":
    join(Path(sys.argv[1]))
