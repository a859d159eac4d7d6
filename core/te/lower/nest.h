// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes the loops of one stage, for a box of its elements.
#include <functional>

#include "core/te/lower/region.h"
#include "core/te/schedule/state.h"

namespace byoc::te {

/// Puts the stages that are computed at a loop before the loop's body: stage, loop, body.
using Host = std::function<Stmt(uint32_t iter, Stmt body)>;
/// Called with the outermost loops that tensorize names.
using Mark = std::function<void(uint32_t iter, const Var& var)>;

class Nest {
 public:
  /// `values`: those of the stage with inlined stages put in.
  Nest(const Stage& stage, const StageState& state, Exprs values, std::vector<Range> box,
       Simplifier& simplify, Host host, Mark mark);
  Stmt emit();

 private:
  /// The values on the way to a place in the loops: for each iter its value and extent, empty while
  /// unknown; for each split whether its shorter last iteration is settled.
  struct Frame {
    Exprs values, extents;
    std::vector<bool> is_settled;
    bool is_init = false, is_initialised = false;
  };
  Stmt loops(size_t position, Frame frame);
  bool begins_reduction(uint32_t iter) const;
  Stmt range(size_t position, Frame frame, const Expr& begin, const Expr& count);
  Stmt inside(size_t position, Frame frame);
  Stmt leaf(const Frame& frame);
  Stmt combine(const Exprs& indices, const Exprs& terms);
  Stmt store_all(const Exprs& indices, const Exprs& values);
  void find_extents(Frame& frame) const;
  void split_extent(Frame& frame, size_t relation) const;
  void find_values(Frame& frame) const;
  bool is_open(const Frame& frame, size_t relation) const;
  void settle(Frame& frame, size_t relation, int64_t inner) const;
  std::pair<Frame, Frame> parted(const Frame& frame, size_t relation) const;
  Expr guards(Frame& frame) const;
  bool stays_outside(const Relation& relation) const;

  const Stage& stage_;
  const Compute& compute_;
  const StageState& state_;
  const Exprs values_;
  const std::vector<Range> box_;
  Simplifier& simplify_;
  Host host_;
  Mark mark_;
  std::vector<bool> parts_;  // by relation: the last iteration gets loops of its own
};

}  // namespace byoc::te
