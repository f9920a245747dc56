"""Eleven faults to find: a reader's care taken away, one at a time, in a copy of the package."""

import shutil
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "annotated_transformer"


@dataclass(frozen=True)
class Fault:
    """A line of a module as it is, and without its care."""

    reader: str
    module: str
    careful: str
    careless: str


FAULTS = [
    Fault("tsv", "corpora.py", "zlib.error, UnicodeDecodeError)", "zlib.error)"),
    Fault("tsv", "corpora.py", "if len(columns) != 2 or", "if len(columns) < 2 or"),
    Fault("text", "corpora.py", "if source and target:", "if source or target:"),
    Fault("gzip", "corpora.py", "(OSError, EOFError, zlib.error, ", "(OSError, "),
    Fault("recipe", "run/presets.py", "if not isinstance(settings, dict):", "if settings is None:"),
    Fault(
        "recipe of a run",
        "run/description.py",
        "(OSError, ValueError, RecursionError)",
        "(OSError, ValueError)",
    ),
    Fault(
        "weights",
        "run/checkpoint.py",
        '!= checksum(tensors, header["progress"])',
        "is False",
    ),
    Fault("checkpoint", "run/checkpoint.py", "(SafetensorError, KeyError, ", "(KeyError, "),
    Fault("learning curve", "run/learning_curve.py", 're.fullmatch("[0-9]{1,18}", step)', "step"),
    Fault("starts", "bitext.py", "except (OSError, ValueError) as", "except OSError as"),
    Fault("exercises", "course/progress.py", "not isinstance(found, dict) or ", ""),
]


def plant(fault: Fault, folder: Path) -> None:
    """Write a copy of the package that has the fault into a folder."""
    shutil.copytree(ROOT / PACKAGE, folder / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    module = folder / PACKAGE / fault.module
    text = module.read_text(encoding="utf-8")
    if text.count(fault.careful) != 1:
        raise SystemExit(f"{fault.module} has {fault.careful!r} not once: plant another fault.")
    module.write_text(text.replace(fault.careful, fault.careless), encoding="utf-8")
