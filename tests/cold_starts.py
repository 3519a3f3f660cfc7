"""First calls of a process, made by many threads at once: each start in a process of its own.

``python tests/cold_starts.py --count 100`` makes 100 starts of each kind, and fails at the first that goes wrong.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from children import child_environment

# Eight threads ask for the same device by different names, and work on each other's arrays, while one more watches the
# environment.
THREADS = """
import os, sys, threading
import numpy as np
sys.setswitchinterval(1e-5)
import gpuprims

x, wrong, found, arrays, over = np.arange(1000, dtype=np.float32), [], set(), [], threading.Event()
start, met = threading.Barrier(8), threading.Barrier(8)
before = os.environ.get("OCL_ICD_VENDORS")

def watch():
    while not over.is_set():
        try:
            changed = dict(os.environ).get("OCL_ICD_VENDORS") != before
        except KeyError:  # a variable went away
            changed = True
        if changed:
            wrong.append("the environment changed")
            break

def work(k):
    try:
        start.wait()
        device = gpuprims.Device("SPEC" if k % 2 else "SPEC".partition(":")[0])
        found.add(device)
        arrays.append(device.asarray(x))
        met.wait()
        total = gpuprims.plan("reduce", arrays[k - 1], device=device).item(arrays[k - 1])
        assert total == 499500, total
        assert gpuprims.reduce(x, device=device) == 499500
    except BaseException as error:
        wrong.append(repr(error))
        met.abort()

watcher = threading.Thread(target=watch)
threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
for thread in (watcher, *threads):
    thread.start()
for thread in threads:
    thread.join()
over.set()
watcher.join()
assert not wrong, wrong
assert len(found) == 1, found
"""

SEARCH = """
import joblib
import numpy as np
from sklearn.model_selection import GridSearchCV
import gpuprims
from gpuprims.models import LogReg

rng = np.random.default_rng(1)
X = rng.standard_normal((200, 5)).astype(np.float32)
y = (X[:, 0] + 0.1 * rng.standard_normal(200) > 0).astype(int)
with joblib.parallel_backend("threading"):
    search = GridSearchCV(LogReg("SPEC"), {"C": [0.1, 1.0]}, cv=3, n_jobs=2, error_score="raise").fit(X, y)
assert search.best_score_ > 0.8, search.best_score_
"""
KINDS = {"threads": THREADS, "grid search": SEARCH}


def start(kind: str, spec: str) -> str:
    """Make one start of a kind on a device; return what went wrong, or nothing."""
    command = [sys.executable, "-c", KINDS[kind].replace("SPEC", spec)]
    environment = child_environment(GPUPRIMS_DEVICE=None)
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return "" if done.returncode == 0 else f"exit status {done.returncode}\n{done.stderr[-3000:]}"


def main() -> int:
    """Return the program's exit code."""
    parser = argparse.ArgumentParser(description="Make first calls from many threads, in fresh processes.")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--device", default="opencl:cpu")
    chosen = parser.parse_args()
    for turn in range(chosen.count):
        for kind in KINDS:
            if problem := start(kind, chosen.device):
                print(f"{kind}, start {turn + 1} of {chosen.count} on {chosen.device}: {problem}")
                return 1
    print(f"{chosen.count} starts each of {', '.join(KINDS)} on {chosen.device}: nothing went wrong")
    return 0


if __name__ == "__main__":
    sys.exit(main())
