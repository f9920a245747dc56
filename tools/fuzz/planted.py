"""Eleven faults to find: one check of a reader removed at a time, in a copy of the packages."""

import shutil
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = "annotated_transformer", "transformer_workbook"


@dataclass(frozen=True)
class Fault:
    """A line of a module, and the line without its check."""

    reader: str
    module: str
    careful: str
    careless: str


FAULTS = [
    Fault(
        "tsv",
        "annotated_transformer/corpora/__init__.py",
        "zlib.error, UnicodeDecodeError)",
        "zlib.error)",
    ),
    Fault(
        "tsv",
        "annotated_transformer/corpora/__init__.py",
        "if len(columns) != 2 or",
        "if len(columns) < 2 or",
    ),
    Fault(
        "text",
        "annotated_transformer/corpora/__init__.py",
        "if source and target:",
        "if source or target:",
    ),
    Fault(
        "gzip",
        "annotated_transformer/corpora/__init__.py",
        "(OSError, EOFError, zlib.error, ",
        "(OSError, ",
    ),
    Fault(
        "recipe",
        "annotated_transformer/run/presets.py",
        "if not isinstance(settings, dict):",
        "if settings is None:",
    ),
    Fault(
        "recipe of a run",
        "annotated_transformer/run/description.py",
        "(OSError, ValueError, RecursionError)",
        "(OSError, ValueError)",
    ),
    Fault(
        "weights",
        "annotated_transformer/run/checkpoint.py",
        '!= checksum(tensors, header["progress"])',
        "is False",
    ),
    Fault(
        "checkpoint",
        "annotated_transformer/run/checkpoint.py",
        "(SafetensorError, KeyError, ",
        "(KeyError, ",
    ),
    Fault(
        "learning curve",
        "annotated_transformer/run/learning_curve.py",
        're.fullmatch("[0-9]{1,18}", step)',
        "step",
    ),
    Fault(
        "starts",
        "annotated_transformer/text/examples.py",
        "except (OSError, ValueError) as",
        "except OSError as",
    ),
    Fault(
        "exercises", "transformer_workbook/judge/progress.py", "not isinstance(found, dict) or ", ""
    ),
]


def plant(fault: Fault, folder: Path) -> None:
    """Write a copy of the package that has the fault into a folder."""
    for package in PACKAGES:
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, folder / package, ignore=ignore)
    module = folder / fault.module
    text = module.read_text(encoding="utf-8")
    if text.count(fault.careful) != 1:
        raise SystemExit(f"{fault.module} must have {fault.careful!r} once: plant another fault.")
    module.write_text(text.replace(fault.careful, fault.careless), encoding="utf-8")
