"""From Hugging Face: load a published encoder or language model into the course's own classes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, NamedTuple

import torch
from jaxtyping import Shaped
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.bert import Bert
from annotated_transformer.exchange.model_files import (
    ACTIVATIONS,
    read_config,
    read_json,
    read_tensors,
    require_equal,
    require_numbers,
    settings_of,
)
from annotated_transformer.ground.errors import InputError, require_choice
from annotated_transformer.ground.inputs import StrPath, require_path
from annotated_transformer.ground.settings import BRIEF, Share, Size, VocabularySize, one_of
from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.rotary import pairs_from_halves
from annotated_transformer.tokens import PAD
from annotated_transformer.transformer import TransformerConfig

Layers = Annotated[Size, Field(le=1000)]
Positions = Annotated[Size, Field(le=10**5)]  # of a table
Epsilon = Annotated[float, Field(gt=0, lt=1)]
Ends = int | list[int] | None


@dataclass(frozen=True)
class BertSettings:
    """The settings of BERT that determine what it computes, with Hugging Face's defaults."""

    vocab_size: VocabularySize
    hidden_size: Size
    num_hidden_layers: Layers
    num_attention_heads: Size
    intermediate_size: Size
    max_position_embeddings: Positions
    hidden_act: Annotated[str, one_of(ACTIVATIONS)] = "gelu"
    layer_norm_eps: Epsilon = 1e-12
    type_vocab_size: Size = 2
    hidden_dropout_prob: Share = 0.1

    def build(self) -> Bert:
        """Build the model, with random weights."""
        config = TransformerConfig(
            self.vocab_size, self.vocab_size, self.hidden_size, self.num_hidden_layers,
            self.num_attention_heads, self.intermediate_size, ACTIVATIONS[self.hidden_act],
            epsilon=self.layer_norm_eps, max_length=self.max_position_embeddings,
            dropout=self.hidden_dropout_prob,
        )  # fmt: skip
        return Bert(config, self.type_vocab_size)


@dataclass(frozen=True)
class GPT2Settings:
    """The settings of GPT-2 that determine what it computes, with Hugging Face's defaults."""

    vocab_size: VocabularySize
    n_embd: Size
    n_layer: Layers
    n_head: Size
    n_positions: Positions
    n_inner: Size | None = None
    activation_function: Annotated[str, one_of(ACTIVATIONS)] = "gelu_new"
    eos_token_id: Ends = 50256
    embd_pdrop: Share = 0.1
    layer_norm_epsilon: Epsilon = 1e-5
    tie_word_embeddings: bool = True
    resid_pdrop: Share = 0.1

    def build(self) -> LanguageModel:
        """Build the model, with random weights; GPT-2 does not scale its embeddings."""
        config = LanguageModelConfig(
            self.vocab_size + 1, self.vocab_size + 1, self.n_embd, self.n_layer, self.n_head,
            self.n_inner or 4 * self.n_embd, ACTIVATIONS[self.activation_function],
            norm_position="pre", epsilon=self.layer_norm_epsilon, positions="learned",
            max_length=self.n_positions, tie_output=self.tie_word_embeddings, has_source=False,
            dropout=self.resid_pdrop,
        )  # fmt: skip
        model = language_model(config, self.eos_token_id)
        model.tgt_embedding.dropout.p = self.embd_pdrop
        return model


@dataclass(frozen=True)
class LlamaSettings:
    """The settings of Llama that determine what it computes, with Hugging Face's defaults."""

    vocab_size: VocabularySize
    hidden_size: Size
    num_hidden_layers: Layers
    num_attention_heads: Size
    intermediate_size: Size
    max_position_embeddings: Annotated[Size, Field(le=10**7)]
    num_key_value_heads: Size | None = None
    head_dim: Size | None = None
    hidden_act: Annotated[str, one_of(ACTIVATIONS)] = "silu"
    eos_token_id: Ends = 2
    rms_norm_eps: Epsilon = 1e-6
    rope_theta: Annotated[float, Field(gt=1)] = 10000.0
    tie_word_embeddings: bool = False

    def build(self) -> LanguageModel:
        """Build the model, with random weights."""
        config = LanguageModelConfig(
            self.vocab_size + 1, self.vocab_size + 1, self.hidden_size, self.num_hidden_layers,
            self.num_attention_heads, self.intermediate_size, ACTIVATIONS[self.hidden_act],
            gated=True, d_k=self.head_dim, d_v=self.head_dim, bias=False, norm="rms",
            num_kv_heads=self.num_key_value_heads, epsilon=self.rms_norm_eps, norm_position="pre",
            positions="rotary", rotary_base=self.rope_theta, has_source=False,
            max_length=self.max_position_embeddings, tie_output=self.tie_word_embeddings,
            dropout=0.0,
        )  # fmt: skip
        return language_model(config, self.eos_token_id)


def language_model(config: LanguageModelConfig, ends: Ends) -> LanguageModel:
    """Build a model whose embeddings are not scaled, and whose padding has probability 0.

    What gives padding that probability is no parameter: no training or averaging changes it.
    Nothing is added to a text, of which ``ends`` are the ids that end it, in their counting.
    """
    model = LanguageModel(config)
    model.tgt_embedding.scale, model.begin = 1.0, None
    listed = ends if isinstance(ends, list) else [] if ends is None else [ends]
    model.ends = tuple(end + 1 for end in listed if end >= 0)
    bias = model.output.weight.new_zeros(config.tgt_vocab).detach()
    bias[PAD] = -inf
    del model.output.bias
    model.output.register_buffer("bias", bias)
    return model


class Layout(NamedTuple):
    """How Hugging Face stores a kind of model."""

    settings: type[BertSettings | GPT2Settings | LlamaSettings]
    required: dict[str, Any]  # values of other settings, if they are given
    other_names: dict[str, str]  # of the settings
    depth: str  # the setting that is the number of layers
    prefix: str  # before all names, in the file of a larger model
    ignored: str  # a pattern of names that this kind of model does not compute with
    names: Mapping[str, str]  # our modules, and theirs; /0, /1, /2: a third of a fused one
    transposed: bool = False  # a matrix of a layer is (in, out), not (out, in)


BERT = Layout(
    BertSettings,
    {"position_embedding_type": "absolute", "is_decoder": False, "pad_token_id": PAD},
    {},
    "num_hidden_layers",
    "bert.",
    r"embeddings\.position_ids|pooler\..*|cls\.(predictions|seq_relationship)\..*",
    {
        "tokens": "embeddings.word_embeddings",
        "segments": "embeddings.token_type_embeddings",
        "positions": "embeddings.position_embeddings",
        "norm": "embeddings.LayerNorm",
        "encoder.*.self_attention.query": "encoder.layer.*.attention.self.query",
        "encoder.*.self_attention.key": "encoder.layer.*.attention.self.key",
        "encoder.*.self_attention.value": "encoder.layer.*.attention.self.value",
        "encoder.*.self_attention.output": "encoder.layer.*.attention.output.dense",
        "encoder.*.residual_1.norm": "encoder.layer.*.attention.output.LayerNorm",
        "encoder.*.feed_forward.inner": "encoder.layer.*.intermediate.dense",
        "encoder.*.feed_forward.outer": "encoder.layer.*.output.dense",
        "encoder.*.residual_2.norm": "encoder.layer.*.output.LayerNorm",
    },
)

GPT2 = Layout(
    GPT2Settings,
    {"scale_attn_weights": True},
    {
        "hidden_size": "n_embd",
        "num_hidden_layers": "n_layer",
        "num_attention_heads": "n_head",
        "max_position_embeddings": "n_positions",
    },
    "n_layer",
    "transformer.",
    r"h\.\d+\.attn\.(masked_)?bias",  # the causal mask
    {
        "tgt_embedding.tokens": "wte",
        "tgt_embedding.positions": "wpe",
        "decoder.*.residual_1.norm": "h.*.ln_1",
        "decoder.*.self_attention.query": "h.*.attn.c_attn/0",
        "decoder.*.self_attention.key": "h.*.attn.c_attn/1",
        "decoder.*.self_attention.value": "h.*.attn.c_attn/2",
        "decoder.*.self_attention.output": "h.*.attn.c_proj",
        "decoder.*.residual_3.norm": "h.*.ln_2",
        "decoder.*.feed_forward.inner": "h.*.mlp.c_fc",
        "decoder.*.feed_forward.outer": "h.*.mlp.c_proj",
        "decoder_norm": "ln_f",
        "output": "lm_head",
    },
    transposed=True,
)

LLAMA = Layout(
    LlamaSettings,
    {"rope_type": "default"},
    {"type": "rope_type"},
    "num_hidden_layers",
    "model.",
    r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq",
    {
        "tgt_embedding.tokens": "embed_tokens",
        "decoder.*.residual_1.norm": "layers.*.input_layernorm",
        "decoder.*.self_attention.query": "layers.*.self_attn.q_proj",
        "decoder.*.self_attention.key": "layers.*.self_attn.k_proj",
        "decoder.*.self_attention.value": "layers.*.self_attn.v_proj",
        "decoder.*.self_attention.output": "layers.*.self_attn.o_proj",
        "decoder.*.residual_3.norm": "layers.*.post_attention_layernorm",
        "decoder.*.feed_forward.gate": "layers.*.mlp.gate_proj",
        "decoder.*.feed_forward.inner": "layers.*.mlp.up_proj",
        "decoder.*.feed_forward.outer": "layers.*.mlp.down_proj",
        "decoder_norm": "norm",
        "output": "lm_head",
    },
)

WITH_PADDING = ("tgt_embedding.tokens.weight", "output.weight")
"""The matrices of a language model that get a first row, of zeros, for padding."""

LAYOUTS = {"bert": BERT, "gpt2": GPT2, "llama": LLAMA}
"""Every layout by its ``model_type``."""


def load_model(folder: StrPath) -> Bert | LanguageModel:
    """Load a model from a folder of ``config.json`` and ``model.safetensors``, or its shards.

    A BERT becomes a :class:`Bert`, a GPT-2 or a Llama a :class:`LanguageModel`, whose ids are
    theirs plus 1, since 0 is padding here. The model is in evaluation mode; its hidden states and
    logits are the same, up to rounding. In training, it drops what they drop, but no attention
    weights: our classes have no such dropout.

    Its texts have no special tokens around them: :meth:`TextBatch.without_ends` makes batches to
    train it on, and a search continues a prefix, until one of the tokens that end its texts.

    Raises:
        InputError: if a file is missing or damaged, it is a pickle or needs code of its own, our
            classes cannot compute such a model, or its tensors do not fit its settings.
    """
    folder = require_path("folder", folder)
    given = read_config(folder)
    require_choice("model_type", given.get("model_type"), LAYOUTS)
    layout = LAYOUTS[given["model_type"]]
    if (path := folder / "generation_config.json").exists():  # its ends are those of `generate`
        end = read_json(path).get("eos_token_id")
        given |= {} if end is None else {"eos_token_id": end}
    settings = settings_of(layout.settings, given, layout.required, layout.other_names)
    tensors = read_tensors(folder)
    # Before they are built, which takes seconds where there are hundreds of layers.
    depth = getattr(settings, layout.depth)
    last = next(name for name in layout.names.values() if "*" in name).partition("*")[0]
    last += f"{depth - 1}."
    if not any(name.removeprefix(layout.prefix).startswith(last) for name in tensors):
        raise InputError(f"{layout.depth} is {depth}, and there is no tensor {last}… of the last.")
    with torch.device("meta"):  # a wrong size is found before it fills the memory
        sizes = settings.build()
    weights = renamed(tensors, sizes, layout)
    model = settings.build()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in weights:
                parameter.copy_(weights[name])
    return model.eval()


def renamed(
    tensors: Mapping[str, Shaped[Tensor, "..."]], model: Bert | LanguageModel, layout: Layout
) -> dict[str, Shaped[Tensor, "..."]]:
    """Rename their tensors to the parameters of our model; cut and transpose where they differ.

    Raises:
        InputError: if one is missing, left over or there twice, has another shape, or anything but
            finite real numbers.
    """
    stored: dict[str, str] = {}
    for full in tensors:
        name = full.removeprefix(layout.prefix)
        for old, new in (("gamma", "weight"), ("beta", "bias")):  # of BERT, as first published
            name = name.replace(f"LayerNorm.{old}", f"LayerNorm.{new}")
        if name in stored:
            raise InputError(f"{stored[name]} and {full} are one tensor of the model: keep one.")
        if not re.fullmatch(layout.ignored, name):
            stored[name] = full
            require_numbers(name, tensors[full])
    theirs = {name: tensors[full] for name, full in stored.items()}
    names = {ours: _their_name(ours, layout) for ours, _ in model.named_parameters()}
    tied = "output" in layout.names and "output.weight" not in names
    for name in sorted(theirs.keys() - {name for name, _ in names.values()}):
        if not tied or name != "lm_head.weight":
            why = "a model of these settings has no such tensor"
            if stored[name] == name and any(full.startswith(layout.prefix) for full in tensors):
                why = "it is of a head for a task, which our model does not have: save it without"
            raise InputError(f"{BRIEF.repr(name)} is left over, {why}.")
    weights = {}
    for ours, (name, part) in names.items():
        if name not in theirs:
            raise InputError(f"there is no tensor {name}, the model needs it.")
        tensor, wanted = theirs[name], [*model.get_parameter(ours).shape]
        wanted[0] = (wanted[0] - (ours in WITH_PADDING)) * (3 if part else 1)
        turned = layout.transposed and ours.startswith("decoder.") and len(wanted) == 2
        require_numbers(name, tensor, wanted[::-1] if turned else wanted)
        tensor = tensor.T if turned else tensor
        tensor = tensor.chunk(3)[int(part)] if part else tensor
        if layout is LLAMA and (turned_by := re.search(r"\.(query|key)\.", ours)):
            c = model.config
            heads = c.num_heads if turned_by[1] == "query" else c.num_kv_heads or c.num_heads
            tensor = pairs_from_halves(tensor, heads)
        weights[ours] = F.pad(tensor, (0, 0, 1, 0)) if ours in WITH_PADDING else tensor
    if tied and "lm_head.weight" in theirs:
        table = f"{layout.names['tgt_embedding.tokens']}.weight"
        require_equal(table, theirs[table], "lm_head.weight", theirs["lm_head.weight"])
    return weights


def _their_name(ours: str, layout: Layout) -> tuple[str, str]:
    """Return their name of our parameter, and which third of the tensor is meant, if one is."""
    module, _, kind = ours.rpartition(".")
    number = re.search(r"\.\d+\.", module)
    name = layout.names[re.sub(r"\.\d+\.", ".*.", module)]
    name, _, part = name.replace(".*.", number[0] if number else "").partition("/")
    return f"{name}.{'weight' if kind == 'table' else kind}", part
