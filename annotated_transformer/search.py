"""Search: how translations are looked for, as one value."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from annotated_transformer.errors import InputError
from annotated_transformer.settings import Size, check_settings


@dataclass(frozen=True)
class Search:
    """How translations are looked for. A beam of 1 is greedy search, unless it samples."""

    beam: Annotated[Size, Field(le=1000)] = 1  # how many beginnings of a translation are kept
    alpha: Annotated[float, Field(ge=-10, le=10)] = 0.6  # exponent of the length penalty
    best: Annotated[Size, Field(le=1000)] = 1  # how many translations of each sentence are given
    sample: bool = False  # draw the next token at random instead of taking the likeliest
    temperature: Annotated[float, Field(ge=1e-3, le=1000)] = 1.0  # above 1: more surprising samples
    top_k: Size | None = None  # draw among so many likeliest tokens
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0  # ... that have this probability together
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0  # the same seed draws the same translations
    extra_length: Annotated[int, Field(ge=0, le=10**6)] = 50  # tokens more than the source has

    def __post_init__(self) -> None:
        """Refuse a search that cannot be made.

        Raises:
            InputError: if a setting is out of its range, or two do not go together.
        """
        check_settings(self)
        if self.sample and self.beam > 1:
            raise InputError(f"beam is {self.beam}, it must be 1 where sample is set.")
        if self.seed + self.best > 2**63:
            raise InputError(
                f"seed is {self.seed} and best {self.best}: each sample takes the next seed, and "
                f"the last one is {2**63 - 1}."
            )
        if not self.sample and self.best > self.beam:
            raise InputError(
                f"best is {self.best}, it must be at most the beam, {self.beam}, or sample be set."
            )
        if not self.sample and (self.temperature, self.top_k, self.top_p) != (1.0, None, 1.0):
            raise InputError("temperature, top_k and top_p are for samples: set sample.")


GREEDY = Search()
