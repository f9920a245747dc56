"""A loaded model is used as our own are: trained, scored, decoded, served, as transformers does."""

import inspect
import json
import math
from copy import deepcopy
from functools import partial
from importlib import import_module
from pkgutil import walk_packages
from types import UnionType
from typing import get_args

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import annotated_transformer
from annotated_transformer import evaluation, translation
from annotated_transformer.batches import TextBatch
from annotated_transformer.decoding import Search, beam_search, draw, greedy, random_draws
from annotated_transformer.exchange import load_model
from annotated_transformer.fast import FastTrainer, fast_translator
from annotated_transformer.fast.twin import fast_twin
from annotated_transformer.ground.errors import InputError
from annotated_transformer.lora import add_lora, merge_lora
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.paged_cache import Engine, PagedCache
from annotated_transformer.run.checkpoint import save_halved
from annotated_transformer.run.engines import translating_fast
from annotated_transformer.speculative import speculate
from annotated_transformer.tokens import PAD, Vocabularies
from annotated_transformer.training import Trainer, linear_schedule
from annotated_transformer.weights import load_tensors, tensors_of
from oracles import assert_close
from test_real_weights import bert, gpt2, llama

WRITERS = {
    "gpt2": partial(gpt2, n_positions=64, resid_pdrop=0.0, embd_pdrop=0.0),
    "llama": partial(llama, vocab_size=25, max_position_embeddings=64),
}
TEXTS = [[0, 5, 7, 1, 2, 9], [0, 1, 2], [17, 3, 3, 8, 0]]
"""Their ids, and among them those that are special in our own models."""
PROMPTS = [[0, 5, 7], [1], [2, 0, 11, 4]]


def plus_1(texts):
    return [[i + 1 for i in text] for text in texts]


def no_source(texts):
    return torch.full((len(texts), 1), PAD)


@pytest.fixture(params=WRITERS)
def both(request, tmp_path):
    """Their model, and ours with its weights; both in double precision and in evaluation mode."""
    theirs = WRITERS[request.param](tmp_path, eos_token_id=2, bos_token_id=1)
    theirs.generation_config.pad_token_id = 2
    return theirs, load_model(tmp_path).double()


def their_loss(theirs, texts, smoothing=0.0):
    """The mean over all predicted tokens of all texts."""
    losses = [
        F.cross_entropy(
            theirs(torch.tensor([text[:-1]])).logits[0],
            torch.tensor(text[1:]),
            label_smoothing=smoothing,
            reduction="sum",
        )
        for text in texts
    ]
    return torch.stack(losses).sum() / sum(len(text) - 1 for text in texts)


def batch_of(texts):
    return TextBatch.of([(text,) for text in plus_1(texts)]).without_ends()


def test_perplexity_is_the_exponential_of_their_loss(both):
    theirs, ours = both
    found = evaluation.perplexity(ours, [(text,) for text in plus_1(TEXTS)])
    assert math.isclose(found, their_loss(theirs, TEXTS).exp().item(), rel_tol=1e-5)
    longest = [[3] * ours.max_length]
    found = evaluation.perplexity(ours, [(text,) for text in plus_1(longest)])
    assert math.isclose(found, their_loss(theirs, longest).exp().item(), rel_tol=1e-5)
    with pytest.raises(InputError, match=f"has {ours.max_length + 1} tokens"):
        evaluation.perplexity(ours, [([3] * (ours.max_length + 1),)])


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize(
    "kind", [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD, torch.optim.Adagrad]
)
def test_training_takes_their_steps_and_leaves_no_nan(both, kind, smoothing):
    theirs, ours = both
    schedule, average = linear_schedule(1e-2, 100), []
    optimizer, other = (
        kind(model.parameters(), lr=1.0, weight_decay=0.1) for model in (ours, theirs)
    )
    loss = partial(smoothed_cross_entropy, smoothing=smoothing)
    trainer = Trainer(ours, loss, schedule, optimizer=optimizer, clip=None, average_decay=0.9)
    for step in range(1, 4):
        other.zero_grad()
        expected = their_loss(theirs, TEXTS, smoothing)
        expected.backward()
        other.param_groups[0]["lr"] = schedule(step)
        other.step()
        found, _ = trainer.update([batch_of(TEXTS[:1]), batch_of(TEXTS[1:])])
        assert math.isclose(found, expected.item(), rel_tol=1e-4)
        average.append({name: weight.clone() for name, weight in tensors_of(ours).items()})
    text = torch.tensor([TEXTS[0]])
    tolerance = 1e-3 if kind is not torch.optim.SGD else 1e-5  # rounding of float32 in their rotary
    assert_close(ours(text + 1)[..., 1:], theirs(text).logits, tolerance)
    assert all(t.isfinite().all() for n, t in trainer.average.weights.items() if n != "output.bias")
    load_tensors(ours, trainer.average.weights)
    assert ours(text + 1)[..., 1:].isfinite().all()
    assert evaluation.perplexity(ours, [(text,) for text in plus_1(TEXTS)]) < math.inf


@pytest.mark.parametrize("end", [None, 2, [23, 2]])
def test_greedy_and_beam_write_what_generate_writes(both, end):
    theirs, ours = both
    ends = [] if end is None else end if isinstance(end, list) else [end]
    theirs.generation_config.eos_token_id, ours.ends = end, tuple(i + 1 for i in ends)
    found = greedy(ours, no_source(PROMPTS), Search(extra_length=12), plus_1(PROMPTS))
    for text, written in zip(PROMPTS, found, strict=True):
        given = torch.tensor([text])
        seen = torch.ones_like(given)
        [expected] = theirs.generate(
            given, attention_mask=seen, do_sample=False, max_length=12
        ).tolist()
        expected = expected[:-1] if expected[-1] in ends else expected
        assert written.tokens == plus_1([expected])[0]
    theirs.generation_config.eos_token_id, ours.ends = None, ()
    for best in (1, 3):
        search = Search(beam=3, best=best, extra_length=9, alpha=0.0)
        found = beam_search(ours, no_source(PROMPTS), search, plus_1(PROMPTS))
        for text, hypotheses in zip(PROMPTS, found, strict=True):
            given = torch.tensor([text])
            expected = theirs.generate(
                given, attention_mask=torch.ones_like(given), num_beams=3, max_length=9,
                num_return_sequences=best, do_sample=False, length_penalty=0.0,
            )  # fmt: skip
            assert [h.tokens for h in hypotheses] == plus_1(expected.tolist())


def test_sampling_draws_from_their_distribution(both):
    theirs, ours = both
    theirs.eval()
    search = Search(sample=True, temperature=0.7, top_k=9, top_p=0.8, extra_length=8, seed=3)
    [written] = greedy(ours, no_source(PROMPTS[:1]), search, plus_1(PROMPTS[:1]))
    begun = torch.tensor(plus_1(PROMPTS[:1]))
    numbers = random_draws(begun, search.seed, search.extra_length)[0]
    text = list(PROMPTS[0])
    while len(text) < len(written.tokens):
        log_probs = theirs(torch.tensor([text])).logits[:, -1].log_softmax(-1)
        text.append(int(draw(log_probs, search, numbers[len(text), None])))
    assert written.tokens == plus_1([text])[0]


def test_what_is_served_or_speculated_is_what_greedy_writes(both):
    _, ours = both
    draft = deepcopy(ours)
    draft.decoder[1].requires_grad_(False).feed_forward.outer.weight.zero_()
    search = Search(extra_length=12)
    engine = Engine(ours, pages=12, page_size=2)
    requests = [engine.submit(prompt, 12 - len(prompt)) for prompt in plus_1(PROMPTS)]
    while engine.waiting or engine.running:
        engine.step()
    for prompt, request in zip(plus_1(PROMPTS), requests, strict=True):
        [alone] = greedy(ours, no_source([prompt]), search, [prompt])
        assert [i for i in request.answer if i not in ours.ends or i in prompt] == alone.tokens
        for k in (1, 3):
            fast = speculate(ours, draft, no_source([prompt]), k, extra_length=12, prefix=prompt)
            assert fast.tokens == alone.tokens


def test_a_text_of_a_loaded_model_needs_a_beginning(both):
    _, ours = both
    with pytest.raises(InputError, match=r"a prefix is \[\]: it must have at least one and at mo"):
        greedy(ours, no_source([[]]))


def test_what_a_loaded_model_would_misread_is_refused(both):
    _, ours = both
    trainer = Trainer(ours, smoothed_cross_entropy, linear_schedule(1e-2, 9))
    marked = TextBatch.of([(text,) for text in plus_1(TEXTS)])
    with pytest.raises(InputError, match=r"begins with 1 and ends with 2, .* batch.without_ends"):
        trainer.update([marked])
    trainer.update([marked.without_ends()])
    size = ours.config.tgt_vocab
    for use in (
        lambda prefix: greedy(ours, no_source([[]]), Search(), [prefix]),
        lambda prefix: beam_search(ours, no_source([[]]), Search(beam=2), [prefix]),
        lambda prefix: speculate(ours, ours, no_source([[]]), prefix=prefix),
        lambda prefix: Engine(ours, 9, 2).submit(prefix),
    ):
        for prefix in ([size], [5, size]):
            with pytest.raises(InputError, match=f"contains id {size}, it must be below {size}"):
                use(prefix)
    assert evaluation.perplexity(ours, [([5],), ([6, 7],)]) == (
        evaluation.perplexity(ours, [([6, 7],)])
    )
    with pytest.raises(InputError, match="0 texts of two tokens or more"):
        evaluation.perplexity(ours, [([5],)])
    with pytest.raises(InputError, match="no text has two tokens"):
        TextBatch.of([([5],)]).without_ends()


def test_the_ends_of_texts_are_those_of_generate(tmp_path):
    for ends, expected in (([29, 3], (30, 4)), (7, (8,)), (None, (3,)), (-1, ())):
        gpt2(tmp_path)
        path = tmp_path / "generation_config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"eos_token_id": ends}))
        assert load_model(tmp_path).ends == expected


def test_lora_learns_and_merges(both):
    _, ours = both
    text = torch.tensor(plus_1(TEXTS[:1]))
    before = ours(text)
    add_lora(ours.decoder, 2)
    assert_close(ours(text)[..., 1:], before[..., 1:])
    trainer = Trainer(ours, smoothed_cross_entropy, linear_schedule(1e-2, 9), average_decay=0.9)
    losses = [trainer.update([batch_of(TEXTS)])[0] for _ in range(3)]
    assert losses[2] < losses[0]
    ours.eval()
    learned = ours(text)
    merge_lora(ours)
    assert_close(ours(text)[..., 1:], learned[..., 1:])


def test_weights_are_saved_and_loaded(both, tmp_path):
    _, ours = both
    save_halved(tmp_path / "weights.safetensors", ours)
    other = deepcopy(ours)
    nn.init.zeros_(other.output.weight)
    load_tensors(other, tensors_of(ours))
    text = torch.tensor(plus_1(TEXTS[:1]))
    assert torch.equal(other(text), ours(text))


# --- everything that takes a model ----------------------------------------------------------------

KINDS = ("Module", "NextTokenModel", "Translator", "LanguageModel", "Transformer", "Bert")
WORDS = Vocabularies.learn([("a b", "c d")], 0)
COMPARED = {
    "Engine", "Limits", "PagedCache", "Trainer", "WeightAverage", "WeightAverage.update",
    "add_lora", "beam_search", "buffers_of", "decode", "evaluating", "greedy", "load_tensors",
    "merge_lora", "perplexity", "require_positions", "rewind", "save_halved", "speculate",
    "tensors_of",
}  # fmt: skip
"""Those of the tests above, and what these call."""

THE_SAME_FOR_ALL = {
    "Experts", "MuonAndAdamW", "Recipe.make_optimizer", "capture_attention", "device_of",
    "initialise", "needed_memory", "of_torch", "paper_adam", "readable_trainer", "remove_biases",
    "renamed", "require_fit", "require_memory", "scale_logits", "times_as_wide",
    "translating_itself", "width_groups",
}  # fmt: skip
"""Those that ask for nothing in which a loaded model differs."""

REFUSING = {
    "FastTrainer": lambda m: FastTrainer(m, 0.0, linear_schedule(1.0, 9)),
    "alignment_errors": lambda m: evaluation.alignment_errors(m, [([5], [7])], [frozenset()]),
    "evaluate": lambda m: evaluation.evaluate(m, WORDS, [("a", "c")], Search()),
    "fast_translator": fast_translator,
    "fast_twin": lambda m: fast_twin(m, torch.float64),
    "forced_attention": lambda m: evaluation.forced_attention(m, *torch.ones(2, 1, 3).long()),
    "search_all": lambda m: translation.search_all(m, [[5, 6]], Search()),
    "translate": lambda m: translation.translate(m, ["a"], WORDS),
    "translating_fast": lambda m: translating_fast(m, "float32"),
    "translate_ids": lambda m: translation.translate_ids(m, [[5, 6]]),
    "translations": lambda m: translation.translations(m, ["a"], WORDS, Search()),
}
OF_A_TRANSFORMER = {"format_of", "require_fast", "specification"}
"""Parts of what refuses a loaded model before."""


def takers():
    """Name every public function, class and method of the package that takes a model."""
    for found in walk_packages(annotated_transformer.__path__, "annotated_transformer."):
        if not found.name.endswith("__main__"):
            for name, thing in vars(import_module(found.name)).items():
                if getattr(thing, "__module__", "") == found.name and has_signature(thing):
                    inside = vars(thing).items() if inspect.isclass(thing) else ()
                    named = [(f"{name}.{k}", v) for k, v in inside if inspect.isfunction(v)]
                    yield from (
                        n for n, taker in [(name, thing), *named] if takes_a_model(n, taker)
                    )


def has_signature(thing):
    is_error = inspect.isclass(thing) and issubclass(thing, BaseException)
    return inspect.isfunction(thing) or (inspect.isclass(thing) and not is_error)


def takes_a_model(name, taker):
    parameters = inspect.signature(taker).parameters.values()
    kinds = [p.annotation for p in parameters]
    kinds += [part for kind in kinds if isinstance(kind, UnionType) for part in get_args(kind)]
    named = {getattr(kind, "__name__", "") for kind in kinds}
    return "._" not in f".{name}" and bool(named & {*KINDS})


def test_whatever_takes_a_model_is_compared_or_refuses_a_loaded_one():
    assert {*takers()} == COMPARED | THE_SAME_FOR_ALL | {*REFUSING} | OF_A_TRANSFORMER


@pytest.mark.parametrize("use", REFUSING.values(), ids=REFUSING)
@pytest.mark.usefixtures("as_readers_do")
def test_what_a_loaded_model_cannot_do_is_refused(both, use):
    with pytest.raises(InputError, match=r"source|fast engine|a prefix is \[\]"):
        use(both[1])


@pytest.mark.parametrize(
    "use",
    [
        lambda m: greedy(m, no_source([[5]]), Search(), [[5]]),
        lambda m: evaluation.perplexity(m, [([5, 6],)]),
        lambda m: speculate(m, m, no_source([[5]]), prefix=[5]),
        lambda m: PagedCache(m, 2, 2),
    ],
)
@pytest.mark.usefixtures("as_readers_do")
def test_an_encoder_does_not_write(tmp_path, use):
    bert(tmp_path)
    with pytest.raises(InputError, match="the model is a Bert, it must"):
        use(load_model(tmp_path))
