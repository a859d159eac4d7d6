// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/loops/readers.h"

#include <map>

#include "plugins/cuda/loops/inliner.h"

namespace byoc::cuda {

Readers::Readers(const te::Dag& dag) : dag_(dag), readers_(dag.stages.size()) {
  for (size_t s = 0; s < dag_.stages.size(); ++s) {
    for (const te::Tensor& tensor : dag_.stages[s].outputs) maker_[tensor.id()] = s;
    std::map<size_t, int64_t> loads;
    if (const te::Compute* own = compute_of(s)) {
      for (const te::Expr& value : own->values)
        for (const auto& load : work_of(value).loads) ++loads[maker_.at(load->tensor.id())];
    } else if (const auto* own = std::get_if<te::Procedure>(&dag_.stages[s].kind)) {
      for (const te::Tensor& tensor : own->inputs) ++loads[maker_.at(tensor.id())];
    }
    for (const auto& [from, count] : loads) readers_[from].emplace_back(s, count);
  }
  for (const te::Tensor& tensor : dag_.outputs) outputs_.insert(tensor.id());
}

const te::Compute* Readers::reduction_of(const te::Tensor& tensor) const {
  const te::Compute* own = compute_of(maker_.at(tensor.id()));
  return own != nullptr && !own->reduce.empty() ? own : nullptr;
}

bool is_identity(const te::Load& load, const std::vector<te::Axis>& axes, const Extents& extents) {
  if (load.indices.size() != axes.size()) return false;
  for (size_t k = 0; k < axes.size(); ++k) {
    if (te::as_int(load.tensor.shape()[k]) != extents[k]) return false;
    const auto* ref = std::get_if<te::VarRef>(&load.indices[k]->kind);
    const bool is_axis = ref != nullptr && ref->var == axes[k].var;
    if (!is_axis && !(extents[k] == 1 && te::as_int(load.indices[k]) == 0)) return false;
  }
  return true;
}

bool Readers::ends_a_reduction(const Job& job) const {
  for (const auto& load : work_of(job.values[0]).loads) {
    if (reduction_of(load->tensor) == nullptr || outputs_.contains(load->tensor.id())) continue;
    if (readers_[maker_.at(load->tensor.id())].size() == 1 &&
        is_identity(*load, job.compute().axes, job.extents))
      return true;
  }
  return false;
}

int64_t Readers::reads_of(size_t s) const {
  int64_t out = 0;
  for (const auto& [reader, loads] : readers_[s]) {
    const te::Compute& own = *compute_of(reader);
    int64_t times = loads;
    for (const auto* axes : {&own.axes, &own.reduce})
      for (const te::Axis& axis : *axes) times *= te::as_int(axis.extent).value_or(1);
    out += times;
  }
  return out;
}

}  // namespace byoc::cuda
