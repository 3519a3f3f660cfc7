"""Long runs: soak, fuzz, faults and large arrays, with counts. ``python -m tests.hard --help``.

`make hard` runs all of it; the tests run a few seconds of each part (``test_hard.py``).
"""
