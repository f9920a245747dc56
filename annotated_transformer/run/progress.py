"""The progress of a training, as stored in its checkpoint."""

import sys
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from annotated_transformer.ground.settings import Size

Finite = Annotated[float, Field(ge=-sys.float_info.max, le=sys.float_info.max)]


@dataclass
class Progress:
    """The progress of a training, without its tensors."""

    steps: Annotated[int, Field(ge=0, le=10**9)]
    seconds: Annotated[float, Field(ge=0, le=10**10)]
    losses: list[Finite]  # since the last validation
    norms: list[Finite]
    best: Finite | None  # the lowest validation perplexity so far
    waited: Annotated[int, Field(ge=0)]  # validations since then
    processes: Size  # number of processes that train it together

    @classmethod
    def at_first(cls, processes: int) -> "Progress":
        """Return the progress before the first step; no field has a default, all must be set."""
        return cls(0, 0.0, losses=[], norms=[], best=None, waited=0, processes=processes)
