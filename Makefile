# Every target sets up what it needs by itself; a second run does only what has changed.

PYTHON ?= python3
LOCK_PYTHON ?= /usr/bin/python3
NOTEBOOKS ?= $(wildcard book/*.ipynb book/*/*.ipynb)

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
CHECKED := $(VENV)/.checked
SITE := _build/html/index.html
PAGES := _config.yml _toc.yml $(shell find book annotated_transformer transformer_workbook -type f -not -path '*/.*' -not -path '*/__pycache__/*' -not -path 'book/locale/*')
MESSAGES := $(shell find book/locale -name '*.po')

# Not from the environment, where a desktop keeps its own.
LANGUAGE := en
TRANSLATED := $(notdir $(wildcard book/locale/*))
EDITIONS := $(TRANSLATED:%=_build/html/%/index.html)
ifeq ($(filter en $(TRANSLATED),$(LANGUAGE)),)
$(error LANGUAGE is $(LANGUAGE), it must be en or $(TRANSLATED): book/locale/$(LANGUAGE) has no catalogues)
endif

# In the order of the files: reading the site takes one worker minutes, it must not come last.
READING := --nbval --nbval-current-env --numprocesses 2 --dist loadfile --no-loadscope-reorder

# What `make check` runs, and what `make test` does.
FAST := not (slow or verify or nightly)
SHORT := main or $(FAST)

define fetch
	@PYTHONPATH=tests $(BIN)/python tools/fetch_browser.py
	@$(BIN)/python tools/fetch_weights.py
endef

.DELETE_ON_ERROR:
.PHONY: book catalogues test verify nightly check weights notebooks serve lint dist lock clean help

## book: build the website into _build/html (LANGUAGE=ko: the Korean edition beside it, in ko)
book: $(if $(filter en,$(LANGUAGE)),$(SITE),_build/html/$(LANGUAGE)/index.html)
	@echo
	@echo "The book is at file://$(abspath $<)"

## test: is this checkout sound, and a change of it? (minutes; `make verify` runs all that it leaves out)
test: $(CHECKED) $(SITE)
	$(fetch)
	SITE=$(dir $(SITE)) $(BIN)/pytest -m "$(SHORT)" $(READING)

## verify: all other tests: every notebook, every page in every view, the Korean edition, records
verify: $(CHECKED) $(EDITIONS)
	$(fetch)
	SITE=$(dir $(SITE)) $(BIN)/pytest -m "not ($(SHORT) or nightly)" $(READING)

## nightly: everything, and what takes hours: mutants, killed processes, broken files
nightly: test verify mutants killtest
	$(BIN)/pytest -m nightly --numprocesses 2 tests

## check: style, types and fast tests, in a few minutes
check: lint
	$(BIN)/pytest -m "$(FAST)" --numprocesses 2 tests annotated_transformer transformer_workbook

## weights: fetch a published model (83 MB, into .weights), as `make test` does
weights: $(CHECKED)
	$(BIN)/python tools/fetch_weights.py

## notebooks: run the notebooks again and store their outputs (NOTEBOOKS=book/x.ipynb for one)
notebooks: $(CHECKED)
	$(BIN)/python tools/run_notebooks.py $(NOTEBOOKS)
	$(BIN)/python tools/readme_pictures.py

## serve: show the website on http://localhost:8000/
serve: $(SITE)
	$(BIN)/python -m http.server --bind localhost --directory _build/html 8000

## catalogues: bring the messages of the Korean edition up to date (PAGES_TO_BEGIN=book/x begins a page)
catalogues: $(INSTALLED)
	$(BIN)/jupyter-book build . --path-output _build/messages --builder custom --custom-builder gettext
	$(BIN)/python tools/update_catalogues.py _build/messages/_build/gettext $(PAGES_TO_BEGIN)

## lint: check style (ruff), types (mypy) and the order of imports (import-linter)
# Its types know what Windows lacks.
lint: $(CHECKED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy --platform win32
	$(BIN)/lint-imports

## dist: build wheel and sdist into _build/dist, and use the wheel in an empty environment
# Built by the locked hatchling. In the empty environment, too, pip should find a CPU build of torch.
dist: $(CHECKED)
	rm -rf _build/dist
	$(BIN)/python -m build --no-isolation --outdir _build/dist
	$(BIN)/python tools/check_dist.py

## lock: write requirements.txt from pyproject.toml (UPGRADE=1 takes newer versions)
# Resolved by Debian's Python, the oldest that has to install it. A version of torch may come with a
# label that only one index knows, such as "+cpu": it is taken off. pre-commit gets the same ruff.
lock:
	$(LOCK_PYTHON) -m venv _build/lock
	_build/lock/bin/python -m pip install --quiet --upgrade pip pip-tools
	CUSTOM_COMPILE_COMMAND="make lock" _build/lock/bin/pip-compile $(if $(UPGRADE),--upgrade) \
		--quiet --allow-unsafe --strip-extras --extra export --extra sentences --extra notebooks --extra book --extra dev \
		--no-emit-index-url --no-emit-find-links --output-file=requirements.txt pyproject.toml
	sed -i 's/^\([^ #]*==[^ +]*\)+[^ ]*/\1/' requirements.txt
	sed -i "s/ruff==[^\"]*/$$(grep '^ruff==' requirements.txt)/" .pre-commit-config.yaml

## clean: remove the website, the published model and the virtual environments
clean:
	rm -rf _build book/api book/glossary .weights $(VENV) $(BENCH) $(OLDEST)

## help: show this list, and what is needed seldom (tools/research.mk)
help:
	@awk -F ': ' '/^## / {printf "  make %-11s %s\n", substr($$1, 4), substr($$0, length($$1) + 3)}' $(MAKEFILE_LIST)

include tools/research.mk

# What a reader needs, and what the checks need beside it. Python compiles a module when it is first
# imported: pip would compile all 14,000, of which most never are.
$(INSTALLED): requirements.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --no-compile --constraint requirements.txt --editable '.[notebooks,book]'
	touch $@

$(CHECKED): $(INSTALLED)
	$(BIN)/python -m pip install --no-compile --requirement requirements.txt
	touch $@

# Built from nothing, because Sphinx warns of a page only when it reads it.
$(SITE): $(INSTALLED) $(PAGES)
	rm -rf _build
	$(BIN)/jupyter-book build . -W -n --keep-going

# The outputs are stored, so nothing runs twice; what both editions have is kept once.
$(EDITIONS): _build/html/%/index.html: $(SITE) $(MESSAGES)
	rm -rf _build/$*
	sed 's/language: en\b/language: $*/' _config.yml > _build/$*.yml
	PYTHONPATH=book/_ext $(BIN)/jupyter-book build . --config _build/$*.yml --path-output _build/$* -W -n --keep-going
	$(BIN)/python tools/join_editions.py _build/$*/_build/html _build/html $*
