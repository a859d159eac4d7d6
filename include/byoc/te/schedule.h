// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules define how the stages of a Dag are computed, by loop transforms, each recorded in a
// trace that prints, parses and replays. A Schedule starts with every stage in its own loops, in
// order (the generic schedule), and every primitive keeps the meaning of the Dag or is refused.
#include "byoc/base/status.h"
#include "byoc/te/tensor.h"

namespace byoc::te {

/// One primitive with its arguments, in names: stages and loops as the schedule names them.
/// A stage's loops are named as its axes; split gives "i0.o" and "i0.i", fuse "i0.i1".
struct Step {
  std::string primitive;           ///< "split", "reorder", ...
  std::string stage;               ///< the stage it changes
  std::vector<std::string> names;  ///< loops, in the order of the primitive's parameters
  std::vector<int64_t> numbers;    ///< factors, in the order of the primitive's parameters
  friend bool operator==(const Step&, const Step&) = default;
};
/// The steps of a schedule, which can be run again.
struct Trace {
  std::vector<Step> steps;  ///< in order
  friend bool operator==(const Trace&, const Trace&) = default;
};
std::string print(const Trace& trace);  ///< "split(conv, i1, 8); vectorize(conv, i1.i)"
/// Errors: kInvalidArgument with the position in the text.
Result<Trace> parse_trace(std::string_view text);

struct ScheduleState;

/// Thread-compatible. Errors of all primitives: kInvalidArgument naming the primitive, the stage,
/// the loop, and the reason; the schedule is then as before.
class Schedule {
 public:
  explicit Schedule(Dag dag);  ///< Begins with the plain loops of every stage.
  ~Schedule();
  Schedule(const Schedule&);                 ///< Copies loops and trace.
  Schedule(Schedule&&) noexcept;             ///< Moves loops and trace.
  Schedule& operator=(const Schedule&);      ///< Copies loops and trace.
  Schedule& operator=(Schedule&&) noexcept;  ///< Moves loops and trace.

  const Dag& dag() const;      ///< cache_read, cache_write and rfactor add stages
  const Trace& trace() const;  ///< all steps so far
  /// Returns the loops of a stage, outermost first; for reductions the reduce axes too.
  std::vector<std::string> loops(const std::string& stage) const;
  /// Returns the most iterations of a loop: a number, or an expression of sizes. Errors: those of
  /// primitives, for a stage or loop that there is not.
  Result<Expr> extent(const std::string& stage, const std::string& loop) const;

  /// States that the following steps are for a stage that the selector computes as `compute`
  /// (Stage::compute). Changes nothing; refused where another was chosen, so that a trace is not
  /// replayed on a Dag that it was not made for.
  Status for_compute(const std::string& stage, const std::string& compute);
  /// Splits a loop into `loop`.o and `loop`.i, the inner of `factor` iterations. The remainder runs
  /// after the other iterations, in loops of its own without conditions, as long as `loop`.o stays
  /// outside of `loop`.i; otherwise a condition guards it.
  Status split(const std::string& stage, const std::string& loop, int64_t factor);
  /// Fuses neighbours, outer first, into `outer`.`inner`; both are spatial or both
  /// of the reduction.
  Status fuse(const std::string& stage, const std::string& outer, const std::string& inner);
  /// Puts the named loops in this order, in the places that they have together; the others stay.
  Status reorder(const std::string& stage, const std::vector<std::string>& order);
  /// Splits two loops and reorders: outer pair, then inner pair.
  Status tile(const std::string& stage, const std::string& a, const std::string& b,
              int64_t a_factor, int64_t b_factor);
  /// Vectorizes the innermost loop, which is not of the reduction and has a constant extent, or one
  /// in each part of its split.
  Status vectorize(const std::string& stage, const std::string& loop);
  /// Writes the iterations of a loop out; its extent is constant.
  Status unroll(const std::string& stage, const std::string& loop);
  /// Runs iterations on all threads. Refused for a loop of the reduction, and inside or around
  /// another parallel loop.
  Status parallel(const std::string& stage, const std::string& loop);
  /// Computes the stage inside `loop` of `consumer`, as much of it as is read there. Every stage
  /// that reads it is the consumer or is computed inside that loop itself. Refused for results.
  Status compute_at(const std::string& stage, const std::string& consumer, const std::string& loop);
  /// Keeps what iterations of `loop` of `consumer` have in common: inside it the stage is computed
  /// where compute_at put it, but of each part only what no iteration before has, in a buffer of
  /// what one iteration reads. Has no effect where the part does not move along one dimension, or
  /// moves backwards; where loops and conditions inside do not run alike in all iterations, as
  /// around another such buffer at the same loop; and once the loop is parallel. Refused unless the
  /// stage is computed inside the loop, which is serial.
  Status rolling_buffer(const std::string& stage, const std::string& consumer,
                        const std::string& loop);
  /// Replaces every read of the stage by its value. Refused for reductions, procedures and results.
  Status compute_inline(const std::string& stage);
  /// Makes a copy of `stage`, which `reader` reads instead, as stage `stage`.cache;
  /// compute_at places it.
  Status cache_read(const std::string& stage, const std::string& reader);
  /// Moves the computation of `stage` to `stage`.cache, which `stage` copies. Refused after any
  /// other primitive of the stage.
  Status cache_write(const std::string& stage);
  /// Keeps the reduction over `loop` as the last axis of the new stage `stage`.partial; `stage`
  /// reduces over that alone.
  Status rfactor(const std::string& stage, const std::string& loop);
  /// Replaces `loop` and all loops inside it by calls of the micro-kernel wherever they compute, in
  /// any order of axes, what it is declared to: with its extents, and with memory in strides that
  /// it supports. Remainders of other extents stay loops. A reduction is initialised before. The
  /// loops are fixed from then on. Refused when there is no place where the micro-kernel fits.
  Status tensorize(const std::string& stage, const std::string& loop, const TensorIntrin& intrin);

 private:
  friend Result<LoopFunction> lower(const Schedule&);
  std::unique_ptr<ScheduleState> state_;
};

/// Runs one step. Errors: those of the primitive.
Status apply(Schedule& schedule, const Step& step, std::span<const TensorIntrin> intrins = {});
/// Replays the trace on `dag`; its micro-kernels are those of `intrins` by name. Errors: those of
/// the primitives, with the number of the step.
Result<Schedule> replay(Dag dag, const Trace& trace, std::span<const TensorIntrin> intrins = {});

/// Lowers a schedule to loops: inlines, infers the extents that compute_at needs, splits loops
/// whose last iteration is shorter. In the result every loop has a variable of its own; a reduction
/// is an initialising nest, hoisted before the outermost reduce loop, and an accumulating one;
/// several results of one combiner are bound by Let before the first is stored; bodies of
/// vectorized loops have no conditions (If). Memory of up to 4 KiB inside a loop is Scope::kStack.
Result<LoopFunction> lower(const Schedule& schedule);

/// Provides the schedule of a Dag; the first provider of a chain {tuning history, sampler, default}
/// that has one is used. nullopt: the next one is called.
using ScheduleProvider = std::function<std::optional<Result<Schedule>>(const Dag&)>;
/// Returns the first schedule of the chain. Errors: kNotFound when no provider has one.
Result<Schedule> schedule_by(std::span<const ScheduleProvider> chain, const Dag& dag);

}  // namespace byoc::te
