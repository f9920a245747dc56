"""Multi30k: German–English image captions, downloaded once and verified at every use."""

import os
import warnings
from hashlib import sha256
from pathlib import Path

import requests

from annotated_transformer.corpora.cache import kept_in
from annotated_transformer.ground.errors import InputError

DATA_VARIABLE = "ANNOTATED_TRANSFORMER_DATA"
MULTI30K_COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
MULTI30K_URL = (
    f"https://raw.githubusercontent.com/multi30k/dataset/{MULTI30K_COMMIT}/data/task1/raw/"
)
MULTI30K_SHA256 = {
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2017_flickr.de.gz": "a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee",
    "test_2017_flickr.en.gz": "76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074",
}


def multi30k_folder() -> Path:
    """Return a folder with the files of Multi30k, checksums verified; download missing files.

    29,000 German–English pairs of image captions (Elliott et al. 2016), for research and teaching.
    They are kept in the user's cache, or read from ``multi30k`` in the folder that the environment
    variable ``ANNOTATED_TRANSFORMER_DATA`` names; then nothing is downloaded.

    Raises:
        InputError: if a file is missing or damaged, or the download fails.
    """
    folder, given = kept_in(DATA_VARIABLE) / "multi30k", os.environ.get(DATA_VARIABLE)
    for name, checksum in MULTI30K_SHA256.items():
        path = folder / name
        if not path.is_file():
            if given:
                raise InputError(
                    f"{path} is missing: put it there, or unset {DATA_VARIABLE} to download it."
                )
            _download(name, checksum, folder)
        elif sha256(path.read_bytes()).hexdigest() != checksum:
            raise InputError(f"{path} is damaged (its SHA-256 is wrong): delete it and try again.")
    return folder


def _download(name: str, checksum: str, folder: Path) -> None:
    with warnings.catch_warnings(action="ignore"):  # of a notebook without ipywidgets
        import pooch

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be made ({error}): set HOME, or let {DATA_VARIABLE} name a folder "
            f"that holds multi30k/{name}."
        ) from error
    files = pooch.create(
        path=folder, base_url=MULTI30K_URL, registry={name: checksum}, retry_if_failed=3
    )
    try:
        files.fetch(name)
    except (requests.exceptions.RequestException, OSError) as error:
        raise InputError(
            f"{MULTI30K_URL}{name} could not be downloaded ({type(error).__name__}): check the "
            f"network, or set {DATA_VARIABLE} to a folder that holds multi30k/{name}."
        ) from error
    except ValueError as error:
        raise InputError(
            f"{MULTI30K_URL}{name} arrived with a wrong SHA-256 checksum and was not kept: "
            f"try again, or set {DATA_VARIABLE} to a folder that holds multi30k/{name}."
        ) from error
