"""To Marian: a run as a folder that ``transformers.MarianMTModel`` of Hugging Face loads."""

import json
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from annotated_transformer.errors import InputError
from annotated_transformer.exchange.marian import halves, marian_names, reordered
from annotated_transformer.exchange.model_folder import require_settings, write_model_folder
from annotated_transformer.run import Run
from annotated_transformer.run.files import replacing, write_atomically
from annotated_transformer.tokens import BOS, EOS, PAD
from annotated_transformer.transformer import Transformer, TransformerConfig

README = """# A translation model for `transformers.MarianMTModel`

Written by `annotated-transformer export --to marian`. After `pip install transformers torch`,
in this folder:

```python
import torch
from tokenizers import Tokenizer
from transformers import MarianMTModel

source, target = Tokenizer.from_file("source.json"), Tokenizer.from_file("target.json")
model = MarianMTModel.from_pretrained(".")

# The ids 0, 1 and 2 pad, begin and end; one that is spelled out in a text is unknown, 3.
ids = [i if i > 2 else 3 for i in source.encode(input()).ids]
tokens = torch.tensor([[*ids, 2]])
longest = min(tokens.size(1) + {extra_length}, {max_length})
[found] = model.generate(tokens, num_beams=1, max_new_tokens=longest)
print(target.decode([i for i in found.tolist() if i > 2], skip_special_tokens=False))
```
"""


def export_to_marian(run: Run, folder: Path) -> None:
    """Write what ``MarianMTModel.from_pretrained`` loads into an empty folder.

    The logits are the same, to rounding. ``README.md`` there says how it translates a text.

    Raises:
        InputError: if there is something in the folder already, no weights yet, or Marian cannot
            compute such a model.
    """
    require_settings(run, "Marian", norm_position=("post",), positions=("sinusoidal",))
    config = run.recipe.make_config(*map(len, run.vocabularies))
    if config.d_model % config.num_heads:  # d_k and d_v may be set, and the width be no sum of them
        raise InputError(
            f"d_model is {config.d_model}, Marian can only have a multiple of num_heads, "
            f"{config.num_heads}."
        )
    limits = {"max_length": config.max_length, "extra_length": run.recipe.search.extra_length}
    write_model_folder(run, folder, _write, README.format(**limits))


def _write(folder: Path, model: Transformer) -> None:
    config = model.config
    starts = {"decoder_start_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD}
    searches = starts | {"suppress_tokens": [PAD, BOS]}
    for name, values in (
        ("config", marian_settings(config) | starts),
        ("generation_config", searches),
    ):
        write_atomically(folder / f"{name}.json", json.dumps(values, indent=2) + "\n")
    parameters, order = dict(model.named_parameters()), halves(config.d_model)
    weights = {
        theirs: reordered(ours, parameters[ours].detach(), order).contiguous()
        for ours, theirs in marian_names(config).items()
    }
    weights["final_logits_bias"] = weights["final_logits_bias"][None]
    if config.share_embeddings and not config.tie_output:
        # One matrix for both sides is the output's, too, there: so each side has its own.
        shared = weights["model.decoder.embed_tokens.weight"]
        weights["model.encoder.embed_tokens.weight"] = shared.clone()
    with replacing(folder / "model.safetensors") as new:
        save_file(weights, new, metadata={"format": "pt"})


def marian_settings(config: TransformerConfig) -> dict[str, Any]:
    """What Hugging Face calls the settings of a Transformer."""
    settings = {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        "vocab_size": config.src_vocab,
        "decoder_vocab_size": config.tgt_vocab,
        "d_model": config.d_model,
        "max_position_embeddings": config.max_length,
        "activation_function": config.activation,
        "dropout": config.dropout,
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": config.share_embeddings and config.tie_output,
        "tie_word_embeddings": config.tie_output,
        "forced_eos_token_id": None,
    }
    for stack in ("encoder", "decoder"):
        settings |= {
            f"{stack}_layers": config.num_layers,
            f"{stack}_attention_heads": config.num_heads,
            f"{stack}_ffn_dim": config.d_ff,
        }
    return settings
