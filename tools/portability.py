"""Run a command as on another machine: an older processor, other threads, another place.

    .venv/bin/python tools/portability.py oldest make test

What a machine differs in is asked of a program first: the table that is printed says whether each
difference took effect, or is not possible here. `contributing/portability.md` has the runs.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
READ_ONLY = "/dev/null"  # also for root, who may write into every folder

MACHINES: dict[str, dict[str, Mapping[str, str]]] = {
    "oldest": {
        "NumPy": {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"},
        "PyTorch": {"ATEN_CPU_CAPABILITY": "default"},
        "OpenBLAS": {"OPENBLAS_CORETYPE": "Prescott"},
        "oneDNN": {"ONEDNN_MAX_CPU_ISA": "SSE41"},
        "hash": {"PYTHONHASHSEED": "1"},
        "time zone": {"TZ": "Asia/Seoul"},
        "locale": {"LC_ALL": "tr_TR.UTF-8"},
        "home": {"HOME": READ_ONLY},
    },
    "older": {
        "NumPy": {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"},
        "PyTorch": {"ATEN_CPU_CAPABILITY": "avx2"},
        "OpenBLAS": {"OPENBLAS_CORETYPE": "Sandybridge"},
        "oneDNN": {"ONEDNN_MAX_CPU_ISA": "AVX2"},
        "threads": {"ANNOTATED_TRANSFORMER_THREADS": "2"},
        "hash": {"PYTHONHASHSEED": "2"},
        "time zone": {"TZ": "America/St_Johns"},
        "locale": {"LC_ALL": "ko_KR.UTF-8"},
    },
}

PROBE = """
import json, locale, os, time
import numpy as np, torch
from threadpoolctl import threadpool_info
from transformer_workbook.notebook import set_up_notebook

set_up_notebook()
torch.ones(2, 2).to_mkldnn().relu()
pools = [pool for pool in threadpool_info() if pool["internal_api"] == "openblas"]
try:
    named = locale.setlocale(locale.LC_ALL, "")
except locale.Error:
    named = None
print(json.dumps({
    "NumPy": np.show_config(mode="dicts")["SIMD Extensions"].get("found", []),
    "PyTorch": torch.backends.cpu.get_cpu_capability(),
    "OpenBLAS": [pool["architecture"] for pool in pools],
    "threads": torch.get_num_threads(),
    "hash": hash("attention"),
    "time zone": time.tzname,
    "locale": named,
    "home": os.access(os.path.expanduser("~/"), os.W_OK),
}))
"""
"""Asks for all that may differ; oneDNN tells itself what it computes with."""


def facts(changes: Mapping[str, str]) -> dict[str, str]:
    """Return what a new Python says of the machine."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT), **changes}
    command = [sys.executable, "-W", "ignore", "-c", PROBE]
    environment["ONEDNN_VERBOSE"] = "1"
    printed = subprocess.run(
        command, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    told = printed.splitlines()
    [isa] = [line.partition("isa:")[2] for line in told if "info,cpu,isa:" in line]
    return {"oneDNN": isa, **{k: str(v) for k, v in json.loads(told[-1]).items()}}


def environment_of(machine: str) -> dict[str, str]:
    """Return what is set for a machine, and print which differences took effect."""
    parts = MACHINES[machine]
    changes = {key: value for part in parts.values() for key, value in part.items()}
    before, now = facts({}), facts(changes)
    print(f"As on the machine {machine!r}:")
    for name in parts:
        possible = now[name] not in (before[name], str(None))
        took = "took effect" if possible else "not possible here"
        print(f"  {name}: {before[name]} → {now[name]}, {took}", flush=True)
    return changes


def main(arguments: Sequence[str]) -> int:
    """Run a command as on a machine; return its exit status."""
    machine, *command = arguments
    return subprocess.call(command, env=os.environ | environment_of(machine))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
