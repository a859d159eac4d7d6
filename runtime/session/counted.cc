// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/counted.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/plugin/abi.h"

namespace byoc {

CountedPlaces::CountedPlaces(const Program& program) {
  for (const Step& step : program.steps) {
    BYOC_CHECK(step.types.size() == step.args.size(), "a type per argument of ", step.symbol);
    for (size_t k = 0; k < step.args.size(); ++k) add(step.args[k], step.types[k]);
  }
  for (const Instruction& instruction : program.code) {
    for (size_t k = 0; k < instruction.args.size(); ++k)
      add(instruction.args[k], instruction.types[k]);
  }
  for (uint32_t k = 0; k < program.outputs.size(); ++k)
    add({Place::kOutput, k, 0}, program.outputs[k].type);
  dims_ = std::make_unique<int64_t[]>(numbers_.size() * rank_);
}

void CountedPlaces::add(const Place& place, const TensorSpec& type) {
  if (type.counted == 0) return;
  numbers_.try_emplace(key(place), numbers_.size());
  rank_ = std::max(rank_, type.dims.size());
}

int64_t* CountedPlaces::dims(const Place& place) const {
  if (numbers_.empty()) return nullptr;
  auto found = numbers_.find(key(place));
  BYOC_CHECK(found == numbers_.end() || found->second < numbers_.size(), "a place that is counted");
  return found == numbers_.end() ? nullptr : dims_.get() + found->second * rank_;
}

Status check_counted(const Step& step, uint64_t kernel_flags, bool takes_counted) {
  auto counts = [](const TensorSpec& type) { return type.counted != 0; };
  const bool any = std::any_of(step.types.begin(), step.types.end(), counts);
  const bool gives = std::any_of(step.types.begin() + step.n_in, step.types.end(), counts);
  const bool writes = (kernel_flags & BYOC_KERNEL_OUT_SHAPES) != 0;
  const char* wrong = nullptr;
  if (any && !takes_counted) wrong = "has values with counted dims, which its kernel does not take";
  else if (gives && !writes) wrong = "gives values with counted dims, its kernel writes no dims";
  else if (writes && !gives) wrong = "has dims that are numbers, its kernel counts some";
  if (wrong == nullptr) return {};
  return invalid(cat("the step ", step.symbol, " ", wrong))
      .with_slug("counted-kernel")
      .with_help("compile the model again");
}

void clear_dims(const CountedArgument& output) {
  std::fill_n(output.dims, output.type->dims.size(), int64_t{-1});
}

Status check_dims(const char* what, const CountedArgument& argument) {
  const TensorSpec& type = *argument.type;
  bool fits = true;
  for (size_t d = 0; d < type.dims.size(); ++d) {
    const int64_t dim = argument.dims[d];
    fits = fits && (type.is_counted(d) ? dim >= 0 && dim <= type.dims[d] : dim == type.dims[d]);
  }
  if (fits) return {};
  const TensorSpec now{type.dtype, {argument.dims, argument.dims + type.dims.size()}};
  return Status(Code::kOutOfRange, cat(what, " ", argument.number, " is ", now,
                                       " in this run, the program has memory for ", type))
      .with_slug("counted-dims");
}

}  // namespace byoc
