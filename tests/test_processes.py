"""One run, trained by several processes under ``torchrun``: the steps of one, whatever happens."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import torch

from annotated_transformer.ground.errors import InputError
from annotated_transformer.run import Processes, Run, joined, processes
from annotated_transformer.run.checkpoint import (
    load_progress,
)
from test_runs import CORPUS, assert_same_end, recipe, written

HERE = Path(__file__).resolve().parent
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
PAIR = Processes(0, 2)


# --- without torchrun -----------------------------------------------------------------------------


def test_without_torchrun_a_process_is_alone():
    with joined("cpu") as found:
        assert found == Processes(0, 1)
        assert found.is_main
        assert (found.share_of(3), found.mean(2.5), found.largest(7)) == (3, 2.5, 7)
        assert found.first(lambda: "made") == "made"


def test_a_single_process_of_torchrun_is_alone(monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "one")
    monkeypatch.setenv("WORLD_SIZE", "1")
    with joined("cpu") as found:
        assert found == Processes(0, 1)


def test_batches_that_cannot_be_dealt_out_are_refused():
    assert Processes(1, 4).share_of(8) == 2
    message = "accumulate is 3, it must be a multiple of the 2 processes, .* --set accumulate=2"
    with pytest.raises(InputError, match=message):
        PAIR.share_of(3)


def test_the_fast_engine_is_for_one_process():
    processes.ALONE.require_engine("fast")
    PAIR.require_engine("readable")
    with pytest.raises(InputError, match="engine is 'fast', it must be readable for 2 proc"):
        PAIR.require_engine("fast")


def test_a_process_without_a_device_of_its_own_is_refused(monkeypatch):
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 2)
    with pytest.raises(InputError, match="this is process 3 on a machine with 2 devices"):
        processes.take_device(2)


# --- under torchrun -------------------------------------------------------------------------------


def torchrun(number, *command):
    return subprocess.Popen(
        [*TORCHRUN, str(number), *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": f"{HERE.parent}:{HERE}"},
    )


def ended(process, limit=180):
    """The exit status, what was printed, and our own sentences among the lines of torchrun."""
    output, errors = process.communicate(timeout=limit)
    text = errors.decode()
    return process.returncode, output.decode(), re.findall(r"(?<!\w)Error: .*", text), text


def program(number, *arguments):
    return ended(torchrun(number, "-m", "annotated_transformer", *arguments))


@pytest.fixture(scope="module")
def endless(tmp_path_factory):
    """A run whose end nobody sees, of two batches a step, for two processes."""
    folder = tmp_path_factory.mktemp("endless")
    corpus = written(CORPUS, folder / "texts")
    made = replace(recipe("transformer", steps=10**6, accumulate=2), corpus=corpus.name)
    return Run.create(folder / "run", made, corpus), corpus


@pytest.mark.slow
def test_the_steps_of_two_processes_are_those_of_one():
    status, output, _, errors = ended(torchrun(2, HERE / "two_processes.py"))
    assert status == 0, errors
    assert output == "40 steps of 5 models, 2 processes\n"


@pytest.mark.slow
@pytest.mark.verify
@pytest.mark.parametrize("lost", [0, 1])
def test_interrupted_killed_and_resumed_is_not_interrupted(tmp_path, endless, lost):
    begun, corpus = endless
    run, straight = (
        Run.create(tmp_path / name, begun.recipe, corpus) for name in ("run", "straight")
    )
    resume = "-m", "annotated_transformer", "resume"

    process = torchrun(2, *resume, run.folder)
    wait_for_steps(process)
    process.send_signal(signal.SIGINT)
    _, output, told, errors = ended(process)
    assert (
        output == f"Saved. Resume with: torchrun … -m annotated_transformer resume {run.folder}\n"
    )
    assert told == []
    saved = load_progress(run.checkpoint)
    assert saved["processes"] == 2

    process = torchrun(2, *resume, run.folder)
    wait_for_steps(process)
    workers = {
        int(worker.environ()["RANK"]): worker for worker in psutil.Process(process.pid).children()
    }
    workers[lost].kill()
    status, output, told, errors = ended(process, limit=60)
    assert (status, output) == (1, ""), errors
    (sentence,) = told
    assert "one of the 2 processes was lost: 'resume', again with 2 of them, continues" in sentence
    assert not any(worker.is_running() for worker in workers.values())

    steps = load_progress(run.checkpoint)["steps"] + 7
    assert steps > saved["steps"]
    for each in (run, straight):
        status, output, told, errors = program(2, "resume", each.folder, "--steps", steps)
        assert (status, told) == (0, []), errors
        assert output == f'Trained. Try: annotated-transformer translate {each.folder} "…"\n'
    assert_same_end(run, straight)


def wait_for_steps(process):
    """Read what a training shows until it has taken some steps."""
    progress = b""
    while not re.search(rb"[1-9]\d+/1000000", progress):
        progress += process.stderr.read1()
        assert process.poll() is None, progress.decode()


@pytest.mark.slow
@pytest.mark.verify
def test_what_cannot_go_on_is_told_once_and_writes_nothing(tmp_path, endless):
    begun, corpus = endless
    run = Run.create(tmp_path / "run", replace(begun.recipe, steps=3, accumulate=6), corpus)
    assert program(2, "resume", run.folder)[0] == 0
    before = {path: path.read_bytes() for path in run.folder.iterdir()}
    status, output, told, _ = program(3, "resume", run.folder)
    sentence = f"Error: {run.folder} is trained by 2 processes, it cannot be resumed with 3: each "
    assert (status, output) == (1, "")
    assert [line.startswith(sentence) for line in told] == [True]
    assert before == {path: path.read_bytes() for path in run.folder.iterdir()}

    status, output, told, _ = program(2, "train", "--corpus", corpus.name, "--out", tmp_path / "no")
    assert (status, output) == (1, "")
    assert [line.startswith("Error: accumulate is 1, it must be") for line in told] == [True]
    assert not (tmp_path / "no").exists()


@pytest.mark.slow
@pytest.mark.verify
def test_a_run_is_begun_by_one_process_for_all(tmp_path, endless):
    settings = "accumulate=2", "batch_tokens=40", "validate_every=5", "d_model=8", "num_heads=2"
    arguments = [part for setting in settings for part in ("--set", setting)]
    command = "train", "--corpus", endless[1].name, "--steps", 6, "--out", tmp_path / "run"
    status, _, told, errors = program(2, *command, *arguments)
    assert (status, told) == (0, []), errors
    status, _, told, errors = program(2, *command, *arguments)
    assert status == 1
    assert [line.startswith(f"Error: {tmp_path / 'run'} is not empty") for line in told] == [True]
    assert Run.open(tmp_path / "run").translate(["a b"])
