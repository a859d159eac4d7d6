// SPDX-License-Identifier: Apache-2.0
#include "core/tools/verify/reduce_region.h"

#include <algorithm>
#include <map>

#include "byoc/base/check.h"
#include "byoc/ir/visit.h"
#include "byoc/pass/partition.h"
#include "core/tools/model/execute.h"
#include "core/tools/model/region_probe.h"
#include "core/tools/verify/sub_region.h"

namespace byoc::driver {
namespace {

class RegionReducer {
 public:
  RegionReducer(const IRModule& fused, Symbol region, const RegionTest& test)
      : fused_(fused), name_(region), whole_(fused.function(region)), test_(test) {
    for (uint32_t k = 0; k < whole_.nodes.size(); ++k) {
      if (is_work(whole_.nodes[k])) work_.push_back(k);
    }
  }

  Result<ReducedRegion> run(std::vector<Tensor> inputs) {
    if (work_.empty())
      return failed(cat("@", name_, " gives a wrong result and has no ops")).with_slug("no-ops");
    BYOC_TRY_STATUS(compute_right_values(std::move(inputs)));
    size_t last = first_wrong();
    size_t first = last;
    while (first > 0 && !is_wrong(first, last)) first -= std::min(first, last - first + 1);
    BYOC_TRY(ReducedRegion out, reduced(first, last));
    while (test_.is_wrong_anew) {
      confirm(out);
      if (out.confirmation != Confirmation::kRight || out.to_ops == work_.size()) break;
      widen(first, last);
      BYOC_TRY(out, reduced(first, last));
    }
    return out;
  }

 private:
  /// Doubles the number of nodes: adds earlier nodes, or later ones when there are no earlier ones.
  void widen(size_t& first, size_t& last) const {
    const size_t more = last - first + 1;
    if (first > 0) first -= std::min(first, more);
    else last = std::min(last + more, work_.size() - 1);
  }

  void confirm(ReducedRegion& region) const {
    Result<bool> is_wrong = test_.is_wrong_anew(region);
    if (!is_wrong.ok()) {
      region.confirmation = Confirmation::kNoVerdict;
      region.why_no_verdict = is_wrong.status().message();
    } else {
      region.confirmation = *is_wrong ? Confirmation::kWrong : Confirmation::kRight;
    }
  }

  Result<ReducedRegion> reduced(size_t first, size_t last) const {
    ReducedRegion out;
    SubRegion smallest = part(first, last);
    for (ValueId read : smallest.reads) {
      BYOC_TRY(Tensor copy, right(read).copy());
      out.inputs.push_back(std::move(copy));
    }
    for (uint32_t k = 0; k < whole_.nodes[work_[last]].types.size(); ++k) {
      BYOC_TRY(Tensor copy, right({work_[last], k}).copy());
      out.outputs.push_back(std::move(copy));
    }
    out.module = module_calling(fused_, name_, std::move(smallest.function));
    out.region = name_;
    out.from_ops = work_.size();
    out.to_ops = last - first + 1;
    out.runs = runs_;
    return out;
  }

  /// Computes all values of the region with the reference.
  Status compute_right_values(std::vector<Tensor> inputs) {
    Function probe = whole_;
    std::vector<ValueId> values;
    for (uint32_t node : work_) {
      for (uint32_t k = 0; k < whole_.nodes[node].types.size(); ++k) values.push_back({node, k});
    }
    probe.results = values;
    IRModule module = with_all_regions_for(module_calling(fused_, name_, std::move(probe)),
                                           test_.reference_plugin);
    BYOC_TRY(module, inline_composites(std::move(module), {}, test_.reference));
    BYOC_TRY(auto outputs, compile_and_run(std::move(module), test_.reference, inputs));
    BYOC_CHECK(outputs.size() == values.size() && inputs.size() == whole_.num_params(),
               outputs.size(), " values of ", values.size());
    for (size_t k = 0; k < values.size(); ++k) right_.emplace(values[k], std::move(outputs[k]));
    for (uint32_t k = 0; k < inputs.size(); ++k)
      right_.emplace(ValueId{k, 0}, std::move(inputs[k]));
    return {};
  }

  const Tensor& right(ValueId value) const {
    auto found = right_.find(value);
    BYOC_CHECK(found != right_.end(), "value ", value.node, "#", value.output, " is not computed");
    return found->second;
  }

  /// Adds tensors with open sizes to the inputs for the run.
  Result<std::vector<Tensor>> compile_and_run(IRModule module, const PassContext& context,
                                              std::vector<Tensor>& inputs) {
    ++runs_;
    const size_t given = inputs.size();
    BYOC_TRY_STATUS(give_sizes(module, test_.sizes, inputs));
    BYOC_TRY(Executable executable, compile_regions(std::move(module), context));
    auto outputs = execute(std::move(executable), test_.plugins, test_.threads, inputs);
    inputs.erase(inputs.begin() + static_cast<ptrdiff_t>(given), inputs.end());
    return outputs;
  }

  SubRegion part(size_t first, size_t last) const {
    return sub_region(whole_, std::span(work_).subspan(first, last - first + 1));
  }

  bool is_wrong(size_t first, size_t last) {
    SubRegion tried = part(first, last);
    std::vector<Tensor> inputs;
    for (ValueId read : tried.reads) {
      auto copy = right(read).copy();
      if (!copy.ok()) return false;
      inputs.push_back(*std::move(copy));
    }
    const IRModule module = module_calling(fused_, name_, std::move(tried.function));
    auto limits = test_.limits(module, name_);
    auto got = compile_and_run(module, test_.ours, inputs);
    if (!got.ok() || !limits.ok()) return false;
    for (uint32_t k = 0; k < got->size(); ++k) {
      const ComparedValue value =
          compare_value("", (*got)[k], right({work_[last], k}), (*limits)[k]);
      if (!value.difference.is_equal) return true;
    }
    return false;
  }

  /// Finds by bisection a node `last` such that nodes 0 to `last` give a wrong result. It is the
  /// first such node unless errors vanish in a later node.
  size_t first_wrong() {
    size_t low = 0, high = work_.size() - 1;
    while (low < high) {
      size_t middle = low + (high - low) / 2;
      if (is_wrong(0, middle)) high = middle;
      else low = middle + 1;
    }
    return high;
  }

  const IRModule& fused_;
  Symbol name_;
  const Function& whole_;
  const RegionTest& test_;
  std::vector<uint32_t> work_;  // nodes that compute, in order
  std::map<ValueId, Tensor> right_;
  size_t runs_ = 0;
};

}  // namespace

Result<ReducedRegion> reduce_region(const IRModule& fused, Symbol region,
                                    std::vector<Tensor> inputs, const RegionTest& test) {
  return RegionReducer(fused, region, test).run(std::move(inputs));
}

}  // namespace byoc::driver
