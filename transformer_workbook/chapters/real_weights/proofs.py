from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from annotated_transformer.exchange import load_model
from transformer_workbook.notebook.proofs import agree, proof
from transformer_workbook.places import course_file

SAID = ("sentence_vectors", "component_removed", "stems", "untranslated")
"""The searches whose findings the text says."""


@proof
def stored_the_other_way(stored: Tensor, x: Tensor, found: Tensor) -> None:
    """The product with the stored matrix is what nn.Linear computes with the transposed one."""
    inputs, outputs = stored.shape
    linear = nn.Linear(inputs, outputs, bias=False)
    linear.load_state_dict({"weight": stored.T.to(linear.weight)})
    agree(1e-12, {"nn.Linear with the transposed matrix": linear(x), "your x W": found})


@proof
def hidden_states(model: nn.Module, folder: Path) -> None:
    """What Hugging Face's class computed, the package and the reader's class compute, too."""
    written = load_file(folder / "hidden_states.safetensors")
    ids, segments = written["ids"], written["segments"]
    real = ids != 0
    with torch.inference_mode():
        found = {
            "Hugging Face's class": written["after layer 4"],
            "the package": load_model(folder).double()(ids, segments),
            "your class": model(ids, segments),
        }
    agree(1e-5, {name: states[real].double() for name, states in found.items()})


def numbers() -> None:
    """Glue in what the searches find, from the record."""
    import pandas as pd
    from myst_nb import glue

    rows = pd.read_csv(course_file("records/search.csv")).set_index(["split", "search"])
    seen, new = "test_2016_flickr", "test_2017_flickr"
    found = {
        f"{label}-{name}": f"{rows.recall_1[split, name]:.1f}"
        for label, split in (("new", new), ("course", "course"))
        for name in SAID
        if (split, name) in rows.index
    }
    found |= {name: str(rows[name]["course", "stems"]) for name in ("queries", "texts")}
    gains = {
        "seen-layers": (seen, "component_removed"),
        "new-gain": (new, "stems"),
        "new-layers": (new, "component_removed"),
        "plain-gain": (new, "BM25"),
        "plain-layers": (new, "embeddings"),
        "sentences-gain": ("course_sentences", "stems"),
    }
    for name, (split, other) in gains.items():
        row = rows.loc[split, f"sentence_vectors − {other}"]
        found[name] = f"{row.recall_1} [{row.recall_1_low}, {row.recall_1_high}]"
    for name, text in found.items():
        glue(name, text, display=False)
