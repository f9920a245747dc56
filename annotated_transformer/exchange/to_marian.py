"""To Marian: export a run for ``transformers.MarianMTModel`` of Hugging Face."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from annotated_transformer.exchange.marian import halves, marian_names, reordered
from annotated_transformer.exchange.model_folder import require_settings, write_model_folder
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import StrPath
from annotated_transformer.run import Run
from annotated_transformer.run.files import replacing, write_atomically
from annotated_transformer.run.sentence_pieces import SentencePieces
from annotated_transformer.tokens import BOS, EOS, PAD, SPECIALS, UNK, Vocabularies
from annotated_transformer.transformer import Transformer, TransformerConfig

README = """# A translation model for `transformers.MarianMTModel`

Written by `annotated-transformer export --to marian`. After
`pip install transformers torch{libraries}`, in this folder:

```python
{code}
```
"""
OURS = """import torch
from tokenizers import Tokenizer
from transformers import MarianMTModel

source, target = Tokenizer.from_file("source.json"), Tokenizer.from_file("target.json")
model = MarianMTModel.from_pretrained(".")

# The ids 0, 1 and 2 pad, begin and end; one that is spelled out in a text is unknown, 3.
ids = [i if i > 2 else 3 for i in source.encode(input()).ids]
tokens = torch.tensor([[*ids, 2]])
longest = min(tokens.size(1) + {extra_length}, {max_length})
[found] = model.generate(tokens, num_beams=1, max_new_tokens=longest)
print(target.decode([i for i in found.tolist() if i > 2], skip_special_tokens=False))"""
PIECES = """from transformers import MarianMTModel, MarianTokenizer

tokenizer, model = MarianTokenizer.from_pretrained("."), MarianMTModel.from_pretrained(".")

tokens = tokenizer([input()], return_tensors="pt")
longest = min(tokens.input_ids.size(1) + {extra_length}, {max_length})
found = model.generate(**tokens, num_beams=1, max_new_tokens=longest)
print(tokenizer.batch_decode(found, skip_special_tokens=True)[0])"""


def export_to_marian(run: Run, folder: StrPath) -> None:
    """Write the files of ``MarianMTModel.from_pretrained`` into an empty folder.

    The logits are the same, up to rounding. ``README.md`` there shows how to translate a text. A
    model of sentence pieces is written in the layout of OPUS-MT.

    Raises:
        InputError: if the folder is not empty, there are no weights yet, or Marian cannot
            compute such a model.
    """
    require_settings(run, "Marian", pieces=True, norm_position=("post",), positions=("sinusoidal",))
    config = run.recipe.make_config(*map(len, run.vocabularies))
    if config.d_model % config.num_heads:  # allowed if d_k and d_v are set
        raise InputError(
            f"d_model is {config.d_model}, Marian can only have a multiple of num_heads, "
            f"{config.num_heads}."
        )
    limits = {"max_length": config.max_length, "extra_length": run.recipe.search.extra_length}
    libraries, code = "", OURS
    if isinstance(run.vocabularies.tgt, SentencePieces):
        libraries, code = " sentencepiece", PIECES
    readme = README.format(libraries=libraries, code=code.format(**limits))
    write_model_folder(run, folder, partial(_write, run), readme)


def _order(vocabularies: Vocabularies) -> list[list[int]]:
    """List the ids of source and target in the order of their tokens' indices in Marian.

    For sentence pieces it is that of OPUS-MT: ``EOS``, ``UNK``, the pieces; and the token that pads
    and begins, ``BOS``, which has one index in both and is the last of the shorter one.
    """
    if not isinstance(vocabularies.tgt, SentencePieces):
        return [[*range(len(vocabulary))] for vocabulary in vocabularies]
    shorter = min(map(len, vocabularies))
    first = [EOS, UNK, *range(len(SPECIALS), shorter), BOS]
    return [[*first, *range(shorter, len(vocabulary))] for vocabulary in vocabularies]


def _listed(vocabularies: Vocabularies, order: list[list[int]]) -> dict[str, dict[str, Any]]:
    """Make the files that ``MarianTokenizer`` reads beside the models of SentencePiece, by name."""
    names = {EOS: "</s>", BOS: "<pad>"}
    src, tgt = (
        {names.get(i, vocabulary.tokens([i])[0]): number for number, i in enumerate(ids)}
        for vocabulary, ids in zip(vocabularies, order, strict=True)
    )
    kind = {"tokenizer_class": "MarianTokenizer", "separate_vocabs": src != tgt}
    files: dict[str, dict[str, Any]] = {"tokenizer_config": kind, "vocab": src}
    return files if src == tgt else files | {"target_vocab": tgt}


def _write(run: Run, folder: Path, model: Transformer) -> None:
    config, vocabularies = model.config, run.vocabularies
    order = _order(vocabularies)
    src, tgt = order
    begin, end = tgt.index(BOS), tgt.index(EOS)
    pad = tgt.index(PAD) if PAD in tgt else begin
    starts = {"decoder_start_token_id": begin, "eos_token_id": end, "pad_token_id": pad}
    sizes = replace(config, src_vocab=len(src), tgt_vocab=len(tgt))
    files: dict[str, dict[str, Any]] = {
        "config": marian_settings(sizes) | starts | {"languages": run.recipe.direction},
        "generation_config": starts | {"suppress_tokens": sorted({pad, begin})},
    }
    if isinstance(vocabularies.tgt, SentencePieces):
        files |= _listed(vocabularies, order)
    for name, values in files.items():
        text = json.dumps(values, indent=2, ensure_ascii=False)
        write_atomically(folder / f"{name}.json", text + "\n")
    parameters, places = dict(model.named_parameters()), halves(config.d_model)
    weights = {}
    for ours, theirs in marian_names(config).items():
        weight = reordered(ours, parameters[ours].detach(), places)
        if "embedding" in ours or ours.startswith("output."):
            weight = weight[src if ours.startswith("src") else tgt]
        weights[theirs] = weight.contiguous()
    weights["final_logits_bias"] = weights["final_logits_bias"][None]
    if config.share_embeddings and not config.tie_output:
        # A matrix shared by both sides is shared with the output there, so each side gets its own.
        shared = weights["model.decoder.embed_tokens.weight"]
        weights["model.encoder.embed_tokens.weight"] = shared.clone()
    with replacing(folder / "model.safetensors") as new:
        save_file(weights, new, metadata={"format": "pt"})


def marian_settings(config: TransformerConfig) -> dict[str, Any]:
    """Return the settings of a Transformer by Hugging Face's names."""
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
