// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replaces reads of inlined stages by their values.
#include "byoc/te/rewrite.h"
#include "core/te/schedule/state.h"
#include "core/te/simplify/simplifier.h"

namespace byoc::te {

/// Equal reads of an inlined stage become the same node, so that diamonds stay small.
class Inliner {
 public:
  Inliner(const ScheduleState& state, Simplifier& simplify);
  Expr operator()(const Expr& x);

 private:
  struct Inlined {
    const Compute* compute;
    size_t output;
  };
  Expr read(const Load& load);
  Expr value_of(const Inlined& stage, const Exprs& indices);
  Simplifier& simplify_;
  Interner interner_;
  std::unordered_map<const void*, Inlined> inlined_;             // by tensor
  std::unordered_map<const void*, std::pair<Expr, Expr>> done_;  // by node
};

}  // namespace byoc::te
