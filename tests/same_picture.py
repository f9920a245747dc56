"""Whether two SVG pictures show the same.

Processors round differently, so digits that nobody sees may differ. Structure and text are compared
exactly, places to `PIXELS`, colours exactly, and colours that stand for data to `SHADES` of 255.
"""

import math
import re
from collections.abc import Callable
from itertools import zip_longest
from operator import eq

import numpy as np

from svg_shapes import NUMBER, Picture, Points, Shape

PIXELS, SHADES = 0.2, 2
DATA = re.compile(r"(QuadMesh|Collection|image)")
"""The groups of a picture whose colours matplotlib computes from numbers."""


def apart(line: Points, other: Points) -> float:
    """Return how far the points of a line are at most from another line."""
    a, along = other[:-1], other[1:] - other[:-1]
    away = line[:, None] - a
    share = (away * along).sum(-1) / np.maximum((along**2).sum(-1), 1e-9)
    rest = away - share.clip(0, 1)[..., None] * along
    return float(np.sqrt((rest**2).sum(-1)).min(axis=1).max())


def moved(stored: Shape, new: Shape) -> float:
    """Return how far a shape is from where it was, infinity if it is another shape.

    Of a long line, matplotlib leaves out points that nobody would miss, and which may be rounding.
    """
    if stored.commands == new.commands:
        return float(abs(stored.points - new.points).max()) if len(new.points) else 0.0
    if any(set(shape.commands[1:]) != {"L"} for shape in (stored, new)):
        return math.inf
    return max(apart(stored.points, new.points), apart(new.points, stored.points))


def different(stored: Shape, new: Shape) -> str:
    """Return in what two shapes differ; nothing, if they show the same."""
    if (stored.where, stored.exact) != (new.where, new.exact):
        return f"is {new.where} {new.exact}, not {stored.exact}"
    if (far := moved(stored, new)) > PIXELS:
        return f"is moved by {far:.3g} px"
    shades = SHADES if DATA.search(stored.where) else 0
    if stored.style.keys() != new.style.keys():
        return f"has the style {dict(new.style)}, not {dict(stored.style)}"
    for name, old in stored.style.items():
        if not alike(old, new.style[name], shades):
            return f"has the {name} {new.style[name]}, not {old}"
    if stored.pixels is None or new.pixels is None:
        return "" if stored.pixels is new.pixels else "is no image"
    if stored.pixels.shape != new.pixels.shape:
        return f"has {new.pixels.shape} pixels, not {stored.pixels.shape}"
    most = abs(stored.pixels - new.pixels).max()
    return f"has a pixel that differs by {most} of 255" if most > SHADES else ""


def alike(stored: str, new: str, shades: int) -> bool:
    """Whether two values of a style look the same: a colour, a width, an opacity."""
    if stored == new:
        return True
    if stored.startswith("#") and new.startswith("#") and len(stored) == len(new):
        pairs = zip(bytes.fromhex(stored[1:]), bytes.fromhex(new[1:]), strict=True)
        return all(abs(a - b) <= shades for a, b in pairs)
    if NUMBER.sub("", stored) != NUMBER.sub("", new):
        return False
    numbers = zip(NUMBER.findall(stored), NUMBER.findall(new), strict=True)
    return all(abs(float(a) - float(b)) <= SHADES / 255 for a, b in numbers)


def difference(stored: str, new: str, same_text: Callable[[str, str], bool] = eq) -> str:
    """Return which element of two pictures shows something else, and by how much, or nothing.

    Where ``same_text`` takes two texts for the same though they differ, their letters are left out.
    """
    if stored == new:
        return ""
    before, now = Picture(stored), Picture(new)
    pairs = (before.shapes(), now.shapes())
    if len(before.texts) != len(now.texts):
        return f"there are {len(now.texts)} texts, not {len(before.texts)}"
    others = {i for i, (a, b) in enumerate(zip(before.texts, now.texts, strict=True)) if a != b}
    for i in others:
        if not same_text(before.texts[i], now.texts[i]):
            return f"the text {before.texts[i]!r} is {now.texts[i]!r}"
    for old, shape in zip_longest(*([s for s in all_ if s.text not in others] for all_ in pairs)):
        if old is None or shape is None:
            return f"{(old or shape).where} is only in one of them"
        if said := different(old, shape):
            return f"{old.where} {said}"
    return ""
