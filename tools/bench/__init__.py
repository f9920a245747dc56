"""The bench: what the package does, timed beside what others do, on the same data.

Every contestant is a process of its own, which is kept alive and gets its turns in rounds: each
does the same work once in every round, and so all meet the same noise. ``rounds`` drives them,
``worker`` is the program of such a process, ``task`` what it is given, ``peers`` and ``earlier``
have models of others and of ourselves in the past. The contests: ``training``, ``two_threads``
with two of them, and ``older`` as on an older processor; ``levers`` and ``levers_two_threads``,
what each part of our fast training brings; ``accelerator``, steps on a graphics card; ``greedy``
and ``beam``, which share ``translating``. `make bench` runs them; the results are records of the
book (``records.bench``).
"""
