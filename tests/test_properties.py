"""What has to hold whatever the shapes, the masks and the number format are."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.batches import pad
from annotated_transformer.decoding import Search, decode, draw
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.models import MODELS
from annotated_transformer.soft_lookup import SoftLookup, masked_softmax
from annotated_transformer.tokens import BOS, PAD
from annotated_transformer.translator import evaluating
from oracles import randomise
from small_models import VOCAB, small_model

# The same examples in every run; no example is a matter of time.
settings.register_profile("course", derandomize=True, deadline=None, max_examples=100)
settings.load_profile("course")

DTYPES = [torch.float32, torch.float64, torch.bfloat16]
# Of a list, the first is tried most often: not the smallest size, not the emptiest mask.
sizes = st.sampled_from([3, 2, 5, 1, 4])


@st.composite
def tensors(draw, *shape, dtypes=DTYPES, scales=(3000.0, 1.0, 0.01)):
    """Numbers of the normal distribution, some of them small, some of them large."""
    dtype, scale = draw(st.sampled_from(dtypes)), draw(st.sampled_from(scales))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    numbers = torch.randn(*shape, generator=generator, dtype=torch.float64)
    return (scale * numbers).to(dtype)


@st.composite
def masks(draw, *shape):
    """Any mask; some rows of it may be empty."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    share = draw(st.sampled_from([0.3, 0.7, 1.0, 0.0]))
    return torch.rand(*shape, generator=generator) < share


@st.composite
def lookups(draw):
    """Queries, keys, values and a mask that go together, in one number format."""
    batch, query, key, d_k, d_v = (draw(sizes) for _ in range(5))
    dtypes = [draw(st.sampled_from(DTYPES))]
    shapes = [(batch, query, d_k), (batch, key, d_k), (batch, key, d_v)]
    vectors = [draw(tensors(*shape, dtypes=dtypes, scales=(0.01, 1.0, 5.0))) for shape in shapes]
    return *vectors, draw(masks(batch, query, key))


sentences = st.lists(st.integers(4, VOCAB - 1), min_size=1, max_size=5)


def near(one: Tensor, other: Tensor, scale: float = 1.0) -> bool:
    """Whether two tensors are equal, to some roundings of their number format."""
    tolerance = 64 * scale * torch.finfo(one.dtype).eps
    return torch.allclose(one.double(), other.double(), atol=tolerance, rtol=tolerance)


# --- the softmax of those that may be seen -------------------------------------------------------


@given(st.data(), sizes, sizes)
def test_weights_are_shares_of_what_may_be_seen(data, query, key):
    scores, mask = data.draw(tensors(query, key)), data.draw(masks(query, key))
    weights = masked_softmax(scores, mask)
    assert weights.dtype == scores.dtype
    assert (weights >= 0).all()
    assert (weights[~mask] == 0).all()
    assert near(weights.sum(-1), mask.any(-1).to(scores.dtype))


@given(st.data(), sizes, sizes)
def test_what_is_hidden_has_no_influence(data, query, key):
    scores, mask = data.draw(tensors(query, key)), data.draw(masks(query, key))
    for other in (torch.inf, -torch.inf, 1e4):
        assert torch.equal(
            masked_softmax(scores.masked_fill(~mask, other), mask), masked_softmax(scores, mask)
        )


@given(st.data(), sizes, sizes)
def test_a_number_added_to_all_scores_changes_no_weight(data, query, key):
    scores = data.draw(tensors(query, key, dtypes=DTYPES[:2], scales=(0.01, 1.0, 20.0)))
    mask, shift = data.draw(masks(query, key)), data.draw(st.floats(-30, 30))
    assert near(masked_softmax(scores + shift, mask), masked_softmax(scores, mask), scale=8)


# --- attention ------------------------------------------------------------------------------------


@given(lookups())
def test_both_paths_give_the_same(lookup):
    attention = ScaledDotProductAttention()
    largest = max(1.0, lookup[2].abs().max().item())
    assert near(attention(*lookup), SoftLookup.forward(attention, *lookup), scale=largest)


@given(lookups())
def test_the_output_lies_between_the_values(lookup):
    *vectors, mask = lookup
    value, output = vectors[2].double(), ScaledDotProductAttention()(*lookup)
    seen = mask.any(-1)
    slack = 1e-6 + 4 * torch.finfo(output.dtype).eps * value.abs().max()
    hidden = ~mask[..., None]  # (batch, query, key, 1)
    low = value[:, None].masked_fill(hidden, torch.inf).amin(2)
    high = value[:, None].masked_fill(hidden, -torch.inf).amax(2)
    assert (output[seen].double() >= low[seen] - slack).all()
    assert (output[seen].double() <= high[seen] + slack).all()
    assert (output[~seen] == 0).all()


@given(lookups(), st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter_and_that_of_queries_is_kept(lookup, random):
    query, key, value, mask = lookup
    keys = random.sample(range(key.size(1)), key.size(1))
    queries = random.sample(range(query.size(1)), query.size(1))
    attention = ScaledDotProductAttention()
    output = attention(query[:, queries], key[:, keys], value[:, keys], mask[:, queries][..., keys])
    scale = max(1.0, value.abs().max().item())
    assert near(output, attention(*lookup)[:, queries], scale)


@given(lookups())
def test_hidden_keys_and_values_have_no_influence(lookup):
    query, key, value, mask = lookup
    unseen = ~mask.any(1)[..., None]  # by no query of the sentence
    other = key.masked_fill(unseen, 7.0), value.masked_fill(unseen, -7.0)
    attention = ScaledDotProductAttention()
    assert near(attention(query, *other, mask), attention(*lookup), value.abs().max().item())


# --- the loss -------------------------------------------------------------------------------------


@given(st.data(), st.lists(sentences, min_size=1, max_size=4), st.sampled_from([0.0, 0.1, 0.6]))
def test_the_loss_is_that_of_torch_over_real_tokens(data, rows, smoothing):
    target = pad(rows)
    logits = data.draw(tensors(*target.shape, VOCAB, dtypes=DTYPES[:2], scales=(0.01, 1.0, 20.0)))
    loss = smoothed_cross_entropy(logits, target, smoothing)
    options = {"reduction": "sum", "label_smoothing": smoothing, "ignore_index": PAD}
    expected = F.cross_entropy(logits.flatten(0, 1), target.flatten(), **options)
    assert near(loss, expected, scale=max(1.0, expected.abs().item()))
    assert loss >= 0


@given(st.data(), st.lists(sentences, min_size=1, max_size=4), st.integers(0, 3))
def test_padding_adds_nothing_and_parts_add_up(data, rows, wider):
    target = pad(rows)
    logits = data.draw(tensors(*target.shape, VOCAB, dtypes=[torch.float64]))
    whole = smoothed_cross_entropy(logits, target, 0.1)
    parts = sum(
        smoothed_cross_entropy(one[None], row[None], 0.1)
        for one, row in zip(logits, target, strict=True)
    )
    assert near(whole, parts, scale=64)
    padded = F.pad(target, (0, wider), value=PAD), F.pad(logits, (0, 0, 0, wider), value=9.0)
    assert near(smoothed_cross_entropy(padded[1], padded[0], 0.1), whole)


@given(st.lists(sentences, min_size=1, max_size=3), st.floats(0, 0.99), st.floats(-50, 50))
def test_who_knows_nothing_pays_the_logarithm_of_the_vocabulary(rows, smoothing, level):
    target = pad(rows)
    logits = torch.full((*target.shape, VOCAB), level, dtype=torch.float64)
    tokens = sum(map(len, rows))
    expected = torch.tensor(tokens * math.log(VOCAB), dtype=torch.float64)
    assert near(smoothed_cross_entropy(logits, target, smoothing), expected, scale=64)


# --- models ---------------------------------------------------------------------------------------

PAIRS = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=4)
models = pytest.mark.parametrize("name", MODELS)
few = settings(max_examples=15)


def logits_of(model, pairs):
    """What a model says of each pair, and how many tokens the pair has."""
    with evaluating(model):
        src, tgt = pad([src for src, _ in pairs]), pad([[BOS, *tgt] for _, tgt in pairs])
        return model(src, tgt)


@models
@few
@given(PAIRS)
def test_a_sentence_means_the_same_alone_and_in_a_batch(name, pairs):
    model = randomise(small_model(name))
    together = logits_of(model, pairs)
    for pair, logits in zip(pairs, together, strict=True):
        alone = logits_of(model, [pair])[0]
        assert torch.allclose(logits[: len(alone)], alone, atol=1e-9)


@models
@few
@given(PAIRS, st.data())
def test_read_in_pieces_is_read_at_once(name, pairs, data):
    model = randomise(small_model(name))
    src, tgt = pad([src for src, _ in pairs]), pad([[BOS, *tgt] for _, tgt in pairs])
    cut = data.draw(st.integers(1, tgt.size(1)))
    with evaluating(model):
        first, state = model.extend(model.start(src), tgt[:, :cut])
        pieces = [first]
        if cut < tgt.size(1):
            pieces.append(model.extend(state, tgt[:, cut:])[0])
        assert torch.allclose(torch.cat(pieces, dim=1), model(src, tgt), atol=1e-9)


@models
@few
@given(sentences, sentences, st.data())
def test_what_comes_later_changes_nothing_before(name, src, tgt, data):
    model = randomise(small_model(name))
    place = data.draw(st.integers(0, len(tgt) - 1))
    other = [*tgt[:place], *data.draw(st.lists(st.integers(4, VOCAB - 1), min_size=1, max_size=4))]
    one, another = logits_of(model, [(src, tgt)])[0], logits_of(model, [(src, other)])[0]
    assert torch.allclose(one[: place + 1], another[: place + 1], atol=1e-9)


@models
@few
@given(PAIRS, st.integers(1, 4))
def test_every_search_ends_in_time_and_says_how_likely_it_is(name, pairs, beam):
    model = randomise(small_model(name))
    src = pad([src for src, _ in pairs])
    search = Search(beam=beam, best=beam, extra_length=2)
    for sentence, found in zip(pairs, decode(model, src, search), strict=True):
        for hypothesis in found:
            assert len(hypothesis.tokens) <= len(sentence[0]) + 2
            assert hypothesis.log_prob <= 0
            assert not {PAD, BOS} & set(hypothesis.tokens)


# --- samples --------------------------------------------------------------------------------------


@given(
    st.data(),
    st.integers(1, 8),
    st.sampled_from([0.3, 1.0, 5.0]),
    st.sampled_from([0.1, 0.6, 1.0]),
    st.sampled_from([0.0, 0.5, 0.9, 0.999]),
)
def test_only_the_likeliest_are_drawn(data, vocab, temperature, top_p, number):
    log_probs = data.draw(tensors(3, vocab, dtypes=DTYPES[:2], scales=(1.0,))).log_softmax(-1)
    top_k = data.draw(st.integers(1, vocab))
    search = Search(sample=True, temperature=temperature, top_k=top_k, top_p=top_p)
    tokens = draw(log_probs, search, torch.full((3,), number, dtype=log_probs.dtype))
    likelier = (log_probs > log_probs.gather(1, tokens[:, None])).sum(-1)
    assert (likelier < top_k).all()
    first = draw(log_probs, search, torch.zeros(3, dtype=log_probs.dtype))
    assert torch.equal(first, log_probs.argmax(-1))
