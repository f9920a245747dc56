"""A page of a site leads to the same page of its other versions."""

from pathlib import Path
from zipfile import ZipFile

import pytest
from bs4 import BeautifulSoup
from editions import EDITIONS

import join_versions
import pack_site

PAGE = '<html lang="{}"><body>{}></nav></body></html>'


def shown(page: Path) -> list[tuple[str, str | None]]:
    """The versions that a page names, and where each leads."""
    [nav] = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser").select("nav.versions")
    return [(each.text, each.get("href")) for each in nav.select("a, strong")]


def test_a_page_leads_to_itself_in_other_versions(tmp_path: Path) -> None:
    for name in ("book/new", "book/old", "ko/book/old"):
        for folder in (tmp_path, *(tmp_path / version for version in ("1.0", "1.10", "1.9"))):
            language = "ko" if name.startswith("ko") else "en"
            for page in (folder / f"{name}.html", folder / "index.html"):
                page.parent.mkdir(parents=True, exist_ok=True)
                page.write_text(PAGE.format(language, join_versions.PLACE), encoding="utf-8")
    (tmp_path / "1.0" / "book" / "new.html").unlink()
    (tmp_path / "1.0" / "moved.html").write_text("<meta http-equiv=refresh>", encoding="utf-8")
    join_versions.join(tmp_path)
    join_versions.join(tmp_path)
    assert shown(tmp_path / "book" / "new.html") == [
        ("latest version", None),
        ("version 1.10", "../1.10/book/new.html"),
        ("version 1.9", "../1.9/book/new.html"),
        ("version 1.0", "../1.0/index.html"),
    ]
    assert shown(tmp_path / "1.0" / "ko" / "book" / "old.html") == [
        ("최신판", "../../../ko/book/old.html"),
        ("1.10판", "../../../1.10/ko/book/old.html"),
        ("1.9판", "../../../1.9/ko/book/old.html"),
        ("1.0판", None),
    ]


def test_a_site_of_one_version_says_none(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(PAGE.format("en", join_versions.PLACE), encoding="utf-8")
    join_versions.join(tmp_path)
    assert "versions" not in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_the_archive_has_the_site_without_its_other_versions(tmp_path: Path, monkeypatch) -> None:
    for name in ("index.html", "book/a.html", "1.0/index.html"):
        (tmp_path / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / name).write_text(name, encoding="utf-8")
    pack_site.pack(tmp_path / "site", tmp_path / "site.zip")
    with ZipFile(tmp_path / "site.zip") as archive:
        assert archive.namelist() == ["book/a.html", "index.html"]
    monkeypatch.setattr(pack_site, "LARGEST", 10)
    with pytest.raises(ValueError, match="it must have at most 10"):
        pack_site.pack(tmp_path / "site", tmp_path / "site.zip")


def test_the_site_has_the_place_of_the_line(site: Path) -> None:
    pages = ["book/index.html", "book/05_self_attention.html", "404.html", "search.html"]
    for page in pages:
        html = (site / page).read_text(encoding="utf-8")
        assert html.count(join_versions.PLACE) == 1
        assert join_versions.LANGUAGE.search(html)[1] in EDITIONS
