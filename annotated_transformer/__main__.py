"""``python -m annotated_transformer`` is the command line."""

from annotated_transformer.cli import main

main()
