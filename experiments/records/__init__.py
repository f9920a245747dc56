"""The records of the book: results that take too long to compute in a chapter.

A record is a table in book/records, one row a run, and beside it a JSON file that says how it was
made. A row that exists is kept; delete a table to make it again.

    PYTHONPATH=experiments:tools python -m records            # all missing rows: `make records`
    PYTHONPATH=experiments:tools python -m records beams      # … of one table
    PYTHONPATH=experiments:tools python -m records --list     # the tables, how long each takes

``tables`` reads and writes them, ``costs`` counts and times, ``trials`` chooses the best of equally
many. ``toy_training`` has what the records on the toy corpus share, ``captions`` those on Multi30k.
Every other module has the records of one subject; ``bench`` and ``programs`` have those that
`make bench` and, on a machine with a GPU, `make accelerator` measure again.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotated_transformer.ground.errors import require_choice
from records import (
    aloud,
    at_once,
    bench,
    block,
    capitals,
    cheats,
    checkpoint,
    ciphers,
    constructions,
    copying,
    decoding,
    digits,
    dinner,
    experts,
    following,
    forgetting,
    growth,
    halves,
    hats,
    heads,
    induction,
    language,
    layers,
    lengths,
    letters,
    lora,
    meaning,
    moves,
    norm,
    optimisers,
    parts,
    party,
    passes,
    peeking,
    phrase_book,
    positions,
    preferences,
    programs,
    qk_norm,
    queues,
    quiz,
    race,
    reading_aloud,
    recall,
    recurrent,
    removals,
    rewards,
    scaling,
    selective,
    serving,
    sinks,
    sizes,
    speculative,
    spoken_numbers,
    stacks,
    states,
    storytellers,
    training,
    transfer,
    transformers,
    tries,
    two_names,
    tying,
    valleys,
    whose,
    wirings,
    wrong_lines,
)
from records.tables import RECORDS, Tables

GROUPS = ("records", "capstone", "bench", "accelerator")
"""The targets of the Makefile that make records."""


@dataclass(frozen=True)
class Record:
    """A table: how it is made, and how long that takes from the start."""

    name: str  # of its CSV file, without the ending
    make: Callable[[Tables], Any]  # makes missing rows, after those of tables that it needs
    minutes: int  # roughly, on two cores
    group: str = "records"

    @property
    def about(self) -> str:
        """Return what the table contains, in one line: the first of the docstring of ``make``."""
        return (inspect.getdoc(self.make) or "").splitlines()[0]

    @property
    def refuter(self) -> str:
        """Return the run that could refute the book's claim, and its outcome: the other lines."""
        return " ".join((inspect.getdoc(self.make) or "").splitlines()[1:]).strip()

    @property
    def note(self) -> dict[str, str]:
        """Return the description that is stored beside the table."""
        return {"about": self.about, "refuter": self.refuter}


TABLE = {
    record.name: record
    for record in (
        Record("recurrent", recurrent.make_recurrent, 40),
        Record("recurrent_budgets", recurrent.make_recurrent_budgets, 20),
        Record("recurrent_scaled", recurrent.make_recurrent_scaled, 15),
        Record("recurrent_as_large", recurrent.make_recurrent_as_large, 8),
        Record("recurrent_looks", recurrent.make_recurrent_looks, 6),
        Record("recurrent_times", recurrent.make_recurrent_times, 1),
        Record("transformers", transformers.make_transformers, 40),
        Record("transformers_second", transformers.make_transformers_second, 8),
        Record("test_sentences", transformers.make_test_sentences, 8),
        Record("language_models", language.make_language_models, 15),
        Record("language_models_longer", language.make_language_models_longer, 20),
        Record("phrase_book", phrase_book.make_phrase_book, 15),
        Record("hybrids", language.make_hybrids, 6),
        Record("hybrids_longer", language.make_hybrids_longer, 6),
        Record("hybrid_means", language.make_hybrid_means, 5),
        Record("heads_cost", transformers.make_heads_cost, 1),
        Record("beams", decoding.make_beams, 5),
        Record("beams_longer", decoding.make_beams_longer, 12),
        Record("cache_times", decoding.make_cache_times, 1),
        Record("serving_times", serving.make_serving_times, 1),
        Record("speculative_times", speculative.make_speculative_times, 3),
        Record("scaling", scaling.make_scaling, 20),
        Record("aloud", aloud.make_aloud, 5),
        Record("aloud_longer", aloud.make_aloud_longer, 6),
        Record("wirings", wirings.make_wirings, 6),
        Record("wirings_longer", wirings.make_wirings_longer, 3),
        Record("moves", moves.make_moves, 8),
        Record("wrong_lines", wrong_lines.make_wrong_lines, 5),
        Record("party", party.make_party, 2),
        Record("cheats", cheats.make_cheats, 3),
        Record("dinner", dinner.make_dinner, 10),
        Record("peeking", peeking.make_peeking, 4),
        Record("two_names", two_names.make_two_names, 2),
        Record("removals", removals.make_removals, 4),
        Record("spoken_numbers", spoken_numbers.make_spoken_numbers, 2),
        Record("reading_aloud", reading_aloud.make_reading_aloud, 10),
        Record("hats", hats.make_hats, 5),
        Record("at_once", at_once.make_at_once, 8),
        Record("whose", whose.make_whose, 6),
        Record("quiz", quiz.make_quiz, 8),
        Record("stacks", stacks.make_stacks, 17),
        Record("norms", norm.make_norms, 30),
        Record("layers_times", layers.make_layers_times, 2),
        Record("portions_times", layers.make_portions_times, 1),
        Record("mask_times", layers.make_mask_times, 3),
        Record("copying_rates", copying.make_copying_rates, 12),
        Record("copying", copying.make_copying, 8),
        Record("copying_finer", copying.make_copying_finer, 10),
        Record("training_times", training.make_training_times, 2),
        Record("transformer_budgets", training.make_transformer_budgets, 6),
        Record("transformer_budgets_rates", training.make_transformer_budgets_rates, 6),
        Record("too_high", training.make_too_high, 1),
        Record("too_high_seeds", training.make_too_high_seeds, 1),
        Record("heads", heads.make_heads, 8),
        Record("heads_longer", heads.make_heads_longer, 4),
        Record("heads_out", heads.make_heads_out, 5),
        Record("heads_ablations", heads.make_heads_ablations, 10),
        Record("heads_every", heads.make_heads_every, 5),
        Record("heads_retrained", heads.make_heads_retrained, 6),
        Record("alignments", heads.make_alignments, 3),
        Record("queues", queues.make_queues, 5),
        Record("rotary_reach", positions.make_rotary_reach, 2),
        Record("capitals", capitals.make_capitals, 8),
        Record("letters", letters.make_letters, 3),
        Record("length_heads", lengths.make_length_heads, 5),
        Record("length_texts", lengths.make_length_texts, 15),
        Record("length_texts_further", lengths.make_length_texts_further, 8),
        Record("block", block.make_block, 30),
        Record("block_more", block.make_block_more, 5),
        Record("block_narrow", block.make_block_narrow, 8),
        Record("qk_norm", qk_norm.make_qk_norm, 6),
        Record("block_rates", block.make_block_rates, 20),
        Record("block_times", block.make_block_times, 1),
        Record("norm_times", block.make_norm_times, 1),
        Record("pass_times", passes.make_pass_times, 1),
        Record("cache_passes", passes.make_cache_passes, 2),
        Record("recall", recall.make_recall, 12),
        Record("recall_changed", recall.make_recall_changed, 8),
        Record("recall_shapes", recall.make_recall_shapes, 4),
        Record("states", states.make_states, 4),
        Record("selective", selective.make_selective, 6),
        Record("ciphers", ciphers.make_ciphers, 3),
        Record("experts", experts.make_experts, 3),
        Record("digits", digits.make_digits, 5),
        Record("digits_positions", digits.make_digits_positions, 5),
        Record("halves", halves.make_halves, 5),
        Record("induction", induction.make_induction, 4),
        Record("following", following.make_following, 8),
        Record("forgetting", forgetting.make_forgetting, 4),
        Record("storytellers", storytellers.make_storytellers, 8),
        Record("optimisers", optimisers.make_optimisers, 5),
        Record("transfer", transfer.make_transfer, 9),
        Record("transfer_best", transfer.make_transfer_best, 1),
        Record("tied_start", tying.make_tied_start, 1),
        Record("tied", tying.make_tied, 12),
        Record("sinks", sinks.make_sinks, 8),
        Record("lora", lora.make_lora, 8),
        Record("rewards", rewards.make_rewards, 6),
        Record("preferences", preferences.make_preferences, 6),
        Record("growth_times", growth.make_growth_times, 3),
        Record("growth", growth.make_growth, 1),
        Record("sizes", sizes.make_sizes, 40, "capstone"),
        Record("sizes_large", sizes.make_sizes_large, 20, "capstone"),
        Record("valleys", valleys.make_valleys, 6),
        Record("sizes_laws", sizes.make_sizes_laws, 1, "capstone"),
        Record("capstone_tries_speed", tries.make_speeds, 3, "capstone"),
        Record("capstone_tries", tries.make_tries, 120, "capstone"),
        Record("capstone_tried", checkpoint.make_tried, 60, "capstone"),
        Record("capstone_beams", checkpoint.make_checkpoint, 10, "capstone"),
        Record("capstone_lengths", checkpoint.make_lengths, 1, "capstone"),
        Record("who_acts", constructions.make_who_acts, 1, "capstone"),
        Record("search_settings", meaning.make_search_settings, 1, "capstone"),
        Record("search_ranks", meaning.make_search_ranks, 3, "capstone"),
        Record("search", meaning.make_search, 1, "capstone"),
        Record("search_years", meaning.make_search_years, 1, "capstone"),
        Record("wrong_weights", meaning.make_wrong_weights, 4, "capstone"),
        Record("race_speed", race.make_speeds, 5, "capstone"),
        Record("race_tries", race.make_tries, 180, "capstone"),
        Record("race_pace", race.make_pace, 7, "capstone"),
        Record("race", race.make_race, 60, "capstone"),
        Record("race_others", race.make_others, 15, "capstone"),
        Record("race_parts_speed", parts.make_speeds, 5, "capstone"),
        Record("race_parts", parts.make_parts, 50, "capstone"),
        Record("bench_training", bench.make_training, 6, "bench"),
        Record("bench_two_threads", bench.make_two_threads, 5, "bench"),
        Record("bench_older", bench.make_older, 2, "bench"),
        Record("bench_levers", bench.make_levers, 6, "bench"),
        Record("bench_levers_two_threads", bench.make_levers_two_threads, 6, "bench"),
        Record("bench_greedy", bench.make_greedy, 3, "bench"),
        Record("bench_beam", bench.make_beam, 7, "bench"),
        Record("bench_processes", programs.make_processes, 7, "bench"),
        Record("bench_workers", programs.make_workers, 3, "bench"),
        Record("bench_accelerator", bench.make_accelerator, 3, "accelerator"),
    )
}
"""All tables by name, each after those that it needs."""


def names_in(group: str) -> list[str]:
    """Return the tables that a target of the Makefile makes."""
    return [name for name, record in TABLE.items() if record.group == group]


def make(names: Sequence[str], folder: Path = RECORDS, check: bool = False) -> None:
    """Make the missing rows of these tables; with ``check``, only find out whether there are any.

    Raises:
        InputError: if there is no table of that name, the existing rows were made with other
        versions,
            or, with ``check``, a row is missing.
    """
    for name in names:
        require_choice("record", name, TABLE)
    notes = {name: record.note for name, record in TABLE.items()}
    for name in names:
        # The tables that one needs are of its own group, so the command is right for both.
        TABLE[name].make(Tables(folder, f"make {TABLE[name].group}", check, notes))
