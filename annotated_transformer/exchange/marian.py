"""Marian: the correspondence between Hugging Face's weights and ours, and their order.

In Marian a position has all its sines before all its cosines; in the paper and here they alternate.
So the d_model numbers of every vector are permuted. Norms, attention and feed-forward
networks compute the same, as long as every weight that reads or writes such vectors is permuted.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.transformer import TransformerConfig

READERS = ("query", "key", "value", "inner", "tokens")
"""Layers whose weights read such vectors, or list them as rows. The others write them."""

ATTENTION = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
FEED_FORWARD = {"feed_forward.inner": "fc1", "feed_forward.outer": "fc2"}
NORMS = {
    "encoder": ("self_attn_layer_norm", "final_layer_norm"),
    "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
}


def marian_names(config: TransformerConfig) -> dict[str, str]:
    """Map the name of each parameter of a Transformer to the name in Hugging Face's model."""
    one = config.share_embeddings and config.tie_output
    table = "shared" if one else "decoder.embed_tokens"
    names = {
        "tgt_embedding.tokens.weight": f"model.{table}.weight",
        "output.bias": "final_logits_bias",
    }
    if not config.share_embeddings:
        names["src_embedding.tokens.weight"] = "model.encoder.embed_tokens.weight"
    if not config.tie_output:
        names["output.weight"] = "lm_head.weight"
    for stack, norms in NORMS.items():
        layers = FEED_FORWARD | {f"residual_{i}.norm": n for i, n in enumerate(norms, start=1)}
        layers |= {
            f"self_attention.{our}": f"self_attn.{their}" for our, their in ATTENTION.items()
        }
        if stack == "decoder":
            layers |= {
                f"cross_attention.{our}": f"encoder_attn.{their}"
                for our, their in ATTENTION.items()
            }
        for i in range(config.num_layers):
            for our, their in layers.items():
                for kind in ("weight", "bias"):
                    names[f"{stack}.{i}.{our}.{kind}"] = f"model.{stack}.layers.{i}.{their}.{kind}"
    return names


def halves(d_model: int) -> Int[Tensor, " d_model"]:
    """Return where each of their dimensions is in our vectors: even indices first, then odd ones.

    >>> halves(6).tolist()
    [0, 2, 4, 1, 3, 5]
    """
    return torch.arange(d_model).view(-1, 2).T.flatten()


def reordered(
    name: str, weight: Float[Tensor, "..."], order: Int[Tensor, " d_model"]
) -> Float[Tensor, "..."]:
    """Permute the weight of that name (ours) for vectors in the other order."""
    layer, kind = name.split(".")[-2:]
    if name == "output.weight" or (layer in READERS and kind == "weight"):
        return weight[:, order]
    if name == "output.bias" or layer in READERS:
        return weight
    return weight[order]
