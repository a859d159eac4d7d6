# SPDX-License-Identifier: Apache-2.0
# Sourced by demo and check: installs missing packages (Debian 12, as root or with sudo),
# configures, builds. Nothing here is interactive; a second run with nothing to do takes seconds.

byoc_packages=(g++ cmake ninja-build ccache pkg-config libdnnl-dev libopenblas-openmp-dev libxnnpack-dev libpthreadpool-dev llvm-19-dev liblld-19-dev ocl-icd-opencl-dev libonnx-dev libprotobuf-dev protobuf-compiler
  libboost-dev nlohmann-json3-dev libdlpack-dev libcli11-dev libxxhash-dev libeigen3-dev libgtest-dev libgmock-dev
  libbenchmark-dev libxgboost-dev)
byoc_test_packages=(chromium chromium-driver python3-selenium libonnx-testdata python3-torch python3-torchvision python3-onnx python3-jsonschema
  libopenblas0-serial  # torch's BLAS
  mypy python3-venv jupyter-nbconvert python3-ipykernel  # of the Python packages
  slurm-wlm munge abigail-tools
  libsodium23 minisign  # signatures
  mmdebstrap lintian dpkg-dev file patchelf)  # packages and the Debian that tests them
byoc_docs_packages=(doxygen)

say() { printf '%s\n' "$*" >&2; }

# byoc_processor_time: prints the user plus system time of all processes that this script has waited for.
byoc_processor_time() {
  local code=$? file seconds
  file=$(mktemp)
  times >"$file"                                           # two lines: of the shell, and of its children
  seconds=$(awk '{ for (k = 1; k <= NF; ++k) { split($k, part, "m"); sum += part[1] * 60 + part[2] } }
    END { printf "%.0f", sum }' "$file")
  rm -f "$file"
  say "processor time: $seconds s"
  return "$code"
}

# byoc_install PACKAGE...: installs the packages that are missing.
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

# byoc_is_built FOLDER [targets...]: succeeds when FOLDER has these targets and no source is newer.
byoc_is_built() {
  local folder=$1 built
  shift
  built=$(cat "$folder/.built" 2>/dev/null) || return 1
  [ "$built" = all ] || [ "$built" = "$*" ] || return 1
  [ -z "$(find . -mindepth 1 \( -path './build*' -o -path ./.git \) -prune -o -newer "$folder/.built" -print -quit)" ]
}

# byoc_lock FOLDER [targets...]: keeps FOLDER for this script until it ends. Waits, with a message, while another
# script builds there, or runs what would have to be built again. Fails when nothing has to be built.
declare -A byoc_locks
byoc_lock() {
  local folder=$1 fd=${byoc_locks[$1]:-}
  shift
  if [ -z "$fd" ]; then
    exec {fd}>>"$folder/.lock"
    byoc_locks[$folder]=$fd
  fi
  if ! flock --nonblock "$fd"; then
    if flock --nonblock --shared "$fd" && byoc_is_built "$folder" "$@"; then return 1; fi
    say "waiting: $(tail -n 1 "$folder/.lock") uses the folder $folder"
    flock "$fd"
  fi
  echo "$0 (process $$)" >"$folder/.lock"
}

# byoc_progress LOG WHAT: prints how far ninja is until the standard input ends. A terminal gets one line that is
# written again every second, a file a line every ten seconds.
byoc_progress_seconds=10
byoc_progress() {
  local log=$1 what=$2 begin=$SECONDS pause=$byoc_progress_seconds line head=$'\n' far
  if [ -t 2 ]; then pause=1 head=$'\r\033[K'; fi
  while read -rt "$pause" || [ $? -gt 128 ]; do            # above 128: nothing was read in this time
    line=$(grep -a '^\[' "$log" | tail -n 1 || true)       # "[ 12% 41/345] Building ...", see NINJA_STATUS
    far=${line%%]*}
    far=${far#[}
    line="building $what:${far:+ $far steps,} $((SECONDS - begin)) s"
    if [ -t 2 ]; then printf '%s%s' "$head" "$line" >&2; else say "$line"; fi
  done
  if [ -t 2 ]; then printf '%s' "$head" >&2; fi
}

# byoc_first_error LOG: prints the first failure, without the command line that ran.
byoc_first_error() {
  awk '
    /^FAILED: / && !begun { begun = 1; print; getline; next }              # the next line is the command
    /^CMake Error/ && !begun { begun = 2 }
    begun == 1 && (/^\[/ || /^FAILED: / || /^ninja: /) { exit }
    begun == 2 && n > 0 && /^(CMake |-- |Call Stack)/ { exit }
    begun { text[n++] = $0 }
    END {
      if (!begun) exit 1
      for (at = 0; at < n - 1 && text[at] !~ /error|undefined reference|multiple definition/; ++at);
      for (k = at > 3 ? at - 3 : 0; k < n && k < at + 20; ++k) print text[k]
    }' "$1" >&2 || tail -n 20 "$1" >&2
  say "the whole log: $1"
}

# byoc_failed_tests FOLDER: prints the last lines of each test that failed in the last run of ctest there, at most ten.
byoc_failed_tests() {
  awk -v most=10 -v lines=25 '
    / Testing: / { name = $0; sub(/.* Testing: /, "", name) }
    /^<end of output>/ { inside = 0 }
    inside { line[n++ % lines] = $0 }
    /^Output:/ { getline; inside = 1; n = 0 }              # over the line of dashes
    /^Test Failed/ && failed++ < most {
      printf "--- %s\n", name
      for (k = n > lines ? n - lines : 0; k < n; ++k) print line[k % lines]
    }' "$1/Testing/Temporary/LastTest.log" >&2
}

# Sources per batch of a new folder (cmake/batches.cmake). One that was configured before keeps what it has.
byoc_batch=12

# byoc_build FOLDER [cmake options...] [-- targets...]: configures (again only when something changed)
# and builds, all or the targets alone. Afterwards other scripts may run what is in FOLDER, but not build there.
byoc_build() {
  local folder=$1 options=()
  shift
  [ -e "$folder/CMakeCache.txt" ] || options+=("-DBYOC_BATCH=$byoc_batch")
  while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1"); shift; done
  [ $# -gt 0 ] && shift
  mkdir -p "$folder"
  byoc_lock "$folder" "$@" || return 0
  echo "${*:-all}" >"$folder/.building"                    # its time is that of the sources
  if ! cmake -S . -B "$folder" -G Ninja "${options[@]}" >"$folder/configure.log" 2>&1; then
    byoc_first_error "$folder/configure.log"
    return 1
  fi
  say "building $folder"
  local code=0 pipe watcher
  exec {pipe}> >(byoc_progress "$folder/build.log" "$folder")
  watcher=$!
  NINJA_STATUS='[%p %f/%t] ' ninja -C "$folder" "$@" >"$folder/build.log" 2>&1 || code=$?
  exec {pipe}>&-                                           # which ends the progress
  wait "$watcher" || true
  if [ $code -ne 0 ]; then
    byoc_first_error "$folder/build.log"
    return 1
  fi
  mv "$folder/.building" "$folder/.built"
  flock --shared "${byoc_locks[$folder]}"
}
