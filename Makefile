# Needs Python 3.11 or newer, pip and make; everything else goes into .venv.
PYTHON ?= python3
BIN = .venv/bin
READY = .venv/.installed
DEV_READY = .venv/.installed-dev
JOBS ?= 5

.PHONY: setup serve check test debian-tools tools lint collect compare record bench cpython coverage lock clean

setup: $(DEV_READY)
	@:

$(READY): requirements.lock pyproject.toml scripts/setup
	@PYTHON="$(PYTHON)" sh scripts/setup

$(DEV_READY): requirements-dev.lock pyproject.toml scripts/setup
	@PYTHON="$(PYTHON)" sh scripts/setup dev

serve: $(READY)
	@exec $(BIN)/opencode-debugger serve $(ARGS)

lint: $(DEV_READY)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo

check: lint
	@$(BIN)/python -m pytest -q -n $(JOBS) --max-worker-restart 0 --dist loadfile --no-loadscope-reorder @tests/quick.txt

debian-tools:
	@sh scripts/test-tools

tools: $(DEV_READY) debian-tools
	@test -x .venv/bare/bin/python3 || $(BIN)/python -m venv --without-pip .venv/bare
	@sh scripts/mcp-inspector
	@sh scripts/page-tools
	@sh scripts/compile "$$HOME"/.pyenv/versions/3.[89].*/bin/python "$$HOME"/.pyenv/versions/3.1?.*/bin/python

collect: $(DEV_READY) # so that tests are compiled once, and not by each worker
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q --collect-only --ignore tests/recorded > /dev/null || :

test:
	@$(MAKE) --no-print-directory -j2 $(DEV_READY) debian-tools
	@$(MAKE) --no-print-directory -j2 lint tools collect
	@$(BIN)/python -m pytest -n $(JOBS) --max-worker-restart 0 --dist loadfile --no-loadscope-reorder --ignore tests/recorded $(ARGS)

compare: $(DEV_READY)
	@$(BIN)/python -m pytest -q -n 2 --dist loadfile tests/recorded $(ARGS)

record: $(DEV_READY)
	@RECORD=1 $(BIN)/python -m pytest -q tests/recorded $(ARGS)

bench: $(DEV_READY)
	@$(BIN)/python bench/run.py $(ARGS)

cpython: $(DEV_READY)
	@$(BIN)/python tests/cpython/own_tests.py $(ARGS)

coverage: $(DEV_READY)
	@$(BIN)/python tests/helpers/manifest.py

lock:
	@PYTHON="$(PYTHON)" sh scripts/lock $(ARGS)

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
