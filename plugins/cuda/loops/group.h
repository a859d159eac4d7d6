// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops of a device as te statements: flat indices, and kernels of groups of threads.
#include <functional>
#include <unordered_set>

#include "byoc/base/status.h"
#include "byoc/te/simplify.h"
#include "byoc/te/tensor.h"

namespace byoc::cuda {

/// Threads of a group, unless a kernel has a reason for another number.
inline constexpr int64_t kThreads = 256;

using Extents = std::vector<int64_t>;

/// Returns the extents as numbers. Errors: kUnimplemented for sizes that are known in a run only.
Result<Extents> numbers_of(const te::Exprs& shape, std::string_view name);
Result<Extents> numbers_of(const std::vector<te::Axis>& axes, std::string_view name);
/// Returns the product of all; 1 for none.
int64_t product_of(const Extents& extents);
/// Returns the indices of element `flat` in row-major order.
te::Exprs unflattened(const te::Expr& flat, const Extents& extents);
inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The roles of loops and memory on a device. Without them the loops are those of one thread, and
/// compute the same: each iteration of a loop over groups is run by a group of threads, and a loop
/// over threads inside of it by the threads of the group, which wait for each other at its end.
struct Roles {
  std::unordered_set<const void*> groups, threads;  // Var::id() of loops
  std::unordered_set<const void*> shared;           // Tensor::id(): one per group
  std::unordered_set<const void*> registers;        // the first index is that of the thread
};

/// Makes loops and records their roles. One thread.
class Groups {
 public:
  using Body = std::function<te::Stmt(const te::Expr&)>;
  /// Makes a kernel of so many groups.
  te::Stmt groups(te::Expr extent, const Body& body) { return loop(roles_.groups, extent, body); }
  /// Makes the loop of the threads of a group.
  te::Stmt threads(te::Expr extent, const Body& body) { return loop(roles_.threads, extent, body); }
  /// Makes a kernel in which each thread runs `body` for one index below `elements`.
  te::Stmt flat(int64_t elements, const Body& body);
  te::Stmt shared(const std::vector<te::Tensor>& memory, te::Stmt body) {
    return allocated(roles_.shared, memory, std::move(body));
  }
  te::Stmt registers(const std::vector<te::Tensor>& memory, te::Stmt body) {
    return allocated(roles_.registers, memory, std::move(body));
  }
  Roles take() { return std::move(roles_); }

 private:
  static te::Stmt loop(std::unordered_set<const void*>& role, const te::Expr& extent,
                       const Body& body);
  static te::Stmt allocated(std::unordered_set<const void*>& role,
                            const std::vector<te::Tensor>& memory, te::Stmt body);
  Roles roles_;
};

/// Replaces the axes by indices.
te::Expr at_indices(const te::Expr& value, const std::vector<te::Axis>& axes,
                    const te::Exprs& indices);
/// Adds the ranges of axes with these extents.
void add_ranges(const std::vector<te::Axis>& axes, const Extents& extents, te::Ranges& ranges);

}  // namespace byoc::cuda
