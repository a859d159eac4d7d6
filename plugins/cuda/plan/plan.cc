// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/plan/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "plugins/cuda/attention/attention.h"
#include "plugins/cuda/loops/inliner.h"
#include "plugins/cuda/loops/matrices.h"
#include "plugins/cuda/loops/procedure.h"
#include "plugins/cuda/loops/product.h"
#include "plugins/cuda/loops/rows.h"

namespace byoc::cuda {
namespace {

class Planner {
 public:
  Planner(const te::Dag& dag, bool by_library)
      : dag_(dag), by_library_(by_library), readers_(dag) {}
  Result<GroupFunction> plan();

 private:
  Status add(size_t s);
  bool may_inline(size_t s, const Job& job);
  Users users() const;
  void join_attentions();
  void join_ends();
  void join_rows();
  te::Stmt kernel_of(const Job& job);
  te::LoopFunction function_of(std::vector<te::Stmt> kernels);
  te::Stmt copied_outputs(te::LoopFunction& function);

  const te::Dag& dag_;
  const bool by_library_;
  bool has_calls_ = false;
  const Readers readers_;
  Inliner inline_;
  Groups groups_;
  std::vector<std::optional<Job>> jobs_;  // of stages that are not inlined
  std::vector<te::Tensor> between_;       // values between kernels
};

// A stage is inlined where it costs less than the memory for it: where it is read about once, or is
// hardly more than a load. One that ends a reduction becomes a part of that reduction's kernel.
bool Planner::may_inline(size_t s, const Job& job) {
  constexpr int64_t kMostNodes = 300, kLight = 4;
  if (job.values.size() != 1 || !job.reduce.empty() || readers_.is_output(job.stage->outputs[0]))
    return false;
  for (const auto& [reader, loads] : readers_.of(s))
    if (readers_.compute_of(reader) == nullptr) return false;
  const Work work = work_of(job.values[0]);
  if (work.nodes > kMostNodes) return false;
  const bool is_read_once = readers_.reads_of(s) <= 2 * job.elements();
  if (readers_.ends_a_reduction(job)) {
    const bool goes_on = readers_.of(s).size() == 1 &&
                         readers_.compute_of(readers_.of(s)[0].first)->reduce.empty() &&
                         is_read_once;
    return goes_on;
  }
  return is_read_once || (work.operations <= kLight && work.loads.size() <= 1);
}

Status Planner::add(size_t s) {
  const te::Stage& stage = dag_.stages[s];
  jobs_.emplace_back();
  for (const te::Tensor& tensor : stage.outputs)
    BYOC_TRY_STATUS(numbers_of(tensor.shape(), stage.name).status());
  if (std::holds_alternative<te::Procedure>(stage.kind)) return check_procedure(stage);
  const te::Compute* own = readers_.compute_of(s);
  if (own == nullptr) return {};
  Job job{&stage, {}, {}, {}};
  BYOC_TRY(job.extents, numbers_of(own->axes, stage.name));
  BYOC_TRY(job.reduce, numbers_of(own->reduce, stage.name));
  inline_.add_axes(own->axes, job.extents);
  inline_.add_axes(own->reduce, job.reduce);
  for (const te::Expr& value : own->values) job.values.push_back(inline_(value));
  if (may_inline(s, job)) inline_.add(stage.outputs[0], own->axes, job.values[0]);
  else jobs_[s] = std::move(job);
  return {};
}

Users Planner::users() const {
  Users out;
  for (size_t s = 0; s < dag_.stages.size(); ++s) {
    std::set<const void*> read;
    te::Exprs values = jobs_[s] ? jobs_[s]->values : te::Exprs();
    if (jobs_[s])
      values.insert(values.end(), jobs_[s]->end_values.begin(), jobs_[s]->end_values.end());
    for (const te::Expr& value : values)
      for (const auto& load : work_of(value).loads) read.insert(load->tensor.id());
    if (const auto* own = std::get_if<te::Procedure>(&dag_.stages[s].kind))
      for (const te::Tensor& tensor : own->inputs) read.insert(tensor.id());
    for (const void* tensor : read) out[tensor].push_back(s);
  }
  return out;
}

// Makes one job of the products and the reductions of each attention.
void Planner::join_attentions() {
  const Jobs jobs{jobs_, readers_, users()};
  for (size_t s = 0; s < jobs_.size(); ++s) {
    if (!jobs_[s]) continue;
    std::optional<Attention> found = attention_of(s, jobs);
    if (!found) continue;
    for (size_t replaced : found->replaced) jobs_[replaced].reset();
    jobs_[s]->attention = std::make_shared<const Attention>(*std::move(found));
  }
}

// Makes elementwise jobs the ends of reductions that only they read, each of the largest one.
void Planner::join_ends() {
  const Users readers = users();
  for (std::optional<Job>& job : jobs_) {
    if (!job || !job->reduce.empty()) continue;
    std::map<size_t, bool> candidates;  // reductions, and whether all reads are at the own element
    for (const te::Expr& value : job->values) {
      for (const auto& load : work_of(value).loads) {
        const size_t from = readers_.maker_of(load->tensor);
        const bool fits =
            readers_.reduction_of(load->tensor) != nullptr && jobs_[from] &&
            jobs_[from]->end == nullptr && readers.at(load->tensor.id()).size() == 1 &&
            dag_.stages[from].outputs.size() == 1 && !readers_.is_output(load->tensor) &&
            is_identity(*load, job->compute().axes, job->extents);
        candidates.emplace(from, true).first->second &= fits;
      }
    }
    Job* best = nullptr;
    for (const auto& [from, fits] : candidates) {
      if (fits && by_library_ && is_matrix_product(*jobs_[from]) && !is_conversion(*job)) continue;
      if (fits && (best == nullptr || jobs_[from]->terms() > best->terms())) best = &*jobs_[from];
    }
    if (best == nullptr) continue;
    Job joined = *best;
    joined.end = job->stage;
    joined.end_values = job->values;
    jobs_[static_cast<size_t>(best->stage - dag_.stages.data())].reset();
    job = std::move(joined);
  }
}

// Makes one job of an elementwise job and the reductions of its rows.
void Planner::join_rows() {
  const Jobs jobs{jobs_, readers_, users()};
  for (size_t s = 0; s < jobs_.size(); ++s) {
    if (!jobs_[s]) continue;
    std::optional<Rows> found = rows_of(s, jobs);
    if (!found) continue;
    for (size_t replaced : found->replaced) jobs_[replaced].reset();
    jobs_[s]->rows = std::make_shared<const Rows>(*std::move(found));
  }
}

te::Stmt Planner::kernel_of(const Job& job) {
  if (job.elements() == 0) return {};
  if (job.rows != nullptr) return rows_kernel(job, *job.rows, groups_);
  if (job.reduce.empty()) return elementwise_kernel(job, groups_);
  if (job.attention != nullptr) return attention_kernel(job, *job.attention, groups_);
  if (std::optional<te::Stmt> call = by_library_ ? matrix_product(job) : std::nullopt) {
    has_calls_ = true;
    return *std::move(call);
  }
  if (std::optional<te::Stmt> product = product_kernel(job, groups_)) return *std::move(product);
  return reduction_kernel(job, groups_);
}

// Outputs that are inputs, or the same value twice, are copied.
te::Stmt Planner::copied_outputs(te::LoopFunction& function) {
  std::set<const void*> known;
  for (const te::Tensor& input : function.inputs) known.insert(input.id());
  std::vector<te::Stmt> copies;
  for (te::Tensor& output : function.outputs) {
    if (known.insert(output.id()).second) continue;
    const te::Tensor from =
        std::exchange(output, te::Tensor(output.name() + ".copy", output.dtype(), output.shape()));
    const Extents extents = *numbers_of(from.shape(), from.name());
    if (product_of(extents) == 0) continue;
    copies.push_back(groups_.flat(product_of(extents), [&](const te::Expr& flat) {
      const te::Exprs at = unflattened(flat, extents);
      return te::make_store(output, at, from(at));
    }));
  }
  return te::make_block(std::move(copies));
}

te::LoopFunction Planner::function_of(std::vector<te::Stmt> kernels) {
  te::LoopFunction out{dag_.name, dag_.inputs, dag_.outputs, {}};
  kernels.push_back(copied_outputs(out));
  out.body = te::make_block(std::move(kernels));
  for (size_t k = between_.size(); k-- > 0;)
    out.body = te::make_alloc(between_[k], te::Scope::kWorkspace, std::move(out.body));
  return out;
}

Result<GroupFunction> Planner::plan() {
  for (size_t s = 0; s < dag_.stages.size(); ++s) BYOC_TRY_STATUS(add(s));
  join_attentions();
  join_ends();
  join_rows();
  std::vector<te::Stmt> kernels;
  for (size_t s = 0; s < jobs_.size(); ++s) {
    const te::Stage& stage = dag_.stages[s];
    const bool is_procedure = std::holds_alternative<te::Procedure>(stage.kind);
    if (!jobs_[s] && !is_procedure) continue;
    for (const te::Tensor& tensor : stage.outputs)
      if (!readers_.is_output(tensor)) between_.push_back(tensor);
    kernels.push_back(is_procedure ? procedure_kernel(stage, groups_) : kernel_of(*jobs_[s]));
  }
  te::LoopFunction loops = function_of(std::move(kernels));
  return GroupFunction{std::move(loops), groups_.take(), has_calls_};
}

}  // namespace

Result<GroupFunction> group_loops(const te::Dag& dag, bool by_library) {
  return Planner(dag, by_library).plan();
}

}  // namespace byoc::cuda
