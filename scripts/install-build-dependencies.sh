#!/bin/sh
# Installs what the build of HiGHS needs and Rust does not bring: a C++ compiler, cmake and libclang.
# With the argument `python`, also what the conformance tests need: a virtual environment and a browser.
# With the argument `opencl`, what `pararun` needs instead, unless there is a driver: PoCL, which makes a device of the processor.
# Does nothing, and needs no root, where all of it is there.
set -eu

has_libclang() {
    [ -n "${LIBCLANG_PATH:-}" ] && return 0
    for library in /usr/lib/llvm-*/lib/libclang*.so* /usr/lib/*/libclang*.so* /usr/lib64/libclang*.so*; do
        # A pattern that matches nothing stays as it is.
        [ -e "$library" ] && return 0
    done
    return 1
}

has_browser() {
    [ -n "${CHROMIUM:-}" ] && return 0
    for browser in chromium chromium-browser google-chrome; do
        command -v "$browser" >/dev/null 2>&1 && return 0
    done
    return 1
}

# A library that finds drivers, and at least one driver.
has_opencl() {
    loader=""
    for folder in $(echo "${LD_LIBRARY_PATH:-}" | tr ':' ' ') /usr/lib /usr/lib/* /usr/lib64 /usr/local/lib /lib/*; do
        [ -e "$folder/libOpenCL.so.1" ] && loader=$folder && break
    done
    [ -n "$loader" ] || return 1
    for driver in "${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}"/*.icd; do
        [ -e "$driver" ] && return 0
    done
    return 1
}

if ! command -v cargo >/dev/null 2>&1; then
    echo "cargo is missing: install Rust first (rustup, or your distribution's package), 1.90 or newer" >&2
    exit 1
fi

packages=""
if [ "${1:-}" = opencl ]; then
    has_opencl || packages="$packages ocl-icd-libopencl1 pocl-opencl-icd"
else
    command -v cmake >/dev/null 2>&1 || packages="$packages cmake"
    command -v c++ >/dev/null 2>&1 || packages="$packages g++"
    has_libclang || packages="$packages libclang-dev"
fi
if [ "${1:-}" = python ]; then
    python3 -c 'import venv, ensurepip' >/dev/null 2>&1 || packages="$packages python3 python3-venv"
    has_browser || packages="$packages chromium"
fi
[ -z "$packages" ] && exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "missing:$packages (Debian's names); install them with your package manager" >&2
    exit 1
fi
root=""
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "missing:$packages; as root: apt-get install$packages" >&2
        exit 1
    fi
    root=sudo
fi
echo "installing$packages" >&2
$root apt-get update -qq
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends $packages
