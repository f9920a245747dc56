"""What the first cell of every chapter does."""

import pytest
import torch

from annotated_transformer.ground.errors import InputError
from transformer_workbook.notebook.setup import THREADS, set_up_notebook


@pytest.fixture(autouse=True)
def _settings():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)
    torch.set_printoptions(profile="default")


@pytest.mark.parametrize(("value", "threads"), [(None, 1), ("2", 2)])
def test_a_notebook_has_the_threads_of_the_environment_and_prints_three_decimals(
    monkeypatch, value, threads
):
    monkeypatch.delenv(THREADS, raising=False)
    if value:
        monkeypatch.setenv(THREADS, value)
    torch.set_num_threads(3 - threads)
    set_up_notebook()
    assert torch.get_num_threads() == threads
    wider = "tensor([    0.333,     0.000])"  # the columns of an old PyTorch
    assert str(torch.tensor([1 / 3, 1e-9])) in ("tensor([0.333, 0.000])", wider)


@pytest.mark.parametrize("value", ["0", "two"])
def test_another_number_of_threads_is_refused(monkeypatch, value):
    monkeypatch.setenv(THREADS, value)
    with pytest.raises(InputError, match="must be a number of at least 1"):
        set_up_notebook()
