"""Models and trainers with a bug: ``from transformer_workbook.faulty import models``."""

__path__: list[str] = []  # as of a folder; its modules are those of the chapter (aliases.py)
