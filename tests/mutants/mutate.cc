// SPDX-License-Identifier: Apache-2.0
#include "mutants/mutate.h"

#include <algorithm>
#include <cctype>

namespace byoc::test {
namespace {

const char* const kNumbers[] = {"0",
                                "-1",
                                "1",
                                "255",
                                "65536",
                                "2147483647",
                                "-2147483648",
                                "4294967296",
                                "9223372036854775807",
                                "-9223372036854775808",
                                "18446744073709551615",
                                "18446744073709551616",
                                "1e308",
                                "1e999",
                                "0.5",
                                "999999999999999999999999999999"};

/// Replaces a number in a text, when there is one after a random place.
bool change_number(Bytes& bytes, Draw& draw) {
  const size_t from = draw.below(bytes.size());
  const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto begin =
      std::find_if(bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.end(), digit);
  if (begin == bytes.end()) return false;
  const auto end = std::find_if_not(begin, bytes.end(), digit);
  bytes.replace(begin, end, draw.of(kNumbers));
  return true;
}

}  // namespace

void change_bytes(Bytes& bytes, const Bytes& other, Draw& draw) {
  if (bytes.empty()) bytes = "a";
  const size_t at = draw.below(bytes.size());
  const size_t n = 1 + draw.below(std::min<size_t>(64, bytes.size() - at));
  switch (draw.below(9)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << draw.below(8)));
      break;
    case 1:
      bytes[at] = draw.of(std::string_view("\0\xff\x7f\x80\x01\"[{}],:", 13));
      break;
    case 2:
      bytes.erase(at, n);
      break;
    case 3:
      bytes.insert(at, bytes.substr(at, n));
      break;
    case 4:
      bytes.resize(at);
      break;
    case 5:
      bytes.insert(at, n, bytes[at]);
      break;
    case 6:
      bytes.replace(at, n, other.substr(draw.below(other.size()), n));
      break;
    default:
      if (!change_number(bytes, draw)) bytes[at] = static_cast<char>(draw.below(256));
  }
}

Bytes mutant(Target::Form form, const Bytes& seed, const Bytes& other, Draw& draw) {
  Bytes out = seed;
  const size_t changes = draw.below(3) != 0 ? 1 : 2 + draw.below(3);
  const bool is_structured = form != Target::kText && draw.below(4) != 0;
  for (size_t k = 0; k < changes; ++k) {
    if (!is_structured) change_bytes(out, other, draw);
    else if (form == Target::kJson) change_json(out, draw);
    else if (form == Target::kOnnx) change_protobuf(out, draw);
    else change_artifact(out, other, draw);
  }
  return out;
}

}  // namespace byoc::test
