"""The benchmark: the package timed beside others, on the same data.

Every contestant is a separate process, which is kept alive and gets its turns in rounds: each
does the same work once in every round, so that all meet the same noise. ``rounds`` drives them,
``worker`` is the program of such a process, ``task`` what it is given, ``peers`` and ``earlier``
have models of others and our own from the past. The contests: ``training``, ``two_threads``
with two of them, and ``older`` as on an older CPU; ``levers`` and ``levers_two_threads``,
the effect of each optimisation of our fast training; ``accelerator``, steps on a GPU; ``greedy``
and ``beam``, which share ``translating``. `make bench` runs all; the results are records of the
book (``records.bench``).
"""
