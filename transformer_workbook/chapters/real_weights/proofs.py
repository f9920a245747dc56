from collections.abc import Mapping

import torch
from torch import Tensor, nn

from transformer_workbook.notebook.proofs import agree, proof
from transformer_workbook.places import course_file


@proof
def stored_the_other_way(stored: Tensor, x: Tensor, found: Tensor) -> None:
    """The product with the stored matrix is what nn.Linear computes with the transposed one."""
    inputs, outputs = stored.shape
    linear = nn.Linear(inputs, outputs, bias=False, dtype=x.dtype)
    linear.load_state_dict({"weight": stored.T.to(linear.weight)})
    agree(1e-12, {"nn.Linear with the transposed matrix": linear(x), "your x W": found})


@proof
def hidden_states(model: nn.Module, written: Mapping[str, Tensor]) -> None:
    """What Hugging Face's class computed after the last layer, the package computes too."""
    real = written["ids"] != 0
    with torch.inference_mode():
        found = model(written["ids"])
    agree(1e-5, {"Hugging Face's class": written["states"][-1][real], "the package": found[real]})


def numbers() -> None:
    """Glue in what the searches find, from the record."""
    import pandas as pd
    from myst_nb import glue

    rows = pd.read_csv(course_file("records/search.csv")).set_index(["split", "search"])
    seen, new = "test_2016_flickr", "test_2017_flickr"
    found = {name: str(rows[name]["course", "stems"]) for name in ("queries", "texts")}
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
    years = pd.read_csv(course_file("records/search_years.csv")).set_index("against")
    for name, other in (("years-layers", "component_removed"), ("years-stems", "stems")):
        row = years.loc[other]
        found[name] = f"{row.difference} [{row.low}, {row.high}]"
    wrong = pd.read_csv(course_file("records/wrong_weights.csv")).set_index("mistake")
    for name, mistake in (("ReLU", "ReLU"), ("heads", "6 heads"), ("norms", "norms swapped")):
        row = wrong.loc[mistake]
        found[f"wrong-{name}"] = f"{-row.gain} [{-row.high}, {-row.low}]"
    for name, text in found.items():
        glue(name, text, display=False)
