// SPDX-License-Identifier: Apache-2.0
#pragma once
// Extents as expressions of named sizes, as the text that types, graph JSON and artifacts have:
//   2*T+B*H-1   div(T+3,4)   min(T,512)   max(T-1,0)
// Names are identifiers, or quoted as JSON strings. `div` rounds towards -infinity.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "byoc/base/status.h"

namespace byoc {

/// An expression that is parsed once and evaluated for any sizes. Thread-safe to read.
class SizeExpression {
 public:
  /// One step of the evaluation; operands are on a stack.
  struct Step {
    /// kNumber and kSize push `value` and the size with that number; the others take two operands.
    enum Kind : uint8_t { kNumber, kSize, kAdd, kSubtract, kMultiply, kDivide, kMin, kMax };
    Kind kind = kNumber;  ///< the kind of step
    int64_t value = 0;    ///< of kNumber; the index in names() of kSize
  };

  /// Errors: kInvalidArgument, slug "size-syntax", with the text and the position.
  static Result<SizeExpression> parse(std::string_view text);

  const std::vector<std::string>& names() const { return names_; }  ///< each once, as they occur
  const std::vector<Step>& steps() const { return steps_; }         ///< in order

  /// Returns the value for `sizes`, one per name. Errors: kOutOfRange, slug "size-overflow", when a
  /// part does not fit in 63 bits, when a divisor is below 1, and when the value is negative.
  Result<int64_t> evaluate(std::span<const int64_t> sizes) const;

 private:
  friend class SizeExpressionParser;
  std::string text_;
  std::vector<std::string> names_;
  std::vector<Step> steps_;
};

/// Appends a name as an expression has it: an identifier as it is, others in quotes.
void print_size_name(std::string& out, std::string_view name);

}  // namespace byoc
