"""What an SVG picture of matplotlib draws: one shape after the other, each with its place.

Links (letters, markers, clips) are followed and transforms multiplied out, so that nothing depends
on the names that matplotlib makes of coordinates, and every place is in pixels.
"""

import base64
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import cos, radians, sin
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from PIL import Image

NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")
LINKS = ("{http://www.w3.org/1999/xlink}href", "clip-path")
Points = NDArray[np.float64]  # a row for each point: x, y, 1


@dataclass(frozen=True)
class Shape:
    """What is drawn at one place: the groups it is in, its points, and all that has no place."""

    where: str
    commands: str
    points: Points
    exact: tuple[str, ...] = ()
    style: Mapping[str, str] = field(default_factory=dict)
    pixels: Points | None = None
    text: int | None = None  # the number of the text whose letter this is


def matrix(transform: str) -> Points:
    """Return what a `transform` does to a row (x, y, 1), from the right."""
    whole = np.eye(3)
    for name, numbers in re.findall(r"(\w+)\(([^)]*)\)", transform):
        x, y, *_ = [float(n) for n in NUMBER.findall(numbers)] * 2
        match name:
            case "translate":
                one = [[1, 0, 0], [0, 1, 0], [x, y, 1]]
            case "scale":
                one = [[x, 0, 0], [0, y, 0], [0, 0, 1]]
            case "rotate":
                c, s = cos(radians(x)), sin(radians(x))
                one = [[c, s, 0], [-s, c, 0], [0, 0, 1]]
            case _:
                raise ValueError(f"the transform {name!r} is not known here")
        whole = np.array(one) @ whole
    return whole


def outline(element: ElementTree.Element) -> tuple[str, list[float]]:
    """Return the commands of a shape, and the coordinates of its points."""
    if (path := element.get("d")) is not None:
        commands = "".join(re.findall("[A-Za-z]", path))
        if set(commands) - set("MLQCz"):
            raise ValueError(f"the path {path[:40]!r} has commands that are not known here")
        return commands, [float(n) for n in NUMBER.findall(path)]
    sizes = [element.get(name, "0") for name in ("x", "y", "width", "height")]
    x, y, width, height = (float(size.removesuffix("pt")) for size in sizes)
    numbers = map(float, NUMBER.findall(element.get("viewBox", "")))
    return "", [x, y, x + width, y + height, *numbers]


class Picture:
    """An SVG picture, with the `texts` that are written in it."""

    def __init__(self, svg: str) -> None:
        builder = ElementTree.TreeBuilder(insert_comments=True)
        self.root = ElementTree.fromstring(svg, ElementTree.XMLParser(target=builder))
        self.named = {e.get("id"): e for e in self.root.iter() if e.get("id")}
        links = re.findall(r'(?:href="|url\()#([^")]+)', svg)
        self.linked, self.texts = set(links), list[str]()

    def shapes(self) -> list[Shape]:
        """Return all that is drawn, in order."""
        return list(self.drawn(self.root, np.eye(3), ""))

    def drawn(
        self, element: ElementTree.Element, place: Points, where: str, text: int | None = None
    ) -> Iterator[Shape]:
        """Iterate over the shapes of an element and of what it contains or links to."""
        tag = str(element.tag).rpartition("}")[2]
        where += "/" + re.sub("[0-9a-f]{10}$", "", element.get("id", tag))
        place = matrix(element.get("transform", "")) @ place
        commands, numbers = outline(element)
        known = {"id", "d", "x", "y", "width", "height", "transform", "style", "viewBox", *LINKS}
        exact = [f"{k}={v}" for k, v in sorted(element.items()) if k not in known]
        exact += [(element.text or "").strip(), (element.tail or "").strip()]
        style = dict(re.findall(r"([\w-]+): *([^;]+)", element.get("style", "")))
        linked = [re.sub(r".*#|\)", "", element.get(link, "")) for link in LINKS]
        linked += re.findall(r"url\(#([^)]+)\)", element.get("style", ""))
        style = {k: re.sub(r"#[0-9a-z]{9,}", "#", v) for k, v in style.items()}
        pixels = None
        if tag == "image":
            data = element.get(LINKS[0], "").partition("base64,")[2]
            linked, image = [], Image.open(io.BytesIO(base64.b64decode(data)))
            pixels = np.asarray(image.convert("RGBA")).astype(int)
        points = np.array([(*p, 1) for p in zip(numbers[::2], numbers[1::2], strict=True)]) @ place
        yield Shape(where, commands, points, tuple(exact), style, pixels, text)
        if tag == "use":
            place = matrix(f"translate({numbers[0]} {numbers[1]})") @ place
        for link in filter(None, linked):
            yield from self.drawn(self.named[link], place, f"{where}:", text)
        for child in element:
            if child.tag is ElementTree.Comment:
                text = len(self.texts)
                self.texts.append((child.text or "").strip())
            elif child.get("id") not in self.linked:
                yield from self.drawn(child, place, where, text)
