// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a Schedule knows of its stages beside the Dag.
#include <unordered_map>

#include "byoc/te/schedule.h"

namespace byoc::te {

/// One iteration variable of a stage: an axis, or what split and fuse made of others.
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

/// Axes, then reduce axes, are the first iters; relations stand in the order they were made.
struct StageState {
  enum Place { kRoot, kInline, kAt };
  std::vector<Iter> iters;
  std::vector<uint32_t> leaves;  // the loops, outermost first
  std::vector<Relation> relations;
  Place place = kRoot;
  std::string at_stage;  // kAt
  uint32_t at_iter = 0;
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
  /// Adds a stage before another; who reads what is up to the caller.
  StageState& insert(size_t before, Stage stage);
  std::string unused_name(const std::string& wanted) const;
};

/// The loops of a Compute that nobody has scheduled.
void reset_loops(StageState& state, const Compute& compute);

/// Where a primitive stands, for its errors, and what it looks up.
struct Primitive {
  ScheduleState& state;
  std::string call;  // "split(conv, i0)"

  Status refuse(std::string why) const { return invalid(cat(call, ": ", why)); }
  /// The number of a stage that is a Compute and not inlined.
  Result<size_t> stage(const std::string& name) const;
  /// The iter of a loop of the stage.
  Result<uint32_t> loop(size_t stage, const std::string& name) const;
  /// The same of a serial loop at which nothing is computed: one that may be changed.
  Result<uint32_t> plain_loop(size_t stage, const std::string& name) const;
};

std::optional<size_t> position_of(const StageState& stage, uint32_t iter);
/// The extent of each axis and reduce axis; empty Exprs for other iters.
Exprs root_extents(const Compute& compute, const StageState& state);
bool is_untouched(const StageState& state);
bool is_tensorized(const StageState& state);

}  // namespace byoc::te
