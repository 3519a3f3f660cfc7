# make demo: install with Intel's CPU runtime and run the demo.   make test: the same for the tests.
# make test-all: every combination of the tests' parameters.   make hard: soak, fuzz, fault and large-array tests.
PYTHON ?= python3
VENV ?= .venv
RUN = $(VENV)/bin/python -m

.PHONY: demo test test-dask smoke test-all docs docs-test lint oclgrind sanitize hard soak fuzz clean

demo: $(VENV)/demo
	$(RUN) gpuprims demo

# Test processes. Only two, because each keeps in memory the kernels that a CPU's runtime has compiled.
JOBS ?= 2
TEST = $(RUN) pytest -n $(JOBS) --dist loadfile -m "not oclgrind"
test: $(VENV)/test
	$(TEST) gpuprims tests

# The functions and LogReg on Dask arrays, with a cluster of two workers; some 40 seconds.
test-dask: $(VENV)/dask
	$(RUN) pytest --quiet tests/distributed/test_dask.py tests/distributed/test_dask_cluster.py \
		tests/distributed/test_dask_logreg.py tests/distributed/test_dask_cuda.py

# Tests of what differs between versions of Python, and a few kernels, in about a minute: make smoke VENV=.venv-3.13
# PYTHON=python3.13. Doctests import every module.
smoke: $(VENV)/test
	$(TEST) --quiet gpuprims tests/expressions/test_trace.py tests/first_day tests/core/test_c_modules.py \
		tests/primitives/test_map.py tests/test_examples.py::test_the_code_of_the_pages_runs

test-all: $(VENV)/test
	$(TEST) --whole gpuprims tests

# Soak, fuzz, faults and large arrays on every device; some 30 minutes. For example HARD="--devices cuda:0 --seconds 60".
hard: $(VENV)/test
	$(RUN) tests.hard $(HARD)

soak: $(VENV)/test
	$(RUN) tests.hard --parts soak $(HARD)

fuzz: $(VENV)/test
	$(RUN) tests.hard --parts fuzz $(HARD)

lint: $(VENV)/lint
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	$(VENV)/bin/basedpyright --pythonpath $(VENV)/bin/python tests/public_api.py

# The documentation site, in docs/_build; the gallery's programs compute on the CPU. Then the examples of docstrings.
SPHINX = $(RUN) sphinx --fail-on-warning --quiet --doctree-dir docs/_build/.doctrees
docs: $(VENV)/docs
	$(SPHINX) docs docs/_build
	$(SPHINX) --builder doctest docs docs/_build/doctest

# Each page in Chromium, at the widths of a desktop and of a phone, light and dark; needs `apt-get install chromium`.
docs-test: $(VENV)/docs-test docs
	GPUPRIMS_SHOTS=docs/_build/shots $(RUN) pytest tests/docs

# Every OpenCL kernel on a simulated device that reports data races, uninitialised reads and accesses out of bounds.
# OCLGRIND=--whole runs every combination of the tests' parameters.
# Its own environment, because Oclgrind's wheel would add its device to the other one.
oclgrind: .venv-oclgrind/installed
	.venv-oclgrind/bin/python tests/oclgrind.py $(OCLGRIND)

# Every CUDA kernel under compute-sanitizer's four tools, on a machine with an NVIDIA GPU and its toolkit.
sanitize: $(VENV)/test
	$(VENV)/bin/python tests/sanitizer.py

# Python compiles modules when they are imported; pip would compile all, in half of its processor time.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(RUN) pip install --quiet --upgrade pip

$(VENV)/demo: $(VENV)/bin/python pyproject.toml
	$(RUN) pip install --quiet --no-compile --editable ".[cpu,demo]"
	touch $@

$(VENV)/test: $(VENV)/bin/python pyproject.toml
	$(RUN) pip install --quiet --no-compile --editable ".[cpu,test]"
	touch $@

$(VENV)/dask: $(VENV)/test
	$(RUN) pip install --quiet --no-compile --editable ".[cpu,dask,test]" "dask[dataframe]"
	touch $@

$(VENV)/docs: $(VENV)/bin/python pyproject.toml
	$(RUN) pip install --quiet --no-compile --editable ".[cpu,docs]"
	touch $@

$(VENV)/docs-test: $(VENV)/bin/python pyproject.toml
	$(RUN) pip install --quiet --no-compile --editable ".[cpu,docs-test]"
	touch $@

$(VENV)/lint: $(VENV)/test
	$(RUN) pip install --quiet --no-compile --editable ".[lint]"
	touch $@

.venv-oclgrind/installed: pyproject.toml
	$(PYTHON) -m venv .venv-oclgrind
	.venv-oclgrind/bin/python -m pip install --quiet --upgrade pip
	.venv-oclgrind/bin/python -m pip install --quiet --no-compile --editable ".[test]" "pyopencl[oclgrind]"
	touch $@

clean:
	rm -rf .venv .venv-oclgrind .mypy_cache .ruff_cache .pytest_cache
