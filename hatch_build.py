"""What a build takes from the book: the repository's address, and the lessons to do."""

import json
import re
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import yaml
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

LARGEST = 6_000_000  # bytes of a record or checkpoint that a wheel ships
READ = re.compile(r"(?:records|checkpoints)/[\w./-]+")
INSIDE = "transformer_workbook/course"


def size_of(path: Path) -> int:
    """Return how many bytes a file has, or the files of a folder."""
    return sum(each.stat().st_size for each in [path, *path.rglob("*")] if each.is_file())


class RepositoryAddress(MetadataHookInterface):
    """Give the metadata the one address that `_config.yml` holds, and none where it is empty."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the project's addresses."""
        settings = yaml.safe_load(Path(self.root, "_config.yml").read_text(encoding="utf-8"))
        address = settings["repository"]["url"]
        metadata["urls"] = {"Repository": address} if address else {}


class Lessons(BuildHookInterface[Any]):
    """Ship the lessons that have gaps, without outputs, their catalogues, and what they read.

    A wheel is built from an sdist, which has them in their place already.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files, but not to an editable wheel: there the book is beside the package."""
        if version == "editable":
            return
        root, folder, include = Path(self.root), Path(mkdtemp()), build_data["force_include"]
        for path in sorted(root.glob("book/[0-9][0-9]_*.ipynb")):
            notebook = json.loads(path.read_text(encoding="utf-8"))
            if not any("blank" in cell["metadata"] for cell in notebook["cells"]):
                continue
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    cell |= {"outputs": [], "execution_count": None}
            text = json.dumps(notebook, indent=1, ensure_ascii=False)
            (folder / path.name).write_text(text, encoding="utf-8")
            include[str(folder / path.name)] = f"{INSIDE}/book/{path.name}"
            needed = [root / above / name for name in READ.findall(text) for above in ("", "book")]
            for catalogue in (f"book/{path.stem}.po", "sphinx.po"):
                needed += root.glob(f"book/locale/*/LC_MESSAGES/{catalogue}")
            for file in needed:
                if file.exists() and size_of(file) < LARGEST:
                    include[str(file)] = f"{INSIDE}/{file.relative_to(root).as_posix()}"
