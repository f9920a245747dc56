"""Tables: numbers with words on their rows and columns."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from annotated_transformer.ground.errors import InputError


def table(
    data: Any,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    decimals: int = 2,
) -> Any:
    """Show a matrix, a vector (as one row), a list of dictionaries or a data frame.

    Numbers that are not integers have ``decimals`` decimals. What has no names shows none.
    pandas and IPython come with ``pip install annotated-transformer[book]``. They are imported
    here, so that the package itself does not need them.

    Raises:
        InputError: if a tensor has more than two axes, or there are too few or too many names.
    """
    import pandas as pd
    from IPython.display import HTML

    if isinstance(data, Tensor):
        if data.dim() > 2:
            raise InputError(f"the tensor has {data.dim()} axes, a table has at most two.")
        data = [data.tolist()] if data.dim() < 2 else data.tolist()
    frame = pd.DataFrame(data)
    for axis, names in (("index", rows), ("columns", columns)):
        size = len(getattr(frame, axis))
        if names is not None and len(names) != size:
            raise InputError(f"{axis}: {len(names)} names are given for {size} entries.")
        if names is not None:
            setattr(frame, axis, pd.Index(list(names)))
    unnamed = [isinstance(part, pd.RangeIndex) for part in (frame.index, frame.columns)]

    def written(value: Any) -> str:
        # 0 is added because a value that rounds to 0 may come from either side.
        return (
            f"{round(value, decimals) + 0:.{decimals}f}" if isinstance(value, float) else str(value)
        )

    html = frame.map(written).to_html(index=not unnamed[0], header=not unnamed[1])
    return HTML(html)  # type: ignore[no-untyped-call]
