// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state of a Schedule: its Dag and the loops of each stage.
#include <unordered_map>

#include "byoc/te/schedule.h"

namespace byoc::te {

/// One iteration variable of a stage: an axis, or a result of split or fuse.
struct Iter {
  std::string name;
  bool is_reduce = false;
  LoopKind kind = LoopKind::kSerial;
  bool is_tensorized = false;                  // it belongs to a micro-kernel
  std::shared_ptr<const TensorIntrin> intrin;  // of the outermost loop of one
};

/// split: whole = outer * factor + inner. fuse: whole = outer * extent(inner) + inner.
struct Relation {
  bool is_split;
  uint32_t whole, outer, inner;  // iters
  int64_t factor;                // of split
};

/// The first iters are the axes, then the reduce axes; relations are in the order
/// of their creation.
struct StageState {
  enum Place { kRoot, kInline, kAt };
  std::vector<Iter> iters;
  std::vector<uint32_t> leaves;  // the loops, outermost first
  std::vector<Relation> relations;
  Place place = kRoot;
  std::string at_stage;  // kAt
  uint32_t at_iter = 0;
  std::string rolls_along;  // the stage of a loop whose iterations compute what is new; or empty
  uint32_t rolling_iter = 0;
  std::vector<std::string> reads, readers;  // stages, each once
  std::vector<std::string> hosts;           // the stages computed at its loops
  bool is_result = false;
};

struct ScheduleState {
  Dag dag;
  Trace trace;
  std::vector<StageState> stages;                   // as dag.stages
  std::unordered_map<std::string, size_t> numbers;  // by name

  StageState& of(const std::string& name) { return stages[numbers.at(name)]; }
  const StageState& of(const std::string& name) const { return stages[numbers.at(name)]; }
  const Compute* compute_of(const std::string& name) const {
    return std::get_if<Compute>(&dag.stages[numbers.at(name)].kind);
  }
  /// Adds a stage before another; the caller updates the readers.
  StageState& insert(size_t before, Stage stage);
  std::string unused_name(const std::string& base) const;
};

/// Gives a Compute the loops it has before any primitive.
void reset_loops(StageState& state, const Compute& compute);

/// A call of a primitive: its look-ups, and its place for errors.
struct Primitive {
  ScheduleState& state;
  std::string call;  // "split(conv, i0)"

  Status refuse(const std::string& why) const { return invalid(cat(call, ": ", why)); }
  /// Returns the number of a stage that is a Compute and not inlined.
  Result<size_t> stage(const std::string& name) const;
  /// Returns the iter of a loop of the stage.
  Result<uint32_t> loop(size_t stage, const std::string& name) const;
  /// Returns the iter of a serial loop at which nothing is computed: one that may be changed.
  Result<uint32_t> plain_loop(size_t stage, const std::string& name) const;
};

std::optional<size_t> position_of(const StageState& stage, uint32_t iter);
/// Returns the extent of each axis and reduce axis; empty Exprs for other iters.
Exprs root_extents(const Compute& compute, const StageState& state);
bool is_untouched(const StageState& state);
bool is_tensorized(const StageState& state);

}  // namespace byoc::te
