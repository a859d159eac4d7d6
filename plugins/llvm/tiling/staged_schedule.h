// SPDX-License-Identifier: Apache-2.0
#pragma once
// A schedule in the making: look-ups of its stages by name, and steps that several kinds of
// schedules share. A primitive that is refused is left out: the schedule stays right without it.
#include <functional>
#include <unordered_map>

#include "byoc/te/schedule.h"
#include "byoc/te/target.h"

namespace byoc::llvm_plugin::topi {

/// The stages before another that are computed where it reads them.
enum class Inlining {
  kMoves,    // those that move elements
  kUsual,    // also arithmetic that has one reader, which needs each element once
  kRepeated  // also cheap arithmetic that is then computed several times
};

std::vector<std::string> inlining_names();
std::string name_of(Inlining inlining);
/// Returns the usual one for other texts.
Inlining inlining_of(std::string_view name);

/// Returns the number of times that the values of a stage are computed in all.
int64_t points_of(const te::Stage& stage, const te::Compute& compute);
/// Returns true when every load moves by one element, by two, or not at all, along the axis.
bool may_load_lanes(const std::vector<const te::Load*>& loads, const te::Var& axis);
/// Returns true when a load that moves by `step` along `lanes` does not move along `axis`.
bool is_reused(const std::vector<const te::Load*>& loads, const te::Var& lanes, int64_t step,
               const te::Var& axis);
/// Returns a factor of at most `most` and not far below, so that the remainder is small.
int64_t tile_factor(int64_t extent, int64_t most);

/// Fuses loops that follow each other, outermost first, and returns the name of the loop that they
/// become. Errors: those of the primitive.
Result<std::string> fuse_all(te::Schedule& schedule, const std::string& stage,
                             const std::vector<std::string>& loops);

/// Inlines the computes of a Dag whose places in it are to be. Errors: those of the primitive.
Status inline_where(te::Schedule& schedule, const te::Dag& dag,
                    const std::function<bool(size_t)>& is_inlined);

/// Orders a result of another shape than the sums before it, such as one that moves the heads of
/// attention: vectors of its last axis, the other axes for threads. Errors: those of primitives.
Status order_moved(te::Schedule& schedule, const te::Stage& stage, int64_t lanes);

/// A reduction, and the stage that stores its results: the one that reads them, or a copy.
struct SumStages {
  std::string sums, last;
};

class StagedSchedule {
 protected:
  StagedSchedule(const te::Dag& dag, const te::Target& target) : schedule_(dag), target_(target) {}

  const te::Stage& stage(const std::string& name) const;
  const te::Compute* compute(const std::string& name) const;
  std::vector<std::string> names() const;
  std::vector<const te::Stage*> readers(const te::Stage& stage) const;
  bool is_result(const te::Stage& stage) const;
  bool is_inlined(const std::string& name) const;
  bool is_planned(const std::string& name) const;
  /// Returns the lanes of a vector of the stage's elements.
  int64_t lanes_of(const std::string& name) const;

  /// Records the computes that were chosen for reductions.
  void state_computes();
  void inline_stages(Inlining inlining);
  /// Returns true when the reader has a loop per leading axis of the stage, `depth` of them, and
  /// reads in each iteration the elements of the same indices alone.
  bool reads_rows_of(const std::string& producer, const te::Stage& reader, size_t depth) const;
  /// Finds the one result that reads a reduction element by element, through inlined stages or not,
  /// or makes a copy of the reduction. nullopt: it is read in other ways, and cannot be copied.
  std::optional<SumStages> with_last_step(const std::string& reduction);
  /// Returns the only reader of a stage where it reads element by element, else null.
  const te::Stage* next_step(const te::Stage& from) const;
  /// Keeps partial sums, one per lane, over the adjacent elements of the last axes of a reduction:
  /// in `partials` independent vectors, then in one. Requires `least` vectors of such elements.
  void sum_in_lanes(const std::string& name, int64_t partials, int64_t least);
  /// Divides the outermost of these loops among threads where there is work of that many
  /// operations, together with the next ones where it has few iterations.
  void parallelize(const std::string& name, const std::vector<std::string>& outer, int64_t grain);

  te::Schedule schedule_;
  const te::Target& target_;
  std::vector<std::string> inlined_, planned_;  // stages

 private:
  bool is_worth_inlining(const te::Stage& stage, Inlining inlining);
  bool is_worth_repeating(const te::Stage& stage);
  std::unordered_map<std::string, int64_t> loop_extents(const std::string& stage) const;
  std::string shared_loop(const std::string& stage, const std::vector<std::string>& outer);
  /// The innermost loop of a reduction, and its iterations.
  struct Terms {
    std::string loop;
    int64_t count;
  };
  Terms join_terms(const std::string& reduction);
  std::string split_into_lanes(const std::string& stage, const std::string& loop, int64_t width);
  size_t repeated_ = 0;  // stages that are inlined although they are then computed several times
};

}  // namespace byoc::llvm_plugin::topi
