"""What accompanies a reader of the course: exercises, a judge, figures, a package of one's own.

Nothing is imported here, so that the command line starts quickly; import from the folders:
``from transformer_workbook import exercises``, ``from transformer_workbook.notebook import table``.
"""
