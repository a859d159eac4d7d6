// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes the loops of one stage, for a box of its elements.
#include <functional>

#include "core/te/lower/rolling.h"
#include "core/te/schedule/state.h"

namespace byoc::te {

/// Memory that the iterations of a loop share.
struct SharedMemory {
  size_t stage;   // whose loop it is
  uint32_t iter;  // .. and which
  Tensor tensor;
};
/// Statements, and the memory that they need of loops around them.
struct Hosted {
  Stmt body;
  std::vector<SharedMemory> shared;
};
/// Puts the stages that are computed at a loop, the last of `loops`, before its body. A loop of one
/// iteration is not among them.
using Host = std::function<Hosted(uint32_t iter, const std::vector<OuterLoop>& loops, Stmt body)>;
/// Returns true for a loop at which stages are computed.
using HostsAt = std::function<bool(uint32_t iter)>;
/// Called with the outermost loops that tensorize names.
using Mark = std::function<void(uint32_t iter, const Var& var)>;

/// Returns true for statements with a condition.
bool has_condition(const Stmt& s);
/// Returns the kind of memory for a tensor inside a loop: the stack for up to 4 KiB.
Scope scope_of(const Tensor& memory);

class Nest {
 public:
  /// `values`: those of the stage with inlined stages put in. `number`: of the stage.
  Nest(const Stage& stage, size_t number, const StageState& state, Exprs values,
       std::vector<Range> box, Simplifier& simplify, Host host, HostsAt hosts_at, Mark mark);
  /// `loops`: those around the nest, outermost first.
  Hosted emit(std::vector<OuterLoop> loops);

 private:
  /// The values on the way to a place in the loops: for each iter its value and extent, empty while
  /// unknown; for each split whether its shorter last iteration is settled.
  struct Frame {
    Exprs values, extents;
    std::vector<bool> is_settled;
    Exprs bases;  // of splits of open extents: the place of the inner loop's first iteration
    Exprs known;  // of loops that were fused: names of their values under a condition
    std::vector<OuterLoop> loops;
    bool is_conditional = false;  // there is a condition inside the last loop
    bool is_init = false, is_initialised = false;
  };
  Stmt loops(size_t position, Frame frame);
  bool begins_reduction(uint32_t iter) const;
  Stmt range(size_t position, Frame frame, const Expr& begin, const Expr& count);
  Stmt inside(size_t position, Frame frame);
  using Put = std::function<Stmt(Frame)>;
  Stmt open_parts(size_t position, const Frame& frame, size_t relation);
  bool has_balanced_parts(size_t relation) const;
  Stmt balanced_parts(size_t position, const Frame& frame, size_t relation);
  Stmt open_rest(const Frame& frame, size_t relation, const Put& put) const;
  Stmt open_rows(const Frame& frame, size_t relation, const Expr& rest, const Put& put) const;
  Stmt open_block(Frame frame, size_t relation, const Expr& first, const Expr& count,
                  const Put& put) const;
  Stmt by_case(Frame frame, const Put& put) const;
  Stmt open_vectors(size_t position, const Frame& frame, const Expr& count);
  std::optional<Stmt> open_terms(size_t position, const Frame& frame);
  void assume_of_fused(const Frame& frame, uint32_t iter, const Var& var);
  void assume_of_loop(const Frame& frame, uint32_t iter, const Var& var, const Expr& count);
  Stmt leaf(const Frame& frame);
  Stmt combine(const Exprs& indices, const Exprs& terms);
  Stmt store_all(const Exprs& indices, const Exprs& values);
  void find_extents(Frame& frame) const;
  void split_extent(Frame& frame, size_t relation) const;
  void find_values(Frame& frame) const;
  bool is_open(const Frame& frame, size_t relation) const;
  bool has_parts(const Frame& frame, size_t relation) const;
  void settle(Frame& frame, size_t relation, const Expr& inner) const;
  bool has_open_parts(const Frame& frame, size_t relation) const;
  void split_open_extent(Frame& frame, size_t relation) const;
  bool has_one_rest(const Relation& relation) const;
  bool is_tile(size_t relation) const;
  bool is_plain_vector(const Relation& relation) const;
  std::pair<Frame, Frame> parted(const Frame& frame, size_t relation) const;
  bool is_of_fused(uint32_t iter) const;
  Stmt by_condition(size_t position, const Expr& is_most, Frame most, Frame last,
                    const Relation& relation, int64_t count);
  Expr guards(Frame& frame) const;
  bool stays_outside(const Relation& relation) const;

  Stmt put_shared(uint32_t iter, Stmt loop);

  const Stage& stage_;
  const size_t number_;
  const Compute& compute_;
  const StageState& state_;
  const Exprs values_;
  const std::vector<Range> box_;
  Simplifier& simplify_;
  Host host_;
  HostsAt hosts_at_;
  Mark mark_;
  std::vector<SharedMemory> shared_;
  std::vector<bool> parts_;  // by relation: the last iteration may get loops of its own
};

}  // namespace byoc::te
