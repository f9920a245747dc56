import math

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.tokens import BOS, EOS, PAD
from annotated_transformer.translator import evaluating
from oracles import assert_close, randomise

SIZES = {"d_model": 16, "num_layers": 2, "num_heads": 4, "d_ff": 24, "dropout": 0.0}
SRC = torch.tensor([[5, 6, 7, 8, EOS], [5, 6, EOS, PAD, PAD]])
TGT = torch.tensor([[BOS, 6, 7, PAD], [BOS, 6, 7, 8]])


def small(**changes):
    settings = SIZES | {"src_vocab": 11, "tgt_vocab": 13, "norm_position": "pre"} | changes
    config = LanguageModelConfig(**settings)
    return randomise(LanguageModel(config)).double().eval()


def gpt2(model):
    """Hugging Face's GPT-2 with the weights of ours."""
    c = model.config
    theirs = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=c.tgt_vocab, n_positions=c.max_length, n_embd=c.d_model,
            n_layer=c.num_layers, n_head=c.num_heads, n_inner=c.d_ff,
            activation_function="gelu_new", resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
            tie_word_embeddings=False,
        )
    ).double().eval()  # fmt: skip
    body = theirs.transformer
    body.wte.weight.data = model.tgt_embedding.tokens.weight.data * math.sqrt(c.d_model)
    body.wpe.weight.data = model.tgt_embedding.positions.table.data
    theirs.lm_head.weight.data = model.output.weight.data
    for ours, block in zip(model.decoder, body.h, strict=True):
        look, ff = ours.self_attention, ours.feed_forward
        parts = [look.query, look.key, look.value]
        pairs = [(look.output, block.attn.c_proj)]
        pairs += [(ff.inner, block.mlp.c_fc), (ff.outer, block.mlp.c_proj)]
        # Conv1D multiplies from the right: its matrices are those of a Linear, transposed.
        block.attn.c_attn.weight.data = torch.cat([part.weight for part in parts]).T
        block.attn.c_attn.bias.data = torch.cat([part.bias for part in parts])
        for mine, other in pairs:
            other.weight.data, other.bias.data = mine.weight.data.T, mine.bias.data
        block.ln_1.load_state_dict(ours.residual_1.norm.state_dict())
        block.ln_2.load_state_dict(ours.residual_3.norm.state_dict())
    body.ln_f.load_state_dict(model.decoder_norm.state_dict())
    return theirs


@torch.no_grad()
def test_its_logits_are_those_of_gpt2():
    model = small(positions="learned", activation="gelu_tanh")
    model.output.bias.zero_()  # GPT-2 has none
    text = torch.tensor([[BOS, 5, 6, 7, 8, 5], [BOS, 8, 9, PAD, PAD, PAD]])
    theirs = gpt2(model)
    expected = theirs(text, attention_mask=text != PAD).logits
    assert_close(model(text)[text != PAD], expected[text != PAD])


@torch.no_grad()
def test_it_generates_what_gpt2_generates():
    model = small(positions="learned", activation="gelu_tanh")
    model.output.bias.zero_()
    prompt = torch.tensor([[BOS, 5, 6, 7]])
    theirs = gpt2(model).generate(
        prompt, max_new_tokens=9, do_sample=False, eos_token_id=None, pad_token_id=PAD,
        attention_mask=torch.ones_like(prompt),
    )  # fmt: skip
    logits, state = model.extend(model.empty(1), prompt)
    ids = prompt[0].tolist()
    for _ in range(9):
        ids.append(int(logits[0, -1].argmax()))
        logits, state = model.extend(state, torch.tensor([[ids[-1]]]))
    assert ids == theirs[0].tolist()


@pytest.mark.parametrize("prefix_mask", [False, True])
@torch.no_grad()
def test_token_by_token_is_the_whole_at_once(prefix_mask):
    model = small(prefix_mask=prefix_mask)
    whole, state = model(SRC, TGT), model.start(SRC)
    for t in range(TGT.size(1)):
        logits, state = model.step(state, TGT[:, t])
        real = TGT[:, t] != PAD
        assert_close(logits[real], whole[real, t])


@pytest.mark.parametrize("prefix_mask", [False, True])
@torch.no_grad()
def test_padding_and_the_other_sentences_change_nothing(prefix_mask):
    model = small(prefix_mask=prefix_mask)
    together = model(SRC, TGT)
    assert_close(model(SRC[1:, :3], TGT[1:])[0], together[1])
    left = torch.tensor([[PAD, PAD, 5, 6, EOS]])
    assert_close(model(left, TGT[1:])[0], together[1])


@torch.no_grad()
def test_source_and_target_are_one_text():
    model = small(share_embeddings=True, tgt_vocab=11)
    text = torch.cat([SRC[:1], TGT[:1, :3]], dim=1)
    assert_close(model(SRC[:1], TGT[:1, :3]), model(text)[:, SRC.size(1) :])


@torch.no_grad()
def test_no_token_sees_a_later_one_unless_the_source_may():
    later = SRC.clone()
    later[0, 3] = 9
    for prefix_mask in (False, True):
        model = small(prefix_mask=prefix_mask)
        first, second = (model.start(src).past[1].keys[0, :, :3] for src in (SRC, later))
        assert torch.equal(first, second) != prefix_mask
        changed = TGT.clone()
        changed[0, 2] = 9
        assert_close(model(SRC, TGT)[:, :2], model(SRC, changed)[:, :2])


def test_it_overfits_one_batch():
    torch.manual_seed(0)
    model = LanguageModel(LanguageModelConfig(11, 13, **SIZES, norm_position="pre"))
    out = torch.tensor([[6, 7, EOS, PAD], [6, 7, 8, EOS]])
    adam = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(60):
        loss = torch.nn.functional.cross_entropy(
            model(SRC, TGT).flatten(0, 1), out.flatten(), ignore_index=PAD
        )
        adam.zero_grad()
        loss.backward()
        adam.step()
    assert loss < 0.05
    with evaluating(model):
        assert torch.equal(model(SRC, TGT).argmax(-1)[out != PAD], out[out != PAD])
