"""Explorer: an interactive figure of the weights with which every word attends."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from importlib.resources import files

from jaxtyping import Float
from torch import Tensor

from annotated_transformer.ground.errors import InputError
from transformer_workbook.notebook.figures import require_attention

Weights = Float[Tensor, "..."]
"""(query, key), or (heads, query, key)."""


@dataclass(frozen=True, repr=False)
class Explorer:
    """An interactive figure; a notebook shows it."""

    text: str
    html: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


def attention_explorer(
    weights: Weights | Mapping[str, Weights],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    gold: Collection[tuple[int, int]] | None = None,
    caption: str = "",
    sides: tuple[str, str] = ("target", "source"),
) -> Explorer:
    """Show attention weights: choose a word to see what it attends to, and what attends to it.

    The figure is one piece of HTML that loads nothing. Without scripts it is a table of the
    weights for each layer, averaged over the heads. Weights are rounded to two decimals.

    To show what `annotated_transformer.evaluation.forced_attention` returns for a batch of one
    sentence, take that sentence and the attention to the source:

        {name: w[0] for name, [w] in captured.items() if "cross_attention" in name}

    In a longer batch, cut the padding off: ``w[i, :, : len(rows), : len(columns)]``.

    >>> import torch
    >>> attention_explorer(torch.eye(2).expand(4, 2, 2), ["나", "는"], ["I", "am"])
    Attention of 2 words over 2 words, 4 heads

    Args:
        weights: (query, key) or (heads, query, key), or several such layers by name.
        rows: the words that attend, one for each query.
        columns: the words that are attended to, one for each key.
        gold: true links (position in `columns`, position in `rows`), which are outlined.
        caption: a sentence above the figure.
        sides: what the rows and the columns are.

    Raises:
        InputError: if there is nothing to show, if the layers differ in shape, or if
            `annotated_transformer.figures.require_attention` refuses the weights.
    """
    if not isinstance(weights, Tensor | Mapping):
        raise InputError(
            f"weights is a {type(weights).__name__}, it must be a tensor or a mapping of tensors."
        )
    layers = {"": weights} if isinstance(weights, Tensor) else dict(weights)
    if not layers:
        raise InputError("weights is an empty mapping, it must hold at least one layer.")
    shapes = {tuple(layer.shape) for layer in layers.values()}
    if len(shapes) > 1:
        raise InputError(f"the layers have the shapes {sorted(shapes)}, it must be the same one.")
    (shape,) = shapes
    links = frozenset((source, target) for source, target in gold or ())
    for layer in layers.values():
        require_attention(layer, rows, columns, links)
    heads = shape[0] if len(shape) == 3 else 1

    tables, by_head = [], []
    for name, layer in layers.items():
        separate = layer.double().reshape(heads, len(rows), len(columns))
        title = f"{name}: " if name else ""
        title += f"attention of {sides[0]} words (rows) over {sides[1]} words (columns)"
        title += f", mean of {heads} heads" if heads > 1 else ""
        title += "; bold: gold alignment" if links else ""
        mean = _hundredths(separate.mean(dim=0))
        tables.append(_table(mean, rows, columns, links, sides, name, title))
        by_head.append(_hundredths(separate.flatten(1)))
    text = f"Attention of {len(rows)} words over {len(columns)} words"
    text += f", {heads} heads" if heads > 1 else ""
    text += f", {len(layers)} layers" if len(layers) > 1 else ""
    return Explorer(text, _fragment(tables, by_head if heads > 1 else [], caption, sides))


def _hundredths(weights: Float[Tensor, "_ _"]) -> list[list[int]]:
    """Round weights as they are printed: 0.93 is 93."""
    # A tie such as 1/8 is rounded up whatever its last bit says, which differs between machines.
    rounded: list[list[int]] = (100 * weights + 0.5 + 1e-4).int().tolist()
    return rounded


def _table(
    weights: list[list[int]],
    rows: Sequence[str],
    columns: Sequence[str],
    links: frozenset[tuple[int, int]],
    sides: tuple[str, str],
    layer: str,
    title: str,
) -> str:
    """Write the weights as a plain table, which needs neither scripts nor styles."""
    corner = f"{sides[0]}\u00a0↓ {sides[1]}\u00a0→"
    header = "".join(f'<th scope="col">{escape(word)}</th>' for word in columns)
    lines = [
        f'<table data-layer="{escape(layer)}"><caption>{escape(title)}</caption>',
        f"<thead><tr><th>{escape(corner)}</th>{header}</tr></thead><tbody>",
    ]
    for target, (word, line) in enumerate(zip(rows, weights, strict=True)):
        cells = [f"{weight / 100:.2f}" for weight in line]
        for source, _ in (link for link in links if link[1] == target):
            cells[source] = f"<b>{cells[source]}</b>"
        filled = "".join(f"<td>{cell}</td>" for cell in cells)
        lines.append(f'<tr><th scope="row">{escape(word)}</th>{filled}</tr>')
    return "\n".join([*lines, "</tbody></table>"])


def _fragment(
    tables: Sequence[str],
    by_head: list[list[list[int]]],
    caption: str,
    sides: tuple[str, str],
) -> str:
    """Join the tables with the style and the script that make a figure of them."""
    head = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    names = 'data-row="{}" data-column="{}"'.format(*map(escape, sides))
    grid = '<div class="grid" role="group" aria-label="attention weights" tabindex="0">'
    body = "\n".join([f"{names}>{head}", grid, *tables, "</div>"])
    data = json.dumps(by_head, separators=(",", ":"))
    # The id comes from the content: it is the same in every run, and different for other figures.
    name = f"attention-{sha256((body + data).encode()).hexdigest()[:10]}"
    style = _asset("explorer.css").replace(".attention-explorer", f"#{name}")
    script = f'{_asset("explorer.js")}\nexploreAttention("{name}",{data});'
    return (
        f'<figure id="{name}" {body}\n</figure>\n<style>\n{style}\n</style>\n'
        f"<script>\n(() => {{\n{script}\n}})();\n</script>"
    )


def _asset(name: str) -> str:
    """Read a file beside this module, without its comments and its indentation."""
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(("/*", "//")))
