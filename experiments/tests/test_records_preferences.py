"""The record of preferences: what is judged, and its losses against a loop in plain Python."""

import math
import random

import pytest
import torch

from annotated_transformer.tokens import PAD
from records import preferences, rewards
from transformer_workbook.notebook.following import Following


@pytest.fixture
def judged(monkeypatch):
    """Answers of a model that has learned nothing, to 60 requests."""
    model = Following.make().build(3)
    monkeypatch.setattr(rewards, "started", lambda seed: model.state_dict())
    monkeypatch.setattr(preferences, "REQUESTS", 60)
    monkeypatch.setattr(preferences, "BATCH", 4)
    preferences.judged.cache_clear()
    yield preferences.judged(3)
    preferences.judged.cache_clear()


def test_no_request_was_an_example_and_the_better_answer_is_named_by_what_it_shares(judged):
    known = random.Random(3).sample(Following.make().pairs["train"], 200)
    prompts = [Following.make().prompt("translate", pair) for pair in known]
    assert not any(prompt in prompts for prompt, _ in judged)
    shared = [{k: len({*a[k]} & {*a["right"]}) for k in ("better", "worse")} for _, a in judged]
    assert sum(s["better"] for s in shared) > 2 * sum(s["worse"] for s in shared)


def log_p(model, prompt, row):
    """Add up the log-probabilities of the tokens that are none of PAD, each from its own pass."""
    passes = (model(torch.tensor([prompt + row[:n]]))[0, -1] for n in range(len(row)))
    return sum(x.log_softmax(0)[i].item() for x, i in zip(passes, row, strict=True) if i != PAD)


@pytest.mark.parametrize("name", preferences.MODELS)
def test_the_loss_is_that_of_a_loop(judged, monkeypatch, name):
    found = []

    def fit(model, rate, steps, warmup, loss_at):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(1.2)  # else it is the start, and the margin of each pair is 0
            found.extend([model, loss_at(0).item()])
        raise StopIteration

    monkeypatch.setattr(preferences, "fit", fit)
    with pytest.raises(StopIteration):
        preferences.train_preferences(name, 1e-3, 3)
    models = found[0].double(), preferences.start_of(3).double()
    chosen, _, rejected = name.partition(", ")
    batch, losses = random.Random(3).choices(judged, k=preferences.BATCH), []
    for prompt, a in batch:
        now, start = (
            [log_p(model, prompt, a[k]) for k in (chosen, rejected or chosen)] for model in models
        )
        margin = preferences.BETA * ((now[0] - start[0]) - (now[1] - start[1]))
        losses.append(math.log1p(math.exp(-margin)) if rejected else -now[0])
    number = len(batch) if rejected else sum(len(a[chosen]) for _, a in batch)
    assert found[1] == pytest.approx(sum(losses) / number, rel=1e-4)
