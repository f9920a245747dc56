"""Lessons to do: notebooks whose decisive lines are the reader's to write."""

from transformer_workbook.lessons.gaps import Gap, gaps_of
from transformer_workbook.lessons.passed import progress_by_lesson
from transformer_workbook.lessons.to_do import lessons, write_lessons

__all__ = ["Gap", "gaps_of", "lessons", "progress_by_lesson", "write_lessons"]
