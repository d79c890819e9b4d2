# SPDX-License-Identifier: GPL-2.0
# The only entry point. Everything is made in build/, and what is worth keeping
# longer (sources, compiled objects) in the user's cache folders.

MAKEFLAGS += --no-print-directory
SHELL := /bin/bash
QUEUE := tools/dev/queue/queue
FLAVOUR ?= plain
export KERNEL STEPS JOBS LAST_START SEED VM_FULL
# Tools read what other programs print.
export LC_ALL := C.UTF-8
unexport CDPATH GREP_OPTIONS LANGUAGE POSIXLY_CORRECT

# The default target.
.DEFAULT_GOAL := help

.PHONY: help try pages run check check-all setup setup-run setup-test setup-bench setup-blktests setup-deb venv venv-run fetch tree export \
	verify bisect-check submit-check kernel uml deb bench soak matrix hunt stress evaluation unchanged coverage mutants blktests reproducers clean

# Other schedulers run on a kernel without cfq: their results stay in the cache when only cfq changes.
evaluation matrix hunt: export LAB_WITHOUT_CFQ = $(CURDIR)/build/uml-without-cfq/linux
TWO_KERNELS = $(QUEUE) uml && $(QUEUE) uml --without cfq

# Fills the cache on a cluster first: tools/testbed/lab/workflow/profiles has local, slurm and kubernetes.
define CLUSTER
tools/dev/setup/venv workflow && mkdir -p build/lab/workflow && ln -sfn ../cache build/lab/workflow/cache && \
tools/testbed/lab/lab cells --all --out build/lab/workflow/plan.json && \
build/venv-workflow/bin/snakemake --snakefile tools/testbed/lab/workflow/Snakefile --directory build/lab/workflow \
	--profile tools/testbed/lab/workflow/profiles/$(PROFILE) $(EVALUATION_ARGS)
endef

##@ Try

try: setup-run venv ## run a scenario on the changed kernel, print what differs from the committed results (SCENARIO=NAME)
	@[ -n "$(SCENARIO)" ] || { echo "make try: name a scenario: SCENARIO=players; \`tools/testbed/lab/lab list\` names them" >&2; exit 2; }
	@$(QUEUE) uml
	@tools/testbed/lab/lab try $(SCENARIO) -j$(or $(JOBS),2) $(TRY_ARGS)

help: ## show this text
	@awk -F':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "Variables:"
	@echo "  KERNEL=PATH    source: a git tree, an unpacked tree or a tarball; never modified"
	@echo "                 (default: Debian's linux-source-7.3, through apt)"
	@echo "  FLAVOUR=NAME   plain, debug, kcsan, lockstat or blktests, for make kernel (default: plain)"
	@echo "                 and make stress (debug)"
	@echo "  CONFIG=FILE    kernel configuration, for make deb (default: /boot/config-* of the kernel"
	@echo "                 that runs, else the project's plain one)"
	@echo "  STEPS=A,B      the steps of make check to run (default: all)"
	@echo "  SEED=N         repeats the random inputs of make check (it prints the number)"
	@echo "  LAST_START=T   make check leaves out bisect and series-tips if they would begin later"
	@echo "                 (seconds since 1970)"
	@echo "  VM_FULL=1      make check with its long amounts, and in both flavours"
	@echo "  ONLY=A,B       the parts of make submit-check, or make reproducers, to run (default: all)"
	@echo "  JOBS=N         parallel jobs (default: the number of CPUs)"
	@echo "  DISKSIM=PATH   a DiskSim that tools/testbed/disk/validation/build made, for the tests of make check that require it"
	@echo "  QUEUE_CACHE=DIR  where sources are kept (default: cfq-queue in the user's cache)"
	@echo "  SCENARIO=A     for make try: a scenario, or several"
	@echo "  TRY_ARGS=...   for make try: see tools/testbed/lab/lab try --help"

run: setup-run venv-run ## boot the patched kernel in virtual time, run players and a recorder with reservations
	@$(QUEUE) uml
	@tools/testbed/demo/demo -j$(or $(JOBS),2)

check: setup-test venv ## run the tests (STEPS=A,B: some of it)
	@tools/dev/check/check

check-all: setup-test venv ## run all tests with all amounts, also on other Debians, as root: many hours
	@VM_FULL=1 tools/dev/check/check --all

##@ Change

tree: setup-run ## make build/linux: the unpatched base and one commit for each patch
	@$(QUEUE) tree

export: ## write patches/, series and the mirrored files from build/linux
	@$(QUEUE) export

kernel: setup-run ## build the x86-64 kernel (FLAVOUR=plain, debug, kcsan, lockstat or blktests)
	@$(QUEUE) kernel --flavour $(FLAVOUR)

uml: setup-run ## build User-Mode Linux with virtual time (FLAVOUR=smp: two CPUs, lockdep, KASAN; oldsched: with patches/oldsched)
	@$(QUEUE) uml --flavour $(if $(filter smp oldsched,$(FLAVOUR)),um-$(FLAVOUR),um)

deb: setup-deb ## build Debian packages of the patched kernel into build/deb (CONFIG=FILE: with that configuration)
	@$(QUEUE) deb $(if $(CONFIG),--config '$(CONFIG)')

setup: setup-test ## install the packages that are missing for make check (as root), or name them

setup-run setup-test setup-bench setup-blktests setup-deb:
	@tools/dev/setup/setup $(@:setup-%=%)

venv: setup-test ## make build/venv, the pinned Python packages of make check
	@tools/dev/setup/venv

venv-run: setup-run
	@tools/dev/setup/venv run

fetch: setup-run ## download the unpatched source into the cache (REFRESH=1: look for a newer one)
	@$(QUEUE) fetch $(if $(REFRESH),--refresh)

clean: ## remove build/, unless it has work that is not exported (FORCE=1: even then)
	@$(QUEUE) clean $(if $(FORCE),--force)

##@ Send

verify: setup-test venv ## check that the queue is fit to be sent (am, quilt, checkpatch, mirrors, sign-offs)
	@$(QUEUE) verify $(if $(FORCE),--again)

bisect-check: setup-test ## build every prefix of the queue at W=1 (FORCE=1: those too that passed before)
	@$(QUEUE) bisect-check $(if $(FORCE),--again)

submit-check: setup-test venv ## all that can be done without sending the series (ONLY=A,B: some of it)
	@tools/dev/setup/venv docs
	@$(QUEUE) submit-check $(if $(ONLY),--only $(ONLY))

##@ Measure

evaluation: setup-run venv ## run every scenario and record the results; what is in the cache is not run again (PROFILE=slurm)
	@$(TWO_KERNELS)
	@$(if $(PROFILE),$(CLUSTER))
	@tools/testbed/lab/lab run --all -j$(or $(JOBS),2)
	@tools/testbed/lab/lab record --all

pages: venv ## write evaluation.md, the numbers in guides, and all pages and plots (build/pages) from committed results
	@tools/testbed/lab/lab pages

bench: setup-bench venv-run ## instructions per I/O under each scheduler (BENCH_ARGS: see tools/dev/bench/bench cost --help)
	@$(QUEUE) kernel
	@tools/dev/bench/bench cost $(BENCH_ARGS)

soak: setup-run ## 10^7 requests of random load in virtual time, invariants checked (SOAK_ARGS: see tools/testbed/soak/soak --help)
	@$(QUEUE) uml
	@tools/testbed/soak/soak $(SOAK_ARGS)

matrix: setup-run venv ## claims over settings, tags, depths, disks and seeds: the worst cell of each (MATRIX_ARGS)
	@$(TWO_KERNELS)
	@tools/testbed/lab/lab matrix --all -j$(or $(JOBS),2) $(MATRIX_ARGS)

hunt: setup-run venv ## an hour of random loads: which break a promise, or do far better under another scheduler? (SEED=N, HUNT_ARGS)
	@$(TWO_KERNELS)
	@tools/testbed/lab/lab hunt --runs 100000 --minutes 60 -j$(or $(JOBS),2) $(if $(SEED),--seed $(SEED)) $(HUNT_ARGS)

stress: FLAVOUR = debug

stress: setup-test venv ## 20 minutes of everything at once in QEMU, data verified (STRESS_ARGS: see tools/dev/stress/stress --help)
	@$(QUEUE) kernel --flavour $(FLAVOUR)
	@tools/dev/stress/stress --flavour $(FLAVOUR) $(STRESS_ARGS)

##@ Audit

coverage: setup-test venv ## which lines and branches the tests run (COVERAGE_ARGS: see tools/dev/coverage/coverage --help)
	@tools/dev/coverage/coverage $(COVERAGE_ARGS)

mutants: setup-test venv ## make small faults one by one: which does no test detect? (MUTANTS_ARGS: see tools/dev/mutants/mutants --help)
	@tools/dev/mutants/mutants $(MUTANTS_ARGS)

unchanged: setup-run venv-run ## is every scenario without a reservation the same with and without the BW class? (UNCHANGED_ARGS)
	@$(QUEUE) uml
	@$(QUEUE) uml --without bandwidth
	@tools/testbed/lab/lab unchanged --all --without build/uml-without-bandwidth/linux $(or $(UNCHANGED_ARGS),-j2)

blktests: setup-blktests ## the kernel's own block tests under cfq, bfq and mq-deadline (BLKTESTS_ARGS: see selftests/blktests)
	@$(QUEUE) kernel --flavour blktests
	@selftests/blktests/run $(BLKTESTS_ARGS)

reproducers: setup-test venv ## are the bugs that patches fix in the unpatched kernel, and not in the patched one? (ONLY=A,B)
	@$(QUEUE) kernel --flavour fixes
	@$(QUEUE) kernel --flavour fixes --base
	@PYTHONPATH=. build/venv/bin/python -P -m selftests.fixes.reproduce $(if $(ONLY),--only $(ONLY))
