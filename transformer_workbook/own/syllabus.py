"""Syllabus: which modules a reader writes, in the order of the chapters that teach them."""

from annotated_transformer.ground.errors import InputError
from transformer_workbook.chapters import CHAPTERS, chapter_of

PACKAGE = "my_transformer"
"""The name of a reader's package, wherever its folder is."""

WRITTEN = (
    "tokens", "batches", "loss", "masking", "recurrent", "seq2seq", "soft_lookup", "bahdanau",
    "luong", "attention", "multi_head_attention", "positional_encoding", "rotary", "layers",
    "gated_feed_forward", "transformer", "training", "decoding", "language_model",
)  # fmt: skip
"""The modules that a reader writes, in import order; everything else comes from our package."""


MODULES_BY_CHAPTER = tuple(sorted(WRITTEN, key=chapter_of))
"""The modules that a reader writes, in the order of the chapters."""


def asked_for(what: str | None) -> tuple[str, ...]:
    """Return the modules of a chapter, by its number or stem; one by its name; or all.

    >>> asked_for("06"), asked_for("tokens_and_batches"), asked_for("loss")
    (('multi_head_attention',), ('tokens', 'batches', 'loss'), ('loss',))

    Raises:
        InputError: if there is no such module or chapter, or the chapter has no module.
    """
    if what is None:
        return MODULES_BY_CHAPTER
    if what in WRITTEN:
        return (what,)
    numbered = what.isdecimal() and len(what) <= 2 and 0 < int(what) <= len(CHAPTERS)
    chapter = list(CHAPTERS)[int(what) - 1] if numbered else what
    found = tuple(m for m in MODULES_BY_CHAPTER if m in CHAPTERS.get(chapter, ()))
    if not found:
        numbers = sorted({chapter_of(module) for module in WRITTEN})
        raise InputError(
            f"{what!r} cannot be checked, it must be a chapter ({', '.join(map(str, numbers))}) "
            f"or a module ({', '.join(MODULES_BY_CHAPTER)})."
        )
    return found
