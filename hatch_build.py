"""What the package's metadata takes from the book's settings: the address of the repository."""

from pathlib import Path
from typing import Any

import yaml
from hatchling.metadata.plugin.interface import MetadataHookInterface


class RepositoryAddress(MetadataHookInterface):
    """Give the metadata the one address that `_config.yml` holds, and none where it is empty."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the project's addresses."""
        settings = yaml.safe_load(Path(self.root, "_config.yml").read_text(encoding="utf-8"))
        address = settings["repository"]["url"]
        metadata["urls"] = {"Repository": address} if address else {}
