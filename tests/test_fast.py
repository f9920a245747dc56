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
from annotated_transformer.ground.errors import InputError
from annotated_transformer.lora import LoRALinear, add_lora
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.training import Trainer, paper_schedule
from annotated_transformer.translation import search_all
from oracles import BOTH_DTYPES, assert_close, randomise, weigh
from small_models import (
    TRANSFORMERS,
    VOCAB,
    assert_going_on_is_exact,
    random_examples,
    small_model,
)

EXAMPLES = random_examples(24)
PARTS = [Batch.of(EXAMPLES[i:j]) for i, j in ((0, 1), (1, 4), (4, 24))]
RATE = paper_schedule(d_model=16, warmup=3, factor=0.02)
BITS = 0.02
"""What rounding to bfloat16, with its eight bits, may change in a sum of a few products."""


@pytest.mark.parametrize("capability", ["AVX2", "AVX512"])
@pytest.mark.parametrize("dtype", BOTH_DTYPES)
@pytest.mark.parametrize("width", [3, 7])
def test_a_product_is_that_of_torch(width, dtype, capability, monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    layer = nn.Linear(5, width).to(dtype)
    fast = FastLinear(deepcopy(layer), dtype)
    ours = torch.randn(2, 3, 5, dtype=dtype, requires_grad=True)
    theirs = ours.detach().clone().requires_grad_()
    output, expected = fast(ours), layer(theirs)
    assert_close(output, expected)
    weigh(output).backward()
    weigh(expected).backward()
    assert_close(ours.grad, theirs.grad)
    assert_close(fast.weight.grad, layer.weight.grad)
    assert_close(fast.bias.grad, layer.bias.grad)


@pytest.mark.parametrize("p", [0.1, 0.9])
def test_dropout_keeps_a_share_and_the_mean(p):
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
    like = torch.empty(400_000, dtype=torch.float64)
    kept = random_mask(like, 2**15) - 0.5
    for apart in (1, 2, 3, 4, 8, 64):
        correlation = (kept[apart:] * kept[:-apart]).mean().item() * 4
        assert abs(correlation) < 5 / 400_000**0.5
    assert not torch.equal(kept, random_mask(like, 2**15) - 0.5)


def test_dropout_that_drops_nothing_changes_nothing_and_of_nearly_everything_stays_finite():
    x = torch.randn(5, 7)
    assert torch.equal(FastDropout(0.0)(x), x)
    assert torch.equal(FastDropout(0.5).eval()(x), x)
    assert FastDropout(1 - 1e-9)(torch.ones(1000)).isfinite().all()


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
@pytest.mark.parametrize("is_masked", [True, False])
def test_attention_written_out_is_that_of_torch(is_masked, dtype, queries_keys_values_and_mask):
    given, mask = queries_keys_values_and_mask
    mask = mask if is_masked else None
    ours = attended(WrittenOut.apply, dtype, given, mask)
    theirs = attended(F.scaled_dot_product_attention, dtype, given, mask)
    for one, other in zip(ours, theirs, strict=True):
        assert_close(one, other)


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: WrittenOut.apply(x, x, x, None),
        lambda x: output_loss.output_loss(nn.Linear(6, VOCAB), x, torch.ones(1, 3).long()),
    ],
)
def test_written_out_gradients_have_none_of_their_own(compute):
    x = torch.randn(1, 3, 6, requires_grad=True)
    (slopes,) = torch.autograd.grad(compute(x).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slopes.sum().backward()


def test_scores_of_which_few_may_be_attended_stay_finite():
    query = torch.full((1, 1, 4), 100.0)
    key = torch.tensor([[[-1.0] * 4, [-1.01] * 4, [1.0] * 4]])
    mask = torch.tensor([[[True, True, False]]])
    ours = WrittenOut.apply(query, key, torch.eye(3, 4)[None], mask)
    expected = (-200 * torch.tensor([1.0, 1.01])).softmax(0)
    torch.testing.assert_close(ours[0, 0, :2], expected)


def test_attention_in_sixteen_bits_is_that_of_torch(queries_keys_values_and_mask):
    given, mask = queries_keys_values_and_mask
    ours = attended(WrittenOut.apply, torch.bfloat16, given, mask)
    rounded = [x.bfloat16() for x in given]
    expected = attended(F.scaled_dot_product_attention, torch.float64, rounded, mask)
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


@pytest.fixture(params=["cpu", "another"])
def here(request, monkeypatch):
    """Where the loss takes itself to be: elsewhere it may not wait for the device."""
    monkeypatch.setattr(output_loss, "CPU", request.param)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("chunk", [3, 1000])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("dtype", BOTH_DTYPES)
def test_the_loss_is_that_of_the_logits(dtype, smoothing, chunk, monkeypatch):
    monkeypatch.setattr(output_loss, "CHUNK", chunk)
    monkeypatch.setattr(output_loss, "LARGE_CHUNK", chunk)
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


@pytest.mark.usefixtures("here")
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


@pytest.mark.usefixtures("as_readers_do")
@pytest.mark.parametrize(
    ("target", "smoothing", "message"),
    [
        (torch.ones(1, 3).long(), 0, r"target has the shape \[1, 3\], it must be \[1, 4\]"),
        (torch.tensor([[1, 2, 3, 5]]), 0, "target contains id 5, it must be at least 0 and below"),
        (torch.ones(1, 4).long(), 1.0, "smoothing is 1.0, it must be at least 0 and below 1"),
    ],
)
def test_a_loss_that_there_is_not(target, smoothing, message):
    with pytest.raises(InputError, match=message):
        output_loss.output_loss(nn.Linear(2, 5), torch.ones(1, 4, 2), target, smoothing)


def both_trainers(precision="float32", **changes):
    model = small_model("transformer", **changes)
    model = model.float() if precision == "bfloat16" else model
    loss = partial(smoothed_cross_entropy, smoothing=0.1)
    settings = {"average_decay": 0.9}
    readable = Trainer(deepcopy(model), loss, RATE, **settings)
    return FastTrainer(model, 0.1, RATE, precision=precision, **settings), readable


@pytest.mark.parametrize("changes", TRANSFORMERS)
def test_its_steps_are_those_of_the_readable_trainer(changes, monkeypatch):
    monkeypatch.setitem(attention.SHORT, torch.float64, 48)
    fast, readable = both_trainers(**changes)
    for _ in range(4):
        assert fast.update(PARTS) == pytest.approx(readable.update(PARTS), rel=1e-9)
    ours, theirs = fast.tensors(), readable.tensors()
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        torch.testing.assert_close(ours[name], tensor, rtol=0, atol=1e-9, msg=name)


@pytest.mark.parametrize("changes", TRANSFORMERS)
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


@pytest.mark.parametrize(("precision", "steps"), [("float32", 0), ("bfloat16", 3)])
def test_going_on_is_exact_to_the_bit(precision, steps):
    def begin():
        torch.manual_seed(1)
        return both_trainers(precision, dropout=0.3)[0]

    assert_going_on_is_exact(begin, PARTS, steps)


# --- to translate with ----------------------------------------------------------------------------


@pytest.mark.parametrize("changes", TRANSFORMERS)
def test_the_fast_translator_finds_what_the_model_finds(changes, monkeypatch):
    monkeypatch.setitem(attention.SHORT, torch.float64, 4)
    model = randomise(small_model("transformer", **changes))
    sources, search = [src for src, _ in EXAMPLES], Search(3, best=2, extra_length=4)
    found = (search_all(each, sources, search) for each in (fast_translator(model), model))
    for ours, theirs in zip(*found, strict=True):
        assert [h.tokens for h in ours] == [h.tokens for h in theirs]
        probable = [h.log_prob for h in theirs]
        assert [h.log_prob for h in ours] == pytest.approx(probable, rel=1e-9)


@pytest.mark.parametrize("changes", TRANSFORMERS)
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


def test_a_training_that_goes_on_does_not_reach_the_fast_translator():
    trainer = both_trainers()[0]
    twin, batch = fast_translator(trainer.model), PARTS[2]
    before = twin(batch.src, batch.tgt_in)
    trainer.update(PARTS)
    assert torch.equal(twin(batch.src, batch.tgt_in), before)


@pytest.mark.parametrize(("rows", "bias"), [(0, True), (5, False), (300, True)])
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


def test_the_fast_translator_of_a_model_with_lora_merges_it():
    model, batch = small_model("transformer").eval(), PARTS[2]
    add_lora(model.decoder, rank=2)
    randomise(model)
    assert_close(fast_translator(model)(*batch.inputs), model(*batch.inputs))
    assert any(isinstance(part, LoRALinear) for part in model.modules())


def test_an_unknown_precision_is_refused():
    for make in (fast_translator, partial(FastTrainer, smoothing=0.1, schedule=RATE)):
        with pytest.raises(InputError, match="precision is 'half', it must be one of float32, bf"):
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
