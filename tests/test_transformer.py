import csv
import json
from contextlib import nullcontext
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest
import torch
from torch import nn

from annotated_transformer.errors import InputError
from annotated_transformer.masking import causal_mask
from annotated_transformer.transformer import Embedding, Transformer, TransformerConfig
from oracles import (
    BOTH_DTYPES,
    BOTH_WAYS,
    assert_close,
    assert_same_gradients,
    hidden,
    randomise,
    stack_pairs,
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
        dropout=0.0, batch_first=True, norm_first=config.norm == "pre",
    )  # fmt: skip
    # nn.Transformer ends both stacks with a LayerNorm, which belongs to pre-norm. The paper's
    # post-norm layers end with one already: a second has to be taken away.
    if config.norm == "post":
        theirs.encoder.norm = theirs.decoder.norm = None
    # For speed alone it would pack sentences without their padding, in a form that may change.
    theirs.encoder.use_nested_tensor = False
    return theirs


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True:UserWarning")
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("carry", BOTH_WAYS)
@pytest.mark.parametrize("dtype", BOTH_DTYPES)
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_it_is_that_of_torch(norm, dtype, carry, training):
    ours = randomise(small(norm=norm)).to(dtype).train(training)
    theirs = randomise(of_torch(ours.config)).to(dtype).train(training)
    pairs = list(stack_pairs(ours, theirs))
    carry(pairs)
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
    assert_close(embedding(TGT, start=2), expected)


def test_embeddings_are_drawn_with_variance_one_over_their_width():
    weight = Embedding(2000, small(d_model=64).config).tokens.weight
    assert weight.mean().abs() < 0.002
    assert weight.var().item() == pytest.approx(1 / 64, rel=0.02)
    # Of a normal distribution 68.27 % lies within one standard deviation.
    within = (weight.abs() < 1 / 8).float().mean().item()
    assert within == pytest.approx(0.6827, abs=0.005)


def test_one_matrix_embeds_both_languages_and_gives_the_logits():
    shared = small()
    assert shared.src_embedding is shared.tgt_embedding
    assert shared.output.weight is shared.tgt_embedding.tokens.weight
    apart = small(share_embeddings=False)
    assert apart.src_embedding.tokens.weight is not apart.tgt_embedding.tokens.weight
    assert apart.output.weight is apart.tgt_embedding.tokens.weight
    counts = [sum(p.numel() for p in model.parameters()) for model in (shared, apart)]
    assert counts[1] - counts[0] == 11 * 8


def test_layers_start_from_weights_of_their_own():
    matrices = [p for p in small().parameters() if p.dim() > 1]
    assert len({tuple(p.flatten().tolist()) for p in matrices}) == len(matrices)


def counted_by_hand(c):
    """Weights and biases, added up from the equations of the paper."""
    d_k, d_v = c.d_k or c.d_model // c.num_heads, c.d_v or c.d_model // c.num_heads
    into_heads = (c.d_model + 1) * c.num_heads * (2 * d_k + d_v)
    attention = into_heads + (c.num_heads * d_v + 1) * c.d_model
    feed_forward = (c.d_model + 1) * c.d_ff + (c.d_ff + 1) * c.d_model
    norm = 2 * c.d_model
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    final_norms = 2 * norm if c.norm == "pre" else 0
    shared_embedding, bias_of_the_logits = c.tgt_vocab * c.d_model, c.tgt_vocab
    layers = c.num_layers * (encoder_layer + decoder_layer)
    return layers + final_norms + shared_embedding + bias_of_the_logits


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("row", TABLE_3, ids=lambda row: f"{row['row']} {row['changes']}")
def test_parameters_are_as_many_as_table_3_prints(row, norm):
    changes = json.loads(row["changes"])
    with torch.device("meta"):
        model = Transformer(TransformerConfig.base(37_000, 37_000, norm=norm, **changes))
    counted, printed = sum(p.numel() for p in model.parameters()), float(row["printed_millions"])
    assert counted == counted_by_hand(model.config)
    residual = counted / 1e6 - printed
    assert abs(residual) < 0.065 * printed, (
        f"row {row['row']} {changes}: {counted / 1e6:.1f} M against {printed:.0f} M printed, "
        f"a residual of {residual:+.2f} M"
    )


def test_the_big_model_is_the_row_of_table_3():
    changes = json.loads(TABLE_3[-1]["changes"])
    assert TransformerConfig.big(5, 5) == TransformerConfig.base(5, 5, **changes)
    assert TransformerConfig.big(5, 5, dropout=0.1).dropout == 0.1


def test_the_tiny_model_shares_what_can_be_shared_and_a_config_is_frozen():
    assert TransformerConfig.tiny(11, 11).share_embeddings
    tiny = TransformerConfig.tiny(11, 13, d_ff=7)
    assert not tiny.share_embeddings
    assert tiny.d_ff == 7
    assert Transformer(tiny)(SRC, TGT).shape == (2, 4, 13)
    with pytest.raises(FrozenInstanceError):
        tiny.d_ff = 8


def test_unusable_configurations_are_refused(monkeypatch):
    with pytest.raises(InputError, match="src_vocab=11 and tgt_vocab=13 differ"):
        Transformer(TransformerConfig(11, 13))
    with pytest.raises(InputError, match="the sentence has 5 positions, the model knows 4"):
        small(max_length=4)(SRC, TGT)
    # The check of types, which runs in tests alone, would refuse them before the model does.
    monkeypatch.setattr("jaxtyping.config.jaxtyping_disable", True)
    with pytest.raises(InputError, match="positions is 'none', it must be one of sinusoidal, lear"):
        small(positions="none")
    with pytest.raises(InputError, match="norm is 'none', it must be 'post' or 'pre'"):
        small(norm="none")


@pytest.mark.parametrize("name", ["src_vocab", "d_model", "num_layers", "num_heads", "d_ff"])
def test_a_size_below_one_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} is 0, it must be at least 1"):
        replace(TransformerConfig.tiny(10, 10), **{name: 0})
