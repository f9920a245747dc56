"""Mutations: files that are almost valid."""

import json
import struct
from collections.abc import Callable
from random import Random
from typing import Any

WORDS = [
    b"",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\t",
    b"\n",
    b"\r",
    b'"',
    b",",
    b"-1",
    b"0",
    b"1e999",
    b"NaN",
    b"9" * 40,
    b"[" * 100_000,
    b"\\ud800",
    "é́ 어\u2028".encode(),
    b"a" * 100_000,
]
VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    0.5,
    1e308,
    float("inf"),
    float("nan"),
    10**7,
    10**30,
    "",
    "x",
    "\ud800",
    "<pad>",
    [],
    [[0, 0]],
    {},
    {"a": {}},
]

Mutation = Callable[[bytes, Random], bytes]


def bent(content: bytes, random: Random) -> bytes:
    """Change some bytes, whatever they mean."""
    start = random.randint(0, len(content))
    end = min(len(content), start + random.choice([0, 1, 1, 2, 8, 100, 10_000]))
    match random.randrange(6):
        case 0 if content:
            place = random.randrange(len(content))
            flipped = content[place] ^ (1 << random.randrange(8))
            return content[:place] + bytes([flipped]) + content[place + 1 :]
        case 1:
            return content[:start]
        case 2:
            return content[:start] + content[start:end] * random.choice([0, 2, 50]) + content[end:]
        case 3:
            return content[:start] + random.randbytes(end - start) + content[end:]
        case 4:
            return content[end:] + content[start:end]
        case _:
            return content[:start] + random.choice(WORDS) + content[end:]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return all pairs of a container and a key of it, however deep."""
    match value:
        case dict():
            keys: list[Any] = list(value)
        case list():
            keys = list(range(len(value)))
        case _:
            return []
    return [(value, key) for key in keys] + [pair for key in keys for pair in places(value[key])]


def rewritten(content: bytes, random: Random) -> bytes:
    """Change one value of a JSON file, its name, or whether it is there."""
    found = json.loads(content)
    container, key = random.choice(places(found))
    match random.randrange(5):
        case 0:
            del container[key]
        case 1 if isinstance(container, dict):
            container[random.choice(["", "x", "format", "model", str(key) * 2])] = container.pop(
                key
            )
        case 2:
            container[key] = [container[key]]
        case 3:
            return json.dumps(random.choice([*VALUES, found, [found]])).encode()
        case _:
            container[key] = random.choice(VALUES)
    return json.dumps(found).encode()


def rewritten_header(content: bytes, random: Random) -> bytes:
    """Change one value of the JSON header of a safetensors file, with the right length."""
    (length,) = struct.unpack("<Q", content[:8])
    header = rewritten(content[8 : 8 + length], random)
    return struct.pack("<Q", len(header)) + header + content[8 + length :]
