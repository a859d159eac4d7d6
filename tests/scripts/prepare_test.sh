#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# prepare_test.sh PREPARE.sh FOLDER: builds projects of a few commands with byoc_build.
set -euo pipefail
prepare=$1
rm -rf "$2"
mkdir -p "$2/project"
cd "$2"

# project COMMAND...: a project that runs them one by one, each a step of ninja.
project() {
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(few LANGUAGES NONE)' >project/CMakeLists.txt
  local k=0 command
  for command in "$@"; do
    printf 'add_custom_target(step%s ALL COMMAND sh -c [[%s]] VERBATIM)\n' "$k" "$command" >>project/CMakeLists.txt
    [ "$k" -eq 0 ] || printf 'add_dependencies(step%s step%s)\n' "$k" $((k - 1)) >>project/CMakeLists.txt
    k=$((k + 1))
  done
}

# build FOLDER [NAME]: returns its exit code; its messages are in the file `printed`, or in NAME. A script
# of that NAME lasts as long as there is a file NAME.runs. Sources are in project/, and nothing else is.
build() {
  local code=0
  bash -euo pipefail -c 'cd project; . "$1"; byoc_progress_seconds=1; byoc_build "$2"; touch "$0.built"
    while [ -e "$0.runs" ]; do sleep 0.05; done' "$PWD/${2:-printed}" "$prepare" "$1" 2>"${2:-printed}" || code=$?
  return $code
}
# until_there COMMAND...: waits until it succeeds.
until_there() {
  until "$@"; do sleep 0.05; done
}

expect() {
  grep -qF -- "$1" printed || { echo "not printed: $1, but:"; cat printed; exit 1; }
}
expect_not() {
  ! grep -qF -- "$1" printed || { echo "printed: $1, in:"; cat printed; exit 1; }
}

echo "a build that works, with its progress"
project true 'sleep 2.5' true
build build || { cat printed; exit 1; }
grep -qE '^building build: +33% 1/3 steps, [12] s$' printed || { cat printed; exit 1; }
expect_not "the whole log"

echo "a build that fails"
project 'echo one.cc:1:1: error: the first; exit 1' 'echo never'
! build build || { echo "it is taken for a success"; exit 1; }
expect "one.cc:1:1: error: the first"
expect "the whole log: build/build.log"
expect_not "build stopped"
expect_not "sh -c"

echo "the error is found after many lines of notes"
project 'for k in 1 2 3 4 5 6 7 8 9; do echo in file included from a$k; done; echo b.cc:7: error: late; exit 1'
! build build
expect "b.cc:7: error: late"
expect_not "included from a5"

echo "a configuration that fails"
printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(few LANGUAGES NONE)' 'message(STATUS many)' \
  'message(FATAL_ERROR "no such library")' >project/CMakeLists.txt
! build build
expect "CMake Error at CMakeLists.txt:4 (message):"
expect "no such library"
expect_not "many"

echo "a build waits for one that uses its folder, and names it"
project "echo begin >>'$PWD/order'; while [ -e '$PWD/slow' ]; do sleep 0.05; done; echo end >>'$PWD/order'"
touch slow
build build-first other &
until_there test -s order
build build-first &
until_there grep -q "waiting: .*/other (process .*) uses the folder build-first" printed
rm slow
wait
[ "$(tr '\n' ' ' <order)" = "begin end begin end " ] || { cat order; exit 1; }

echo "two scripts run what is built; none builds while another runs"
printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(few LANGUAGES NONE)' \
  'add_custom_command(OUTPUT made COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/source made DEPENDS source)' \
  'add_custom_target(copies ALL DEPENDS made)' >project/CMakeLists.txt
echo one >project/source
rm -f other.built
touch other.runs
build build-first other &
until_there test -e other.built
build build-first
expect_not "waiting"
echo two >project/source
build build-first &
until_there grep -q "waiting: " printed
[ "$(<project/build-first/made)" = one ]
rm other.runs
wait
[ "$(<project/build-first/made)" = two ]

echo "batches in a folder that is configured first, none in one that was configured by hand"
project true
cmake -S project -B project/build-by-hand -G Ninja >by-hand
for folder in build-batches build-by-hand; do
  build "$folder"
  grep -c '^BYOC_BATCH:.*=12$' "project/$folder/CMakeCache.txt" || true
done >found
[ "$(tr '\n' ' ' <found)" = "1 0 " ] || { cat found; exit 1; }

echo "the last lines of tests that failed"
mkdir failures
printf '%s\n' 'add_test(good sh -c "echo fine")' 'add_test(bad sh -c "seq 101 200; exit 1")' \
  'add_test(dies sh -c "echo words; kill -SEGV $$")' >failures/CTestTestfile.cmake
! ctest --test-dir failures >/dev/null 2>&1
bash -euo pipefail -c '. "$1"; byoc_failed_tests failures' "$0" "$prepare" 2>printed
expect "--- bad"
expect "176"
expect "200"
expect_not "175"
expect "--- dies"
expect "words"
expect_not "fine"

echo "the processor time of a script and its children"
code=0
bash -euo pipefail -c '. "$1"; trap byoc_processor_time EXIT
  (python3 -c "import time
while time.process_time() < 1.8: pass")
  exit 3' "$0" "$prepare" 2>printed || code=$?
[ "$code" = 3 ]
grep -qE "^processor time: [2-9] s$" printed
