"""Look into the built wheel and sdist, and use the wheel where nothing of the repository is."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "_build" / "dist"
ENVIRONMENT = ROOT / "_build" / "dist-venv"
NOT_INSIDE = {"book", "checkpoints", "tests", "tools"}
COMMANDS = [
    ["--help"],
    ["train", "--model", "luong", "--steps", "2", "--out", "run"],
    ["translate", "run", "I am a student"],
]


def package_files() -> set[str]:
    """Return the path of every file of the package, as an archive writes it."""
    files = (path for path in (ROOT / "annotated_transformer").rglob("*") if path.is_file())
    return {p.relative_to(ROOT).as_posix() for p in files if p.parent.name != "__pycache__"}


def names_in(archive: Path) -> set[str]:
    """Return the paths in a wheel, or in an sdist, where all is in one folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return set(wheel.namelist())
    with tarfile.open(archive) as sdist:
        return {name.partition("/")[2] for name in sdist.getnames()}


def faults(names: set[str], needed: set[str]) -> list[str]:
    """Say what an archive holds and should not, and what it lacks."""
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


def main() -> None:
    """Check what `make dist` has built."""
    archives = sorted(BUILT.iterdir())
    needed = package_files()
    found = [f"{a.name}: {fault}" for a in archives for fault in faults(names_in(a), needed)]
    if found:
        sys.exit("\n".join(found))
    (wheel,) = BUILT.glob("*.whl")
    use(wheel)
    for archive in archives:
        print(f"{archive.name}: {archive.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
