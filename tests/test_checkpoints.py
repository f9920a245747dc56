import pytest
import torch
from safetensors.torch import save_file

from annotated_transformer import checkpoints
from annotated_transformer.checkpoints import load_checkpoint, save_checkpoint, write_atomically
from annotated_transformer.errors import InputError

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
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_part_of_it(path):
    tensors, progress = load_checkpoint(path, prefix="model.")
    assert tensors.keys() == {"a", "b"}
    assert progress == PROGRESS


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


def test_no_checkpoint(tmp_path):
    with pytest.raises(InputError, match=r"there is no checkpoint .*none: the run has not saved"):
        load_checkpoint(tmp_path / "none")


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "no progress"])
def test_a_damaged_checkpoint(path, damage):
    content = {"cut": path.read_bytes()[:-40], "empty": b"", "text": b"no tensors, only words"}
    if damage in content:
        path.write_bytes(content[damage])
    else:
        save_file({"a": torch.zeros(1)}, path)
    with pytest.raises(InputError, match=r"checkpoint.safetensors is not a checkpoint of a run"):
        load_checkpoint(path)
