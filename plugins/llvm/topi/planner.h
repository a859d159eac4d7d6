// SPDX-License-Identifier: Apache-2.0
#pragma once
// The default schedule of one Dag: the stages to inline, the places of the others, and the loops of
// each stage. A primitive that is refused is left out: the schedule stays right without it.
#include "plugins/llvm/tiling/staged_schedule.h"

namespace byoc::llvm_plugin::topi {

/// The axes of a reduction that a tile of its results spans, which stays in registers.
struct Tile {
  size_t lanes_axis = 0;         // the axis of the vectors
  int64_t lanes = 1;             // of that axis, a vector or two
  std::vector<size_t> axes;      // written out, outer first
  std::vector<int64_t> factors;  // of those
  bool is_of_chains = false;     // sums that share no operands
};

/// The numbers of the default schedule; by default those that are usually fast.
struct PlanRules {
  int64_t vectors = 0;  // of an iteration of an elementwise loop; 0: one, or four of a row
  Inlining inlining = Inlining::kUsual;
  bool has_rows = true;      // producers are computed row by row where they are read
  int64_t sums = 12;         // vectors of a tile of sums; operands need the other registers
  int64_t tile_vectors = 2;  // of a row of a tile
  int64_t partials = 4;      // vectors of partial sums along a row
  int64_t grain = 1 << 15;   // operations; less is over before a second thread is there
  int64_t block = 4096;      // elements of a parallel part of a flat loop
};

class Planner : StagedSchedule {
 public:
  Planner(const te::Dag& dag, const te::Target& target, const PlanRules& rules = {})
      : StagedSchedule(dag, target), rules_(rules) {}
  te::Schedule plan() &&;

 private:
  /// Computes a reduction tile by tile, with the last step of its results. Returns false when
  /// it does not fit.
  bool plan_tiles(const std::string& reduction);
  std::optional<Tile> find_tile(const te::Compute& reduction, DType dtype) const;
  void add_chains(const te::Compute& reduction, int64_t lanes, Tile& tile) const;
  std::vector<std::string> tile_loops(const std::string& stage, const Tile& tile);
  void plan_stage(const std::string& stage);
  void plan_elementwise(const std::string& stage);
  /// Returns false where no read goes along another axis than the last.
  bool plan_transposed(const std::string& stage);
  bool transpose_in_registers(const std::string& stage);
  bool transpose_tiles(const std::string& stage, size_t first, size_t along, int64_t rows,
                       bool has_columns);
  bool plan_repeated(const std::string& stage);
  /// Returns false where no read takes elements from several streams in turns.
  bool plan_streams(const std::string& stage);
  int64_t streams_of(const te::Compute& own) const;
  std::vector<Ints> strides_of(const te::Compute& own) const;
  bool is_light(const std::string& stage) const;
  void vectorize_inner(const std::string& stage, bool has_rows);
  /// A load, in terms of these axes.
  struct Read {
    const te::Load* load;
    const std::vector<te::Axis>* axes;
  };
  /// Returns the loads of a stage after inlining; nullopt where an inlined stage is not read
  /// element by element.
  std::optional<std::vector<Read>> reads_of(const te::Compute& own) const;
  /// Returns the operations per element, with those of inlined stages.
  int64_t work_with_inlined(const te::Compute& own) const;
  /// Returns the first axis from which on all are equivalent to one: every read moves
  /// evenly through them.
  size_t flat_from(const te::Compute& own) const;
  void plan_reduction(const std::string& stage);
  /// Computes producers row by row, inside the rows of `stage` that read them. Returns false
  /// when there are none.
  bool host_rows(const std::string& stage);
  bool host_planes(const std::string& stage);
  bool host(const std::string& stage, size_t depth,
            const std::function<bool(const te::Compute&)>& may_host);

  const PlanRules rules_;
  std::vector<std::string> hosted_;  // stages that are computed where they are read
};

}  // namespace byoc::llvm_plugin::topi
