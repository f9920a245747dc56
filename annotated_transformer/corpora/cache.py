"""The cache: the folder in which what was downloaded or encoded once is kept."""

import os
from pathlib import Path

from platformdirs import user_cache_dir

from annotated_transformer.ground.errors import InputError

CACHE_VARIABLE = "ANNOTATED_TRANSFORMER_CACHE"
"""Names the folder of what is made here, and can be made again."""


def kept_in(variable: str) -> Path:
    """Return the folder that an environment variable names, or else the user's cache folder.

    Raises:
        InputError: if it is not set and the user has no home folder.
    """
    try:
        return Path(os.environ.get(variable) or user_cache_dir("annotated-transformer"))
    except RuntimeError as error:
        raise InputError(
            f"there is no home folder to keep files in: set HOME or {variable}."
        ) from error
