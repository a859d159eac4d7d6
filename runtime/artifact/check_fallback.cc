// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "byoc/base/check.h"
#include "runtime/artifact/check_executable.h"

namespace byoc {
namespace {

Status bad_fallback(const char* message) { return invalid(message).with_slug("executable"); }

}  // namespace

Status check_fallback(const Executable& executable) {
  const Executable* fallback = executable.fallback.get();
  if (fallback == nullptr) return {};
  if (fallback->fallback) return bad_fallback("a fallback has a fallback");
  const auto is_same = [](const NamedTensor& a, const NamedTensor& b) {
    return a.name == b.name && a.type == b.type;
  };
  const Program &one = executable.program, &other = fallback->program;
  if (!std::ranges::equal(one.inputs, other.inputs, is_same) ||
      !std::ranges::equal(one.outputs, other.outputs, is_same))
    return bad_fallback("the fallback has other inputs or outputs");
  return check_executable(*fallback).at("fallback");
}

}  // namespace byoc
