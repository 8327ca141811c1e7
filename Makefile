# Builds and tests TinyPush. `make` without a target lists the targets.
#
# Builds of the product, each as build/NAME/PROGRAM, of the programs tinypush, tinypush-sandbox, tinypush-mqtt,
# tinypush-http and tinypush-sendmail:
#   amd64 arm64 armhf          Embedded Swift; for this machine's own Debian, or for Debian 12 on another architecture
#   debian13-amd64 and so on   Embedded Swift, for Debian 13 (mbedTLS 3.6, TLS 1.3)
#   static-amd64 and so on     like the first, with mbedTLS and nghttp2 inside: files that need only glibc 2.34;
#                              without tinypush-http, whose library libmicrohttpd needs GnuTLS
# `board/run NAME ...` runs any build on this machine. The unstripped programs are below .build-NAME.

HOST := $(shell dpkg --print-architecture 2>/dev/null)
ARCH ?= $(HOST)
BOARDS := amd64 arm64 armhf
BUILDS := $(BOARDS) $(BOARDS:%=debian13-%) $(BOARDS:%=static-%)
FOREIGN := $(filter-out $(HOST),$(BUILDS))
TESTED := amd64 arm64 armhf debian13-$(HOST)
# The programs of these builds.
PROGRAMS := tinypush tinypush-sandbox tinypush-mqtt tinypush-http tinypush-sendmail
programs = $(foreach name,$1,$(PROGRAMS:%=build/$(name)/%))
static = $(filter-out %/tinypush-http,$(call programs,$1))

SWIFT := swift
SWIFT_MINIMUM := 6.2

# Debian packages: for the product, for the machine that builds it, and for the other targets.
LIBRARIES := libc6-dev libmbedtls-dev libmicrohttpd-dev libnghttp2-dev
BUILD_NEEDS := $(LIBRARIES) g++
NEEDS_deb := dpkg-dev xz-utils
NEEDS_image := $(NEEDS_deb) binutils mmdebstrap
NEEDS_test := apt-utils binutils curl $(NEEDS_deb) faketime golang-go gpg gpg-agent gpgv groff-base inotify-tools iproute2 \
  jq lintian man-db mandoc mosquitto mosquitto-clients nghttp2-server nodejs openssl procps \
  python3 python3-cryptography python3-h2 python3-jinja2 python3-yaml qemu-user-static rsync strace systemd \
  tinyproxy-bin tmux util-linux zsh
NEEDS_bench := curl gcc libc6-dev libnghttp2-dev libssl-dev mosquitto mosquitto-clients python3 python3-cryptography valgrind
NEEDS_browsertest := chromium firefox-esr openssl python3 python3-h2
NEEDS_clients := curl golang-go nodejs openssl python3 python3-venv
NEEDS_debtest := $(NEEDS_image) apt-utils curl gpg gpg-agent jq procps python3 systemd-container
NEEDS_faults := openssl python3
NEEDS_fleet := mosquitto mosquitto-clients python3
NEEDS_flash := e2fsprogs mount openssl python3 systemd
NEEDS_fuzz := qemu-user-static
NEEDS_powercuts := e2fsprogs mount python3 xfsprogs
NEEDS_release := $(NEEDS_deb) apt-utils gpg gpg-agent jq
$(foreach name,bench browsertest clients deb debtest faults flash fleet fuzz image powercuts release,$(eval $(name): FOR := $(name)))

# How many seeds of the simulator `make test` runs, for each link. A seed of the lanes takes longer.
SEEDS := 2000
SEEDS_lanes := 400

MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r name text; do \
	  printf '  make %-11s %s\n' "$$name" "$$text"; done

.PHONY: deps
deps: ## install the missing Debian packages for a build, or for another target (FOR=test)
	@command -v dpkg-query >/dev/null || { \
	  echo 'This is not a Debian machine: install Swift, mbedTLS, nghttp2 and libmicrohttpd yourself, and use swift build.' >&2; exit 1; }
	@version=$$($(SWIFT) --version 2>/dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/\1/p'); \
	  printf '%s\n' $(SWIFT_MINIMUM) "$${version:-0}" | sort -CV || { \
	  echo "Swift $(SWIFT_MINIMUM) or later is needed, found: $${version:-none}. See https://swift.org/install" >&2; exit 1; }
	@board/need $(BUILD_NEEDS) $(NEEDS_$(FOR))

.PHONY: build
build: $(call programs,$(ARCH)) ## build the programs for this machine, or for ARCH=amd64|arm64|armhf
	@ls -l $^

.PHONY: board
board: $(call programs,$(BOARDS)) ## build the programs for all boards: amd64, arm64 and armhf
	@ls -l $^

.PHONY: deb
PACKAGED := $(BOARDS) $(BOARDS:%=debian13-%)
deb: $(call programs,$(PACKAGED)) deps ## build the Debian packages in build/packages (PACKAGED=arm64: of one build)
	@for build in $(PACKAGED); do for package in $(PROGRAMS); do \
	  board/deb $$package $$build build/packages || exit; \
	done; done

.PHONY: static
static: $(call static,$(BOARDS:%=static-%)) ## build programs for all boards that need only glibc
	@ls -l $^

.PHONY: release
# All times in packages and archives are that of the last commit.
SOURCE_DATE_EPOCH := $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null))
export SOURCE_DATE_EPOCH
archives = $(patsubst %,static-%,$(filter $(BOARDS),$(PACKAGED)))
release: deps ## make packages, an apt repository and archives in build/release (KEY=FINGERPRINT signs)
	@board/sign '$(KEY)'
	@rm -rf build/packages
	@$(MAKE) --no-print-directory deb $(call static,$(archives))
	@board/release '$(KEY)' build/release $(archives)

.PHONY: reproduce
reproduce: release ## build the release again, elsewhere and at another time, and compare
	@board/need faketime
	@Tests/Packages/reproduce $(PACKAGED)

.PHONY: image
image: deps ## make a container image in build/image (PACKAGED=debian13-arm64: for one processor)
	@$(MAKE) --no-print-directory deb PACKAGED='$(filter debian13-%,$(PACKAGED))'
	@board/image build/packages build/image/tinypush.tar $(patsubst debian13-%,%,$(filter debian13-%,$(PACKAGED)))

.PHONY: demo
demo: $(call programs,$(HOST)) ## send notifications to a sandbox on this machine
	@board/demo $<

.PHONY: test
test: deps ## lint, build everything and run all tests
	@$(MAKE) --no-print-directory --jobs=$$(nproc) --output-sync=target tests tools lint $(call programs,$(TESTED)) \
	  build/armhf/fuzzboard build/promtool build/$(HOST)/shim build/debian13-$(HOST)/shim $(SIMULATED) fuzzed
	Tests/run

# This build takes longest and comes first. The other builds have one thread each.
.PHONY: tests
tests: deps
	@echo 'Building the tests'
	@$(ordinary) --build-tests

# What only the tests need is installed while the builds run.
.PHONY: tools
tools: deps
	@board/need $(NEEDS_test)

.PHONY: flaky
RUNS := 20
flaky: ## run the built tests RUNS=20 times, half of them on a busy machine, and count each failure
	@Tests/flaky $(RUNS)

SIMULATED := simulated-binary simulated-scattered simulated-http2 simulated-lanes
.PHONY: $(SIMULATED)
$(SIMULATED): simulated-%: tests
	@echo 'Simulating $(or $(SEEDS_$*),$(SEEDS)) seeds of the link $*'
	@WAY=$* .build/release/soak 1 $(or $(SEEDS_$*),$(SEEDS))

.PHONY: fuzzed
fuzzed: deps
	@Tests/Fuzz/fuzz 10 certificates

.PHONY: debtest
debtest: deps ## test the packages in a clean Debian 12 and 13, and the image (as root)
	@$(MAKE) --no-print-directory deb image PACKAGED='$(HOST) debian13-$(HOST)'
	Tests/Packages/test bookworm
	Tests/Packages/test trixie
	Tests/Packages/image build/image/tinypush.tar

.PHONY: lint
lint: deps build/debian13-$(HOST)/root ## check the Swift format, warnings of the C code, and the patterns of breakages
	$(SWIFT) format lint --strict --recursive --parallel Package.swift Sources Tests
	@Tests/Simulation/breakages --check
	@for sysroot in / build/debian13-$(HOST)/root; do for file in Sources/C*/*.c; do \
	  clang --sysroot=$$sysroot -std=gnu11 -Wall -Wextra -Werror -O2 -I $${file%/*}/include -c -o /dev/null $$file || exit; \
	done; done

.PHONY: bench
bench: deps $(call programs,$(HOST)) build/$(HOST)/passes ## measure CPU time, memory and latency beside a minimal C program
	Tests/Benchmarks/bench build/$(HOST)/tinypush

.PHONY: flash
flash: deps build/$(HOST)/tinypush ## measure what an alert writes to flash (as root; a quarter of an hour)
	Tests/Benchmarks/flash $<

.PHONY: powercuts
powercuts: deps $(call programs,$(HOST)) ## cut the power of a box with an ext4, and count losses (as root; some minutes)
	Tests/Benchmarks/powercuts build/$(HOST)
	Tests/Benchmarks/powercuts build/$(HOST) --binary

.PHONY: faults
faults: deps tests $(call programs,$(HOST)) ## let gateways fail, and count losses and duplicates
	Tests/Benchmarks/faults

.PHONY: browsertest
browsertest: deps $(call programs,$(HOST)) ## open the page for Web Push in Chromium and Firefox, and take pictures
	@Tests/Browser/browsertest build/$(HOST) build/browsertest

.PHONY: clients
MINUTES := 3
clients: deps build/$(HOST)/tinypush build/clients/venv ## send alerts with other HTTP/2 clients too; count cost and losses (MINUTES=15)
	@for file in Tests/Tools/goserver.go Tests/Benchmarks/Clients/with_go.go; do \
	  GOCACHE=$(CURDIR)/build/clients/cache go build -o build/clients/ $$file || exit; done
	@Tests/Benchmarks/clients build/$(HOST)/tinypush build/clients --minutes $(MINUTES)

.PHONY: fleet
fleet: deps $(call programs,$(HOST)) ## kill boxes that share an MQTT broker, and count losses and duplicates
	@Tests/Benchmarks/fleet build/$(HOST)

.PHONY: soak
soak: deps ## simulate until a fault is found (FIRST: the first seed, SEED: only this one)
	@$(ordinary) --product soak
	@.build/release/soak $(FIRST)

.PHONY: breakages
breakages: deps ## check that the simulator finds faults that are put into the code
	@Tests/Simulation/breakages

.PHONY: fuzz
fuzz: deps build/armhf/fuzzboard ## fuzz the parsers, also on armhf (SECONDS=60 for each property)
	@Tests/Fuzz/board $(or $(SECONDS),60)00
	@Tests/Fuzz/fuzz $(or $(SECONDS),60)

.PHONY: clean
clean: ## remove all build products
	rm -rf build .build .build-*

# --- the builds ---

# Ordinary Swift, optimised, in .build/release: the tests and what only tests need.
ordinary = $(SWIFT) build --configuration release -Xswiftc -enable-testing

# Swift has an Embedded standard library for these triples; the flags turn them into Debian's. Optimising all code at link
# time makes the product a quarter smaller. The product contains no path of this machine.
triple_amd64 := x86_64-unknown-none-elf
triple_arm64 := aarch64-none-none-elf
triple_armhf := armv7-none-none-eabi
gnu_amd64 := x86_64-linux-gnu
gnu_arm64 := aarch64-linux-gnu
gnu_armhf := arm-linux-gnueabihf
target_amd64 := --target=x86_64-linux-gnu
target_arm64 := --target=aarch64-linux-gnu
target_armhf := --target=armv7-linux-gnueabihf
machine_armhf := -mthumb -mfloat-abi=hard -mfpu=vfpv3-d16 -D_TIME_BITS=64 -D_FILE_OFFSET_BITS=64

arch = $(lastword $(subst -, ,$*))
triple = $(triple_$(arch))
dynamic = $(patsubst static-%,%,$*)
root = $(if $(filter $(dynamic),$(HOST)),/,$(CURDIR)/build/$(dynamic)/root)

swift_flags := -enable-experimental-feature Embedded -wmo -Osize -Xllvm -sil-disable-pass=closure-specialize \
  -Xfrontend -function-sections -Xfrontend -mergeable-traps -file-prefix-map $(CURDIR)=.
c_flags = $(target_$(arch)) $(machine_$(arch)) -Os -ffunction-sections -fdata-sections -fstack-protector-strong \
  -ffile-prefix-map=$(CURDIR)=.
link_flags = $(target_$(arch)) --sysroot=$(root) -static-libgcc
linker_flags := --gc-sections --icf=safe -O2 --no-eh-frame-hdr \
  --script=$(CURDIR)/board/unwind.ld -z now
# Older versions of glibc do not know packed relocations.
relocations = $(if $(filter static-%,$*),,-z pack-relative-relocs)

# SwiftPM itself finds out whether something must be built.
define embedded
@echo 'Building $@'
@SWIFT_DRIVER_CLANG_EXEC=$(CURDIR)/board/link \
  $(SWIFT) build --configuration release --product $(@F) --scratch-path .build-$* --triple $(triple) --sdk $(root) \
  --experimental-lto-mode=full --omit-frame-pointers --disable-local-rpath \
  $(addprefix -Xswiftc ,$(swift_flags) -use-ld=lld $(addprefix -Xclang-linker ,$(link_flags))) \
  $(addprefix -Xcc ,$(c_flags)) $(addprefix -Xlinker ,$(linker_flags) $(relocations))
@mkdir -p $(@D)
$(call stripped,.build-$*/$(triple)/release/$(@F))
endef
stripped = @[ $@ -nt $1 ] || llvm-objcopy --strip-all --remove-section=.comment $1 $@
$(BOARDS:%=build/%/tinypush): build/%/tinypush: always | deps
	$(embedded)
$(BOARDS:%=build/%/tinypush-sandbox): build/%/tinypush-sandbox: always | build/%/tinypush
	$(embedded)
$(BOARDS:%=build/%/tinypush-mqtt): build/%/tinypush-mqtt: always | build/%/tinypush-sandbox
	$(embedded)
$(BOARDS:%=build/%/tinypush-http): build/%/tinypush-http: always | build/%/tinypush-mqtt
	$(embedded)
$(BOARDS:%=build/%/tinypush-sendmail): build/%/tinypush-sendmail: always | build/%/tinypush-http
	$(embedded)
build/%/passes: always | deps
	$(embedded)
build/%/judge: always | deps
	$(embedded)
build/%/fuzzboard: always | build/%/tinypush
	$(embedded)
$(patsubst %,build/%/tinypush,$(filter-out $(HOST),$(BOARDS))): build/%/tinypush: | build/%/root

# The builds for Debian 13 and with the libraries inside differ from a board's build in C libraries alone. Their programs are
# linked from the Swift code of the board's build. For Debian 13 the C code is compiled again, with the headers there.
c_sources := $(wildcard Sources/C*/*.c)
.build-debian13-%/objects: $(c_sources) $(wildcard Sources/C*/*.h Sources/C*/include/*.h) | build/debian13-%/root
	@rm -rf $@ $@.part && mkdir -p $@.part
	@for source in $(c_sources); do \
	  clang $(c_flags) --sysroot=build/debian13-$*/root -fPIC -flto=full -fomit-frame-pointer -D_FORTIFY_SOURCE=2 \
	    -I $${source%/*}/include -c -o $@.part/$$(basename $${source%/*})-$${source##*/}.o $$source || exit; done
	@mv $@.part $@

define variant
@echo 'Linking $@'
@mkdir -p $(@D) .build-$*
@clang -fuse-ld=lld -flto=full $(link_flags) $(addprefix -Xlinker ,$(linker_flags) $(relocations)) \
  -Xlinker --defsym=main=$(subst -,_,$(@F))_main $(if $(filter static-%,$*),-Lbuild/$*/lib) -o .build-$*/$(@F) \
  $$(sed -E '$(if $(filter debian13-%,$*),s|.*/(C[A-Z]\w+)\.build/(\w+\.c\.o)$$|.build-$*/objects/\1-\2|;) s|(.*\.bc)$$|-Wl,\1|' \
    .build-$(arch)/$(triple)/release/$(@F).product/Objects.LinkFileList) \
  -lmbedtls -lmbedx509 -lmbedcrypto -lnghttp2 $(if $(filter %-http,$@),-lmicrohttpd)
$(call stripped,.build-$*/$(@F))
endef
DEBIAN13 := $(filter debian13-%,$(BUILDS))
STATIC := $(filter static-%,$(BUILDS))
.SECONDEXPANSION:
$(foreach program,$(PROGRAMS),$(eval $(DEBIAN13:%=build/%/$(program)): \
  build/%/$(program): build/$$$$(arch)/$(program) .build-%/objects; $$(variant)))
$(foreach program,$(filter-out tinypush-http,$(PROGRAMS)),$(eval $(STATIC:%=build/%/$(program)): \
  build/%/$(program): build/$$$$(arch)/$(program) | build/%/lib; $$(variant)))

# The C code and its test program, with the sanitizers of Swift's clang.
build/%/shim: Tests/Shim/shim.c $(wildcard Sources/C*/*.[ch] Sources/C*/include/*.h) | deps
	@echo 'Building $@'
	@mkdir -p $(@D)
	@clang --sysroot=$(root) -fuse-ld=lld -std=gnu11 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all \
	  -I Sources/CMbed/include -I Sources/CLinux/include -I Sources/CHTTP2/include -I Sources/CMicroHTTP/include -o $@ $(filter %.c,$^) \
	  -lmbedtls -lmbedx509 -lmbedcrypto -lnghttp2 -lmicrohttpd
$(filter-out build/static-%,$(FOREIGN:%=build/%/shim)): build/%/shim: | build/%/root

build/static-%/lib: | deps
	@$(if $(filter $*,$(HOST)),,$(MAKE) --no-print-directory build/$*/root)
	@mkdir -p $@.part
	@for name in mbedtls mbedx509 mbedcrypto nghttp2; do \
	  ln -sf $(if $(filter $*,$(HOST)),,$(CURDIR)/build/$*/root)/usr/lib/$(gnu_$*)/lib$$name.a $@.part || exit; done
	@mv $@.part $@

build/debian13-%/root:
	@board/root trixie $* $@ $(LIBRARIES)
build/%/root:
	@board/root bookworm $* $@ $(LIBRARIES)

# The Python clients that TinyPush is compared with.
PYTHON_CLIENTS := aioapns==4.0 'httpx[http2]==0.28.1'
build/clients/venv: | deps
	@echo "Installing from PyPI into $@: $(PYTHON_CLIENTS)"
	@/usr/bin/python3 -m venv $@ && $@/bin/pip --quiet install $(PYTHON_CLIENTS) || \
	  { rm -rf $@; exit 1; }

# Prometheus' own checker of metrics, without the rest of its package.
build/promtool: | tools
	@echo 'Fetching promtool'
	@rm -rf $@.part && mkdir -p $@.part && cd $@.part && apt-get -qq -o APT::Sandbox::User= download prometheus && \
	  dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool
	@mv $@.part/usr/bin/promtool $@ && rm -r $@.part

.PHONY: always
always:
