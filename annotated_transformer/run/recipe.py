"""Recipes: all settings that determine a training run."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from math import isfinite
from typing import Annotated, Any

import torch
from pydantic import Field
from torch import nn

from annotated_transformer import __version__
from annotated_transformer.corpora import CORPORA, Corpus
from annotated_transformer.decoding import Search
from annotated_transformer.ground.devices import PRECISIONS, same_randomness
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_readable
from annotated_transformer.ground.settings import (
    BRIEF,
    Share,
    Size,
    build,
    check_settings,
    one_of,
    unknown,
)
from annotated_transformer.models import MODELS, VOCABULARIES, make_config, make_model, sizes_of
from annotated_transformer.muon import MuonAndAdamW
from annotated_transformer.run.engines import ENGINES
from annotated_transformer.tokens import Vocabularies
from annotated_transformer.training import (
    Schedule,
    inverse_sqrt_schedule,
    linear_schedule,
    paper_adam,
)
from annotated_transformer.translator import NextTokenModel

FORMAT = 1
"""The format of ``recipe.json``; a higher number was written by a newer version."""

SUMS = ("corpus_checksum", "vocabulary_checksum", "run")
"""The entries of ``recipe.json`` that are not settings."""


def of_torch(
    kind: Callable[..., torch.optim.Optimizer], model: nn.Module, **settings: Any
) -> torch.optim.Optimizer:
    """Make an optimiser of PyTorch's for the parameters of a model."""
    return kind(model.parameters(), lr=0.0, **settings)


SCHEDULES: dict[str, Callable[["Recipe"], Schedule]] = {
    "inverse_sqrt": lambda recipe: inverse_sqrt_schedule(recipe.peak_rate, max(1, recipe.warmup)),
    "linear": lambda recipe: linear_schedule(recipe.peak_rate, recipe.steps, recipe.warmup),
}
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    name: partial(of_torch, kind)
    for name, kind in vars(torch.optim).items()
    if isinstance(kind, type)
    and issubclass(kind, torch.optim.Optimizer)
    # The last two need closures, or sparse gradients; Muon is ours, and needs AdamW beside it.
    and name not in ("Optimizer", "Muon", "LBFGS", "SparseAdam")
} | {
    "Adam": lambda model, **given: (
        of_torch(torch.optim.Adam, model, **given) if given else paper_adam(model)
    ),
    "Muon": MuonAndAdamW,
}
"""The optimisers by name, made from a model and their settings; the schedule sets the rate."""


Positive = Annotated[float, Field(gt=0, le=10**9)]


@dataclass(frozen=True)
class Recipe:
    """The settings of a run. The same recipe on the same machine gives the same weights."""

    model: Annotated[str, one_of(MODELS)]
    corpus: str
    languages: str | None = None
    steps: Size = 1500
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    subwords: Annotated[int, Field(ge=0, le=10**7)] = 0  # size of a joint BPE vocabulary; 0: words
    batch_tokens: Annotated[Size, Field(ge=2)] = 1024  # target or source positions in a batch
    accumulate: Size = 1  # batches whose gradients make one step
    optimizer: Annotated[str, one_of(OPTIMIZERS)] = "Adam"  # most of torch.optim, and Muon
    optimizer_settings: dict[str, Any] = field(default_factory=dict)  # empty: Adam as in the paper
    schedule: Annotated[str, one_of(SCHEDULES)] = "inverse_sqrt"  # after warm-up: 1/√step, or to 0
    peak_rate: Positive = 3e-3
    warmup: Annotated[int, Field(ge=0, le=10**9)] = 200
    smoothing: Share = 0.0
    clip: Positive | None = 1.0
    average_decay: Share = 0.99
    precision: Annotated[str, one_of(PRECISIONS)] = "float32"  # of matrix products
    engine: Annotated[str, one_of(ENGINES)] = "readable"  # fast: the same steps in less time
    validate_every: Annotated[Size, Field(le=10**6)] = (
        250  # steps between two validations; a checkpoint is written at each
    )
    patience: Size | None = None  # validations without improvement before it stops early
    search: Search = field(default_factory=lambda: Search(beam=4))  # unless another is given
    sizes: dict[str, Any] = field(default_factory=dict)  # changes of the model's defaults
    freeze: str = ""  # prefixes of the names of parameters that are not trained, with commas
    start: str | None = None  # SHA-256 of the file of initial weights; None: newly initialised

    def __post_init__(self) -> None:
        """Refuse settings that are invalid by themselves; :func:`prepare` finds the rest.

        Raises:
            InputError: if a setting has an invalid value, or some do not go together.
        """
        check_settings(self)
        require_readable(
            corpus=self.corpus, languages=self.languages, freeze=self.freeze, start=self.start
        )
        self.make_schedule()
        for name, value in self.optimizer_settings.items():
            numbers = value if isinstance(value, (list, tuple)) else [value]
            if not all(isfinite(number) for number in numbers if isinstance(number, float)):
                raise InputError(f"{name} is {BRIEF.repr(value)}, it must be finite.")
        sizes_of(self.model, self.sizes)
        if self.sizes.get("share_embeddings") and not self.subwords:
            raise InputError(
                "share_embeddings is set and subwords is 0: one embedding for both sides needs "
                "a joint vocabulary of subwords."
            )
        wanted = ENGINES[self.engine].kind
        if not issubclass(MODELS[self.model].model, wanted):
            raise InputError(
                f"engine is {self.engine!r} and model is {self.model!r}, it must be a "
                f"{wanted.__name__.lower()}."
            )

    def make_schedule(self) -> Schedule:
        """Make the learning-rate schedule.

        Raises:
            InputError: if a linear schedule has no steps left after its warm-up.
        """
        return SCHEDULES[self.schedule](self)

    def make_optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """Make the optimiser of the model's parameters; the schedule sets its learning rate.

        Raises:
            InputError: if it does not accept these settings.
        """
        try:
            return OPTIMIZERS[self.optimizer](model, **self.optimizer_settings)
        except Exception as error:  # optimisers raise different exceptions for bad settings
            raise InputError(self.not_taken(error)) from error

    def require_optimizer(self) -> None:
        """Let the optimiser take one step, since some settings fail only then.

        Raises:
            InputError: if it does not accept these settings.
        """
        weight = nn.Parameter(torch.zeros(1, 1, device=torch.get_default_device()))
        weight.grad = torch.zeros_like(weight)
        optimizer = self.make_optimizer(nn.ParameterList([weight]))
        try:
            optimizer.step()
        except Exception as error:  # as above
            raise InputError(self.not_taken(error)) from error

    def not_taken(self, error: Exception) -> str:
        """Make the message for settings that the optimiser does not accept."""
        told, given = str(error).partition("\n")[0], BRIEF.repr(self.optimizer_settings)
        return (
            f"optimizer_settings is {given}: {self.optimizer} does not accept them "
            f"({type(error).__name__}: {told[:200]})."
        )

    def make_config(self, src_vocab: int, tgt_vocab: int) -> Any:
        """Make the configuration of the model for vocabularies of these sizes.

        Raises:
            InputError: if the model does not accept the recipe's sizes.
        """
        return make_config(self.model, src_vocab, tgt_vocab, self.sizes)

    def make_model(self, vocabularies: Vocabularies) -> NextTokenModel:
        """Make the model with initial weights, the same ones for the same seed (of all of torch).

        Parameters in ``freeze`` have no gradients. A matrix with several names is frozen by any.

        Raises:
            InputError: if it cannot be built, no parameter has such a name, or all would be frozen.
        """
        torch.manual_seed(self.seed)
        model = make_model(self.model, self.make_config(*map(len, vocabularies)))
        named = [*model.named_parameters(remove_duplicate=False)]
        for prefix in self.freeze.replace(",", " ").split():
            if not (frozen := [weight for name, weight in named if name.startswith(prefix)]):
                parts = dict.fromkeys(name.partition(".")[0] for name, _ in named)
                raise InputError(
                    f"freeze is {BRIEF.repr(prefix)}, a parameter's name must begin so: there "
                    f"are {', '.join(parts)}."
                )
            for weight in frozen:
                weight.requires_grad_(False)
        if not any(weight.requires_grad for _, weight in named):
            raise InputError(f"freeze is {self.freeze!r}, it must leave something to train.")
        return model

    def model_without_weights(self, vocabularies: Vocabularies) -> NextTokenModel:
        """Make the model with shapes only, which takes no memory, whatever its sizes.

        Raises:
            InputError: if it cannot be built.
        """
        try:
            # Making a model uses the generator, whose state is restored.
            with torch.device("meta"), same_randomness():
                return self.make_model(vocabularies)
        except RuntimeError as error:  # a number of elements overflows
            raise InputError(f"a model of these sizes cannot be built ({error}).") from error

    def for_model_of(self, other: "Recipe") -> "Recipe":
        """Return the recipe to fine-tune a model of another recipe; dropout may differ.

        Raises:
            InputError: if this one is of another kind of model, vocabulary, or shape, or for other
                languages.
        """
        refused = "{} is {!r}, it must be that of the run to start from, {!r}, to fit its weights."
        if self.model != other.model:
            raise InputError(refused.format("model", self.model, other.model))
        sizes, subwords = other.sizes | self.sizes, self.subwords or other.subwords
        pair = other.direction if self.languages is None else self.languages
        made = replace(self, languages=pair, sizes=sizes, subwords=subwords)
        ours, theirs = (
            {"languages": one.direction or made.direction, "subwords": one.subwords}
            | sizes_of(one.model, one.sizes)
            for one in (made, other)
        )
        for name, value in theirs.items():
            if name != "dropout" and ours[name] != value:
                raise InputError(refused.format(name, ours[name], value))
        return made

    @property
    def direction(self) -> str | None:
        """Return the languages of its text, as in ``de-en`` or ``de``; ``None`` if unknown."""
        named = CORPORA.get(self.corpus)
        return self.languages or (named and named.languages)

    @property
    def has_source(self) -> bool:
        """Tell whether the model translates; a language model of text alone continues it."""
        return bool(self.sizes.get("has_source", True))

    def require_languages(self, corpus: Corpus) -> None:
        """Refuse a corpus that is not in the languages of this recipe.

        Raises:
            InputError: if it has others, or the same in the other direction; or pairs where the
                model continues texts, or the other way round.
        """
        wanted = self.direction
        if self.has_source != (len(corpus.languages) == 2):
            wanted = "a source and a target" if self.has_source else "one language"
        elif wanted in (None, corpus.direction) or corpus.direction is None:
            return
        raise InputError(
            f"{corpus.name} is read in {'-'.join(corpus.languages)}, the model needs {wanted}: "
            "choose other languages, or another corpus."
        )

    @property
    def longest(self) -> int:
        """Return the maximum number of tokens on a side of a training pair, without ``EOS``."""
        positions = sizes_of(self.model, self.sizes).get("max_length", self.batch_tokens)
        return min(self.batch_tokens, positions) - 1

    def to_settings(self) -> dict[str, Any]:
        """Convert the recipe to plain values, for JSON."""
        return asdict(self)

    @classmethod
    def of_settings(cls, settings: Mapping[str, Any]) -> "Recipe":
        """Make a recipe from plain values; other entries of ``recipe.json`` are skipped.

        Raises:
            InputError: if one of them is unknown or invalid, or they have another format.
        """
        number, version = settings.get("format", FORMAT), settings.get("version", "unknown")
        if type(number) is not int or number < 1:  # isinstance would accept JSON's true
            raise InputError(f"format is {BRIEF.repr(number)}, it must be an integer, at least 1.")
        if number > FORMAT:
            raise InputError(
                f"format is {number}, written by version {version}; version {__version__} reads up "
                f"to format {FORMAT}: install a newer one."
            )
        beside = ("format", "version", *SUMS)
        settings = {name: value for name, value in settings.items() if name not in beside}
        search = settings.get("search", {})
        if not isinstance(search, Mapping):
            raise InputError(f"search is {BRIEF.repr(search)}, it must be settings by name.")
        return build(cls, {**settings, "search": build(Search, search)})

    def changed(self, changes: Mapping[str, Any]) -> "Recipe":
        """Return the recipe with settings changed by name: its own, of its model, or of its search.

        The model cannot be changed, since another has other sizes, and neither can the initial
        weights. If several have a setting of that name, the first is changed; ``search.seed`` is
        always that of the search.

        Raises:
            InputError: if there is no such setting, or it does not allow that value.
        """
        settings = self.to_settings()
        parts = {
            "": {field.name for field in fields(self)}
            - {"model", "corpus", "sizes", "search", "start"},
            "sizes.": {field.name for kind in MODELS.values() for field in fields(kind.config)}
            - {*VOCABULARIES},
            "search.": {field.name for field in fields(Search)},
        }
        taken: dict[tuple[str, str], Any] = {}
        for name, value in changes.items():
            for part, names in parts.items():
                if (bare := name.removeprefix(part)) in names:
                    if (other := taken.setdefault((part, bare), value)) != value:
                        raise InputError(f"{bare} is given as {other!r} and as {value!r}.")
                    where = settings[part[:-1]] if part else settings
                    where[bare] = value
                    break
            else:
                if name in settings:
                    raise InputError(
                        f"{name} cannot be changed: name a single setting, as in d_model=128 or "
                        "search.beam=5, or use another recipe."
                    )
                raise InputError(unknown(name, sorted(set().union(*parts.values()))))
        return Recipe.of_settings(settings)
