// SPDX-License-Identifier: Apache-2.0
#pragma once
// The interned part of a dim that is no number.
#include "byoc/ir/type.h"

namespace byoc {

struct NamedSize {
  enum Kind : uint8_t { kNamed, kCounted, kExpression };
  Symbol name;  // of an expression its canonical text
  int64_t min = 0, max = 0;
  Kind kind = kNamed;
  std::vector<Dim> sizes;  // of an expression: the named sizes in it, by name
  bool operator==(const NamedSize&) const = default;
};

/// Returns the value of a Dim for this size.
int64_t intern_size(const NamedSize& size);

/// Goes between a Dim and its size.
class DimMaker {
 public:
  static Dim make(const NamedSize& size);
  static const NamedSize& size_of(Dim dim);
};

}  // namespace byoc
