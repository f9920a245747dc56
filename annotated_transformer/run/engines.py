"""Engines: how a run's model is trained and translates, by name."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple

from annotated_transformer.fast import FastTrainer, fast_translator, require_fast
from annotated_transformer.ground.devices import computing_in, device_of
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.training import Schedule, Trainer
from annotated_transformer.transformer import Transformer
from annotated_transformer.translator import NextTokenModel

Translating = Callable[[], AbstractContextManager[NextTokenModel]]
"""Yields a model that translates inside a block; it may be entered again and again."""


class Engine(NamedTuple):
    """What computes a run: a trainer of its model, and a translator made of it."""

    trainer: Callable[..., Trainer]  # from a model, the smoothing, a schedule, and settings
    translating: Callable[[Any, str], Translating]  # from a model and a precision
    kind: type[NextTokenModel] = NextTokenModel  # the models that it computes
    require: Callable[[Any], None] = lambda model: None  # refuses those of them that it cannot
    is_shared: bool = False  # several processes can train together


def readable_trainer(
    model: NextTokenModel, smoothing: float, schedule: Schedule, **settings: Any
) -> Trainer:
    """Make a trainer that computes with the model itself."""
    loss = partial(smoothed_cross_entropy, smoothing=smoothing)
    return Trainer(model, loss, schedule, **settings)


def translating_itself(model: NextTokenModel, precision: str) -> Translating:
    """Let the model itself translate, in that precision."""

    @contextmanager
    def translating() -> Iterator[NextTokenModel]:
        with computing_in(precision, device_of(model)):
            yield model

    return translating


def translating_fast(model: Transformer, precision: str) -> Translating:
    """Let the model's fast twin translate, which is made once."""
    twin = fast_translator(model, precision)
    return lambda: nullcontext(twin)


ENGINES = {
    "readable": Engine(readable_trainer, translating_itself, is_shared=True),
    "fast": Engine(FastTrainer, translating_fast, Transformer, require_fast),
}
