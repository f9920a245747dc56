import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer import luong, toy
from annotated_transformer.batches import Batch
from annotated_transformer.evaluation import forced_attention
from annotated_transformer.tokens import PAD
from transformer_workbook.notebook import ToyTask
from transformer_workbook.notebook.proofs import agree, holds, proof
from transformer_workbook.places import course_file

MODULES = "src_embedding tgt_embedding encoder decoder attention readout output".split()  # noqa: SIM905
"""The modules of the package's model, as the lesson lists them."""


@proof
def attend(kind: Any) -> None:
    """Your class computes what loops over words and digits compute, and the package's attention."""
    s, h = torch.randn(2, 3, 5), torch.randn(2, 4, 5)
    mask = torch.tensor([[True, True, True, True], [False, True, True, False]])
    layer = kind(5)
    with torch.no_grad():
        contexts = torch.zeros_like(s)
        for sentence, word in itertools.product(range(2), range(3)):
            seen = h[sentence][mask[sentence]]
            exponentials = [math.exp(sum(row * s[sentence, word])) for row in seen]
            for exponential, row in zip(exponentials, seen, strict=True):
                contexts[sentence, word] += exponential / sum(exponentials) * row
        package = luong.DotAttention()(s, h, h, mask[:, None])
        results = {
            "the attentional states of a loop": torch.tanh(layer.mix(torch.cat([contexts, s], -1))),
            "those of your class": layer(s, h, mask)[0],
            "those of the package": torch.tanh(layer.mix(torch.cat([package, s], -1))),
        }
    agree(1e-12, results)


@proof
def scores(dot: Any, general: Any) -> None:
    """Your classes and the package's compute what loops over the three formulas compute."""
    s, h = torch.randn(3, 5), torch.randn(4, 5)
    (W_a, W_s, W_h), v = torch.randn(3, 5, 5), torch.randn(5)
    W = torch.cat([W_s, W_h], dim=1)
    formulas: dict[str, Any] = {
        "dot": lambda s, h: sum(a * b for a, b in zip(s, h, strict=True)),
        "general": lambda s, h: sum(a * b for a, b in zip(s, W_a @ h, strict=True)),
        "concat": lambda s, h: v @ torch.tanh(W @ torch.cat([s, h])),
    }
    matrices = {"dot": [], "general": [W_a], "concat": [W_s, W_h, v[None]]}
    yours = {"dot": {"of your class": dot()}, "general": {"of your class": general(5, 5)}}
    for name, formula in formulas.items():
        loop = torch.stack([torch.stack([formula(query, key) for key in h]) for query in s])
        both = torch.cat([loop, loop.softmax(dim=-1) @ h], dim=-1)
        results = {f"{name}: the scores and contexts of a loop": both}
        layers = yours.get(name, {}) | {"of the package": luong.make_score(name, 5)}
        for whose, layer in layers.items():
            with torch.no_grad():
                for parameter, matrix in zip(layer.parameters(), matrices[name], strict=True):
                    parameter.copy_(matrix)
                keys = layer.keys(h)
                results[whose] = torch.cat([layer.scores(s, keys), layer(s, keys, h)], dim=-1)
        agree(1e-12, results)


@proof
def whole(
    modules: Sequence[Any], task: ToyTask, batch: Batch, logits: Float[Tensor, "batch tgt vocab"]
) -> None:
    """The modules, bare matrices and the package, at once or by words, give the same logits."""
    named = dict(zip(MODULES, modules, strict=True))
    d_model, hidden = named["readout"].out_features, named["readout"].in_features // 2
    package: Any = task.build(luong.Luong, luong.LuongConfig, d_model=d_model, hidden_dim=hidden)
    for name, module in named.items():
        package.get_submodule(name).load_state_dict(module.state_dict())
    src, tgt_in = batch.src, batch.tgt_in
    with torch.no_grad():
        memory, last = package.encoder(package.src_embedding(src), src != PAD)
        s, _ = package.decoder(package.tgt_embedding(tgt_in), tgt_in != PAD, last)
        scores = s @ package.attention.key.weight @ memory.mT
        c = scores.masked_fill((src == PAD)[:, None], -torch.inf).softmax(dim=-1) @ memory
        W_c, bias = package.readout.weight, package.readout.bias
        by_formula = package.output(torch.tanh(torch.cat([c, s], dim=-1) @ W_c.T + bias))
        state, steps = package.start(src), []
        for token in tgt_in.T:
            next_logits, state = package.step(state, token)
            steps.append(next_logits)
        results = {
            "the logits of the formulas": by_formula,
            "those of your modules": logits,
            "those of Luong": package(src, tgt_in),
            "those of Luong word by word": torch.stack(steps, dim=1),
        }
    agree(1e-12, results)


@proof
def misses(model: Any, task: ToyTask) -> None:
    """Most rows of the robot's sentence that have a gold link attend most to one of theirs."""
    _, robot = toy.EXAMPLES
    src = task.src_vocabulary.encode(" ".join(robot.src))
    tgt = task.tgt_vocabulary.encode(" ".join(robot.tgt))
    one = Batch.of([(src, tgt)])
    [weights] = forced_attention(model, one.src, one.tgt_in)["attention"]
    strongest = weights[0, 0].argmax(dim=-1).tolist()
    linked = {t for _, t in robot.alignment}
    right = sum((strongest[t], t) in robot.alignment for t in linked)
    claim = f"{right} of the {len(linked)} rows with a gold link attend most to the linked word"
    holds(claim, 2 * right > len(linked))


def numbers() -> None:
    """Glue the numbers of the text, from models whose encoders read in either direction."""
    import pandas as pd
    from myst_nb import glue

    for order, some in pd.read_csv(course_file("records/recurrent_looks.csv")).groupby("reads"):
        shares = 100 * some.right / (some.right + some.left)
        glue("looks-" + order.replace(" ", "-"), f"{shares.mean():.0f}", display=False)
