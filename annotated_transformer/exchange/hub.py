"""The hub: download a published model at a pinned revision, and verify its files."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from annotated_transformer.ground.errors import InputError, require_library
from annotated_transformer.ground.inputs import StrPath, require_content, require_path


@dataclass(frozen=True)
class PublishedModel:
    """A model on the Hugging Face hub: its repository, a commit of it, the SHA-256 of its files."""

    repository: str
    revision: str
    checksums: Mapping[str, str]

    def __post_init__(self) -> None:
        """Refuse a revision that may change.

        Raises:
            InputError: if it is not the full name of a commit.
        """
        if not re.fullmatch("[0-9a-f]{40}", self.revision):
            raise InputError(
                f"revision is {self.revision!r}, it must be a commit, 40 hexadecimal digits: a "
                "branch or a tag may change."
            )

    def download(self) -> Path:
        """Return the folder of its files, downloaded once to the hub's own cache, and verified.

        The environment variable ``HF_ENDPOINT`` names another server than the hub, ``HF_HOME``
        another cache.

        Raises:
            InputError: if the download fails, a checksum is wrong, or huggingface_hub is not
                installed.
        """
        hub = require_library("huggingface_hub")
        try:
            paths = [
                hub.hf_hub_download(self.repository, name, revision=self.revision)
                for name in self.checksums
            ]
        except OSError as error:  # all exceptions of the hub
            raise InputError(
                f"{self.repository} could not be downloaded from {hub.constants.ENDPOINT} "
                f"({type(error).__name__}): check the network and try again."
            ) from error
        return self.verify(Path(paths[0]).parent)

    def verify(self, folder: StrPath) -> Path:
        """Return a folder if it contains the files of this model, unchanged.

        Raises:
            InputError: if one is missing or has another checksum.
        """
        folder = require_path("folder", folder)
        for name, checksum in self.checksums.items():
            path = folder / name
            require_content(path)
            with path.open("rb") as file:
                found = file_digest(file, "sha256").hexdigest()
            if found != checksum:
                raise InputError(
                    f"{path} is damaged (its SHA-256 is {found[:8]}…, it must be "
                    f"{checksum[:8]}…): delete it and try again."
                )
        return folder


MINILM = PublishedModel(
    "sentence-transformers/all-MiniLM-L6-v2",
    "1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
    {
        "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
)
"""An encoder of 22 million parameters whose sentence vectors are near for similar meanings."""
