// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parsed form of a pattern: a tree of the eight node kinds of docs/patterns.md.
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "byoc/ir/attrs.h"
#include "byoc/ir/type.h"
#include "byoc/pass/pattern.h"

namespace byoc {

struct AttrTest {
  enum Kind { kEquals, kIn, kMin, kMax };
  std::string name;
  Kind kind = kEquals;
  std::vector<AttrValue> values;  // one, or the members of `in`
};

struct PatternNode {
  struct Op {
    std::string op;
    bool has_args = false;
    std::vector<PatternNode> args;
    std::vector<AttrTest> attrs;
    std::vector<DType> dtypes;  // of the first result; empty: any
    std::vector<int64_t> ranks;
  };
  struct Any {};
  struct Const {
    std::optional<double> value;  // of every element; absent: any
    double rtol = 0;              // a share of `value`; 0: as near as the dtype has it
  };
  struct Dollar {};  // "$": the value so far
  struct OneOf {
    std::vector<PatternNode> choices;
  };
  struct Optional {
    std::vector<PatternNode> parts;
  };  // {Q, P}
  struct Repeat {
    std::vector<PatternNode> parts;  // {Q, P}
    int64_t min = 0, max = 16;
  };
  struct Same {
    std::string as;
  };

  std::variant<Any, Op, Const, Dollar, OneOf, Optional, Repeat, Same> kind;
  std::string as;   // capture name, may be empty
  uint32_t id = 0;  // place in its pattern, from the root down
  /// Matches a value that the pattern reads elsewhere too: a `same` names its capture.
  bool is_read_again = false;
};

bool is_commutative(std::string_view op);
/// Returns whether all elements of a constant have the value of `want`.
bool has_value(const PatternNode::Const& want, const Buffer& data, DType dtype);
/// Returns whether dtype, rank and attributes of an op fit `want`. A null type is not checked.
bool passes_tests(const PatternNode::Op& want, const Call& call, const TensorType* type);

struct Pattern::Tree {
  PatternNode root;
  size_t min_ops = 0, max_ops = 0;
  uint32_t num_nodes = 0;
  std::vector<std::string> root_ops;
};

}  // namespace byoc
