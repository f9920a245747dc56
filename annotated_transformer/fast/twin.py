"""The fast twins of a Transformer, to train and to translate with: its weights in fast modules."""

from collections.abc import Callable
from copy import deepcopy

import torch
from torch import Tensor, nn

from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.fast.attention import FastAttention
from annotated_transformer.fast.dropout import FastDropout
from annotated_transformer.fast.products import FastLinear, RoundedLinear
from annotated_transformer.ground.devices import CPU, PRECISIONS
from annotated_transformer.ground.errors import InputError, require_choice
from annotated_transformer.lora import merge_lora
from annotated_transformer.transformer import Transformer

REPLACED = (nn.Linear, nn.Dropout, ScaledDotProductAttention)


def format_of(model: Transformer, precision: str) -> torch.dtype:
    """Return the number format of a twin: that of the model's weights, or 16 bits if asked for.

    Raises:
        InputError: if the precision is unknown.
    """
    require_choice("precision", precision, PRECISIONS)
    return PRECISIONS[precision] or next(model.parameters()).dtype


def fast_translator(model: Transformer, precision: str = "float32") -> Transformer:
    """Make a Transformer that translates like the model, in less time.

    It is a copy whose weights are merged, if it has LoRA layers, and rounded here, once: later
    changes of the model do not affect it. It stays on the model's device.

    Raises:
        InputError: if the precision is unknown, or a module cannot be replaced.
    """
    dtype, copy = format_of(model, precision), deepcopy(model).requires_grad_(False)
    merge_lora(copy)
    twin = fast_twin(copy, dtype, RoundedLinear)
    twin.output = RoundedLinear(copy.output, dtype)  # type: ignore[assignment]
    return twin.eval()


def fast_twin(
    model: Transformer,
    dtype: torch.dtype,
    linear: Callable[[nn.Linear, torch.dtype], nn.Module] = FastLinear,
) -> Transformer:
    """Make a Transformer of fast modules whose parameters *are* those of the model.

    It computes in that number format, except for embeddings and the weights of norms, and returns
    the vectors from which logits are made. ``linear`` makes the replacement of a linear layer.

    Raises:
        InputError: if it is no Transformer, or a module belongs to a subclass of one that is
            replaced.
    """
    if not isinstance(model, Transformer):
        raise InputError(
            f"the model is a {type(model).__name__}, the fast engine has twins of a Transformer: "
            "use the readable engine."
        )
    for name, part in model.named_modules():
        if isinstance(part, REPLACED) and type(part) not in REPLACED:
            raise InputError(
                f"{name} is a {type(part).__name__}, which has no fast version: use the readable "
                "engine."
            )
    # The memo prevents copying: parameters, tables of positions, and the output layer.
    shared = [*model.parameters(), *model.buffers(), model.output]
    twin: Transformer = deepcopy(model, {id(each): each for each in shared})
    twin.output = nn.Identity()  # type: ignore[assignment]

    def rounded(_module: nn.Module, _given: object, x: Tensor) -> Tensor:
        return x.to(dtype)

    def as_its_weights(norm: nn.Module, given: tuple[Tensor]) -> Tensor:
        # Only LayerNorm, and only on a CPU, takes an input in another format than its weights.
        is_mixed = isinstance(norm, nn.LayerNorm) and given[0].device.type == CPU
        return given[0] if is_mixed else given[0].to(next(norm.parameters()))

    for embedding in {twin.src_embedding, twin.tgt_embedding}:
        embedding.register_forward_hook(rounded)
    for module in list(twin.modules()):
        for name, part in module.named_children():
            match part:
                case nn.Linear():
                    setattr(module, name, linear(part, dtype))
                case nn.Dropout():
                    setattr(module, name, FastDropout(part.p))
                case nn.LayerNorm() | nn.RMSNorm():
                    part.register_forward_pre_hook(as_its_weights)
                    part.register_forward_hook(rounded)
                case ScaledDotProductAttention():
                    setattr(module, name, FastAttention())
    return twin
