# What is needed seldom, included by the Makefile: records, benches, mutants, releases.

BENCH := .bench-venv
OLDEST := .oldest-venv

VERSION = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' annotated_transformer/__init__.py)
RELEASED := _build/release

.PHONY: pdf archive versions pictures records capstone bench accelerator portability scale killtest mutants coverage oldest audit branch release publish

## pdf: print every edition of the website into _build/release (through Debian's chromium; minutes)
pdf: $(CHECKED) $(EDITIONS)
	mkdir -p $(RELEASED)
	for language in en $(TRANSLATED); do PYTHONPATH=tests:book/_ext $(BIN)/python tools/make_pdf.py \
		$(dir $(SITE)) $(RELEASED)/course-$$language.pdf $$language || exit; done

## archive: pack the website for use without a network (_build/release/site.zip)
archive: $(CHECKED) $(EDITIONS)
	mkdir -p $(RELEASED)
	PYTHONPATH=book/_ext $(BIN)/python tools/pack_site.py $(dir $(SITE)) $(RELEASED)/site.zip

## versions: put the sites of all releases beside the latest, and lead from each page to its others
# The newest release of each minor version comes first.
versions: $(EDITIONS)
	gh api --paginate 'repos/{owner}/{repo}/releases' --jq '.[].tag_name' > _build/releases
	while read tag; do \
		folder=_build/html/$$(expr "$$tag" : 'v\([0-9]*\.[0-9]*\)'); \
		test -d $$folder || { gh release download $$tag --pattern site.zip --output _build/$$tag.zip --clobber && \
		$(BIN)/python -m zipfile -e _build/$$tag.zip $$folder; } || exit; done < _build/releases
	PYTHONPATH=book/_ext $(BIN)/python tools/join_versions.py $(dir $(SITE))

## pictures: take the pictures of the README, and one of every page at three widths (into _build/pictures)
pictures: $(CHECKED) $(SITE)
	PYTHONPATH=tests $(BIN)/python tools/readme_pictures.py _build/html
	PYTHONPATH=tests $(BIN)/python tools/screenshots.py _build/html _build/pictures

## records: train what takes longer than a chapter has (over an hour; only what is missing is made)
records: $(CHECKED)
	PYTHONPATH=experiments:tools OMP_NUM_THREADS=1 $(BIN)/python -m records --group records

## capstone: train on Multi30k: a Transformer, tries for it, four models in equal time (hours; only what is missing)
# Without the two settings the allocator gives large tensors back to the system after every step.
capstone: $(CHECKED)
	PYTHONPATH=experiments:tools OMP_NUM_THREADS=1 MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=1000000000000 \
		$(BIN)/python -m records --group capstone

## bench: time ours beside others, training and decoding; writes book/records/bench_* (an hour, nothing beside it)
bench: $(BENCH)/.installed
	rm -f $(filter-out book/records/bench_accelerator.%,$(wildcard book/records/bench_*))
	BENCH_PYTHON=$(BENCH)/bin/python PYTHONPATH=experiments:tools:tests $(BIN)/python -m records --group bench

## accelerator: on a machine with a GPU: its results are right, and how fast (minutes)
accelerator: $(BENCH)/.installed
	$(BIN)/python -c "import sys, torch; sys.exit(None if torch.cuda.is_available() else 'There is no card.')"
	$(BIN)/pytest tests/test_accelerator.py
	rm -f book/records/bench_accelerator.*
	BENCH_PYTHON=$(BENCH)/bin/python PYTHONPATH=experiments:tools:tests $(BIN)/python -m records --group accelerator

## portability: run the notebooks as on two other machines, and draw their pictures with other last digits
portability: $(CHECKED)
	PYTHONPATH=tests $(BIN)/python tools/jitter.py $(NOTEBOOKS)
	$(BIN)/python tools/portability.py oldest $(BIN)/pytest $(READING) book
	$(BIN)/python tools/portability.py older $(BIN)/pytest $(READING) book

## scale: begin to train on five million pairs, twice: time and memory (20 minutes, 10 GB of disk)
scale: $(CHECKED)
	$(BIN)/python tools/many_pairs.py $(or $(FOLDER),_build/scale)

## killtest: end a training by a hundred signals, full disks and links: nothing is lost (minutes)
killtest: $(CHECKED)
	OMP_NUM_THREADS=1 $(BIN)/python tools/killtest.py $(KILLS)

## mutants: break the package in every small way; nine of ten have to fail a test (two hours; MODULES=masking)
mutants: $(CHECKED)
	OMP_NUM_THREADS=1 $(BIN)/python tools/mutate_package.py $(MODULES)

## coverage: run the fast tests, and tell which lines and branches of the package none of them takes
coverage: $(CHECKED)
	$(BIN)/pytest -m "$(FAST)" --numprocesses 2 --cov --cov-report=term-missing tests annotated_transformer transformer_workbook

## oldest: run the fast tests with the oldest libraries that pyproject.toml allows
# Not those of the lock, whose libraries are newer.
oldest: TESTS ?= annotated_transformer transformer_workbook $(filter-out $(patsubst %,tests/test_%.py,habits project reference),$(wildcard tests/test_*.py))
oldest:
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install uv
	$(OLDEST)/bin/uv pip install --python $(OLDEST)/bin/python --resolution lowest-direct \
		--editable '.[export,notebooks,book,dev]'
	$(OLDEST)/bin/python -m pytest -m "$(FAST)" --numprocesses 2 $(TESTS)

## audit: ask the package registry whether a flaw is known in a locked library (needs the internet)
audit: $(CHECKED)
	$(BIN)/pip-audit --strict --disable-pip --no-deps --requirement requirements.txt

## branch: write the lessons to do into the branch `lessons` (the workflow of the site does, for Colab and Binder)
branch: $(INSTALLED)
	$(BIN)/annotated-transformer lessons lessons
	for language in $(TRANSLATED); do $(BIN)/annotated-transformer lessons lessons/$$language --language $$language || exit; done
	git add --force lessons
	git -c user.name=github-actions -c user.email=actions@users.noreply.github.com commit --quiet --message "The lessons to do"
	git push --force origin HEAD:lessons

## release: check everything, build what is published, and push the tag of the version (DRY_RUN=1: do not push)
release:
	$(PYTHON) tools/check_tag.py v$(VERSION)
	git diff --quiet HEAD || { echo "Commit first: the tree is not that of a commit."; exit 1; }
	test "$$(git rev-parse --quiet --verify v$(VERSION)^{commit} || git rev-parse HEAD)" = "$$(git rev-parse HEAD)" \
		|| { echo "The tag v$(VERSION) is another commit: git tag --delete v$(VERSION)"; exit 1; }
	$(MAKE) book LANGUAGE=ko
	$(MAKE) lint test verify dist pdf archive RELEASE=1
	git diff --quiet HEAD
	git rev-parse --quiet --verify v$(VERSION) || git tag --annotate v$(VERSION) --message "Version $(VERSION)"
	$(if $(DRY_RUN),@echo "Not pushed:",) git push origin v$(VERSION)

## publish: what the workflow of a pushed tag does with what it has built (TAG=v1.2.3)
publish:
	$(PYTHON) tools/check_tag.py "$(TAG)"
	gh release create "$(TAG)" _build/dist/* $(RELEASED)/* --verify-tag --generate-notes

# What we are compared with is none of our requirements: it has an environment of its own.
$(BENCH)/.installed: $(CHECKED) experiments/bench/requirements.txt
	test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --constraint requirements.txt \
		--requirement experiments/bench/requirements.txt --editable .
	touch $@
