"""Real weights: a folder that Hugging Face's classes wrote computes the same in ours."""

import json
from functools import partial

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

import write_small_bert
from annotated_transformer.errors import InputError
from annotated_transformer.exchange import load_model
from annotated_transformer.tokens import PAD
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
    [{}, {"head_dim": 6, "tie_word_embeddings": True, "rms_norm_eps": 0.1, "rope_theta": 100}],
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
        (bert, {"pad_token_id": 1}, "pad_token_id is 1, our model can only have 0"),
        (bert, {"auto_map": {"A": "x.Y"}}, "has auto_map, it must not: code from a model's folder"),
        (bert, {"layer_norm_eps": 0}, "layer_norm_eps is 0, it must be a number, above 0 and bel"),
        (bert, {"num_attention_heads": 3}, "d_model=16 is not a multiple of num_heads=3"),
        (bert, {"vocab_size": 10**9}, r"weight has the shape \[30, 16\], it must be \[1000"),
        (bert, {"num_hidden_layers": 3}, "there is no tensor encoder.layer.2.attention.self.quer"),
        (bert, {"num_hidden_layers": 1}, "'encoder.layer.1.attention.output.LayerNorm.bias' is l"),
        (gpt2, {"n_embd": 20}, r"wte.weight has the shape \[30, 16\], it must be \[30, "),
        (
            gpt2,
            {"scale_attn_by_inverse_layer_idx": True},
            "scale_attn_by_inverse_layer_idx is True, our model can",
        ),
        (llama, {"rope_parameters": {"rope_type": "yarn"}}, "rope_type is 'yarn', our model can"),
        (llama, {"rope_scaling": {"type": "linear"}}, "rope_scaling is {'type': 'linear'"),
        (llama, {"attention_bias": True}, "attention_bias is True, our model can only have False"),
    ],
)
def test_settings_of_another_model_are_refused(tmp_path, write, changes, said):
    write(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(InputError, match=said):
        load_model(tmp_path)


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
    index.write_text('{"weight_map": {"wte.weight": "../x.safetensors"}}')
    with pytest.raises(
        InputError, match=r"lists '\.\./x.safetensors', it must be the name of a file"
    ):
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
