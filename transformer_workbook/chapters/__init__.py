"""The chapters of the book in order, and the modules of the package that each teaches.

The folder of a chapter has what its notebook calls: ``exercises`` and their ``mistakes.toml``,
``proofs`` and ``figures``. What several chapters share is in `judge` and `notebook`.
"""

CHAPTERS: dict[str, tuple[str, ...]] = {
    "tokens_and_batches": (
        "toy",
        "text.examples",
        "text.cleaning",
        "tokens",
        "corpora",
        "batches",
        "loss",
    ),
    "seq2seq": ("translator", "recurrent", "seq2seq"),
    "bahdanau": ("soft_lookup", "bahdanau"),
    "luong": ("luong",),
    "self_attention": ("attention",),
    "multi_head_attention": ("multi_head_attention",),
    "positional_encoding": ("positional_encoding",),
    "masking": ("masking",),
    "cross_attention": ("cross_attention",),
    "why_attention": (),
    "layers": ("layers",),
    "transformer": ("transformer", "initial_weights", "capture"),
    "training": ("ground.devices", "weights", "training"),
    "decoding": ("decoding",),
    "translation": ("models", "translation", "evaluation", "run", "exchange", "cli"),
    "what_heads_do": (),
    "find_the_bug": (),
    "language_model": ("language_model",),
    "rotary_positions": ("rotary",),
    "block_of_today": ("gated_feed_forward",),
    "real_weights": ("bert",),
    "what_a_token_costs": ("costs", "latent_attention", "paged_cache", "speculative"),
    "without_the_table": ("linear_attention",),
    "experts": ("experts",),
    "from_predicting_to_following": (),
    "images_and_graphs": (),
    "how_it_scales": ("muon", "transfer"),
    "preferences": ("lora",),
}
"""By the stem of a chapter's notebook, which is its name without the number."""


def chapter_of(module: str) -> int:
    """Return the number of the chapter that teaches a module.

    >>> chapter_of("multi_head_attention")
    6

    Raises:
        StopIteration: if no chapter does.
    """
    return next(n for n, modules in enumerate(CHAPTERS.values(), start=1) if module in modules)
