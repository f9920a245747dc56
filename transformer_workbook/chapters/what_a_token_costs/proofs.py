from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from annotated_transformer.costs import Cost
from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from transformer_workbook.notebook import mean_interval
from transformer_workbook.notebook.proofs import agree, proof
from transformer_workbook.places import course_file


def _counted(config: LanguageModelConfig, new: int, past: int, batch: int) -> Cost:
    """Count the operations of one pass as PyTorch does, and add up the bytes of its tensors."""
    with torch.device("meta"):  # shapes without numbers; PyTorch counts attention only there
        model = LanguageModel(config).float().eval()
        texts = torch.ones(batch, past + new, dtype=torch.long)
    state: Any = model.empty(batch)
    if past:
        state = model.extend(state, texts[:, :past])[1]
    with FlopCounterMode(display=False) as counter:
        state = model.extend(state, texts[:, past:])[1]
    tensors = [module.weight for module in model.modules() if isinstance(module, nn.Linear)]
    tensors += [tensor for kept in state.past for tensor in (kept.keys, kept.values)]
    return Cost(counter.get_total_flops(), sum(tensor.nbytes for tensor in tensors))


@proof
def cost(plain: Callable[..., Any], package: Callable[..., Cost], **settings: Any) -> None:
    """Two functions count the operations that PyTorch counts, and the bytes of the tensors."""
    sizes: dict[str, Any] = {"num_kv_heads": 2, "d_k": 4, "gated": True, "has_source": False}
    config = LanguageModelConfig(50, 50, 24, 3, 6, 20, **sizes | settings)
    passes = [(5, 0, 1), (1, 7, 1), (1, 7, 3), (4, 9, 2)]
    found = {
        "PyTorch's FLOPs with the tensors' bytes": [_counted(config, *sizes) for sizes in passes],
        "your function": [plain(config, *sizes, itemsize=4) for sizes in passes],
        "the package": [package(config, *sizes, itemsize=4) for sizes in passes],
    }
    agree(
        0.0,
        {who: torch.tensor([[c.flops, c.bytes] for c in costs]) for who, costs in found.items()},
    )


def numbers() -> None:
    """Glue in the times of the passes, from the record."""
    import pandas as pd
    from myst_nb import glue

    rows = pd.read_csv(course_file("records/pass_times.csv"))
    one_text = rows[rows.form == "one text"].set_index("tokens")
    each = rows[rows.form == "a text each"].set_index("tokens")
    own = one_text.own_milliseconds
    said = {
        "one": f"{own[1].mean():.0f}",
        "calls": f"{one_text.narrow_milliseconds[1].mean():.0f}",
        "read": f"{own[256].mean() / 256:.2f}",
        "memory": f"{own[1].mean() - one_text.shared_milliseconds[1].mean():.0f}",
        "times": f"{256 * own[1].mean() / own[256].mean():.0f}",
        "sixteen": f"{each.own_milliseconds[16].mean() / each.own_milliseconds[1].mean():.1f}",
    }
    for name, column in (("sum", "own_sum"), ("shared-sum", "shared_sum")):
        said[name] = f"{rows[f'{column}_milliseconds'].mean():.0f}"
    for tokens in (1, 256):
        ratios = one_text.own_milliseconds[tokens] / one_text.shared_milliseconds[tokens]
        said[f"shared-{tokens}"] = f"{mean_interval(ratios.tolist()):.2f}"
    caches = (
        pd.read_csv(course_file("records/cache_passes.csv"))
        .query("past == 1000")
        .groupby("kv_heads")
        .mean()
    )
    for kind in ("copied", "shared"):
        gain = caches[f"{kind}_milliseconds"][8] / caches[f"{kind}_milliseconds"][2]
        said[f"two-{kind}"] = f"{gain:.1f}"
    for name, text in said.items():
        glue(name, text, display=False)
