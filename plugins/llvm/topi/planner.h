// SPDX-License-Identifier: Apache-2.0
#pragma once
// The default schedule of one Dag: what is inlined, where the rest is computed, and the loops of
// each stage. A primitive that is refused is left out: the schedule stays right without it.
#include "byoc/te/schedule.h"
#include "byoc/te/target.h"

namespace byoc::llvm_plugin::topi {

/// The axes of a reduction that a tile of its results spans: what stays in registers.
struct Tile {
  size_t lanes_axis = 0;         // the axis of the vectors
  int64_t lanes = 1;             // of it, a vector or two
  std::vector<size_t> axes;      // written out, outer first
  std::vector<int64_t> factors;  // of those
};

class Planner {
 public:
  Planner(const te::Dag& dag, const te::Target& target) : schedule_(dag), target_(target) {}
  te::Schedule plan() &&;

 private:
  void inline_stages();
  bool is_worth_inlining(const te::Stage& stage) const;
  /// A reduction with its results' last step: computed tile by tile. False: it does not fit.
  bool plan_tiles(const std::string& reduction);
  std::optional<Tile> find_tile(const te::Compute& reduction, DType dtype) const;
  std::vector<std::string> tile_loops(const std::string& stage, const Tile& tile);
  void plan_stage(const std::string& stage);
  void plan_elementwise(const std::string& stage);
  /// A load, in terms of these axes.
  struct Read {
    const te::Load* load;
    const std::vector<te::Axis>* axes;
  };
  /// What a stage reads once inlined stages stand in its values; nullopt where one of those is not
  /// read element by element.
  std::optional<std::vector<Read>> reads_of(const te::Compute& own) const;
  /// The first axis from which on all are as good as one: every read moves evenly through them.
  size_t flat_from(const te::Compute& own) const;
  void plan_reduction(const std::string& stage);
  void sum_in_lanes(const std::string& stage);
  std::string split_into_lanes(const std::string& stage, const std::string& loop, int64_t width);
  /// Those before it row by row: P is computed inside the rows of `stage` that read it. False:
  /// none.
  bool host_rows(const std::string& stage);
  bool reads_rows_of(const std::string& producer, const te::Stage& reader) const;
  void parallelize(const std::string& stage, std::vector<std::string> outer);

  const te::Stage& stage(const std::string& name) const;
  const te::Compute* compute(const std::string& name) const;
  std::vector<std::string> names() const;
  std::vector<const te::Stage*> readers(const te::Stage& stage) const;
  bool is_result(const te::Stage& stage) const;
  bool is_inlined(const std::string& name) const;

  te::Schedule schedule_;
  const te::Target& target_;
  std::vector<std::string> inlined_, planned_;
};

}  // namespace byoc::llvm_plugin::topi
