"""Several processes take the steps of one; ``test_processes.py`` runs this under ``torchrun``."""

import os
from copy import deepcopy
from functools import partial
from itertools import islice

import pytest
import torch

from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.models import MODELS
from annotated_transformer.run import joined
from annotated_transformer.run.processes import SharedTrainer
from annotated_transformer.training import Trainer, endless_batches, paper_schedule
from small_models import random_examples, small_model

STEPS, ACCUMULATE, ROOM = 40, 4, 24
EXAMPLES = random_examples(60)
SMOOTHED = partial(smoothed_cross_entropy, smoothing=0.1)
RATE = paper_schedule(d_model=16, warmup=20, factor=0.2)


def trainer(model):
    return Trainer(model, SMOOTHED, RATE, clip=0.5, average_decay=0.9)


def trained(trainer, batches, parts):
    return [trainer.update([*islice(batches, parts)]) for _ in range(STEPS)]


with joined("cpu") as processes:
    for name in MODELS:
        torch.manual_seed(0)
        model = small_model(name, dropout=0.0)
        alone, shared = trainer(deepcopy(model)), SharedTrainer(trainer(model), processes)
        whole = endless_batches(EXAMPLES, ROOM, seed=0)
        dealt = endless_batches(EXAMPLES, ROOM, 0, processes.rank, every=processes.number)
        expected = trained(alone, whole, ACCUMULATE)
        found = trained(shared, dealt, processes.share_of(ACCUMULATE))
        for ours, theirs in zip(found, expected, strict=True):
            assert ours == pytest.approx(theirs, rel=1e-9)
        assert expected[-1][0] < 0.9 * expected[0][0]
        for kept, other in (
            (dict(model.named_parameters()), dict(alone.model.named_parameters())),
            (shared.average.weights, alone.average.weights),
        ):
            for key, tensor in kept.items():
                torch.testing.assert_close(tensor, other[key], rtol=0, atol=1e-9, msg=key)
    draws = [torch.zeros(3) for _ in range(processes.number)]
    torch.distributed.all_gather(draws, torch.rand(3))
    assert not torch.equal(draws[0], draws[1])  # dropout is not the same everywhere
    if processes.is_main:
        print(f"{STEPS} steps of {len(MODELS)} models, {os.environ['WORLD_SIZE']} processes")
