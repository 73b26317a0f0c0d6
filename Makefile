# Everything runs in .venv, which the first target makes; PYTHON names the interpreter that makes it.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
# Two processes suit a machine of two cores; `make test JOBS=8` on a larger one.
JOBS ?= 2
PYTEST := $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal

.PHONY: demo test lint types unit models conformance fuzz bench docs clean

demo: .venv/with-demo
	$(BIN)/python examples/demo.py

test: lint types unit

lint: .venv/with-test
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --quiet --check

types: .venv/with-test
	$(BIN)/pyright --pythonpath $(BIN)/python

unit: .venv/with-test
	$(PYTEST) -m "not slow"

models: .venv/with-test
	$(PYTEST) tests/models

# Fails when a case is lost that the ledger has; `CONFORMANCE="--shard 1/4 --resume"` runs a part, or goes on.
conformance: .venv/with-test
	$(BIN)/python -m tests.conformance --processes $(JOBS) --update $(CONFORMANCE)

fuzz: .venv/with-test
	$(PYTEST) -m fuzz

bench: .venv/with-bench
	$(BIN)/python -m benchmarks.run

docs: .venv/with-test
	$(BIN)/python -m stepwell.tools.generators.generate_docs

.venv/bin/python:
	$(PYTHON) -m venv .venv

# One stamp for each extra: installed again when pyproject.toml changes.
.venv/with-%: .venv/bin/python pyproject.toml
	$(PIP) --editable '.[$*]'
	touch $@

clean:
	rm -rf .venv build dist *.egg-info
