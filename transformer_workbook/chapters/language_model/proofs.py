import math
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from annotated_transformer.batches import Batch
from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.masking import causal_mask
from annotated_transformer.positional_encoding import sinusoidal_encoding
from annotated_transformer.tokens import BOS, EOS, PAD
from transformer_workbook.notebook.proofs import agree, holds, proof
from transformer_workbook.notebook.pytorch import copy_layer

SIZES: dict[str, Any] = {"d_model": 16, "num_layers": 2, "num_heads": 4, "d_ff": 24, "dropout": 0.0}
SRC = torch.tensor([[5, 6, 7, 8, EOS], [5, 6, EOS, PAD, PAD]])
TGT_IN = torch.tensor([[BOS, 6, 7, PAD], [BOS, 6, 7, 8]])


@proof
def pairs(mask: Bool[Tensor, "n n"], source: int) -> None:
    """Of the pairs that an encoder–decoder sees, the causal mask hides those within the source."""
    target = len(mask) - source
    before = source**2 + target * source + target * (target + 1) // 2
    claim = f"of {before} pairs in an encoder–decoder, {before - int(mask.sum())} are gone"
    holds(claim, before - int(mask.sum()) == source * (source - 1) // 2)


@proof
def one_text(plain: Callable[..., nn.Module], package: type[LanguageModel]) -> None:
    """With the same random weights, the lesson's class, the package's and PyTorch's stack agree."""
    sizes = SIZES | {"d_ff": 64, "max_length": 9, "tie_output": False, "has_source": False}
    config = LanguageModelConfig(11, 11, norm_position="pre", positions="learned", **sizes)
    ours: Any = package(config).eval()
    mine: Any = plain(11, 9, 16, 4, 2).eval()
    for weight in mine.parameters():
        nn.init.normal_(weight, std=0.3)
    weights = dict(mine.state_dict())
    weights["tokens.weight"] = weights["tokens.weight"] / 4  # the package multiplies them by √16
    ours.load_state_dict({name: weights[_of_the_lesson(name)] for name in ours.state_dict()})
    ids = torch.tensor([[3, 7, 4, 9, 5, 8], [6, 6, 2, 10, 3, 1]])
    x = mine.tokens(ids) + mine.positions(torch.arange(6))
    for block in mine.layers:
        theirs = nn.TransformerEncoderLayer(16, 4, 64, 0.0, batch_first=True, norm_first=True)
        norms = [SimpleNamespace(norm=norm) for norm in (block.norm_1, block.norm_2)]
        parts = dict(zip(("residual_1", "residual_2"), norms, strict=True))
        copy_layer(
            SimpleNamespace(self_attention=block.attention, feed_forward=block.network, **parts),
            theirs,
        )
        x = theirs(x, src_mask=~causal_mask(6)[0, 0])
    logits = mine.output(mine.norm(x))
    names = "your class", "the package's", "PyTorch's nn.TransformerEncoderLayer with a causal mask"
    agree(1e-12, dict(zip(names, (mine(ids), ours(ids), logits), strict=True)))


@proof
def language_model(plain: Callable[..., nn.Module], package: type[LanguageModel]) -> None:
    """With the same random weights, three programs give the same logits where a token is read."""
    config = LanguageModelConfig(11, 13, norm_position="pre", **SIZES)
    ours, mine = package(config).eval(), plain(config).eval()
    weights = {name: torch.randn_like(weight) / 4 for name, weight in ours.state_dict().items()}
    weights["output.weight"] = weights["tgt_embedding.tokens.weight"]  # tied
    ours.load_state_dict(weights)
    mine.load_state_dict({name: weights[_of_the_package(name)] for name in mine.state_dict()})
    real = TGT_IN != PAD
    results = {
        "the package": ours(SRC, TGT_IN),
        "your class": mine(SRC, TGT_IN),
        "PyTorch's nn.TransformerEncoder with a causal mask": _of_torch(mine, weights),
    }
    agree(1e-12, {name: logits[real] for name, logits in results.items()})


def _of_the_lesson(name: str) -> str:
    """Return what the lesson calls a parameter of the package, by what stands where."""
    for pattern, lessons in {
        r"^\w+_embedding\.positions\.table": "positions.weight",
        r"^\w+_embedding\.": "",
        r"^decoder\.": "layers.",
        r"^decoder_norm": "norm",
        "self_attention": "attention",
        "feed_forward": "network",
        r"residual_1\.norm": "norm_1",
        r"residual_3\.norm": "norm_2",
    }.items():
        name = re.sub(pattern, lessons, name)
    return name


def _of_the_package(name: str) -> str:
    """Return the package's name for a parameter of the lesson's class."""
    name = re.sub(r"^layers\.", "decoder.", re.sub(r"^norm\.", "decoder_norm.", name))
    return name.replace("residual_2", "residual_3")


def _of_torch(mine: Any, weights: dict[str, Tensor]) -> Tensor:
    """Compute the logits with PyTorch's stack; each token's position is counted by hand."""
    width, heads, d_ff = (SIZES[name] for name in ("d_model", "num_heads", "d_ff"))
    layer = nn.TransformerEncoderLayer(
        width, heads, d_ff, dropout=0.0, batch_first=True, norm_first=True
    )
    stack = nn.TransformerEncoder(
        layer, SIZES["num_layers"], nn.LayerNorm(width), enable_nested_tensor=False
    )
    for ours, theirs in zip(mine.layers, stack.layers, strict=True):
        copy_layer(ours, theirs)
    stack.norm.load_state_dict(mine.norm.state_dict())  # type: ignore[union-attr]
    tables = [weights[f"{side}_embedding.tokens.weight"] for side in ("src", "tgt")]
    rows = []
    for src, tgt in zip(SRC.tolist(), TGT_IN.tolist(), strict=True):
        position, row = 0, []
        for table, ids in zip(tables, (src, tgt), strict=True):
            for token in ids:
                place = sinusoidal_encoding(9, width)[position]
                row.append(table[token] * math.sqrt(width) + place)
                position += token != PAD
        rows.append(torch.stack(row))
    text = torch.cat([SRC, TGT_IN], dim=1)
    x = stack.eval()(
        torch.stack(rows), ~causal_mask(text.size(1))[0, 0], src_key_padding_mask=text == PAD
    )
    return x[:, SRC.size(1) :] @ weights["output.weight"].T + weights["output.bias"]


@proof
def prefill_and_decode(model: LanguageModel, batch: Batch) -> None:
    """A prefill and then one token at a time give the logits of all tokens at once."""
    with torch.inference_mode():
        whole, state = model(batch.src, batch.tgt_in), model.start(batch.src)
        steps = []
        for token in batch.tgt_in.unbind(dim=1):
            logits, state = model.step(state, token)
            steps.append(logits)
    real = batch.tgt_in != PAD
    agree(
        1e-9,
        {"all tokens at once": whole[real], "one at a time": torch.stack(steps, dim=1)[real]},
    )


@proof
def loss_on_the_target(loss: Tensor, model: LanguageModel, batch: Batch) -> None:
    """The mean of −ln p over the tokens of the translations, one by one, is the loss."""
    terms = []
    for row, target in zip(model(batch.src, batch.tgt_in), batch.tgt_out, strict=True):
        ids: Int[Tensor, " tokens"] = target[target != PAD]
        terms += [-p[i].log() for p, i in zip(row.softmax(dim=-1), ids, strict=False)]
    one_by_one = torch.stack(terms).mean()
    agree(1e-12, {"your loss": loss, f"the mean over {len(terms)} target tokens": one_by_one})
