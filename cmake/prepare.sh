# SPDX-License-Identifier: Apache-2.0
# Sourced by demo and check: installs what is missing (Debian 12, as root or with sudo), configures, builds.
# Nothing here is interactive; a second run with nothing to do takes seconds.

byoc_packages=(g++ cmake ninja-build ccache pkg-config libdnnl-dev llvm-19-dev liblld-19-dev ocl-icd-opencl-dev libonnx-dev libprotobuf-dev protobuf-compiler
  libboost-dev nlohmann-json3-dev libdlpack-dev libcli11-dev libxxhash-dev libeigen3-dev libgtest-dev libgmock-dev
  libbenchmark-dev)
byoc_test_packages=(graphviz libonnx-testdata python3-torch python3-torchvision python3-onnx libopenblas0-serial)  # torch's BLAS

say() { printf '%s\n' "$*" >&2; }

# byoc_install PACKAGE...: those that are not there yet.
byoc_install() {
  local missing=() package sudo=()
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { say "error: these packages are missing and there is no sudo: ${missing[*]}"; return 1; }
    sudo=(sudo)
  fi
  say "installing: ${missing[*]}"
  "${sudo[@]}" apt-get update -qq >/dev/null
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# byoc_build FOLDER [cmake options...] [-- targets...]: configures (again only when something changed)
# and builds, all or the targets alone.
byoc_build() {
  local folder=$1 log options=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1"); shift; done
  [ $# -gt 0 ] && shift
  mkdir -p "$folder"
  log=$folder/configure.log
  if ! cmake -S . -B "$folder" -G Ninja "${options[@]}" >"$log" 2>&1; then
    cat "$log" >&2
    return 1
  fi
  if [ -t 2 ]; then
    ninja -C "$folder" "$@" 1>&2
  else
    log=$folder/build.log
    say "building $folder"
    if ! ninja -C "$folder" "$@" >"$log" 2>&1; then
      grep -v '^\[' "$log" | tail -n 100 >&2
      return 1
    fi
  fi
}
