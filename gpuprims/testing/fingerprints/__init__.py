"""Fingerprints: hashes of the results of fixed calls and fits, which are the same on every device.

Calls run at the level of determinism "device", on numbers by :func:`gpuprims.random`. ``expected.txt`` has the hash of
each call, and a test compares it; a version that changes bits changes this file and the number of the version.
"""

from gpuprims.testing.fingerprints.suite import VERSION, Fingerprint, expected, fingerprint

__all__ = ["VERSION", "Fingerprint", "expected", "fingerprint"]
