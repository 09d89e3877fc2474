# The commands of this checkout. Paths are relative, so it may lie anywhere, also below folders with spaces.
#
#   make run      serve the site: environment, database, migrations, sample data, web and worker
#   make test     every test, on a database server of its own and in Chromium
#   make check    style, types, architecture, migrations: what CI runs before the tests
#   make bench    measure the engine and the site
#   make screenshots   pictures of every page, in var/screenshots (ARGS="--readme": the README's)
#
# VENV names the virtual environment (default .venv, no spaces), PYTHON the interpreter to make it with.

VENV ?= .venv
PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8000
# How many tests run at once ("auto": as many as there are processors), and further words for pytest.
WORKERS ?= auto
ARGS ?=

RUN := $(VENV)/.packages-to-run
DEVELOP := $(VENV)/.packages-to-develop

.PHONY: run test check bench screenshots clean
.DELETE_ON_ERROR:

run: $(RUN)
	@exec "$(VENV)/bin/python" manage.py serve --host "$(HOST)" --port "$(PORT)" $(ARGS)

test: $(DEVELOP)
	@sh scripts/ensure_chromium.sh
	@exec "$(VENV)/bin/python" -m pytest -n "$(WORKERS)" --dist worksteal $(ARGS)

check: $(DEVELOP)
	"$(VENV)/bin/python" -m ruff check .
	"$(VENV)/bin/python" -m mypy --strict .
	"$(VENV)/bin/python" -m pytest -q tests/site/test_layering.py tests/site/test_migrations.py

bench: $(DEVELOP)
	set -e; for script in scripts/bench_*.py; do echo "== $$script"; "$(VENV)/bin/python" "$$script"; done

screenshots: $(DEVELOP)
	@sh scripts/ensure_chromium.sh
	@exec "$(VENV)/bin/python" scripts/screenshots.py $(ARGS)

# The stamps are younger than the requirements as long as the packages are the required ones.
$(RUN): requirements.txt constraints.txt scripts/make_venv.sh
	@sh scripts/make_venv.sh "$(PYTHON)" "$(VENV)" requirements.txt
	@touch "$@"

$(DEVELOP): requirements-dev.txt requirements.txt constraints.txt scripts/make_venv.sh
	@sh scripts/make_venv.sh "$(PYTHON)" "$(VENV)" requirements-dev.txt
	@touch "$@" "$(RUN)"

clean:
	rm -rf "$(VENV)" .mypy_cache .ruff_cache .pytest_cache .hypothesis
