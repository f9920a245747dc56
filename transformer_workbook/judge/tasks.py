"""Tasks: a question to a reader, and the verdict on an answer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from transformer_workbook.judge.copying import copied
from transformer_workbook.judge.progress import note_progress
from transformer_workbook.judge.sentences import in_language, to_say

SIGNS = {to_say("right"): "✓", to_say("wrong"): "✗", to_say("not attempted"): "○"}


@dataclass(frozen=True, repr=False)
class Verdict:
    """The result of a check; it displays itself, and can be read by a program."""

    state: str  # "not attempted", "right" or "wrong"
    mistake: str = ""  # why it is wrong, as a sentence

    @property
    def passed(self) -> bool:
        """Tell whether the answer is right."""
        return self.state == "right"

    def __repr__(self) -> str:
        state = in_language(self.state)
        return f"{state}: {self.mistake}" if self.mistake else state

    def _repr_html_(self) -> str:
        state = in_language(self.state)
        return f"<p>{SIGNS[self.state]} <strong>{state}</strong> {escape(self.mistake)}</p>"


class Task:
    """A question to a reader: called with an answer, it returns a verdict and stores it.

    It is stored only in a notebook, beside it. ``check`` judges without storing.
    """

    statement: str
    """The statement, in one line."""
    name: str

    def __call__(self, answer: Any) -> Verdict:
        """Judge an answer and store the verdict."""
        verdict = self.check(answer)
        if verdict.state != "not attempted":
            note_progress(self.name, verdict.state)
        return verdict

    def check(self, answer: Any) -> Verdict:
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
