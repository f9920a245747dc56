import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.tokens import PAD
from transformer_workbook.judge import derivation, exercise, letters, normal


@exercise(
    [
        (f"layers.{number}.{part}.{kind}",)
        for number, part, kind in (
            (0, "self_attention.output", "weight"),
            (3, "residual_1.norm", "weight"),
            (5, "residual_2.norm", "bias"),
            (2, "feed_forward.inner", "bias"),
            (11, "feed_forward.outer", "weight"),
            (1, "self_attention.query", "weight"),
        )
    ],
    gap=True,
)
def their_name(ours: str) -> str:
    """Name a parameter of a layer as the file of a published BERT does."""
    module, kind = ours.rsplit(".", maxsplit=1)
    _, number, part = module.split(".", maxsplit=2)
    names = {
        "self_attention.query": "attention.self.query",
        "self_attention.key": "attention.self.key",
        "self_attention.value": "attention.self.value",
        "self_attention.output": "attention.output.dense",
        "residual_1.norm": "attention.output.LayerNorm",
        "feed_forward.inner": "intermediate.dense",
        "feed_forward.outer": "output.dense",
        "residual_2.norm": "output.LayerNorm",
    }
    return f"encoder.layer.{number}.{names[part]}.{kind}"


@exercise(
    [
        (normal(2, 3, 5, seed=0), torch.tensor([[5, 6, 7], [8, 0, 0]])),
        (normal(3, 4, 2, seed=1).float(), torch.tensor([[5, 6, 7, 8], [8, 9, 0, 0], [4, 9, 3, 0]])),
        (normal(4, 2, 3, seed=2), torch.tensor([[5, 0], [7, 6], [8, 9], [9, 0]])),
    ],
    gap=True,
)
def sentence_vectors(
    states: Float[Tensor, "texts time d"], ids: Int[Tensor, "texts time"]
) -> Float[Tensor, "texts d"]:
    """Compute the mean of each text's hidden states, without padding, scaled to length 1."""
    real = (ids != PAD)[:, :, None]
    total = (states * real).sum(dim=1)
    return F.normalize(total, dim=1)  # dividing by a number first would cancel


@exercise(
    [
        (normal(3, 2, 4, 5, seed=3), normal(3, 2, 4, 5, seed=4),
         torch.tensor([[5, 6, 7, 8], [8, 9, 0, 0]])),
        (normal(5, 3, 2, 4, seed=5).float(), normal(5, 3, 2, 4, seed=6).float(),
         torch.tensor([[5, 0], [8, 9], [4, 0]])),
        (normal(4, 2, 5, 3, seed=7), normal(4, 2, 5, 3, seed=8),
         torch.tensor([[5, 0, 0, 0, 0], [8, 9, 3, 0, 0]])),
    ]
)  # fmt: skip
def distance_of_states(
    mine: Float[Tensor, "layers texts time d"],
    theirs: Float[Tensor, "layers texts time d"],
    ids: Int[Tensor, "texts time"],
) -> Float[Tensor, " layers"]:
    """Find the largest difference after each layer; the friend counts what stands at padding."""
    apart = (mine - theirs).abs()
    real = apart[:, ids != PAD]
    return real.amax(dim=(1, 2))


@exercise(
    [(normal(2, 6, seed=0),), (normal(3, 9, seed=1).float(),), (normal(5, 15, seed=2),)],
)
def three_matrices(
    fused: Float[Tensor, "d three_d"],
) -> tuple[Float[Tensor, "d d"], Float[Tensor, "d d"], Float[Tensor, "d d"]]:
    """Cut GPT-2's fused matrix into the weights of three layers."""
    turned = fused.T
    query, key, value = turned.chunk(3)
    return query, key, value


@derivation([(4.0, 0.5, 2.0), (0.25, 0.125, 1.0), (1.0, 0.25, 3.0)])
def effect_of_epsilon(v: float, small: float, large: float) -> tuple[float, ...]:
    """Derive, in three steps, by how much another ε changes what a LayerNorm returns."""
    deviation = (v / (v + small)) ** 0.5
    half = small / 3
    smaller = ((v + small) / (v + large)) ** 0.5
    return deviation, half, smaller


@letters
def heads_in_another_order() -> str:
    """Do the hidden states change if the heads of every layer stand in another order?"""
    return "A"  # the notebook's solution tries it
