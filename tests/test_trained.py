"""A stored model is loaded where a cell asks for exactly its training, and nowhere else."""

import ast
import json
import linecache
import re
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

from annotated_transformer.ground.errors import InputError
from annotated_transformer.run.checkpoint import load_progress
from transformer_workbook import places

BOOK = Path(__file__).resolve().parent.parent / "book"
LOADED = "loaded the stored weights of this"

NOTEBOOK = '''
import torch
from functools import partial
from torch import nn
from annotated_transformer.training import linear_schedule
from transformer_workbook.notebook import train_once

DATA = torch.tensor([[1, 2, 3], [3, 2, 1]])
schedule = linear_schedule(0.1, total=9)
unrelated = 1


class Reader(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.embedding = nn.Embedding(5, width)
        self.dropout = nn.Dropout(0.0)
        self.output = nn.Linear(width, 5)

    def forward(self, ids):
        return self.output(self.dropout(self.embedding(ids).tanh()))


def loss_of(model, ids):
    """Compute the loss of every next token."""
    logits = model(ids)[:, :-1]
    return nn.functional.cross_entropy(logits.mT, ids[:, 1:])


class Fitter:
    clip = 1.0

    def __init__(self, model):
        self.model, self.adam = model, Adam(model.parameters())

    def fit(self, steps):  # one by one
        losses = []
        for step in range(1, steps + 1):
            loss = loss_of(self.model, DATA)
            self.adam.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
            self.adam.param_groups[0]["lr"] = schedule(step)
            self.adam.step()
            losses.append(loss.item())
        return losses


Adam = partial(torch.optim.Adam, eps=1e-6)
torch.manual_seed(2)
model = Reader().double()
fitter = Fitter(model)
torch.manual_seed(0)
losses = train_once("reader", model, lambda: fitter.fit(steps=3))
'''

OTHERS = {
    "model": [
        ("width=4", "width=5"),
        ("manual_seed(2)", "manual_seed(1)"),
        (".tanh()", ".sigmoid()"),
        (".tanh()", ".detach().tanh()"),  # the same numbers, another gradient
        ("Dropout(0.0)", "Dropout(0.1)"),
        (".double()", ""),
        ("fitter = F", "model.output.weight.requires_grad_(False)\nfitter = F"),
    ],
    "training": [
        ("manual_seed(0)", "manual_seed(1)"),  # of dropout
        ("steps=3", "steps=1"),
        ("0.1, total", "1e-9, total"),
        ("total=9", "total=10"),
        ("eps=1e-6", "eps=1e-9"),
        ("eps=1e-6", "eps=1e-6, weight_decay=0.1"),
        ("[3, 2, 1]", "[3, 2, 4]"),
        ("clip = 1.0", "clip = 0.5"),
        ("[:, 1:])", "[:, 1:], label_smoothing=0.1)"),
        ("self.adam.zero_grad()", "pass"),
        ("self.embedding(ids).tanh()", "torch.tanh(self.embedding(ids))"),  # other code
    ],
    "": [
        ("# one by one", "# step by step"),
        ('"""Compute the loss of every next token."""', "# by PyTorch"),
        ("unrelated = 1", "unrelated = [2]\n\n\n"),
        ("losses = train", "curve = train"),
        ("(0.1, total=9)", "(1 / 10, 9)"),
    ],
}


def run(source: str) -> dict[str, Any]:
    """Run code as a notebook does, and return its names."""
    name, names = f"<cell {hash(source)}>", {"__name__": "__main__"}
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    exec(compile(source, name, "exec"), names)
    return names


def told(source: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run code as a notebook does, and return the line it prints."""
    run(source)
    return capsys.readouterr().out


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for what is trained, above the working folder and far from the book."""
    monkeypatch.setattr(places, "ROOT", tmp_path)
    monkeypatch.delenv("TRAIN", raising=False)
    (folder := tmp_path / "records" / "trained").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return folder


def test_only_the_same_training_is_loaded(kept, capsys, monkeypatch) -> None:
    assert told(NOTEBOOK, capsys) == "reader: nothing is stored, so the model is trained now.\n"
    before = (kept / "reader.safetensors").read_bytes()
    for what, changes in OTHERS.items():
        for old, new in changes:
            assert NOTEBOOK.count(old) == 1, old
            line = told(NOTEBOOK.replace(old, new), capsys)
            expected = f"is of another {what}, so" if what else f"{LOADED} training."
            assert expected in line, (old, new)
    monkeypatch.setenv("TRAIN", "1")
    assert "TRAIN is set, so the model is trained now" in told(NOTEBOOK, capsys)
    assert (kept / "reader.safetensors").read_bytes() == before


def test_what_is_loaded_is_what_was_trained(kept) -> None:
    trained, loaded = run(NOTEBOOK), run(NOTEBOOK)
    assert trained["losses"] == loaded["losses"] != []
    for one, other in zip(
        *(names["model"].parameters() for names in (trained, loaded)), strict=True
    ):
        assert one.dtype == other.dtype == torch.float64
        assert torch.equal(one, other)


def test_a_model_without_a_training_is_loaded_or_refused(kept, capsys) -> None:
    told(NOTEBOOK, capsys)
    again = NOTEBOOK.replace(", lambda: fitter.fit(steps=3))", ")")
    assert told(again, capsys) == f"reader: {LOADED} model.\n"
    with pytest.raises(InputError, match="reader: what is stored is of another model, and nothing"):
        told(again.replace("tanh", "relu"), capsys)
    with pytest.raises(InputError, match="other: nothing is stored, and nothing says how to train"):
        told(again.replace('"reader"', '"other"'), capsys)


def test_without_a_folder_a_model_is_trained_and_not_stored(kept, capsys) -> None:
    kept.rmdir()
    for _ in range(2):
        assert "nothing is stored, so the model is trained now" in told(NOTEBOOK, capsys)
    assert not list(kept.parent.rglob("*.safetensors"))


# --- the weights of the book ----------------------------------------------------------------------

CALLS = ("train_once(", "draw.six_trainings(", "= train_patient(\n")


@cache
def trainings() -> dict[str, list[int]]:
    """The places of the cells of all notebooks that ask for a stored training."""
    found = {}
    for path in sorted(BOOK.rglob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = ["".join(cell["source"]) if cell["cell_type"] == "code" else "" for cell in cells]
        if those := [n for n, source in enumerate(code) if any(call in source for call in CALLS)]:
            found[path.relative_to(BOOK).as_posix()] = those
    return found


def test_every_stored_training_of_the_book_is_the_one_that_its_cell_asks_for() -> None:
    """The outputs say so, and they are compared with a run of the cells."""
    lines = []
    for name, those in trainings().items():
        cells = nbformat.read(BOOK / name, as_version=4).cells
        said = [output.get("text", "") for n in those for output in cells[n].outputs]
        lines += [line for text in said for line in text.splitlines() if ": " in line]
        assert LOADED in "".join(said), name
    assert not [line for line in lines if "trained now" in line]
    loaded = {line.partition(":")[0] for line in lines if f": {LOADED}" in line}
    stored = {path.stem: path for path in (BOOK / "records" / "trained").glob("*.safetensors")}
    assert loaded == stored.keys()
    for path in stored.values():
        assert {"given", "beginning", "asked"} <= load_progress(path).keys()


AGAIN = """
from torch import nn

def stop(*_): raise KeyboardInterrupt("it trains")

nn.Module.register_forward_pre_hook, silent = stop, []
for what, source in CHANGED.items():
    if get_ipython().run_cell(source, silent=True).success:
        silent.append(what)
print("silent:", silent)
"""


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in trainings() if name[0].isdigit()])
def test_every_number_of_a_cell_that_trains_counts(name: str) -> None:
    notebook = nbformat.read(BOOK / name, as_version=4)
    those = trainings()[name]
    source = "\n".join(notebook.cells[n].source for n in those)
    text_of: Any = ast.get_source_segment
    calls = [s for s in ast.parse(source).body if any(c in text_of(source, s) for c in CALLS)]
    lines = source.splitlines()[: calls[-1].end_lineno]  # what follows does not train
    changed = {}
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            row, (start, end) = node.lineno - 1, (node.col_offset, node.end_col_offset)
            line = f"{lines[row][:start]}{2 * node.value + 1}{lines[row][end:]}"
            changed[line] = "\n".join([*lines[:row], line, *lines[row + 1 :]])
    del notebook.cells[those[-1] + 1 :]
    notebook.cells.append(new_code_cell(f"CHANGED = {changed!r}\n{AGAIN}"))
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": BOOK}}).execute()
    [said] = [o.text for o in notebook.cells[-1].outputs if "silent:" in o.get("text", "")]
    silent = ast.literal_eval(said.rpartition("silent:")[2].strip())
    assert changed
    # How much would fit is not of the training; a list of patients may name one of them twice.
    assert [line for line in silent if not re.search("max_length|for number in", line)] == []
