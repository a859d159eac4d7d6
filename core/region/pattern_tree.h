#pragma once
// The parsed form of a pattern: a tree of the eight node kinds of plugin-abi.md section 3.
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "byoc/ir/attrs.h"
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
  struct Const {};
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
  std::string as;  // capture name, may be empty
};

struct Pattern::Tree {
  PatternNode root;
  size_t min_ops = 0, max_ops = 0;
  std::vector<std::string> root_ops;
};

}  // namespace byoc
