// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/check_signature.h"

#include <algorithm>

namespace byoc {
namespace {

constexpr std::string_view kArrow = "->";

/// Splits a call's types into the words of a signature.
std::vector<std::string> words_of(const CallTypes& call) {
  std::vector<std::string> words;
  for (const TensorSpec& type : call.reads) words.push_back(cat(type));
  words.emplace_back(kArrow);
  for (const TensorSpec& type : call.writes) words.push_back(cat(type));
  return words;
}

std::string_view take_word(std::string_view& text) {
  const size_t end = std::min(text.find(' '), text.size());
  std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

bool is_type(std::string_view word) { return !word.empty() && word != kArrow; }

Status differs(size_t k, size_t reads, std::string_view stated, std::string_view passed) {
  const bool is_read = k <= reads;  // a word too many or too few is at the arrow
  std::string what =
      is_read ? cat("as argument ", k, " its kernel reads ", is_type(stated) ? stated : "nothing")
              : cat("as output ", k - reads - 1, " its kernel writes ",
                    is_type(stated) ? stated : "nothing");
  return invalid(cat(what, ", the program has ", is_type(passed) ? passed : "nothing", " there"))
      .with_slug("kernel-types")
      .with_help("the file does not fit together: compile the model again");
}

}  // namespace

Status check_signature(std::string_view signature, const CallTypes& call) {
  const std::vector<std::string> words = words_of(call);
  for (size_t k = 0; k < words.size() || !signature.empty(); ++k) {
    const std::string_view stated = take_word(signature);
    const std::string_view passed = k < words.size() ? std::string_view(words[k]) : "";
    if (stated != passed) return differs(k, call.reads.size(), stated, passed);
  }
  return {};
}

}  // namespace byoc
