// SPDX-License-Identifier: Apache-2.0
#include "plugins/json/counted_step.h"

#include <algorithm>

#include "byoc/ir/dim.h"

namespace byoc::json_plugin {
namespace {

constexpr int64_t kUsualSize = 64;  // that the kernel of an op with open sizes is tried for

TensorType at_bounds_of(TypeId type) { return {type->dtype, at_bounds(type->shape)}; }

// Returns the type with numbers: bounds for counted dims, sizes that are usual for open ones.
Result<TypeId> example_of(TypeId type) {
  TensorType out{type->dtype, type->shape};
  for (Dim& dim : out.shape) {
    BYOC_TRY(dim, with_sizes(dim, [](Dim size) {
               return std::optional(Dim(std::clamp(kUsualSize, size.min(), size.max())));
             }));
  }
  out = at_bounds_of(out);
  BYOC_TRY_STATUS(size_bytes(out).status());
  return TypeId(out);
}

// Checks that `now` has the rank and dtype of `bound`, and no larger dims.
bool fits(const TensorType& now, const TensorType& bound) {
  return now.dtype == bound.dtype && is_static(now.shape) &&
         std::equal(now.shape.begin(), now.shape.end(), bound.shape.begin(), bound.shape.end(),
                    [](Dim a, Dim b) { return a.extent() <= b.max(); });
}

}  // namespace

bool CountedStep::is_needed(const OpDef& op, Types in, Types out) {
  auto counted = [](TypeId type) { return !is_static(type->shape); };
  return op.sizes || std::any_of(in.begin(), in.end(), counted) ||
         std::any_of(out.begin(), out.end(), counted);
}

Result<CountedStep> CountedStep::make(const OpDef& op, Types in, Types out, const Attrs& attrs,
                                      std::vector<uint32_t> args) {
  CountedStep step;
  step.op_ = &op;
  step.attrs_ = attrs;
  step.args_ = std::move(args);
  std::vector<TypeId> example_in, example_out;
  for (TypeId type : in) {
    BYOC_TRY(example_in.emplace_back(), example_of(type));
  }
  for (TypeId type : out) {
    step.bounds_.push_back(at_bounds_of(type));
    BYOC_TRY(example_out.emplace_back(), example_of(type));
  }
  BYOC_TRY_STATUS(op.reference(example_in, example_out, attrs).status());
  return step;
}

Result<std::vector<TypeId>> CountedStep::results_of(Types in, const void* const* data) const {
  if (!op_->sizes) return infer_types(*op_, in, attrs_);
  BYOC_TRY(std::vector<TensorType> types, op_->sizes(in, data, attrs_));
  return std::vector<TypeId>(types.begin(), types.end());
}

Status CountedStep::run(const void* const* in, void* const* out,
                        std::vector<TensorType>& types) const {
  std::vector<TypeId> operands;
  for (uint32_t value : args_) operands.push_back(types[value]);
  if (op_->check) {
    BYOC_TRY(ValueCheck check, op_->check(operands, attrs_));
    BYOC_TRY_STATUS(check(in));
  }
  // Results whose dims are open alone have their types already. Ops that count also check elements.
  const bool is_known =
      !op_->sizes && std::all_of(results_.begin(), results_.end(),
                                 [&](uint32_t value) { return is_static(types[value].shape); });
  std::vector<TypeId> results;
  if (is_known) {
    for (uint32_t value : results_) results.push_back(types[value]);
  } else {
    BYOC_TRY(results, results_of(operands, in));
  }
  for (size_t k = 0; k < results.size(); ++k) {
    if (!fits(*results[k], bounds_[k]))
      return Status(Code::kOutOfRange, cat(op_->name, ": result ", k, " is ", results[k],
                                           ", there is memory for ", bounds_[k]))
          .with_slug("counted-dims");
    BYOC_TRY_STATUS(size_bytes(*results[k]).status());
    types[results_[k]] = *results[k];
  }
  BYOC_TRY(RefKernel kernel, op_->reference(operands, results, attrs_));
  kernel(in, out);
  return {};
}

}  // namespace byoc::json_plugin
