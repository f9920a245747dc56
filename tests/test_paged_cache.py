"""The paged KV cache and continuous batching, against every text alone."""

from pathlib import Path
from random import Random

import pytest
import torch

from annotated_transformer.decoding import Search, greedy, without_end
from annotated_transformer.ground.errors import InputError
from annotated_transformer.paged_cache import Engine, PagedCache
from annotated_transformer.run import Run
from annotated_transformer.tokens import EOS, PAD
from oracles import assert_close, randomise
from small_models import random_examples, small_model

TOY = Path(__file__).resolve().parent.parent / "checkpoints" / "toy-language"
EXTRA = 4


@pytest.mark.parametrize("page_size", [1, 3, 8])
def test_every_answer_is_that_of_its_request_alone(page_size):
    trained = Run.open(TOY).model.double()
    random, interrupted = Random(page_size), 0
    examples = random_examples(5, longest=6, vocab=148, seed=page_size)
    coming, requests = [[*src, EOS] for src, _ in examples], []
    pages = -(-(2 * max(map(len, coming)) + EXTRA) // page_size)  # as few as the longest may fill
    engine = Engine(trained, pages, page_size)
    while coming or engine.waiting or engine.running:
        while coming and random.random() < 0.5:
            requests.append(engine.submit(coming.pop(0), EXTRA))
        engine.step()
        used = [page for request in engine.running for page in request.table]
        assert sorted(used + engine.cache.free) == list(range(1, pages + 1))
        unfinished = [*engine.running, *engine.waiting]
        assert unfinished == sorted(unfinished, key=requests.index)  # first come, first served
        interrupted += sum(len(request.answer) > 1 for request in engine.waiting)
    assert interrupted
    assert len(engine.cache.free) == pages
    assert (engine.cache.tokens == PAD).all()
    for request in requests:
        src = torch.tensor([request.src])
        (alone,) = greedy(trained, src, Search(extra_length=EXTRA))
        assert without_end(request.answer[1:]) == alone.tokens


@pytest.mark.parametrize(
    "changes",
    [
        {"positions": "rotary", "num_kv_heads": 1, "prefix_mask": True},
        {"has_source": False, "positions": "learned", "d_k": 2, "d_v": 5},
    ],
)
@torch.no_grad()
def test_the_logits_from_pages_are_those_of_each_text_alone(changes):
    model, new = randomise(small_model("language", **changes)).eval(), torch.tensor([[5, 6]])
    cache, tables, expected = PagedCache(model, 9, 4), [[], [], []], []
    for table, length in zip(tables, (3, 9, 5), strict=True):
        text = torch.randint(4, 11, (1, length))
        state = model.start(text) if model.config.has_source else model.empty(1)
        if not model.config.has_source:
            _, state = model.extend(state, text)
        assert cache.reserve(table, length + 2)
        cache.write(torch.tensor([table]), state, length)
        expected.append(model.extend(state, new)[0])
    rows = torch.tensor([[*table, 0, 0][:3] for table in tables])
    logits, state = model.extend(cache.gather(rows), new.expand(3, 2))
    assert_close(logits, torch.cat(expected))
    cache.write(rows, state, 2)
    assert [(cache.tokens[table] != PAD).sum() for table in tables] == [5, 11, 7]
    assert not cache.reserve(tables[0], 4 * 9)


def test_a_prompt_of_a_text_without_a_source_is_continued():
    model = small_model("language", has_source=False)
    engine = Engine(model, 4, 2)
    requests = [engine.submit(prompt, 5) for prompt in ([5, 6], [PAD], [])]
    while engine.waiting or engine.running:
        engine.step()
    for request, prompt in zip(requests, ([5, 6], [], []), strict=True):
        search = Search(extra_length=len(prompt) + 5)
        [alone] = greedy(model, torch.zeros(1, 1).long(), search, [prompt])
        assert without_end(request.answer[1:]) == alone.tokens


def test_what_can_never_fit_is_refused():
    engine = Engine(small_model("language", max_length=40), 3, 4)
    engine.submit([5, 6, EOS], 6)
    with pytest.raises(InputError, match=r"the length of a request is 13, .* at most 12\."):
        engine.submit([5, 6, EOS], 7)
    with pytest.raises(InputError, match="extra_length is -1, it must be an integer, at least 0"):
        engine.submit([5, EOS], -1)
    with pytest.raises(InputError, match="the room for an answer is 0, it must be an integer, at"):
        Engine(small_model("language", max_length=3), 9, 4).submit([5, 6, EOS])
    with pytest.raises(InputError, match=r"a prefix is \[5, 2\]"):
        Engine(small_model("language", has_source=False), 9, 4).submit([5, EOS])
    with pytest.raises(InputError, match="page_size is 0"):
        Engine(small_model("language"), 3, 0)
