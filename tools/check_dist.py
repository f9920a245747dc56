"""Check the built wheel and sdist, and use the wheel without the repository.

It also writes a software bill of materials (CycloneDX): every
library in the empty environment into which the wheel was installed, with version and licence.
"""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "_build" / "dist"
ENVIRONMENT = ROOT / "_build" / "dist-venv"
NOT_INSIDE = {"book", "checkpoints", "experiments", "tests", "tools"}
COMMANDS = [
    ["--help"],
    ["train", "--model", "luong", "--steps", "2", "--out", "run"],
    ["translate", "run", "I am a student"],
    ["start", "mine"],
    ["lessons", "notebooks"],
    ["lessons", "korean", "--language", "ko"],
    ["progress", "notebooks"],
]


def package_files() -> set[str]:
    """Return the path of every file of both packages, as an archive writes it."""
    packages = (ROOT / "annotated_transformer", ROOT / "transformer_workbook")
    files = (path for package in packages for path in package.rglob("*") if path.is_file())
    return {p.relative_to(ROOT).as_posix() for p in files if p.parent.name != "__pycache__"}


def names_in(archive: Path) -> set[str]:
    """Return the paths in a wheel, or in an sdist, where all is in one folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return set(wheel.namelist())
    with tarfile.open(archive) as sdist:
        return {name.partition("/")[2] for name in sdist.getnames()}


def faults(names: set[str], needed: set[str]) -> list[str]:
    """List what an archive should not contain, and what it lacks."""
    foreign = {name for name in names if name.partition("/")[0] in NOT_INSIDE}
    return [
        *(f"{name} does not belong into it" for name in sorted(foreign)),
        *(f"{name} is missing" for name in sorted(needed - names)),
    ]


def use(wheel: Path) -> None:
    """Install a wheel in an empty environment, and use it from an empty folder."""
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    scripts = ENVIRONMENT / "bin"
    install = ["install", "--quiet", "--constraint", ROOT / "requirements.txt", wheel]
    with TemporaryDirectory() as folder:
        for command in (
            [sys.executable, "-m", "venv", "--clear", ENVIRONMENT],
            [scripts / "python", "-m", "pip", *install],
            *([scripts / "annotated-transformer", *arguments] for arguments in COMMANDS),
        ):
            subprocess.run(command, cwd=folder, env=clean, check=True)


def bill_of_materials(python: Path, bill: Path) -> set[str]:
    """Write what is installed beside an interpreter into a file; return the names."""
    command = [Path(sys.executable).with_name("cyclonedx-py"), "environment"]
    options = ["--output-reproducible", "--output-file", bill]
    subprocess.run([*command, *options, python], check=True)
    components = json.loads(bill.read_text(encoding="utf-8"))["components"]
    return {canonicalize_name(component["name"]) for component in components}


def requirements(wheel: Path) -> set[str]:
    """Return the names of the libraries that a wheel asks for without extras."""
    with zipfile.ZipFile(wheel) as files:
        (path,) = (name for name in files.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(files.read(path).decode())
    wanted = map(Requirement, metadata.get_all("Requires-Dist", []))
    return {canonicalize_name(each.name) for each in wanted if each.marker is None}


def main() -> None:
    """Check the archives that `make dist` has built."""
    archives = sorted(BUILT.iterdir())
    needed = package_files()
    found = [f"{a.name}: {fault}" for a in archives for fault in faults(names_in(a), needed)]
    if found:
        sys.exit("\n".join(found))
    twine = Path(sys.executable).with_name("twine")
    subprocess.run([twine, "check", "--strict", *archives], check=True)
    (wheel,) = BUILT.glob("*.whl")
    use(wheel)
    bill = wheel.with_suffix(".cdx.json")
    if missing := requirements(wheel) - bill_of_materials(ENVIRONMENT / "bin" / "python", bill):
        sys.exit(f"{bill.name} lacks {', '.join(sorted(missing))}")
    for archive in [*archives, bill]:
        print(f"{archive.name}: {archive.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
