"""The figures of the lessons: ``from transformer_workbook.draw import masking as draw``."""

__path__: list[str] = []  # as of a folder; its modules are in the chapters (aliases.py)
