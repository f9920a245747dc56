"""Model folders: what an engine can compute, and the files that every exported folder has."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, cast

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import StrPath
from annotated_transformer.ground.settings import require_known
from annotated_transformer.run import Run
from annotated_transformer.run.files import fill_folder, require_empty, write_atomically
from annotated_transformer.run.sentence_pieces import SentencePieces
from annotated_transformer.transformer import Transformer


def write_model_folder(
    run: Run, folder: StrPath, write: Callable[[Path, Transformer], None], readme: str
) -> None:
    """Fill an empty folder with the files of ``write``, both tokenizers and a ``README.md``.

    ``source.json`` and ``target.json`` split and join texts; the library *tokenizers* reads them.
    For sentence pieces they are ``source.spm`` and ``target.spm``, for the library *sentencepiece*.

    Raises:
        InputError: if the folder is not empty, or there are no weights yet.
    """
    require_empty(folder)
    model = cast(Transformer, run.model)

    def fill(path: Path) -> None:
        write(path, model)
        for side, vocabulary in zip(("source", "target"), run.vocabularies, strict=True):
            if isinstance(vocabulary, SentencePieces):
                (path / f"{side}.spm").write_bytes(vocabulary.model)
            else:
                write_atomically(path / f"{side}.json", vocabulary.to_json())
        write_atomically(path / "README.md", readme)

    fill_folder(folder, fill)


EVERYWHERE: dict[str, Collection[Any] | None] = {
    "src_vocab": None,
    "tgt_vocab": None,
    "d_model": None,
    "num_layers": None,
    "num_heads": None,
    "d_ff": None,
    "activation": ("swish", "relu"),
    "dropout": None,
    "norm_position": ("pre", "post"),
    "positions": ("learned", "sinusoidal"),
    "max_length": None,
    "share_embeddings": None,
    "tie_output": None,
}
"""The settings of a Transformer that every engine supports, with the values if not all."""


def require_settings(
    run: Run, engine: str, *, pieces: bool = False, **known: Collection[Any]
) -> None:
    """Refuse the model of a run that an engine cannot compute.

    It must be a Transformer whose heads split d_model into equal parts, one for each head of keys
    and values. ``known`` has the values of settings of which the engine supports only some;
    ``pieces`` tells whether it supports the tokens of SentencePiece.

    Raises:
        InputError: if it is another model, or has a setting that the engine does not support.
    """
    if not pieces and any(
        isinstance(vocabulary, SentencePieces) for vocabulary in run.vocabularies
    ):
        raise InputError(
            f"{run.folder} has sentence pieces, {engine} supports only words or subwords of ours: "
            "export it --to marian, which keeps them."
        )
    if run.recipe.model != "transformer":
        raise InputError(f"model is {run.recipe.model!r}, {engine} can only have 'transformer'.")
    config = run.recipe.make_config(*map(len, run.vocabularies))
    width = config.d_model // config.num_heads
    equal_parts = {"d_k": (None, width), "d_v": (None, width)}
    equal_parts["num_kv_heads"] = (None, config.num_heads)
    require_known(config, engine, EVERYWHERE | equal_parts | known)
