"""Tasks: a question to a reader, and the verdict on an answer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

from transformer_workbook.judge.copying import copied
from transformer_workbook.judge.faults import FAULT, trace_of
from transformer_workbook.judge.open_gaps import note_gap
from transformer_workbook.judge.progress import note_progress
from transformer_workbook.judge.sentences import in_language, to_say

State = Literal["right", "wrong", "not attempted", "not judged"]

WORDS: dict[State, tuple[str, str]] = {
    "right": ("✓", to_say("right")),
    "wrong": ("✗", to_say("wrong")),
    "not attempted": ("○", to_say("not attempted")),
    "not judged": ("!", to_say("not judged")),
}
"""How a state is shown: its sign, and its words."""


@dataclass(frozen=True, repr=False)
class Verdict:
    """The result of a check; it displays itself, and can be read by a program."""

    state: State
    mistake: str = ""
    """Why it is wrong, or not judged, as a sentence."""
    trace: str = ""
    """The traceback of a check that failed itself."""

    @property
    def passed(self) -> bool:
        """Tell whether the answer is right."""
        return self.state == "right"

    def __repr__(self) -> str:
        state = in_language(WORDS[self.state][1])
        told = f"{state}: {self.mistake}" if self.mistake else state
        return f"{told}\n{self.trace}" if self.trace else told

    def _repr_html_(self) -> str:
        sign, state = WORDS[self.state]
        told = f"<p>{sign} <strong>{in_language(state)}</strong> {escape(self.mistake)}</p>"
        return f"{told}<pre>{escape(self.trace)}</pre>" if self.trace else told


class Task:
    """A question to a reader: called with an answer, it returns a verdict and stores it.

    It is stored only in a notebook, beside it. ``check`` judges without storing.
    """

    statement: str
    """The statement, in one line."""
    name: str
    gap: bool = False

    def __call__(self, answer: Any) -> Verdict:
        """Judge an answer and store the verdict."""
        verdict = self.check(answer)
        if self.gap:
            note_gap(self.name, verdict.passed)
        if verdict.state in ("right", "wrong"):
            note_progress(self.name, verdict.state)
        return verdict

    def check(self, answer: Any) -> Verdict:
        """Judge an answer. What the check itself raises is told as ours."""
        try:
            return self.verdict(answer)
        except Exception as error:
            return Verdict("not judged", FAULT, trace_of(error))

    def verdict(self, answer: Any) -> Verdict:
        """Judge an answer."""
        raise NotImplementedError


class Cases(Sequence[tuple[Any, ...]]):
    """Arguments to try. Taking one out makes a copy."""

    def __init__(self, cases: Iterable[tuple[Any, ...]]) -> None:
        self._cases = tuple(cases)

    def __len__(self) -> int:
        return len(self._cases)

    def __getitem__(self, place: Any) -> Any:
        return copied(self._cases[place])
