"""μP: a learning rate that suits a narrow language model suits wider ones as well."""

from dataclasses import replace
from typing import Any

import torch

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_number
from annotated_transformer.language_model import LanguageModel, LanguageModelConfig


def times_as_wide(model: LanguageModel, base: LanguageModelConfig) -> float:
    """Return m, the width of the model divided by that of the base.

    Width is d_model, d_ff and the number of heads, of one size each; all else must be the same.

    Raises:
        InputError: if it is not, or if the model is post-norm.
    """
    wide = model.config
    if wide.norm_position != "pre":
        raise InputError("norm_position is 'post': the rule needs the last norm of 'pre'.")
    sizes = {"d_ff": base.d_ff, "num_heads": base.num_heads, "num_kv_heads": base.num_kv_heads}
    grown: dict[str, Any] = {n: s and s * wide.d_model // base.d_model for n, s in sizes.items()}
    for name, value in vars(replace(base, d_model=wide.d_model, **grown)).items():
        if (found := getattr(wide, name)) != value:
            raise InputError(f"{name}={found}, the base with d_model={wide.d_model} has {value}.")
    return wide.d_model / base.d_model


@torch.no_grad()
def scale_logits(model: LanguageModel, base: LanguageModelConfig) -> None:
    """Divide the logits of a model that is still to be trained by √m, in its last norm.

    Source: Yang et al. 2022, table 8, rewritten for output weights that shrink as 1 / √d_model.
    """
    m = times_as_wide(model, base)
    for parameter in model.decoder_norm.parameters():
        parameter.div_(m**0.5)


def width_groups(
    model: LanguageModel, base: LanguageModelConfig, lr: float
) -> list[dict[str, Any]]:
    """Group the parameters for Adam, given the learning rate of the base.

    - lr / m: the matrices in the layers, where a sum has m times as many terms;
    - lr / √m: embeddings, which are multiplied by √d_model, the output matrix and the last norm;
    - lr: all others, which are vectors.

    Source: Yang et al. 2022, table 8, rewritten as for :func:`scale_logits`.

    Raises:
        InputError: as for :func:`times_as_wide`, or if lr is negative or not finite.
    """
    require_number("lr", lr)
    m = times_as_wide(model, base)
    embeddings = (model.src_embedding.tokens.weight, model.tgt_embedding.tokens.weight)
    ends = (*embeddings, model.output.weight, *model.decoder_norm.parameters())
    outer = list(dict.fromkeys(ends))  # once each, though they may be one matrix
    inner = [p for p in model.decoder.parameters() if p.dim() == 2]
    others = [p for p in model.parameters() if p not in {*outer, *inner}]
    rates = (lr / m, inner), (lr / m**0.5, outer), (lr, others)
    return [{"params": parameters, "lr": rate} for rate, parameters in rates]
