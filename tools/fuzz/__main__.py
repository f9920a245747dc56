"""Find the planted faults, then look for others."""

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

from tqdm import tqdm

from fuzz.planted import FAULTS, ROOT, Fault, plant
from fuzz.readers import READERS
from fuzz.worker import PATIENCE

LONGEST = 60
"""Seconds within which a planted fault must be found."""


def work(reader: str, seconds: float, seed: int, package: Path = ROOT) -> dict[str, object]:
    """Search for a fault in a separate process; a crash of it is one."""
    folder = Path(mkdtemp(prefix="fuzz-"))
    paths = os.pathsep.join(map(str, (package, ROOT / "tools")))
    command = [sys.executable, "-m", "fuzz.worker", reader, folder]
    options = ["--seconds", str(seconds), "--seed", str(seed)]
    try:
        done = subprocess.run(
            [*command, *options],
            env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=seconds + 6 * PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        said = "it cannot be interrupted"
    else:
        if not done.returncode:
            return dict(json.loads(done.stdout.splitlines()[-1]))
        said = f"the process ends with {done.returncode}: {done.stderr[-300:]}"
    return {"tried": 0, "fault": said, "file": str(folder / "broken" / READERS[reader].file)}


def found(fault: Fault) -> dict[str, object]:
    """Search for a planted fault."""
    folder = Path(mkdtemp(prefix="planted-"))
    plant(fault, folder)
    return work(fault.reader, LONGEST, 0, folder)


def main() -> None:
    """Print a line for each search; fail if a planted fault is missed, or another is found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="for all readers together")
    parser.add_argument("--reader", choices=READERS, action="append")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    names = asked.reader or list(READERS)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        planted = [fault for fault in FAULTS if fault.reader in names]
        searches = zip(planted, pool.map(found, planted), strict=True)
        missed = 0
        for fault, result in tqdm(searches, "planted", len(planted), disable=None):
            missed += not result["fault"]
            print(f"{fault.module}: {result['fault'] or 'MISSED'} ({result['tried']} files)")
        share = asked.seconds * (os.cpu_count() or 1) / len(names)
        results = list(pool.map(partial(work, seconds=share, seed=asked.seed), names))
    for name, result in zip(names, results, strict=True):
        print(f"{name}: {result['tried']:,} files, {result['fault'] or 'no fault'}")
        if result["fault"]:
            print(f"  {result['file']}")
    tried = sum(int(str(result["tried"])) for result in results)
    print(f"{len(planted) - missed} of {len(planted)} planted faults found; {tried:,} files tried")
    sys.exit(bool(missed or any(result["fault"] for result in results)))


if __name__ == "__main__":
    main()
