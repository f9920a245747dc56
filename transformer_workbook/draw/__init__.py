"""The figures of the lessons: one function for each.

A module for each chapter; a lesson imports its own: ``from transformer_workbook.draw import
self_attention as draw``.
"""
