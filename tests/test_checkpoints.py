import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier

import pytest
import torch
from filelock import FileLock
from safetensors.torch import save_file

from annotated_transformer.ground.errors import InputError
from annotated_transformer.run import checkpoint as checkpoints
from annotated_transformer.run import files
from annotated_transformer.run.checkpoint import (
    load_checkpoint,
    load_progress,
    require_fit,
    save_checkpoint,
    save_halved,
)
from annotated_transformer.run.files import (
    FolderTakenError,
    fill_folder,
    write_atomically,
)

TENSORS = {
    "model.a": torch.randn(3, 4),
    "model.b": torch.randn(4, 3, dtype=torch.float64).T,
    "random": torch.get_rng_state(),
}
PROGRESS = {"steps": 7, "seconds": 0.1 + 0.2, "losses": [1 / 3]}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(path, TENSORS, PROGRESS)
    return path


def assert_unchanged(path):
    tensors, progress = load_checkpoint(path)
    assert progress == PROGRESS
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in tensors.items():
        assert tensor.dtype == TENSORS[name].dtype
        assert torch.equal(tensor, TENSORS[name])


def test_what_was_written_is_read(path):
    assert_unchanged(path)
    assert load_progress(path) == PROGRESS
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_number_that_has_no_room_in_16_bits_is_refused(tmp_path):
    model = torch.nn.Linear(3, 2)
    with torch.no_grad():
        model.bias[1] = -7e4
    with pytest.raises(InputError, match=r"^bias has numbers up to 7e\+04, they must not exceed"):
        save_halved(tmp_path / "model.safetensors", model)
    assert not list(tmp_path.iterdir())


def test_weights_are_those_of_the_model_or_refused(tmp_path):
    path, weights = tmp_path / "model.safetensors", dict(torch.nn.Linear(3, 2).named_parameters())
    require_fit(weights, torch.nn.Linear(3, 2, device="meta"), path)
    message = r"model\.safetensors does not fit .*recipe\.json"
    with pytest.raises(InputError, match=message):
        require_fit(weights, torch.nn.Linear(3, 4), path)
    with pytest.raises(InputError, match=message):
        require_fit(weights, torch.nn.Linear(3, 2, bias=False), path)
    for kind in (torch.int64, torch.bool, torch.complex64):
        with pytest.raises(InputError, match=f"has bias of {kind}, it must be of floats"):
            require_fit(weights | {"bias": torch.ones(2, dtype=kind)}, torch.nn.Linear(3, 2), path)


def test_a_failing_write_leaves_the_old_checkpoint(path, monkeypatch):
    def full_disk(tensors, file, metadata):
        file.write_bytes(b"half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr(checkpoints, "save_file", full_disk)
    with pytest.raises(OSError, match="no space left"):
        save_checkpoint(path, {"model.a": torch.zeros(1)}, {"steps": 8})
    assert_unchanged(path)
    monkeypatch.undo()
    save_checkpoint(path, TENSORS, PROGRESS)
    assert_unchanged(path)


def test_a_failing_write_leaves_the_old_text(tmp_path):
    path = tmp_path / "recipe.json"
    write_atomically(path, "Grüße\n")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "new" * 10_000 + "\ud800")
    assert path.read_text(encoding="utf-8") == "Grüße\n"
    write_atomically(path, "new\n")
    assert path.read_text(encoding="utf-8") == "new\n"


def test_what_a_kill_left_is_gone_after_the_next_write(path, monkeypatch):
    """Safetensors writes to a file of its own, which nobody takes away when it is killed."""

    def killed(tensors, file, metadata):
        (file.parent / ".tmpK1ll3d").write_bytes(b"half of it")
        raise SystemExit("killed")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "save_file", killed)
        patch.setattr(files, "discard", lambda path: None)  # a kill leaves no time for that
        with pytest.raises(SystemExit, match="killed"):
            save_checkpoint(path, {"model.a": torch.zeros(1)}, {"steps": 8})
    assert_unchanged(path)
    assert len([*path.parent.rglob("*")]) == 3
    save_checkpoint(path, TENSORS, PROGRESS)
    assert_unchanged(path)
    assert [*path.parent.rglob("*")] == [path]


@pytest.mark.parametrize("write", ["text", "checkpoint"])
@pytest.mark.parametrize("to", ["file", "folder"])
def test_a_link_is_not_followed(tmp_path, write, to):
    path, foreign = tmp_path / "a" / "new", tmp_path / "foreign"
    path.parent.mkdir()
    if to == "folder":
        foreign.mkdir()
        foreign = foreign / "file"
    foreign.write_text("somebody else's")
    path.with_name("new.unfinished").symlink_to(foreign if to == "file" else foreign.parent)
    if write == "text":
        write_atomically(path, "ours")
        assert path.read_text() == "ours"
    else:
        save_checkpoint(path, TENSORS, PROGRESS)
        assert_unchanged(path)
    assert [*path.parent.iterdir()] == [path]
    assert foreign.read_text() == "somebody else's"


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_who_may_read_is_what_the_user_has_set(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "text", "")
        save_checkpoint(tmp_path / "checkpoint", TENSORS, PROGRESS)
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {mode}


@pytest.mark.parametrize("write", ["text", "checkpoint", "folder"])
def test_all_is_on_the_disk_before_the_new_takes_the_old_ones_place(tmp_path, monkeypatch, write):
    told, reach, path = [], os.fsync, tmp_path / "new"

    def reached(number):
        told.append(os.fstat(number).st_ino)
        reach(number)

    monkeypatch.setattr(os, "fsync", reached)
    match write:
        case "text":
            write_atomically(path, "ours")
        case "checkpoint":
            save_checkpoint(path, TENSORS)
        case "folder":
            fill_folder(path, lambda folder: (folder / "one").write_text("1"))
    found = [file.stat().st_ino for file in (path, *path.rglob("*"), tmp_path)]
    assert set(found) <= set(told)
    assert told[-1] == found[-1]


def test_every_byte_of_the_weights_counts(path):
    whole, header = path.read_bytes(), 8 + int.from_bytes(path.read_bytes()[:8], "little")
    for place in range(header, len(whole), 97):
        changed = bytearray(whole)
        changed[place] ^= 1
        path.write_bytes(changed)
        with pytest.raises(InputError, match=r"damaged: the SHA-256 of its weights is not the"):
            load_checkpoint(path)
    path.write_bytes(whole.replace(b'\\"steps\\": 7', b'\\"steps\\": 6'))
    with pytest.raises(InputError, match="damaged: the SHA-256"):
        load_checkpoint(path)


def test_a_checkpoint_without_a_checksum_is_refused(path):
    save_file({"a": torch.ones(1)}, path, metadata={"progress": '{"steps": 3}'})
    with pytest.raises(InputError, match=r"has no SHA-256 of its weights: it is older than 0\.2"):
        load_checkpoint(path)


@pytest.mark.parametrize("damage", ["cut", "text", "no progress", "[3]", "[" * 100_000])
def test_a_damaged_checkpoint(path, damage):
    content = {"cut": path.read_bytes()[:-40], "text": b"no tensors, only words"}
    if damage in content:
        path.write_bytes(content[damage])
    else:
        header = None if damage == "no progress" else {"progress": damage}
        save_file({"a": torch.zeros(1)}, path, metadata=header)
    with pytest.raises(InputError, match=r"checkpoint.safetensors is not a checkpoint of a run"):
        load_checkpoint(path)


# --- folders that are filled whole, and locks -----------------------------------------------------


def test_a_folder_is_filled_or_not_there(tmp_path):
    folder = tmp_path / "a" / "b"

    def half(path):
        (path / "one").write_text("1")
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space left"):
        fill_folder(folder, half)
    assert [*tmp_path.iterdir()] == []
    fill_folder(folder, lambda path: (path / "one").write_text("1"))
    assert [path.name for path in folder.iterdir()] == ["one"]


@pytest.mark.parametrize("late", [False, True])
def test_a_folder_that_holds_something_is_left_as_it_is(tmp_path, late):
    """Also if somebody else fills it at the same time."""
    folder = tmp_path / "run"

    def write(path):
        (path / "mine").write_text("1")
        if late:
            folder.mkdir()
            (folder / "theirs").write_text("2")

    if not late:
        folder.mkdir()
        (folder / "theirs").write_text("2")
    with pytest.raises(FolderTakenError, match=r"run is not empty: choose another place\."):
        fill_folder(folder, write)
    assert [path.name for path in tmp_path.rglob("*")] == ["run", "theirs"]


def test_a_folder_is_filled_by_one_process_at_a_time(tmp_path):
    folder = tmp_path / "run"

    def write(path):
        with pytest.raises(FolderTakenError, match=r"run is being filled by another process\."):
            fill_folder(folder, write)
        (path / "mine").write_text("1")

    fill_folder(folder, write)
    assert [path.name for path in tmp_path.rglob("*")] == ["run", "mine"]


def test_of_those_who_come_at_the_same_moment_one_fills_the_folder(tmp_path):
    """And what is in it is all that one's; the others are told that it is taken."""

    def fill(folder, number):
        def write(path):
            (path / "one").write_text(number)
            (path / "two").write_text(number)

        together.wait()
        try:
            fill_folder(folder, write)
        except FolderTakenError:
            return None
        return number

    together = Barrier(3)
    with ThreadPoolExecutor(3) as threads:
        for turn in range(150):
            folder = tmp_path / f"{turn}"
            done = [*threads.map(partial(fill, folder), "abc")]
            (winner,) = filter(None, done)
            found = {path.name: path.read_text() for path in folder.iterdir()}
            assert found == {"one": winner, "two": winner}
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(map(str, range(150)))


def test_a_folder_that_is_made_between_two_looks_is_not_taken_away(tmp_path, monkeypatch):
    """Somebody sees a file in the way, and a folder stands there when it is to be removed."""
    remains = tmp_path / ".run.unfinished"
    remains.write_text("half")
    unlink = Path.unlink

    def late(path, **options):
        if path == remains and path.is_file():
            unlink(path)
            path.mkdir()
        unlink(path, **options)

    monkeypatch.setattr(Path, "unlink", late)
    fill_folder(tmp_path / "run", lambda path: (path / "mine").write_text("1"))
    assert [path.name for path in tmp_path.rglob("*")] == ["run", "mine"]


def test_a_folder_that_is_always_taken_away_again_is_somebody_elses(tmp_path, monkeypatch):
    mkdir = Path.mkdir

    def gone(path, **options):
        mkdir(path, **options)
        path.rmdir()

    monkeypatch.setattr(Path, "mkdir", gone)
    with pytest.raises(FolderTakenError, match=r"run is being filled by another process\."):
        fill_folder(tmp_path / "run", lambda path: (path / "mine").write_text("1"))


def test_a_place_where_no_folder_can_be_made_is_nobody_elses(tmp_path, monkeypatch):
    """As in /proc of Linux."""

    def refused(path, **options):
        raise FileNotFoundError(2, "No such file or directory", str(path))

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(OSError, match="run could not be written"):
        fill_folder(tmp_path / "run", lambda path: (path / "mine").write_text("1"))


@pytest.mark.parametrize("place", ["loop", "loop/run"])
def test_a_link_that_leads_to_itself(tmp_path, place):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="could not be written"):
        fill_folder(tmp_path / place, lambda path: (path / "mine").write_text("1"))
    assert [path.name for path in tmp_path.iterdir()] == ["loop"]


@pytest.mark.parametrize("left", ["folder", "file", "link"])
def test_what_somebody_left_who_was_killed_is_thrown_away(tmp_path, left):
    folder, foreign, remains = tmp_path / "run", tmp_path / "foreign", tmp_path / ".run.unfinished"
    folder.mkdir()  # which may be there, if it is empty
    foreign.mkdir()
    (foreign / "theirs").write_text("2")
    match left:
        case "folder":
            (remains / "half").mkdir(parents=True)
            (remains / ".lock").touch()
        case "file":
            remains.write_text("half")
        case "link":
            remains.symlink_to(foreign)
    fill_folder(folder, lambda path: (path / "mine").write_text("1"))
    assert [path.name for path in folder.iterdir()] == ["mine"]
    assert [path.name for path in foreign.iterdir()] == ["theirs"]
    assert not remains.exists()


@pytest.fixture
def on_windows(monkeypatch):
    """What Windows refuses is refused here, too."""
    move, reach = Path.rename, os.fsync

    def renamed(path, target):
        assert not Path(target).exists()
        FileLock(path / files.LOCK, timeout=0).acquire()  # nobody else has it open
        return move(path, target)

    def synced(number):
        os.write(number, b"")  # neither a folder nor a file that is open to read alone
        reach(number)

    monkeypatch.setattr(files, "ON_WINDOWS", True)
    monkeypatch.setattr(Path, "rename", renamed)
    monkeypatch.setattr(os, "fsync", synced)


@pytest.mark.usefixtures("on_windows")
@pytest.mark.parametrize("there", [False, True])
def test_files_and_folders_are_written_on_windows(tmp_path, there):
    if there:
        (tmp_path / "run").mkdir()
    fill_folder(tmp_path / "run", lambda path: write_atomically(path / "mine", "1"))
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["mine"]
    assert files.quoted(tmp_path / "my run") == f'"{tmp_path / "my run"}"'
