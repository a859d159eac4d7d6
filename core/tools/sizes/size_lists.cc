// SPDX-License-Identifier: Apache-2.0
#include "core/tools/sizes/size_lists.h"

#include <algorithm>

#include "byoc/pass/bind.h"
#include "runtime/cli/command.h"

namespace byoc::driver {
namespace {

/// The values of one name, each as a flag: "N=1", "N=4".
using Values = std::vector<std::string>;

/// Splits "N=1,4,S=16" into {N=1, N=4} and {S=16}. A text whose parts are no shapes stays whole: a
/// name may contain commas.
std::vector<Values> split_flag(const std::string& text) {
  std::vector<Values> out;
  std::string name;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::string part = text.substr(begin, end - begin);
    begin = end + 1;
    size_t equals = part.rfind('=');
    if (equals != part.npos) {
      name = part.substr(0, equals + 1);
      out.push_back({part});
    } else if (!out.empty()) {
      part = name + part;
      out.back().push_back(part);
    }
    if (out.empty() || !parse_shape(part).ok()) return {{text}};
  }
  return out;
}

Status check_values(const Values& values) {
  for (size_t k = 0; k < values.size(); ++k) {
    if (std::count(values.begin(), values.end(), values[k]) > 1)
      return cli::usage_error(cat("--shape lists ", values[k], " twice"));
  }
  return {};
}

/// Appends each of `values` to each choice.
std::vector<SizeChoice> combine(const std::vector<SizeChoice>& choices, const Values& values) {
  std::vector<SizeChoice> out;
  for (const SizeChoice& choice : choices) {
    for (const std::string& value : values) {
      SizeChoice& next = out.emplace_back(choice);
      next.shapes.push_back(value);
      if (values.size() > 1) next.label += cat(next.label.empty() ? "" : ",", value);
    }
  }
  return out;
}

}  // namespace

Result<std::vector<SizeChoice>> expand_sizes(const std::vector<std::string>& shapes) {
  std::vector<SizeChoice> choices(1);
  for (const std::string& text : shapes) {
    for (const Values& values : split_flag(text)) {
      if (values.size() * choices.size() > kMaxSizes)
        return cli::usage_error(cat("--shape lists more than ", kMaxSizes, " sizes"));
      BYOC_TRY_STATUS(check_values(values));
      choices = combine(choices, values);
    }
  }
  return choices;
}

}  // namespace byoc::driver
