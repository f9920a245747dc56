"""To CTranslate2: export a run for this engine, which is made for fast translation."""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from annotated_transformer.exchange.model_folder import require_settings, write_model_folder
from annotated_transformer.ground.errors import require_library
from annotated_transformer.ground.inputs import StrPath
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.run import Run
from annotated_transformer.run.files import write_atomically
from annotated_transformer.tokens import BOS, EOS, PAD, SPECIALS, UNK
from annotated_transformer.transformer import Embedding, Transformer

NEVER = -1e9
"""The logit of tokens that are never produced."""

README = """# A translation model for CTranslate2

Written by `annotated-transformer export --to ctranslate2`. After
`pip install ctranslate2 tokenizers`,

```bash
python translate.py < text
```

translates a text line by line, each as `annotated-transformer translate --beam 1` does; of a line
that cannot be translated, a sentence on standard error says so. In
`translate.py`, `compute_type="int8"` for the `Translator` rounds the weights: it is faster, and
a translation may differ. A beam ranks long and short translations otherwise than ours.
"""

TRANSLATE = '''"""Translate standard input line by line: python translate.py < text."""

import sys
from codecs import BOM_UTF8
from pathlib import Path

import ctranslate2
from tokenizers import Tokenizer

MAX_LENGTH = {max_length}  # positions that the model knows
EXTRA_LENGTH = {extra_length}  # tokens that a translation may have more than its source

folder = Path(__file__).parent
translator = ctranslate2.Translator(str(folder))
source = Tokenizer.from_file(str(folder / "source.json"))
target = Tokenizer.from_file(str(folder / "target.json"))
sys.stdout.reconfigure(encoding="utf-8")


def text_of(line):
    """The text of a line; nothing if it is not UTF-8."""
    try:
        return line.removeprefix(BOM_UTF8).decode().strip()
    except UnicodeDecodeError:
        return None


sentences = []
for number, line in enumerate(sys.stdin.buffer, 1):
    text = text_of(line)
    cut = source.encode(text or "")
    # A special token that is spelled out in a text is unknown.
    tokens = [t if i > 2 else "<unk>" for i, t in zip(cut.ids, cut.tokens)]
    is_known = source.decode([i for i in cut.ids if i > 3]).strip()
    if text is None or (text and not (is_known and len(tokens) < MAX_LENGTH)):
        print(f"Line {{number}} cannot be translated; its translation is empty.", file=sys.stderr)
        tokens = []
    sentences.append(tokens)
lengths = [min(len(tokens) + 1 + EXTRA_LENGTH, MAX_LENGTH) for tokens in sentences]
found = translator.translate_batch(
    sentences,
    beam_size=1,
    max_batch_size=2048,
    batch_type="tokens",
    max_input_length=0,
    min_decoding_length=0,
    max_decoding_length=max(lengths, default=1),
)
for result, length in zip(found, lengths):
    ids = [target.token_to_id(token) for token in result.hypotheses[0][:length]]
    print(target.decode(ids, skip_special_tokens=False))
'''


def export_to_ctranslate2(run: Run, folder: StrPath) -> None:
    """Write the files of ``ctranslate2.Translator``, and ``translate.py``, into an empty folder.

    Greedy translations are the same unless rounding decides between two tokens.

    Raises:
        InputError: if the folder is not empty, there are no weights yet, CTranslate2 is
            not installed, or it cannot compute such a model.
    """
    require_library("ctranslate2")
    require_settings(run, "CTranslate2")
    source, target = (vocabulary.tokens(range(len(vocabulary))) for vocabulary in run.vocabularies)

    def write(path: Path, model: Transformer) -> None:
        spec = specification(model)
        spec.register_source_vocabulary(source)
        spec.register_target_vocabulary(target)
        spec.validate()
        spec.optimize()
        spec.save(str(path))
        limits = {"max_length": model.max_length, "extra_length": run.recipe.search.extra_length}
        write_atomically(path / "translate.py", TRANSLATE.format(**limits))

    write_model_folder(run, folder, write, README)


@torch.no_grad()
def specification(model: Transformer) -> Any:
    """Describe the model in the terms of CTranslate2, without its vocabularies."""
    library = require_library("ctranslate2.specs")
    config, pre_norm = model.config, model.config.norm_position == "pre"
    activation = getattr(library.Activation, config.activation.upper())
    spec = library.TransformerSpec.from_config(
        config.num_layers, config.num_heads, pre_norm=pre_norm, activation=activation
    )
    for name in ("bos", "eos", "unk"):
        setattr(spec.config, f"{name}_token", SPECIALS[{"bos": BOS, "eos": EOS, "unk": UNK}[name]])
    spec.config.decoder_start_token = SPECIALS[BOS]
    spec.config.add_source_eos = True
    _embed(spec.encoder, spec.encoder.embeddings[0], model.src_embedding)
    _embed(spec.decoder, spec.decoder.embeddings, model.tgt_embedding)
    if pre_norm:
        _norm(spec.encoder.layer_norm, model.encoder_norm)
        _norm(spec.decoder.layer_norm, model.decoder_norm)
    for part, layers in ((spec.encoder, model.encoder), (spec.decoder, model.decoder)):
        for theirs, ours in zip(part.layer, layers, strict=True):
            _layer(theirs, ours)
    _linear(spec.decoder.projection, model.output)
    spec.decoder.projection.bias[[PAD, BOS]] = NEVER
    return spec


def _embed(stack: Any, table: Any, embedding: Embedding) -> None:
    table.weight = embedding.tokens.weight
    stack.position_encodings.encodings = embedding.positions.table.float()


def _layer(theirs: Any, ours: Any) -> None:
    _attention(theirs.self_attention, ours.self_attention, ours.residual_1.norm, own=True)
    residual = ours.residual_2
    if hasattr(ours, "cross_attention"):
        _attention(theirs.attention, ours.cross_attention, residual.norm, own=False)
        residual = ours.residual_3
    _linear(theirs.ffn.linear_0, ours.feed_forward.inner)
    _linear(theirs.ffn.linear_1, ours.feed_forward.outer)
    _norm(theirs.ffn.layer_norm, residual.norm)


def _attention(theirs: Any, ours: MultiHeadAttention, norm: nn.Module, *, own: bool) -> None:
    """Copy attention; queries are joined with keys and values where all three read one input."""
    *projections, output = theirs.linear
    groups = [[ours.query, ours.key, ours.value]] if own else [[ours.query], [ours.key, ours.value]]
    for projection, group in zip(projections, groups, strict=True):
        _linear(projection, *group)
    _linear(output, ours.output)
    _norm(theirs.layer_norm, norm)


def _linear(theirs: Any, *ours: nn.Linear) -> None:
    theirs.weight = torch.cat([layer.weight for layer in ours])
    theirs.bias = torch.cat([layer.bias for layer in ours])


def _norm(theirs: Any, ours: Any) -> None:
    theirs.gamma, theirs.beta = ours.weight, ours.bias
