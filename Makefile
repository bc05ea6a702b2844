# make demo: environment, install, the quick start. make test: environment, dev extras, lint, types, docs, tests;
# with COVER=yes also the lines and branches that the tests reach, which fails below what pyproject.toml states.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test lint docs check package chaos mutants reproduce grid grid-quick clean

demo: $(VENV)/.installed
	$(BIN)/moos run configs/quickstart.yaml

test: $(VENV)/.dev lint docs
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal \
	  $(if $(COVER),--cov --cov-report=term:skip-covered)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

check: $(VENV)/.installed
	$(BIN)/moos check

# The sdist, the wheel built from it, both checked; the wheel tried in an environment of its own outside the repository.
package:
	rm -rf dist build/package
	$(PYTHON) -m venv build/package
	build/package/bin/python -m pip install --quiet --disable-pip-version-check build twine
	build/package/bin/python -m build --outdir dist .
	build/package/bin/twine check --strict dist/*
	build/package/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd build/package && bin/moos run configs/quickstart.yaml --set split.repetitions=1 --out results

# A hundred random kills of driver, workers and group, resumed and compared, and what they met.
chaos: $(VENV)/.dev
	MOOS_CHAOS=100 $(BIN)/python -m pytest -rP tests/chaos

# Changes in numerics and metrics that no test notices; some half an hour.
mutants: $(VENV)/.dev
	$(BIN)/python tests/mutation/mutants.py

# The papers' tables and figures that the data allow, every repetition; then docs/reproduction.md, its pages and
# docs/findings.md. What is in the store is not computed again: stop and start it at will.
reproduce: $(VENV)/.installed
	$(BIN)/python -m manifold_oos.reporting.pages.reproduction
	$(BIN)/python benchmarks/forensics.py --write

# The comparison of docs/which_extender.md, tuned and untuned, on fourteen data sets: about half an hour on two cores,
# resumable; MORE="--scheduler tcp://host:port" for a cluster. grid-quick has one split of each set and writes the same
# page to build/grid.
MORE ?=
grid: $(VENV)/.neighbors
	$(BIN)/python benchmarks/contracts_table.py --write results/grid/contracts.md
	$(BIN)/python -m manifold_oos.reporting.pages.which_extender $(MORE)

grid-quick: $(VENV)/.neighbors
	$(BIN)/python -m manifold_oos.reporting.pages.which_extender --splits 1 --out build/grid --docs build/grid/docs $(MORE)

$(VENV)/.neighbors: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[neighbors]"
	touch $@

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.dev: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
