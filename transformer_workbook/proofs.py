"""The proofs of the lessons: each compares what a lesson builds with something independent.

A lesson imports its own: ``from transformer_workbook.proofs import self_attention as proofs``. A
proof prints what it has shown behind a tick, or raises `ProofError` and names what differs. It
takes the classes and values of the lesson as arguments, so it can be called with one's own.
"""

__path__: list[str] = []  # as of a folder; its modules are in the chapters (aliases.py)
