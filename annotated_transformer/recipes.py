"""Recipes: everything that decides how a training run goes, with presets that are known to work."""

from dataclasses import dataclass, field, replace
from typing import Any

from annotated_transformer.bahdanau import Bahdanau
from annotated_transformer.errors import InputError
from annotated_transformer.luong import Luong, LuongConfig
from annotated_transformer.schedule import Schedule, linear_schedule, paper_schedule
from annotated_transformer.seq2seq import RecurrentConfig, Seq2Seq
from annotated_transformer.transformer import Transformer, TransformerConfig

TranslationModel = Seq2Seq | Bahdanau | Luong | Transformer
MODELS: dict[str, tuple[Any, Any]] = {
    "seq2seq": (Seq2Seq, RecurrentConfig),
    "bahdanau": (Bahdanau, RecurrentConfig),
    "luong": (Luong, LuongConfig),
    "transformer": (Transformer, TransformerConfig),
}


@dataclass(frozen=True)
class Recipe:
    """How a run is made. The same recipe on the same machine gives the same weights."""

    model: str
    corpus: str
    languages: str | None = None
    steps: int = 1500
    seed: int = 0
    subwords: int = 0  # the size of a joint BPE vocabulary; 0: whole words, one vocabulary a side
    batch_tokens: int = 1024  # target or source positions in a batch, whichever are more
    schedule: str = "paper"  # "paper": warm-up, then 1/√step; "linear": warm-up, then down to 0
    peak_rate: float = 3e-3
    warmup: int = 200
    smoothing: float = 0.0
    clip: float = 1.0
    average_decay: float = 0.99
    bfloat16: bool = False  # matrix products in 16 bits: faster on processors that can, else slower
    validate_every: int = 250  # steps between two validations; a checkpoint is written at each
    beam: int = 4  # how to search for a translation, unless something else is asked for
    alpha: float = 0.6
    sizes: dict[str, Any] = field(default_factory=dict)  # what differs from the model's defaults

    def __post_init__(self) -> None:
        """Refuse a recipe that cannot be trained.

        Raises:
            InputError: if a setting has a value that makes no sense.
        """
        requirements = {
            "model": (self.model in MODELS, f"one of {', '.join(MODELS)}"),
            "schedule": (self.schedule in ("paper", "linear"), "'paper' or 'linear'"),
            "steps": (self.steps >= 1, "at least 1"),
            "batch_tokens": (self.batch_tokens >= 2, "at least 2"),
            "validate_every": (self.validate_every >= 1, "at least 1"),
            "beam": (self.beam >= 1, "at least 1"),
            "subwords": (self.subwords >= 0, "at least 0"),
            "warmup": (self.warmup >= 0, "at least 0"),
            "peak_rate": (self.peak_rate > 0, "above 0"),
            "clip": (self.clip > 0, "above 0"),
            "smoothing": (0 <= self.smoothing < 1, "at least 0 and below 1"),
            "average_decay": (0 <= self.average_decay < 1, "at least 0 and below 1"),
        }
        for name, (fine, requirement) in requirements.items():
            if not fine:
                raise InputError(f"{name} is {getattr(self, name)!r}, it must be {requirement}.")

    def make_schedule(self) -> Schedule:
        """The learning rate at every step.

        Raises:
            InputError: if a linear schedule has no steps left after its warm-up.
        """
        if self.schedule == "paper":
            warmup = max(1, self.warmup)
            factor = self.peak_rate * warmup**0.5
            return paper_schedule(d_model=1, warmup=warmup, factor=factor)
        return linear_schedule(self.peak_rate, self.steps, self.warmup)

    def make_config(self, src_vocab: int, tgt_vocab: int) -> Any:
        """The configuration of the model for vocabularies of these sizes."""
        return MODELS[self.model][1](src_vocab, tgt_vocab, **self.sizes)


MEDIUM_TRANSFORMER = {"d_model": 256, "num_layers": 3, "num_heads": 8, "d_ff": 512, "dropout": 0.2}


def preset(model: str, corpus: str, **changes: Any) -> Recipe:
    """The recipe for that model on that corpus, made for two CPU cores.

    Raises:
        InputError: if there is no such model.
    """
    recipe = Recipe(model, corpus, sizes=small_sizes(model))
    if corpus != "toy":
        recipe = replace(
            recipe,
            steps=3700,
            subwords=5000,
            batch_tokens=2048,
            schedule="linear",
            peak_rate=2e-3,
            warmup=400,
            smoothing=0.1,
            average_decay=0.998,
            validate_every=500,
            sizes=medium_sizes(model),
        )
    return replace(recipe, **changes)


def small_sizes(model: str) -> dict[str, Any]:
    """Sizes for the toy corpus."""
    if model == "transformer":
        tiny = TransformerConfig.tiny(1, 2)
        sizes = {
            name: getattr(tiny, name) for name in ("d_model", "num_layers", "num_heads", "d_ff")
        }
        return sizes | {"dropout": 0.0, "norm": "pre", "share_embeddings": False}
    return {"d_model": 64, "hidden_dim": 128}


def medium_sizes(model: str) -> dict[str, Any]:
    """Sizes for a corpus of some ten thousand real sentences."""
    if model == "transformer":
        return MEDIUM_TRANSFORMER | {"norm": "pre"}
    return {"d_model": 256, "hidden_dim": 512, "dropout": 0.2}
