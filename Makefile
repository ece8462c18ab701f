# The two commands that a newcomer needs are `make demo` and `make test`.

CARGO ?= cargo
VENV := .venv
BINARY := target/release/paracompile

.PHONY: demo demo-runtime opencl test setup build lint doc conformance compare bench bench-mapping results deny clean

demo: build ## map Inception-v4 on the VIM3's profile and show the front
	$(BINARY) models/inception_v4.onnx --soc vim3

demo-runtime: build opencl ## measure this machine's CPU, map GoogLeNet on it, run the plan, and draw it as predicted and as measured
	scripts/demo_runtime.sh target/release models/googlenet.onnx

test: setup opencl ## every test; needs no Python and no GPU
	$(CARGO) test --workspace

setup: ## install what the solver's build needs, if it is missing
	@scripts/install-build-dependencies.sh

opencl: ## install PoCL, which runs OpenCL on any CPU, if there is no OpenCL here
	@scripts/install-build-dependencies.sh opencl

# The whole workspace, as everywhere else: other sets of packages choose other features, and the solver would be built again.
build: setup
	$(CARGO) build --release --workspace

lint: setup ## formatting and clippy, warnings denied
	$(CARGO) fmt --all --check
	$(CARGO) lint

# Examples ask for the features that tests have, so that the solver of `test` and `lint` serves here too.
doc: setup ## API documentation, warnings denied
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --lib --examples

conformance: build compare ## compare with onnx, jsonschema-rs and others, in a virtual environment

compare: opencl $(VENV)/installed ## the same with the binaries that PARACOMPILE and PARARUN name
	$(VENV)/bin/python -m pytest -q conformance -n 2 --dist worksteal

$(VENV)/installed: conformance/requirements.txt
	@scripts/install-build-dependencies.sh python
	python3 -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r conformance/requirements.txt
	touch $@

bench: build opencl ## steps, searches and whole compile runs, then whole commands; docs/performance.md
	$(CARGO) bench --workspace --bench compile --bench mapping --bench pipeline
	scripts/measure.sh $(BINARY)
	$(CARGO) bench --workspace --bench gemm --bench overhead

bench-mapping: build $(VENV)/installed ## our engine beside big-M in HiGHS and CP-SAT; the table of docs/results.md, about an hour
	$(VENV)/bin/python conformance/bench_mapping.py $(BINARY) --update docs/results.md

RESULT_MODELS := googlenet inception_v3 inception_v4 inception_resnet_v2 randwire_ws petr_r50 \
	nasnetalarge resnet50 mobilenet_v2 vit_base_patch16_224 bert_base
RESULT_SOCS := vim3 bst-a1000

results: build ## the tables of docs/results.md and the pictures of docs/pictures.md, anew
	$(BINARY) compare $(RESULT_MODELS:%=models/%.onnx) $(RESULT_SOCS:%=--soc %) --update docs/results.md
	scripts/draw_examples.sh $(BINARY)

deny: ## licences, sources and bans, for whoever has cargo-deny
	$(CARGO) deny check bans licenses sources

clean:
	$(CARGO) clean
	rm -rf $(VENV)
