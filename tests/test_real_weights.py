"""Real weights: a folder that Hugging Face's classes wrote computes the same in ours."""

import inspect
import json
import re
import warnings
from dataclasses import fields
from functools import partial

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertModel,
    GenerationConfig,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)
from transformers.activations import ACT2CLS, ACT2FN
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS, RotaryEmbeddingConfigMixin

import write_minilm_states
import write_small_bert
from annotated_transformer import layers
from annotated_transformer.exchange import load_model
from annotated_transformer.exchange.from_hugging_face import LAYOUTS
from annotated_transformer.exchange.model_files import ACTIVATIONS, WITHOUT
from annotated_transformer.ground.errors import InputError
from annotated_transformer.language_model import LanguageModelConfig
from annotated_transformer.tokens import PAD
from comparing_pages import ROOT
from oracles import assert_close, randomise

BERT = {
    "vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 24, "max_position_embeddings": 12,
}  # fmt: skip
GPT2 = {
    "vocab_size": 30, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 12,
    "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
LLAMA = {
    "vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 24, "max_position_embeddings": 12,
}  # fmt: skip
TOKENS = torch.tensor([[5, 6, 7, 8, 5], [9, 8, 7, PAD, PAD]])


def written(kind, config, sizes, folder, shard="1GB", **changes):
    """Save a model of Hugging Face in a folder, and return it."""
    theirs = randomise(kind(config(**sizes | changes))).eval()
    theirs.save_pretrained(folder, max_shard_size=shard)
    return theirs.double()


bert = partial(written, BertModel, BertConfig, BERT)
gpt2 = partial(written, GPT2LMHeadModel, GPT2Config, GPT2)
llama = partial(written, LlamaForCausalLM, LlamaConfig, LLAMA)


@pytest.mark.parametrize(
    "changes", [{}, {"layer_norm_eps": 0.1, "hidden_act": "gelu_new", "type_vocab_size": 3}]
)
@torch.no_grad()
def test_hidden_states_are_those_of_bert_and_a_sentence_vector_is_their_mean(tmp_path, changes):
    theirs, ours = bert(tmp_path, **changes), load_model(tmp_path).double()
    segments, real = TOKENS % 2, TOKENS != PAD
    for given in ({}, {"token_type_ids": segments}):
        expected = theirs(TOKENS, attention_mask=real, **given).last_hidden_state
        assert_close(ours(TOKENS, *given.values())[real], expected[real])
    for row, vector in zip(TOKENS, ours.sentence_vectors(TOKENS), strict=True):
        mean = theirs(row[row != PAD][None]).last_hidden_state[0].mean(dim=0)
        assert_close(vector, mean / mean.norm())


@pytest.mark.parametrize(
    ("shard", "changes"),
    [
        ("1GB", {}),
        ("4KB", {"tie_word_embeddings": False, "n_inner": 20, "layer_norm_epsilon": 0.1}),
    ],
)
@torch.no_grad()
def test_logits_are_those_of_gpt2(tmp_path, changes, shard):
    theirs, ours = gpt2(tmp_path, shard, **changes), load_model(tmp_path).double()
    assert (tmp_path / "model.safetensors").exists() == (shard == "1GB")
    text = torch.tensor([[0, 5, 29, 0, 1, 2], [0, 7, 8, -1, -1, -1]])
    real = text >= 0  # their 0 is a token like the others; ours is the padding
    logits = ours(text + 1)[real]
    expected = theirs(text.clamp(min=0), attention_mask=real).logits[real]
    assert_close(logits[:, 1:], expected)
    assert_close(logits.softmax(-1)[:, 1:], expected.softmax(-1))
    if not changes:
        theirs.transformer.float().save_pretrained(tmp_path)  # without a prefix, as published
        assert_close(load_model(tmp_path).double()(text + 1)[real], logits)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"head_dim": 6, "tie_word_embeddings": True, "rms_norm_eps": 0.1, "rope_theta": 100},
        {"max_position_embeddings": 131_072, "hidden_act": "gelu_fast"},
    ],
)
@torch.no_grad()
def test_logits_are_those_of_llama(tmp_path, changes):
    theirs, ours = llama(tmp_path, **changes), load_model(tmp_path).double()
    text = torch.tensor([[0, 5, 29, 0, 1, 2, 7, 7, 9, 3, 4]])
    # In float64, too, the library turns and normalises in float32.
    assert_close(ours(text + 1)[..., 1:], theirs(text).logits, 1e-5)


@pytest.mark.parametrize(
    ("write", "changes", "said"),
    [
        (bert, {"model_type": None}, "model_type is None, it must be one of bert, gpt2, llama"),
        (bert, {"hidden_act": "mish"}, "hidden_act is 'mish', it must be one of relu, silu"),
        (bert, {"is_decoder": True}, "is_decoder is True, our model can only have False"),
        (bert, {"quantization_config": {"bits": 4}}, "quantization_config, it must not: its weigh"),
        (bert, {"pad_token_id": 1}, "pad_token_id is 1, our model can only have 0"),
        (bert, {"auto_map": {"A": "x.Y"}}, "has auto_map, it must not: code from a model's folder"),
        (bert, {"layer_norm_eps": 0}, "layer_norm_eps is 0, it must be a number, above 0 and bel"),
        (bert, {"num_attention_heads": 3}, "d_model=16 is not a multiple of num_heads=3"),
        (bert, {"vocab_size": 10**9}, r"weight has the shape \[30, 16\], it must be \[1000"),
        (bert, {"num_hidden_layers": 3}, "_layers is 3, and there is no tensor encoder.layer.2"),
        (bert, {"num_hidden_layers": 1}, "'encoder.layer.1.attention.output.LayerNorm.bias' is l"),
        (gpt2, {"n_embd": 20}, r"wte.weight has the shape \[30, 16\], it must be \[30, "),
        (
            gpt2,
            {"scale_attn_by_inverse_layer_idx": True},
            "scale_attn_by_inverse_layer_idx is True, our model can",
        ),
        (llama, {"rope_parameters": {"rope_type": "yarn"}}, "rope_type is 'yarn', our model can"),
        (llama, {"rope_parameters": {"type": "linear"}}, "rope_parameters.type is 'linear', our"),
        (llama, {"rope_scaling": {"type": "linear"}}, "g.type is 'linear' and rope_parameters.ro"),
        (llama, {"rope_scaling": "linear"}, "rope_scaling is 'linear', our model can only have F"),
        (llama, {"rope_parameters": {"full_attention": {}}}, "rope_parameters is {'full_attention"),
        (llama, {"rope_theta": 5e5}, "rope_theta is 500000.0 and rope_parameters.rope_theta is"),
        (gpt2, {"hidden_size": 20}, "n_embd is 16 and hidden_size is 20: they must be the same"),
        (llama, {"max_position_embeddings": 10**8}, "is 100000000, it must be .* at most 10,000,0"),
        (llama, {"attention_bias": True}, "attention_bias is True, our model can only have False"),
    ],
)
def test_settings_of_another_model_are_refused(tmp_path, write, changes, said):
    write(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(InputError, match=said):
        load_model(tmp_path)


# --- every setting, every spelling, every second value --------------------------------------------

FOLDERS = {
    "bert": (bert, BertModel, BertConfig),
    "gpt2": (gpt2, GPT2LMHeadModel, GPT2Config),
    "llama": (llama, LlamaForCausalLM, LlamaConfig),
}
SIZES = {"head_dim", "intermediate_size", "n_inner", "type_vocab_size", "tie_word_embeddings"}
SIZES |= set(BERT) | set(GPT2) | set(LLAMA)
"""What decides which tensors there are: a sentence on them names the tensor."""
HOSTILE = {
    "hidden_act": "mish", "activation_function": "mish", "dtype": "float16", "num_labels": 3,
    "torch_dtype": "float16", "rope_scaling": {"type": "linear", "factor": 2.0},
    "rope_parameters": {"rope_type": "linear", "factor": 2.0}, "rope_theta": 77.0,
    "partial_rotary_factor": 0.5, "id2label": {"0": "a"}, "label2id": {"a": 0},
    "per_layer_config": {"0": {"rms_norm_eps": 0.5, "layer_norm_eps": 0.5}},
    "quantization_config": {"bits": 4}, "attn_implementation": "eager", "summary_type": "mean",
    "summary_activation": "tanh",
    "problem_type": "regression", "architectures": ["X"], "experts_implementation": "eager",
    "transformers_version": "4", "name_or_path": "x",
}  # fmt: skip


def keys_of(config):
    """All that a configuration class reads: its fields, their other names, and what it pops."""
    bases = [kind for kind in config.__mro__ if "__post_init__" in vars(kind)]
    code = "".join(inspect.getsource(kind.__post_init__) for kind in bases)
    code += inspect.getsource(RotaryEmbeddingConfigMixin)
    popped = re.findall(r"""kwargs\.(?:pop|get)\(\s*["'](\w+)""", code)
    own = {field.name for field in fields(config)}
    return sorted(own | {*popped, *config.attribute_map, "quantization_config"})


def hostile(name, value):
    """A value of that type that is another one."""
    if name in HOSTILE:
        return HOSTILE[name]
    if isinstance(value, float):
        return value / 2 + 0.2
    return not value if isinstance(value, bool) else 3 * (value or 0) + 1


def change(folder, given):
    """Write changed settings into a folder."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | given))


@pytest.mark.parametrize("name", LAYOUTS)
@torch.no_grad()
def test_each_setting_is_read_or_harmless_or_refused_by_its_name(tmp_path, name):
    write, model, config = FOLDERS[name]
    write(tmp_path)
    path = tmp_path / "config.json"
    written, refused = json.loads(path.read_text()), []
    text = torch.tensor([[5, 6, 7, 8, 5]])
    keys = keys_of(config)
    generation = GenerationConfig._get_default_generation_params().keys() - keys  # all at once
    for key in [*dict.fromkeys([*keys, *WITHOUT]), None]:
        given = {key: hostile(key, written.get(key))} if key else dict.fromkeys(generation, 3)
        path.write_text(json.dumps(written | given))
        try:
            ours = load_model(tmp_path)
        except InputError as error:
            refused.append(key if key in str(error) else f"{key}, by the name of a tensor")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = model.from_pretrained(tmp_path, dtype=torch.float32).eval()
        expected = theirs(text, return_dict=True)[0]
        found = ours(text) if name == "bert" else ours(text + 1)[..., 1:]
        assert_close(found, expected, 1e-4)
    assert {*WITHOUT} - {"rope_scaling", "rope_parameters"} <= {*refused}
    assert {key.partition(", ")[0] for key in refused if "," in key} <= SIZES
    assert len(keys) > 30


@pytest.mark.parametrize("name", ROPE_INIT_FUNCTIONS)
def test_positions_that_are_scaled_are_refused_in_each_spelling(tmp_path, name):
    llama(tmp_path)
    for group in ("rope_scaling", "rope_parameters"):
        for key in ("type", "rope_type"):
            change(tmp_path, {"rope_parameters": None, group: {key: name, "factor": 2.0}})
            with pytest.raises(InputError, match=f"{group}.{key} is '{name}', our model can only"):
                load_model(tmp_path)
            change(tmp_path, {group: {key: "default"}})
            load_model(tmp_path)
            change(tmp_path, {group: None})


def test_the_names_of_activations_are_all_those_that_our_layers_compute():
    x = torch.linspace(-12, 12, 1001)
    ours = {name: act(x) for name, act in layers.ACTIVATIONS.items()}
    same = {
        theirs: name
        for theirs in sorted(ACT2CLS.keys() - {"xielu", "prelu"})  # with parameters
        for name, y in ours.items()
        if torch.allclose(ACT2FN[theirs](x), y, atol=1e-6)
    }
    assert same == ACTIVATIONS


@pytest.mark.parametrize(
    "kind", [BertForPreTraining, BertForMaskedLM, BertForNextSentencePrediction]
)
@torch.no_grad()
def test_bert_as_it_is_published_is_its_encoder(tmp_path, kind):
    theirs = written(kind, BertConfig, BERT, tmp_path).bert
    path = tmp_path / "model.safetensors"
    old = {
        name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): tensor
        for name, tensor in load_file(path).items()
    }
    for tensors in (load_file(path), old):
        save_file(tensors, path)
        found = load_model(tmp_path).double()(TOKENS[:1])
        assert_close(found, theirs(TOKENS[:1]).last_hidden_state)


@pytest.mark.parametrize("kind", [BertForSequenceClassification, BertForQuestionAnswering])
def test_a_head_that_our_encoder_does_not_have_is_refused(tmp_path, kind):
    theirs = written(kind, BertConfig, BERT, tmp_path)
    with pytest.raises(InputError, match="is left over, it is of a head for a task, which our"):
        load_model(tmp_path)
    theirs.base_model.float().save_pretrained(tmp_path)
    load_model(tmp_path)


@pytest.mark.parametrize("write", [gpt2, llama])
@torch.no_grad()
def test_two_values_for_one_parameter_are_refused_if_they_differ(tmp_path, write):
    write(tmp_path, "4KB", tie_word_embeddings=True)
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())["weight_map"]
    tensors = {}
    for file in dict.fromkeys(index.values()):
        tensors |= load_file(tmp_path / file)
    table = next(name for name in tensors if re.search("wte|embed_tokens", name))
    text = torch.tensor([[6, 7, 8, 9]])
    expected = load_model(tmp_path)(text)[..., 1:]

    def refused(said):
        with pytest.raises(InputError, match=said):
            load_model(tmp_path)

    # A tensor in two shards.
    first, last = list(dict.fromkeys(index.values()))[:: len(set(index.values())) - 1]
    name, tensor = next(iter(load_file(tmp_path / first).items()))
    before = load_file(tmp_path / last)
    save_file(before | {name: tensor.clone()}, tmp_path / last)
    assert_close(load_model(tmp_path)(text)[..., 1:], expected)
    save_file(before | {name: tensor + 1}, tmp_path / last)
    refused(f"{name} in {first} and in {last} differ, they must be equal")
    # A matrix that is tied, and another one; names that become one.
    path = tmp_path / "model.safetensors"
    for more, said in (
        ({"lm_head.weight": tensors[table].clone()}, None),
        ({"lm_head.weight": 2 * tensors[table]}, "(wte|tokens).weight and lm_head.weight differ"),
        *(
            ({name.partition(".")[2]: tensor.clone()}, f"{name.partition('.')[2]}.* one tensor of")
            for name, tensor in tensors.items()
        ),
    ):
        save_file(tensors | more, path)
        if said is None:
            assert_close(load_model(tmp_path)(text)[..., 1:], expected)
        else:
            refused(said)
    save_file(tensors, path)
    config = tmp_path / "config.json"
    config.write_text(config.read_text().replace("{", '{"vocab_size": 31, ', 1))
    refused(r"config.json cannot be read \('vocab_size' has two values\)")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda x: x.to(torch.float8_e4m3fn), "float8_e4m3fn, it must be .* not quantised"),
        (lambda x: x.to(torch.int8), "torch.int8, it must be a dense tensor .* not quantised"),
        (lambda x: x * torch.nan, "contains nan or inf, all numbers must be finite"),
        (lambda x: x.double() * 1e300, "contains nan or inf, all numbers must be finite"),
    ],
)
@pytest.mark.parametrize("write", [bert, gpt2, llama])
def test_every_tensor_has_finite_numbers_that_are_not_quantised(tmp_path, write, change, said):
    write(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    for name, tensor in tensors.items():
        if "pooler" in name:
            continue
        save_file(tensors | {name: change(tensor)}, tmp_path / "model.safetensors")
        with pytest.raises(InputError, match=said):
            load_model(tmp_path)
    tensors["layers.0.mlp.qweight"] = torch.zeros(2).int()  # as GPTQ, under another name
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(InputError, match=r"qweight is of the type torch.int32, .* not quantised"):
        load_model(tmp_path)


@pytest.mark.parametrize("write", [bert, gpt2, llama])
def test_layers_that_are_not_there_are_not_built(tmp_path, write, monkeypatch):
    write(tmp_path)
    change(tmp_path, {"n_layer" if write is gpt2 else "num_hidden_layers": 900})
    for layout in LAYOUTS.values():
        monkeypatch.setattr(layout.settings, "build", None)
    with pytest.raises(InputError, match=r"is 900, and there is no tensor .*\.899\."):
        load_model(tmp_path)


@torch.no_grad()
def test_dropout_is_theirs(tmp_path):
    theirs, ours = llama(tmp_path), load_model(tmp_path).double()
    text = torch.tensor([[0, 5, 29, 0]])
    assert_close(ours.train()(text + 1)[..., 1:], theirs.train()(text).logits, 1e-5)
    gpt2(tmp_path, resid_pdrop=0.3, embd_pdrop=0.2)
    assert load_model(tmp_path).config.dropout == 0.3
    assert load_model(tmp_path).tgt_embedding.dropout.p == 0.2
    bert(tmp_path, hidden_dropout_prob=0.0)
    assert load_model(tmp_path).config.dropout == 0.0


def test_only_positions_in_a_table_are_few():
    for name in ("sinusoidal", "learned"):
        with pytest.raises(InputError, match=f"100001, it can be at most 100,000 .* {name}"):
            LanguageModelConfig(9, 9, max_length=100_001, positions=name)
    for name in ("rotary", "none"):
        assert LanguageModelConfig(9, 9, max_length=10**7, positions=name).max_length == 10**7


def test_files_that_are_missing_damaged_or_pickled_are_refused(tmp_path):
    gpt2(tmp_path, "4KB")
    shard = tmp_path / "model-00002-of-00009.safetensors"
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"model-00002-of-00009.safetensors cannot be read"):
        load_model(tmp_path)
    shard.unlink()
    with pytest.raises(InputError, match=r"model-00002-of-00009.safetensors cannot be read \(.*No"):
        load_model(tmp_path)
    index = tmp_path / "model.safetensors.index.json"
    for name in ("../x.safetensors", "x\ud800", "x\0"):
        index.write_text(json.dumps({"weight_map": {"wte.weight": name}}))
        listed = re.escape(f"lists {name!r}, it must be the name of a file")
        with pytest.raises(InputError, match=listed):
            load_model(tmp_path)
    index.write_text("{}")
    with pytest.raises(InputError, match="has no weight_map, it must list the file of"):
        load_model(tmp_path)
    index.unlink()
    with pytest.raises(InputError, match=r"model.safetensors cannot be read \(.*No such file"):
        load_model(tmp_path)
    torch.save({}, tmp_path / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"pytorch_model.bin is a pickle, which could run any"):
        load_model(tmp_path)
    with pytest.raises(InputError, match=r"config.json cannot be read"):
        load_model(tmp_path / "elsewhere")


@pytest.mark.parametrize("write", [bert, gpt2, llama])
def test_what_the_model_does_not_have_is_refused(tmp_path, write):
    write(tmp_path)
    model = load_model(tmp_path)
    with pytest.raises(InputError, match="a token is at position 12, counted from 0, and the mod"):
        model(torch.full((1, 13), 5))
    if write == bert:
        with pytest.raises(InputError, match="segments contains id 9, it must be at least 0 and"):
            model(TOKENS, TOKENS)


def test_the_small_bert_of_the_lesson_computes_what_is_stored_beside_it():
    model = BertModel.from_pretrained(write_small_bert.FOLDER, add_pooling_layer=False)
    stored = load_file(write_small_bert.FOLDER / "hidden_states.safetensors")
    for name, states in write_small_bert.hidden_states(model).items():
        assert_close(states.double(), stored[name].double(), 1e-5)


# --- a published model ---------------------------------------------------------------------------

SENTENCES = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]


@pytest.mark.slow
@pytest.mark.main
@torch.no_grad()
def test_minilm_is_the_model_of_hugging_face(minilm):
    ours, theirs = load_model(minilm), BertModel.from_pretrained(minilm).eval()
    tokenizer = Tokenizer.from_file(str(minilm / "tokenizer.json"))
    tokenizer.enable_padding()
    read = tokenizer.encode_batch([*SENTENCES, "a long one, " * 30])
    tokens = torch.tensor([row.ids for row in read])
    real = torch.tensor([row.attention_mask for row in read]).bool()
    expected = theirs(tokens, attention_mask=real).last_hidden_state
    assert_close(ours(tokens)[real], expected[real], 1e-5)
    means = torch.stack([row[kept].mean(dim=0) for row, kept in zip(expected, real, strict=True)])
    vectors = ours.sentence_vectors(tokens)
    assert_close(vectors, means / means.norm(dim=1, keepdim=True), 1e-5)
    # What https://sbert.net/docs/quickstart.html prints for these three sentences.
    published = torch.tensor([[1, 0.6660, 0.1046], [0.6660, 1, 0.1411], [0.1046, 0.1411, 1]])
    assert_close((vectors @ vectors.T)[:3, :3], published, 1e-4)


def test_the_states_beside_the_lesson_are_those_that_hugging_face_computes(minilm):
    stored = load_file(write_minilm_states.FILE)
    for name, found in write_minilm_states.hidden_states(minilm).items():
        assert_close(stored[name], found, 1e-5)


def test_the_lines_of_the_second_page_let_a_gpt2_continue_a_text(tmp_path, monkeypatch, capsys):
    theirs = gpt2(tmp_path, n_positions=64)
    words = {f"w{i}": i for i in range(30)}
    words = {word: i for word, i in words.items() if i not in (5, 6, 7)}
    words |= {"The": 5, "Transformer": 6, "is": 7}
    tokenizer = Tokenizer(WordLevel(words, unk_token="w0"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda name, **_: str(tmp_path))
    page = (ROOT / "book" / "further" / "21_real_weights.ipynb").read_text(encoding="utf-8")
    cells = ["".join(cell["source"]) for cell in json.loads(page)["cells"]]
    (lines,) = re.findall(r"```python\n(.*?)```", "\n".join(cells), re.DOTALL)
    exec(lines, {})
    continued = theirs.generate(
        torch.tensor([[5, 6, 7]]), max_new_tokens=20, do_sample=False, eos_token_id=None,
        pad_token_id=0, attention_mask=torch.ones(1, 3, dtype=torch.long),
    )  # fmt: skip
    assert capsys.readouterr().out.strip() == tokenizer.decode(continued[0].tolist())
