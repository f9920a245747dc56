"""The fast engine against the readable modules: the same losses, gradients and steps."""

from copy import deepcopy
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.batches import Batch
from annotated_transformer.decoding import Search
from annotated_transformer.errors import InputError
from annotated_transformer.fast import (
    FastTrainer,
    attention,
    fast_translator,
    output_loss,
    products,
)
from annotated_transformer.fast.attention import FastAttention, WrittenOut
from annotated_transformer.fast.dropout import FastDropout, random_mask
from annotated_transformer.fast.products import FastLinear, RoundedLinear
from annotated_transformer.fast.twin import fast_twin
from annotated_transformer.lora import LoRALinear, add_lora, merge_lora
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.soft_lookup import SoftLookup
from annotated_transformer.training import Trainer, paper_schedule
from annotated_transformer.translation import search_all
from oracles import BOTH_DTYPES, assert_close, randomise, weigh
from small_models import VOCAB, assert_going_on_is_exact, random_examples, small_model

EXAMPLES = random_examples(24)
PARTS = [Batch.of(EXAMPLES[i:j]) for i, j in ((0, 1), (1, 4), (4, 24))]
RATE = paper_schedule(d_model=16, warmup=3, factor=0.02)
BITS = 0.02
"""What rounding to bfloat16, with its eight bits, may change in a sum of a few products."""


@pytest.mark.parametrize("capability", ["AVX2", "AVX512"])
@pytest.mark.parametrize("dtype", BOTH_DTYPES)
@pytest.mark.parametrize("width", [3, 7])
@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 5), (1, 5)])
def test_a_product_is_that_of_torch(shape, width, dtype, capability, monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    layer = nn.Linear(5, width).to(dtype)
    fast = FastLinear(deepcopy(layer), dtype)
    x = torch.randn(*shape, dtype=dtype)
    ours, theirs = (x.clone().requires_grad_() for _ in range(2))
    output, expected = fast(ours), layer(theirs)
    assert_close(output, expected)
    weigh(output).backward()
    weigh(expected).backward()
    assert_close(ours.grad, theirs.grad)
    assert_close(fast.weight.grad, layer.weight.grad)
    assert_close(fast.bias.grad, layer.bias.grad)


def test_a_product_in_sixteen_bits_is_near_and_its_weights_keep_theirs():
    layer = nn.Linear(64, 32)
    fast = FastLinear(deepcopy(layer), torch.bfloat16)
    x = torch.randn(100, 64)
    output, expected = fast(x), layer(x)
    assert output.dtype == torch.bfloat16
    torch.testing.assert_close(output.float(), expected, rtol=0, atol=0.02)
    output.float().square().sum().backward()
    expected.square().sum().backward()
    for parameter, reference in zip(fast.parameters(), layer.parameters(), strict=True):
        assert parameter.grad.dtype == torch.float32
        near = F.cosine_similarity(parameter.grad.flatten(), reference.grad.flatten(), dim=0)
        assert 0.999 < near < 1


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_keeps_a_share_and_the_mean(p):
    torch.manual_seed(0)
    x = torch.ones(300, 1001, requires_grad=True)
    y = FastDropout(p)(x)
    kept = y > 0
    # Five standard deviations of a share of so many independent places.
    bound = 5 * (p * (1 - p) / kept.numel()) ** 0.5
    assert kept.float().mean().item() == pytest.approx(1 - p, abs=bound)
    assert y[kept].unique().tolist() == pytest.approx([1 / (1 - p)], rel=2e-4)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def test_dropout_decides_about_each_place_by_itself():
    torch.manual_seed(0)
    like = torch.empty(400_000, dtype=torch.float64)
    kept = random_mask(like, 2**15) - 0.5
    for apart in (1, 2, 3, 4, 8, 64):
        correlation = (kept[apart:] * kept[:-apart]).mean().item() * 4
        assert abs(correlation) < 5 / 400_000**0.5
    assert not torch.equal(kept, random_mask(like, 2**15) - 0.5)


def test_dropout_that_drops_nothing_changes_nothing():
    x = torch.randn(5, 7)
    assert torch.equal(FastDropout(0.0)(x), x)
    assert torch.equal(FastDropout(0.5).eval()(x), x)


def test_dropout_of_nearly_everything_stays_finite():
    assert FastDropout(1 - 1e-9)(torch.ones(1000)).isfinite().all()


READABLE = partial(SoftLookup.forward, ScaledDotProductAttention())
"""The attention that makes its weights one operation at a time, with PyTorch's softmax."""


def attended(module, dtype, given, mask):
    """What a module gives in a number format, and the gradients of what it was given."""
    given = [x.to(dtype).requires_grad_() for x in given]
    output = module(*given, mask)
    weigh(output).backward()
    return [output.detach(), *(x.grad for x in given)]


@pytest.fixture
def queries_keys_values_and_mask():
    mask = torch.rand(2, 1, 5, 6) < 0.6
    mask[1, 0, 2] = False
    mask[..., 0] |= mask.any(-1)
    return [torch.randn(2, 3, n, 4, dtype=torch.float64) for n in (5, 6, 6)], mask


@pytest.mark.parametrize("dtype", BOTH_DTYPES)
def test_attention_that_is_not_written_out_is_the_readable_one(
    dtype, queries_keys_values_and_mask, monkeypatch
):
    monkeypatch.setattr(attention, "SHORT", {})
    given = (dtype, *queries_keys_values_and_mask)
    readable = attended(ScaledDotProductAttention(), *given)
    assert all(map(torch.equal, attended(FastAttention(), *given), readable))


@pytest.mark.parametrize("dtype", BOTH_DTYPES)
def test_attention_written_out_is_that_of_torch(dtype, queries_keys_values_and_mask):
    given, mask = queries_keys_values_and_mask
    for masked in (mask, None):
        ours = attended(WrittenOut.apply, dtype, given, masked)
        for module in (READABLE, F.scaled_dot_product_attention):
            for one, other in zip(ours, attended(module, dtype, given, masked), strict=True):
                assert_close(one, other)


def test_the_gradients_of_attention_written_out_are_slopes(queries_keys_values_and_mask):
    given, mask = queries_keys_values_and_mask
    given = [x.requires_grad_() for x in given]
    assert torch.autograd.gradcheck(WrittenOut.apply, (*given, mask))
    loss = WrittenOut.apply(*given, mask).square().sum()
    slopes = torch.autograd.grad(loss, given, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slopes[0].sum().backward()


def test_scores_of_which_few_may_be_attended_stay_finite():
    query = torch.full((1, 1, 4), 100.0)
    key = torch.tensor([[[-1.0] * 4, [-1.01] * 4, [1.0] * 4]])
    mask = torch.tensor([[[True, True, False]]])
    ours = WrittenOut.apply(query, key, torch.eye(3, 4)[None], mask)
    expected = (-200 * torch.tensor([1.0, 1.01])).softmax(0)
    torch.testing.assert_close(ours[0, 0, :2], expected)


@pytest.mark.parametrize("short", [0, 100])
def test_attention_in_sixteen_bits_is_that_of_torch(
    short, queries_keys_values_and_mask, monkeypatch
):
    monkeypatch.setattr(attention, "SHORT", {torch.bfloat16: short})
    given, mask = queries_keys_values_and_mask
    ours = attended(FastAttention(), torch.bfloat16, given, mask)
    rounded = [x.bfloat16() for x in given]
    for module in (READABLE, F.scaled_dot_product_attention):
        expected = attended(module, torch.float64, rounded, mask)
        for one, other in zip(ours, expected, strict=True):
            assert one.dtype == torch.bfloat16
            torch.testing.assert_close(one.double(), other, rtol=0, atol=BITS * other.abs().max())


@pytest.mark.parametrize(
    ("dtype", "fused"),
    [
        (torch.float32, [0, 49, 128, 129]),
        (torch.float64, [0, 1, 48, 49, 128, 129]),
        (torch.bfloat16, [0, 129]),
    ],
)
def test_attention_is_written_out_for_few_keys(dtype, fused, monkeypatch):
    used = []
    monkeypatch.setattr(
        ScaledDotProductAttention,
        "forward",
        lambda _, query, key, *rest: used.append(key.size(-2)) or query,
    )
    for keys in (0, 1, 48, 49, 128, 129):
        FastAttention()(*torch.ones(3, 2, keys, 4, dtype=dtype))
    assert used == fused
    FastAttention()(*torch.ones(3, 2, 7, 4, dtype=dtype, device="meta"))
    assert used == [*fused, 7]


@pytest.mark.parametrize("chunk", [3, 10, 1000])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("dtype", BOTH_DTYPES)
def test_the_loss_is_that_of_the_logits(dtype, smoothing, chunk, monkeypatch):
    monkeypatch.setattr(output_loss, "CHUNK", chunk)
    layer = randomise(nn.Linear(6, VOCAB)).to(dtype)
    fast = deepcopy(layer)
    target = PARTS[2].tgt_out
    assert (target == 0).any()
    hidden = torch.randn(*target.shape, 6, dtype=dtype)
    ours, theirs = (hidden.clone().requires_grad_() for _ in range(2))
    loss = output_loss.output_loss(fast, ours, target, smoothing)
    expected = smoothed_cross_entropy(layer(theirs), target, smoothing)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    (loss / 7).backward()
    (expected / 7).backward()
    assert_close(ours.grad, theirs.grad)
    assert_close(fast.weight.grad, layer.weight.grad)
    assert_close(fast.bias.grad, layer.bias.grad)


def test_the_loss_of_padding_alone_is_nothing():
    layer, hidden = nn.Linear(6, VOCAB), torch.randn(2, 3, 6, requires_grad=True)
    loss = output_loss.output_loss(layer, hidden, torch.zeros(2, 3).long(), 0.1)
    loss.backward()
    assert loss == 0
    assert not any(x.grad.any() for x in (hidden, layer.weight, layer.bias))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_loss_of_logits_that_are_far_apart_is_finite(dtype):
    layer = nn.Linear(2, VOCAB)
    with torch.no_grad():
        layer.weight.copy_(torch.linspace(-500, 500, 2 * VOCAB).view(VOCAB, 2).to(dtype))
    layer.to(torch.promote_types(dtype, torch.float32))
    hidden, target = torch.ones(1, 2, 2, dtype=dtype), torch.tensor([[4, VOCAB - 1]])
    loss = output_loss.output_loss(layer, hidden, target, 0.1)
    expected = smoothed_cross_entropy(layer(hidden.to(loss)), target, 0.1).item()
    assert loss.item() == pytest.approx(expected, rel=0.01 if dtype == torch.bfloat16 else 1e-6)


def test_the_loss_in_sixteen_bits_is_near_that_of_the_logits(monkeypatch):
    monkeypatch.setattr(output_loss, "CHUNK", 10)
    layer = randomise(nn.Linear(6, VOCAB))
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(parameter.bfloat16())
    exact, target = deepcopy(layer).double(), PARTS[2].tgt_out
    ours = torch.randn(*target.shape, 6).bfloat16().requires_grad_()
    theirs = ours.detach().double().requires_grad_()
    loss = output_loss.output_loss(layer, ours, target, 0.1)
    expected = smoothed_cross_entropy(exact(theirs), target, 0.1)
    assert loss.item() == pytest.approx(expected.item(), rel=0.001)
    loss.backward()
    expected.backward()
    pairs = [(x.grad, y.grad) for x, y in zip(layer.parameters(), exact.parameters(), strict=True)]
    for one, other in [(ours.grad, theirs.grad), *pairs]:
        torch.testing.assert_close(one.double(), other, rtol=0, atol=BITS * other.abs().max())


def test_the_slopes_of_the_loss_have_none_of_their_own():
    layer, hidden = nn.Linear(6, VOCAB), torch.randn(1, 3, 6, requires_grad=True)
    loss = output_loss.output_loss(layer, hidden, torch.ones(1, 3).long())
    (slopes,) = torch.autograd.grad(loss.square(), hidden, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slopes.sum().backward()


@pytest.mark.parametrize("smoothing", [-0.1, 1.0, 1.5])
def test_a_smoothing_that_there_is_not(smoothing):
    with pytest.raises(InputError, match=rf"smoothing is {smoothing}, it must be at least 0 and"):
        output_loss.output_loss(
            nn.Linear(2, 5), torch.ones(1, 1, 2), torch.ones(1, 1).long(), smoothing
        )


@pytest.mark.usefixtures("as_readers_do")
@pytest.mark.parametrize(
    ("target", "message"),
    [
        (torch.ones(2, 2).long(), r"target has the shape \[2, 2\], it must be \[1, 4\]"),
        (torch.ones(1, 3).long(), r"target has the shape \[1, 3\], it must be \[1, 4\]"),
        (torch.tensor([[1, 2, 3, 5]]), "target contains id 5, it must be at least 0 and below 5"),
        (torch.ones(1, 4), "target is of the type torch.float"),
    ],
)
def test_targets_that_are_none_of_the_hidden_words(target, message):
    with pytest.raises(InputError, match=message):
        output_loss.output_loss(nn.Linear(2, 5), torch.ones(1, 4, 2), target)


CHANGES = [
    {},
    {"share_embeddings": True, "norm_position": "pre", "norm": "rms"},
    {"positions": "learned", "tie_output": False, "num_kv_heads": 1, "activation": "swish"},
    {"positions": "rotary", "gated": True, "bias": False, "norm": "rms", "qk_norm": True},
]


def both_trainers(precision="float32", **changes):
    model = small_model("transformer", **changes)
    model = model.float() if precision == "bfloat16" else model
    loss = partial(smoothed_cross_entropy, smoothing=0.1)
    settings = {"average_decay": 0.9}
    readable = Trainer(deepcopy(model), loss, RATE, **settings)
    return FastTrainer(model, 0.1, RATE, precision=precision, **settings), readable


@pytest.mark.parametrize("changes", CHANGES)
def test_its_steps_are_those_of_the_readable_trainer(changes, monkeypatch):
    monkeypatch.setitem(attention.SHORT, torch.float64, 48)
    fast, readable = both_trainers(**changes)
    for _ in range(4):
        assert fast.update(PARTS) == pytest.approx(readable.update(PARTS), rel=1e-9)
    ours, theirs = fast.tensors(), readable.tensors()
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        torch.testing.assert_close(ours[name], tensor, rtol=0, atol=1e-9, msg=name)


@pytest.mark.parametrize("changes", CHANGES)
def test_sixteen_bits_give_nearly_the_same_step(changes):
    fast, readable = both_trainers("bfloat16", **changes)
    assert fast.update(PARTS) == pytest.approx(readable.update(PARTS), rel=0.03)
    gradients = [
        torch.cat([p.grad.flatten() for p in trainer.model.parameters()])
        for trainer in (fast, readable)
    ]
    assert gradients[0].dtype == torch.float32
    assert not torch.allclose(*gradients, rtol=1e-4)
    assert F.cosine_similarity(*gradients, dim=0) > 0.99


def test_the_twin_has_the_weights_of_the_model_and_no_readable_part():
    model = small_model("transformer", dropout=0.2)
    twin = fast_twin(model, torch.float64)
    assert {id(p) for p in twin.parameters()} <= {id(p) for p in model.parameters()}
    kinds = {type(module) for module in twin.modules()}
    assert {FastLinear, FastDropout, FastAttention} <= kinds
    assert not kinds & {nn.Linear, nn.Dropout, ScaledDotProductAttention}
    assert type(model.output) is nn.Linear


@pytest.mark.parametrize("base", [nn.Linear, nn.Dropout, ScaledDotProductAttention])
def test_a_part_that_computes_something_else_is_not_replaced_in_silence(base):
    model = small_model("transformer")
    own = type("Own", (base,), {})
    for part in model.modules():
        if type(part) is base:
            part.__class__ = own
            break
    else:
        raise AssertionError(base)
    with pytest.raises(InputError, match="is a Own, which has no fast version: use the readable"):
        FastTrainer(model, 0.1, RATE)


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_on_an_accelerator_norms_get_the_format_of_their_weights(norm):
    """Of two formats in one operation CUDA's LayerNorm says that it expected the other."""
    model = small_model("transformer", norm=norm).float().to("meta")
    twin, met = fast_twin(model, torch.bfloat16), []
    for module in twin.modules():
        if isinstance(module, nn.LayerNorm | nn.RMSNorm):
            module.register_forward_pre_hook(lambda _, given: met.append(given[0].dtype))
    src, tgt = torch.ones(2, 3, 5, dtype=torch.long, device="meta")
    assert twin(src, tgt).dtype == torch.bfloat16
    assert len(met) == 10
    assert set(met) == {torch.float32}


def test_on_an_accelerator_dropout_is_that_of_torch(monkeypatch):
    asked = []
    monkeypatch.setattr(nn.Dropout, "forward", lambda self, x: asked.append(self.p) or x)
    FastDropout(0.25)(torch.ones(3, device="meta"))
    assert asked == [0.25]
    FastDropout(0.25)(torch.ones(3))
    assert asked == [0.25]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("steps", [0, 3])
def test_going_on_is_exact_to_the_bit(precision, steps):
    def begin():
        torch.manual_seed(1)
        return both_trainers(precision, dropout=0.3)[0]

    assert_going_on_is_exact(begin, PARTS, steps)


# --- to translate with ----------------------------------------------------------------------------

SOURCES = [src for src, _ in EXAMPLES]
SEARCHES = [Search(extra_length=4), Search(3, best=2, extra_length=4)]


@pytest.mark.parametrize("changes", CHANGES)
@pytest.mark.parametrize("search", SEARCHES)
def test_the_fast_translator_finds_what_the_model_finds(search, changes, monkeypatch):
    monkeypatch.setitem(attention.SHORT, torch.float64, 4)
    model = randomise(small_model("transformer", **changes))
    ours, theirs = (
        [[(h.tokens, h.log_prob) for h in best] for best in search_all(each, SOURCES, search)]
        for each in (fast_translator(model), model)
    )
    for one, other in zip(ours, theirs, strict=True):
        assert [tokens for tokens, _ in one] == [tokens for tokens, _ in other]
        assert [p for _, p in one] == pytest.approx([p for _, p in other], rel=1e-9)


@pytest.mark.parametrize("changes", CHANGES)
def test_the_fast_translator_in_sixteen_bits_has_nearly_the_same_logits(changes):
    model = small_model("transformer", **changes).float()
    batch = PARTS[2]
    with torch.inference_mode():
        ours = fast_translator(model, "bfloat16")(batch.src, batch.tgt_in)
        theirs = model.eval()(batch.src, batch.tgt_in)
    assert ours.dtype == torch.bfloat16
    assert not torch.equal(ours.float(), theirs)
    assert F.cosine_similarity(ours.float().flatten(), theirs.flatten(), dim=0) > 0.999


def test_the_fast_translator_rounds_its_weights_once_and_leaves_the_model_as_it_was():
    model = small_model("transformer", dropout=0.2).float()
    twin = fast_translator(model.train(), "bfloat16")
    layers = [module for module in twin.modules() if isinstance(module, RoundedLinear)]
    assert len(layers) == sum(isinstance(module, nn.Linear) for module in model.modules())
    assert {layer.weight.dtype for layer in layers} == {torch.bfloat16}
    assert not any(tensor.requires_grad for tensor in (*twin.parameters(), *twin.buffers()))
    assert not any(module.training for module in twin.modules())
    assert all(module.training for module in model.modules())
    assert {p.dtype for p in model.parameters()} == {torch.float32}


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_training_that_goes_on_does_not_reach_the_fast_translator(precision):
    trainer = both_trainers("bfloat16")[0]
    twin, batch = fast_translator(trainer.model, precision), PARTS[2]
    before = twin(batch.src, batch.tgt_in)
    trainer.update(PARTS)
    assert torch.equal(twin(batch.src, batch.tgt_in), before)
    anew = fast_translator(trainer.model, precision)
    assert not torch.equal(anew(batch.src, batch.tgt_in), before)


@pytest.mark.parametrize("rows", [0, 1, 5, 64, 300])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_packed_layer_gives_the_product_of_its_weights(dtype, bias, rows):
    layer, x = nn.Linear(24, 40, bias=bias), torch.randn(rows, 1, 24)
    packed = RoundedLinear(layer, dtype)
    assert packed.weight.is_mkldnn == products.onednn_multiplies(dtype)
    expected = F.linear(*(p.to(dtype).double() for p in (x, *layer.parameters())))
    within = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: BITS}[dtype]
    torch.testing.assert_close(packed(x).double(), expected, rtol=within, atol=within)


def test_without_onednn_nothing_is_packed(monkeypatch):
    monkeypatch.setattr(products, "onednn_multiplies", lambda _: False)
    layer, x = nn.Linear(24, 40), torch.randn(3, 24)
    rounded = RoundedLinear(layer, torch.float32)
    assert torch.equal(rounded.weight, layer.weight)
    assert torch.equal(rounded(x), layer(x))


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_fast_translator_of_a_model_with_lora_merges_it(precision):
    model = small_model("transformer").float().eval()
    add_lora(model.decoder, rank=2)
    for name, parameter in model.named_parameters():
        if name.endswith(".B"):
            nn.init.normal_(parameter, std=0.5)
    batch, merged = PARTS[2], deepcopy(model)
    merge_lora(merged)
    ours, theirs = (
        fast_translator(each, precision)(batch.src, batch.tgt_in) for each in (model, merged)
    )
    assert torch.equal(ours, theirs)
    near = F.cosine_similarity(
        ours.float().flatten(), model(batch.src, batch.tgt_in).flatten(), dim=0
    )
    assert near > 0.999
    assert any(isinstance(part, LoRALinear) for part in model.modules())


makers = pytest.mark.parametrize(
    "make", [fast_translator, partial(FastTrainer, smoothing=0.1, schedule=RATE)]
)


@makers
def test_an_output_layer_that_computes_something_else_is_not_replaced_in_silence(make):
    model = small_model("transformer")
    model.output.__class__ = type("Own", (nn.Linear,), {})
    with pytest.raises(InputError, match="output is a Own, which has no fast version: use the"):
        make(model)


@makers
def test_an_unknown_precision_is_refused(make):
    with pytest.raises(InputError, match="precision is 'half', it must be one of float32, bfl"):
        make(small_model("transformer"), precision="half")


@pytest.mark.parametrize(
    "add",
    [
        lambda model: model.register_buffer("read", torch.zeros(1)),
        lambda model: setattr(model, "auxiliary_loss", lambda: torch.zeros(())),
    ],
)
def test_what_a_twin_does_not_know_is_refused(add):
    model = small_model("transformer")
    add(model)
    with pytest.raises(InputError, match="Transformer has an auxiliary loss, or buffers that are"):
        FastTrainer(model, smoothing=0.1, schedule=RATE)
