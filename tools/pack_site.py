"""Pack the built site for use without a network.

PYTHONPATH=book/_ext python tools/pack_site.py _build/html site.zip
"""

import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from join_versions import VERSION

LARGEST = 60_000_000
"""Bytes: what a teacher can still hand out."""


def pack(site: Path, target: Path) -> None:
    """Pack the files of a site, without those of its other versions.

    Raises:
        ValueError: if the archive is too large.
    """
    with ZipFile(target, "w", ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(path for path in site.rglob("*") if path.is_file()):
            name = path.relative_to(site)
            if not VERSION.fullmatch(name.parts[0]):
                archive.write(path, name.as_posix())
    if (size := target.stat().st_size) > LARGEST:
        raise ValueError(f"{target} has {size} bytes, it must have at most {LARGEST}")
    print(f"{target}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]))
