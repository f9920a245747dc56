"""Report: all findings, as a table with sentences, and as data."""

from dataclasses import asdict, dataclass
from typing import Any

from annotated_transformer.ground.inputs import StrPath
from transformer_workbook.chapters import chapter_of
from transformer_workbook.judge.faults import FAULT
from transformer_workbook.judge.sentences import said
from transformer_workbook.own.bench import findings
from transformer_workbook.own.judgement import Finding
from transformer_workbook.own.syllabus import asked_for


@dataclass(frozen=True)
class Report:
    """The findings about some modules."""

    findings: tuple[Finding, ...]

    @property
    def modules(self) -> dict[str, list[Finding]]:
        """Return the findings by module."""
        found: dict[str, list[Finding]] = {}
        for finding in self.findings:
            found.setdefault(finding.module, []).append(finding)
        return found

    @property
    def complete(self) -> list[str]:
        """Return the modules in which everything is right."""
        return [
            module
            for module, found in self.modules.items()
            if all(finding.state == "right" for finding in found)
        ]

    @property
    def right(self) -> bool:
        """Tell whether everything is right."""
        return len(self.complete) == len(self.modules)

    def __repr__(self) -> str:
        lines = [said("chapter  module                right")]
        for module, found in self.modules.items():
            right = sum(finding.state == "right" for finding in found)
            sign = "✓" if right == len(found) else " "
            count = said("{right} of {total}", right=f"{right:>2}", total=f"{len(found):<2}")
            lines.append(f"{chapter_of(module):>7}  {module:<20}  {count}  {sign}".rstrip())
        lines += ["", *self.mistakes] * bool(self.mistakes)
        lines += ["", *self.faults] * bool(self.faults)
        missing = [finding for finding in self.findings if finding.state == "not written"]
        if missing:
            first, more = missing[0], len(missing) - 1
            place = {"subject": first.subject, "module": first.module}
            told = (
                said("Next: {subject} in {module}.py (and {more} more).", **place, more=more)
                if more
                else said("Next: {subject} in {module}.py.", **place)
            )
            lines += ["", told]
        right = sum(finding.state == "right" for finding in self.findings)
        told = said("{right} of {total} right.", right=right, total=len(self.findings))
        return "\n".join([*lines, "", told])

    @property
    def used(self) -> str:
        """Say which modules a program uses, the reader's or ours, and why."""
        yours = ", ".join(self.complete)
        lines = [said("Yours: {modules}.", modules=yours or said("nothing yet"))]
        wrong = {f.module: None for f in self.findings if f.state == "wrong"}
        if wrong:
            told = said(
                "WRONG, so the course's are used instead: {modules}.", modules=", ".join(wrong)
            )
            lines.append(told)
            lines += [f"  {mistake}" for mistake in self.mistakes]
        unjudged = {f.module: None for f in self.findings if f.state == "not judged"}
        faulty = [module for module in unjudged if module not in wrong]
        if faulty:
            names = ", ".join(faulty)
            lines.append(said("The course's, because a check failed: {modules}.", modules=names))
        lines += self.faults
        others = {*self.complete, *wrong, *faulty}
        unwritten = [m for m in self.modules if m not in others]
        if unwritten:
            names = ", ".join(unwritten)
            lines.append(said("The course's, until yours are written: {modules}.", modules=names))
        return "\n".join(lines)

    @property
    def mistakes(self) -> list[str]:
        """List every mistake once: where it is, what it is, and what depends on it."""
        groups: dict[tuple[str, str], list[Finding]] = {}
        for finding in self.findings:
            if finding.state == "wrong":
                key = finding.module, finding.place or finding.subject
                groups.setdefault(key, []).append(finding)
        return [_told(module, place, group) for (module, place), group in groups.items()]

    @property
    def faults(self) -> list[str]:
        """List what failed in the checks themselves, with each traceback once."""
        groups: dict[str, list[str]] = {}
        for finding in self.findings:
            if finding.trace:
                groups.setdefault(finding.trace, []).append(f"{finding.module}, {finding.subject}")
        return [f"{'; '.join(where)}: {FAULT}\n{trace}" for trace, where in groups.items()]

    def as_json(self) -> dict[str, Any]:
        """Convert the report to plain values."""
        states = [finding.state for finding in self.findings]
        return {
            "right": states.count("right"),
            "of": len(states),
            "modules": {
                module: {
                    "chapter": chapter_of(module),
                    "complete": module in self.complete,
                    "checks": [
                        {key: value for key, value in asdict(finding).items() if key != "module"}
                        for finding in found
                    ],
                }
                for module, found in self.modules.items()
            },
        }


def _told(module: str, place: str, group: list[Finding]) -> str:
    teller = next(finding for finding in group if not finding.depends)
    others = [f.subject for f in group if f is not teller]
    where = place if place.endswith(".py") else f"{module}, {place}"
    told = f"{where}: {teller.sentence}"
    if not others:
        return told
    return f"{told} " + said("(Also wrong because of it: {subjects}.)", subjects=", ".join(others))


def check_package(folder: StrPath, what: str | int | None = None) -> Report:
    """Check a reader's package: all of it, a chapter by its number, or a module by its name.

    Shown in a notebook, the report is what ``annotated-transformer check`` prints.

    Raises:
        InputError: if there is no such package, chapter or module.
    """
    chosen = asked_for(None if what is None else str(what))
    return Report(tuple(findings(folder, chosen)))
