"""Feed every reader with broken files: it must refuse them in one sentence, or read them.

    PYTHONPATH=tools .venv/bin/python -m fuzz            the planted faults, then ten minutes
    PYTHONPATH=tools .venv/bin/python -m fuzz --seconds 60 --reader recipe

A reader may return, or raise ``InputError``. Anything else is a fault: another exception, an
impossible result, a crash of the interpreter, or more than ten seconds. The file is kept.
"""
