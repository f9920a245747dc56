import csv
import json
import re
from contextlib import nullcontext
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest
import torch
from torch import nn

from annotated_transformer.ground.errors import InputError
from annotated_transformer.masking import causal_mask
from annotated_transformer.transformer import Embedding, Transformer, TransformerConfig
from oracles import (
    BOTH_DTYPES,
    assert_close,
    assert_same_gradients,
    hidden,
    randomise,
    stack_pairs,
    to_ours,
    weigh,
)

RECORDS = Path(__file__).parent.parent / "book" / "records"
TABLE_3 = list(csv.DictReader((RECORDS / "table3.csv").read_text().splitlines()))
SRC = torch.tensor([[5, 6, 7, 8, 2], [5, 6, 2, 0, 0]])
TGT = torch.tensor([[1, 6, 7, 0], [1, 6, 7, 8]])


def small(**changes):
    sizes = {"d_model": 8, "num_layers": 2, "num_heads": 2, "d_ff": 12, "dropout": 0.0}
    return Transformer(TransformerConfig(11, 11, **(sizes | changes)))


def of_torch(config):
    theirs = nn.Transformer(
        config.d_model, config.num_heads, config.num_layers, config.num_layers, config.d_ff,
        dropout=0.0, batch_first=True, norm_first=config.norm_position == "pre",
    )  # fmt: skip
    # nn.Transformer ends both stacks with a LayerNorm, which belongs to pre-norm. The paper's
    # post-norm layers end with one already: a second has to be taken away.
    if config.norm_position == "post":
        theirs.encoder.norm = theirs.decoder.norm = None
    # For speed alone it would pack sentences without their padding, in a form that may change.
    theirs.encoder.use_nested_tensor = False
    return theirs


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True:UserWarning")
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", BOTH_DTYPES)
@pytest.mark.parametrize("position", ["post", "pre"])
def test_it_is_that_of_torch(position, dtype, training):
    ours = randomise(small(norm_position=position)).to(dtype).train(training)
    theirs = randomise(of_torch(ours.config)).to(dtype).train(training)
    pairs = list(stack_pairs(ours, theirs))
    to_ours(pairs)
    is_word = TGT != 0
    with nullcontext() if training else torch.no_grad():
        logits = ours(SRC, TGT)[is_word]
        states = theirs(
            ours.src_embedding(SRC),
            ours.tgt_embedding(TGT),
            tgt_mask=hidden(causal_mask(4)[0, 0]),
            src_key_padding_mask=hidden(SRC != 0),
            tgt_key_padding_mask=hidden(is_word),
            memory_key_padding_mask=hidden(SRC != 0),
        )
        expected = ours.output(states)[is_word]
    assert_close(logits, expected)
    if training:
        weigh(logits).backward(inputs=[mine for mine, _, _ in pairs])
        weigh(expected).backward(inputs=list(theirs.parameters()))
        assert_same_gradients(pairs)


def test_embeddings_are_scaled_by_the_root_of_their_width_before_positions_are_added():
    embedding = Embedding(11, small().config)
    positions = embedding.positions.table[2:6].float()
    expected = 8**0.5 * embedding.tokens.weight[TGT] + positions
    assert_close(embedding(TGT, torch.arange(2, 2 + TGT.size(1))[None]), expected)


def test_embeddings_are_drawn_with_variance_one_over_their_width():
    weight = Embedding(2000, small(d_model=64).config).tokens.weight
    assert weight.mean().abs() < 0.002
    assert weight.var().item() == pytest.approx(1 / 64, rel=0.02)
    # Of a normal distribution 68.27 % lies within one standard deviation.
    within = (weight.abs() < 1 / 8).float().mean().item()
    assert within == pytest.approx(0.6827, abs=0.005)


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("tie", [False, True])
def test_one_matrix_embeds_both_languages_and_gives_the_logits_if_it_is_asked_to(share, tie):
    model = small(share_embeddings=share, tie_output=tie)
    source, target = model.src_embedding.tokens.weight, model.tgt_embedding.tokens.weight
    assert (model.src_embedding is model.tgt_embedding) == (source is target) == share
    assert (model.output.weight is target) == tie
    assert model.output.weight is not source or (share and tie)
    count, fewest = (
        sum(p.numel() for p in m.parameters())
        for m in (model, small(share_embeddings=True, tie_output=True))
    )
    assert count - fewest == (2 - share - tie) * 11 * 8
    assert torch.equal(model.output.bias, torch.zeros(11))


def test_unless_it_is_asked_to_a_model_embeds_each_language_by_itself():
    assert not TransformerConfig(11, 11).share_embeddings
    assert not TransformerConfig.tiny(11, 11).share_embeddings
    assert TransformerConfig.base(11, 11).share_embeddings
    assert TransformerConfig.big(11, 11).share_embeddings
    assert all(c(11, 11).tie_output for c in (TransformerConfig, TransformerConfig.base))


def rms(x, norm):
    """Zhang and Sennrich 2019, equation 4."""
    return norm.weight * x / (x.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt()


def layer(x, norm):
    """Ba et al. 2016."""
    centred = x - x.mean(dim=-1, keepdim=True)
    return norm.weight * centred / (centred.square().mean(-1, True) + 1e-5).sqrt() + norm.bias


@torch.no_grad()
@pytest.mark.parametrize(("name", "normalise"), [("layer", layer), ("rms", rms)])
@pytest.mark.parametrize("position", ["post", "pre"])
def test_every_norm_stands_where_its_position_says(name, normalise, position):
    """The whole model, a sentence alone, with each sub-layer and its norm written out."""
    model = randomise(small(norm=name, norm_position=position)).double()
    is_pre = position == "pre"

    def around(x, norm, sublayer):
        return x + sublayer(normalise(x, norm)) if is_pre else normalise(x + sublayer(x), norm)

    src, tgt = SRC[:1], TGT[1:]
    x = model.src_embedding(src)
    for part in model.encoder:
        x = around(x, part.residual_1.norm, lambda y, part=part: part.self_attention(y, y, y))
        x = around(x, part.residual_2.norm, part.feed_forward)
    memory = normalise(x, model.encoder_norm) if is_pre else x
    x = model.tgt_embedding(tgt)
    for part in model.decoder:
        ask = part.self_attention
        x = around(x, part.residual_1.norm, lambda y, ask=ask: ask(y, y, y, causal_mask(4)))
        look = part.cross_attention
        x = around(x, part.residual_2.norm, lambda y, look=look: look(y, memory, memory))
        x = around(x, part.residual_3.norm, part.feed_forward)
    x = normalise(x, model.decoder_norm) if is_pre else x
    assert_close(model(src, tgt), model.output(x))


def test_layers_start_from_weights_of_their_own():
    matrices = [p for p in small().parameters() if p.dim() > 1]
    assert len({tuple(p.flatten().tolist()) for p in matrices}) == len(matrices)


def test_matrices_of_the_layers_are_drawn_as_glorot_and_bengio_say():
    model = small(d_model=64, num_heads=4, d_ff=96)
    matrices = [p for part in (model.encoder, model.decoder) for p in part.parameters()]
    matrices = [p for p in matrices if p.dim() == 2]
    assert len(matrices) == 2 * (6 + 10)  # of attention 4, of the feed-forward network 2
    for matrix in matrices:
        bound = (6 / sum(matrix.shape)) ** 0.5  # equation 16 of Glorot and Bengio 2010
        assert 0.99 * bound < matrix.abs().max() <= bound
        assert matrix.var().item() == pytest.approx(bound**2 / 3, rel=0.1)


def counted_by_hand(c):
    """Weights and biases, added up from the equations of the paper."""
    d_k, d_v = c.d_k or c.d_model // c.num_heads, c.d_v or c.d_model // c.num_heads
    num_kv_heads = c.num_kv_heads or c.num_heads
    into_heads = (c.d_model + 1) * (c.num_heads * d_k + num_kv_heads * (d_k + d_v))
    attention = into_heads + (c.num_heads * d_v + 1) * c.d_model
    feed_forward = (c.d_model + 1) * c.d_ff + (c.d_ff + 1) * c.d_model
    norm = {"layer": 2, "rms": 1}[c.norm] * c.d_model
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    final_norms = 2 * norm if c.norm_position == "pre" else 0
    matrices = [c.tgt_vocab]  # the target's embeddings
    matrices += [] if c.share_embeddings else [c.src_vocab]
    matrices += [] if c.tie_output else [c.tgt_vocab]
    bias_of_the_logits = c.tgt_vocab
    layers = c.num_layers * (encoder_layer + decoder_layer)
    return layers + final_norms + sum(matrices) * c.d_model + bias_of_the_logits


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm": "rms"},
        {"norm": "rms", "norm_position": "pre"},
        {"num_kv_heads": 1},
        {"tie_output": False},
        {"src_vocab": 13},
        {"src_vocab": 13, "tie_output": False, "num_kv_heads": 2, "d_k": 3, "d_v": 5},
    ],
)
def test_parameters_are_as_many_as_the_equations_say(changes):
    config = replace(small(num_heads=4).config, **changes)
    assert sum(p.numel() for p in Transformer(config).parameters()) == counted_by_hand(config)


@pytest.mark.parametrize("position", ["post", "pre"])
@pytest.mark.parametrize("row", TABLE_3, ids=lambda row: f"{row['row']} {row['changes']}")
def test_parameters_are_as_many_as_table_3_prints(row, position):
    changes = json.loads(row["changes"])
    with torch.device("meta"):
        model = Transformer(
            TransformerConfig.base(37_000, 37_000, norm_position=position, **changes)
        )
    counted, printed = sum(p.numel() for p in model.parameters()), float(row["printed_millions"])
    assert counted == counted_by_hand(model.config)
    residual = counted / 1e6 - printed
    assert abs(residual) < 0.065 * printed, (
        f"row {row['row']} {changes}: {counted / 1e6:.1f} M against {printed:.0f} M printed, "
        f"a residual of {residual:+.2f} M"
    )


def test_the_defaults_are_the_base_model_of_table_3():
    base, paper = TransformerConfig(5, 5), {"num_layers": 6, "d_model": 512, "d_ff": 2048}
    paper |= {"num_heads": 8, "dropout": 0.1, "d_k": None, "d_v": None}  # None: 512 / 8 = 64
    assert {name: getattr(base, name) for name in paper} == paper


def test_the_big_model_is_the_row_of_table_3():
    changes = json.loads(TABLE_3[-1]["changes"])
    assert TransformerConfig.big(5, 5) == TransformerConfig.base(5, 5, **changes)
    assert TransformerConfig.big(5, 5, dropout=0.1).dropout == 0.1


def test_the_tiny_model_is_tiny_and_can_be_changed_and_a_config_is_frozen():
    sizes = {"d_model": 64, "num_layers": 2, "num_heads": 4, "d_ff": 256}
    assert TransformerConfig.tiny(11, 13) == TransformerConfig(11, 13, **sizes)
    tiny = TransformerConfig.tiny(11, 13, d_ff=7)
    assert tiny.d_ff == 7
    assert Transformer(tiny)(SRC, TGT).shape == (2, 4, 13)
    with pytest.raises(FrozenInstanceError):
        tiny.d_ff = 8


def test_a_sentence_longer_than_the_model_is_refused():
    with pytest.raises(InputError, match="at position 4, counted from 0, and the model has 4"):
        small(max_length=4)(SRC, TGT)
    model = small(max_length=5)
    _, state = model.extend(model.start(SRC), TGT)
    with pytest.raises(
        InputError, match="at position 5, counted from 0, and the model has 5 positions"
    ):
        model.extend(state, TGT[:, :2])


def test_a_state_of_a_model_with_fewer_layers_does_not_go_unnoticed():
    state = small(num_layers=1).start(SRC)
    with pytest.raises(ValueError, match="zip"):
        small().extend(state, TGT)


def test_one_embedding_for_two_vocabularies_is_refused():
    with pytest.raises(InputError, match="src_vocab=13 and tgt_vocab=11 differ: share_embeddings"):
        TransformerConfig(13, 11, share_embeddings=True)
    with pytest.raises(InputError, match="src_vocab=11 and tgt_vocab=13 differ: share_embeddings"):
        TransformerConfig(11, 13, share_embeddings=True)
    with pytest.raises(InputError, match="src_vocab=11 and tgt_vocab=13 differ"):
        TransformerConfig.base(11, 13)
    assert not TransformerConfig.base(11, 13, share_embeddings=False).share_embeddings


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"num_layers": 0}, "num_layers is 0, it must be an integer, at least 1 and at most"),
        ({"num_heads": 0}, "num_heads is 0, it must be an integer, at least 1 and at most"),
        ({"num_kv_heads": 0}, "num_kv_heads is 0, it must be an integer, at least 1 and at"),
        ({"num_heads": 3}, "d_model=8 is not a multiple of num_heads=3"),
        ({"num_heads": 4, "num_kv_heads": 3}, "num_heads=4 is not a multiple of num_kv_heads=3"),
        ({"d_model": 7, "d_k": 3, "d_v": 3}, "d_model is 7, it must be even"),
    ],
)
def test_unusable_configurations_are_refused(wrong, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        small(**wrong)
