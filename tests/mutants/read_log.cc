// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "byoc/tune/record.h"
#include "mutants/targets.h"

namespace byoc::test {

bool read_log(std::string_view text) {
  bool is_accepted = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    auto record = tune::parse_record(text.substr(0, end));
    if (record.ok()) {
      if (!tune::parse_record(tune::print(*record)).ok()) {
        std::fprintf(stderr, "a record does not read back\n");
        std::abort();
      }
      is_accepted = true;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return is_accepted;
}

}  // namespace byoc::test
