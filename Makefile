# Needs Python 3.11 or newer, pip and make; everything else goes into .venv.
PYTHON ?= python3
BIN = .venv/bin
READY = .venv/.installed
JOBS ?= 4

.PHONY: setup serve test lint bench coverage lock clean

setup: $(READY)
	@:

$(READY): requirements.lock pyproject.toml scripts/setup
	@PYTHON="$(PYTHON)" sh scripts/setup

serve: $(READY)
	@exec $(BIN)/opencode-debugger serve $(ARGS)

lint: $(READY)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo

test: lint
	@sh scripts/test-tools
	@sh scripts/compile "$$HOME"/.pyenv/versions/3.[89].*/bin/python "$$HOME"/.pyenv/versions/3.1?.*/bin/python
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(ARGS)

bench: $(READY)
	@$(BIN)/python bench/run.py $(ARGS)

coverage: $(READY)
	@$(BIN)/python tests/manifest.py

lock:
	@PYTHON="$(PYTHON)" sh scripts/lock

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
