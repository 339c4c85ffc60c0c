# The attention book. `make` alone lists the targets, with the text after ## below.
# Most targets first create the environment in .venv if it is missing or out of date; see
# tools/bootstrap.py.

# Without compiled files, each of the many processes that tests start compiles our code again.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin

# DEVICE=cuda runs tests and notebooks on a GPU, DEVICE=rehearsal on a GPU simulated by the CPU.
ifeq ($(DEVICE),rehearsal)
export ATTNBOOK_DEVICE := cuda
export ATTNBOOK_REHEARSAL := 1
else ifdef DEVICE
export ATTNBOOK_DEVICE := $(DEVICE)
endif

# LANGUAGE=zh_CN makes an edition in another language. (The variable of this name in the environment
# belongs to other programs.)
ifeq ($(origin LANGUAGE),command line)
export ATTNBOOK_LANGUAGE := $(LANGUAGE)
else
export ATTNBOOK_LANGUAGE := en
endif

.PHONY: help env model validate book serve pdf lab run nbval check check-zh messages test claims bench lighthouse wheel links upgrade lock zip clean

help:
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

env:
	@command -v $(PYTHON) >/dev/null || { echo "attention book: $(PYTHON) was not found; install Python 3.11 to 3.14" >&2; exit 1; }
	@$(PYTHON) tools/bootstrap.py $(if $(filter file,$(origin PYTHON)),,--this-python)

# After a failure, all pages are read again, because otherwise Sphinx would not repeat its warnings.
book: env  ## build the book: open _build/html/index.html  (LANGUAGE=zh_CN)
	@ATTNBOOK_LANGUAGE=en $(BIN)/jupyter-book build . -W -n --keep-going || { rm -rf _build/.doctrees; exit 1; }
ifneq ($(ATTNBOOK_LANGUAGE),en)
	@$(BIN)/python -m tools.translate write
	@$(BIN)/jupyter-book build _build/$(ATTNBOOK_LANGUAGE) -W -n --keep-going || { rm -rf _build/$(ATTNBOOK_LANGUAGE)/_build; exit 1; }
endif
	@$(BIN)/python -m press.editions

zip: book  ## pack the built book: _build/attention-book-html.zip  (LANGUAGE=zh_CN)
	@$(BIN)/python -m press.pack

serve: book  ## build the book and serve it at http://localhost:8000  (PORT=...)
	@echo "The book is at http://localhost:$(PORT)/  (Ctrl-C ends it)"
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html $(PORT)

pdf: book  ## print the whole book: _build/attention-book.pdf  (LANGUAGE=zh_CN; needs Chromium)
	@$(BIN)/python -m press.pdf

lab: env  ## open the first unfinished chapter in JupyterLab, as your own copy in my/  (LANGUAGE=zh_CN)
ifneq ($(ATTNBOOK_LANGUAGE),en)
	@$(BIN)/python -m tools.translate write
endif
	@$(BIN)/python -m tools.lab

model: env  ## install the trained model that a section of chapter 13 reads (83 MB)
	@$(BIN)/python -m tools.model

run: env  ## run the notebooks again and write their outputs  (NB=...)
	@$(BIN)/python -m tools.model --if-possible
	@$(BIN)/python -m tools.run $(NB)

nbval: env  ## run the notebooks, then each section again; compare all outputs  (DEVICE=cuda)
	@$(BIN)/python -m tools.model --if-possible
	@$(BIN)/pytest -n auto --nbval $(if $(DEVICE),,--rerun-sections) $(or $(NB),book)

check: env  ## lint, format, types, the rules for notebooks, the lock, the workflows
	@$(BIN)/python -m tools.check

messages: env  ## bring the translations' catalogs up to date with the English sentences
	@$(BIN)/python -m tools.translate update

check-zh: env  ## check that the Chinese translation is complete, and agrees with the English
	@$(BIN)/python -m tools.check_translation

test: check  ## check, unit tests, pages in a browser, notebooks that changed  (ALL=1: all)
	@$(BIN)/python -m tools.model --if-possible
	@$(BIN)/pytest -n auto --nbval $(if $(ALL),,--skip-unchanged) book tests

claims: env  ## try the summaries' statements with other seeds and sizes, and write how often they held
	@$(BIN)/python -m tools.claims

validate: env  ## test the library and the notebooks, and write the result into book/validation.md
	@$(BIN)/python -m tools.model --if-possible
	@$(BIN)/python -m tools.validate

bench: env  ## compare the time of our attention with PyTorch's, and write it into book/validation.md
	@$(BIN)/python -m tools.bench

# The audit of touch targets is skipped, because Lighthouse measures them before the next section is
# laid out. tests/press/test_pages.py measures them afterward.
lighthouse: book  ## measure the built pages on a slow phone: speed, accessibility  (needs Node)
	@npx --yes @lhci/cli@0.15.1 autorun --config=press/lighthouse.json

# uv makes the wheel from an archive of the sources, so that no leftover files get into it. What
# setuptools needs is in the environment, so this works offline.
wheel: env  ## pack the library for pip: _build/dist/*.whl
	@rm -rf _build/dist
	@$(BIN)/uv build --quiet --no-build-isolation --python $(BIN)/python --out-dir _build/dist
	@ls _build/dist/*.whl

# A different builder needs a different folder, because each builder stores there what it has read.
links: env  ## check the links to all other sites
	@$(BIN)/jupyter-book build . --builder linkcheck --path-output _build/links || { \
		echo "attention book: the links reported as broken above don't work, or there is no network" >&2; exit 1; }

upgrade: env  ## raise the versions, run the notebooks and show what changed  (PKG=...)
	@$(BIN)/python -m tools.lock --upgrade $(PKG)
	@$(BIN)/python -m tools.vendor --upgrade
	@echo "To keep it: make run, read what changed, make test. To go back: git checkout requirements* binder"
	@$(MAKE) --no-print-directory env nbval

lock: env  ## write the locks after a change to requirements.txt
	@$(BIN)/python -m tools.lock

clean:  ## remove what was built; keeps .venv and my/
	rm -rf _build .lighthouseci .pytest_cache .mypy_cache .ruff_cache .hypothesis __pycache__
	find src tests tools manuscript press book -name __pycache__ -prune -exec rm -rf {} +
