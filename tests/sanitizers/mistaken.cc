// SPDX-License-Identifier: Apache-2.0
// mistaken leak|overread|freed|overflow|shift: makes one mistake, which the sanitizers must report.
// The operands are volatile, so that the compiler neither detects nor removes it.
#include <climits>
#include <cstdio>
#include <string_view>

namespace {

int* volatile kept;
volatile int number = 4;

int mistake(std::string_view name) {
  kept = new int[4]();
  for (int k = 0; name == "leak" && k < 100; ++k) kept = new int[4]();  // the stack may keep one
  if (name == "overread") return kept[number];
  if (name == "freed") {
    delete[] kept;
    return kept[0];
  }
  if (name == "overflow") return INT_MAX + number;
  if (name == "shift") return 1 << (8 * number);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  int result = mistake(arguments[1]);
  if (arguments[1] != std::string_view("leak"))  // which is reported at the end
    std::printf("went on with %d\n", result);
  return 0;
}
