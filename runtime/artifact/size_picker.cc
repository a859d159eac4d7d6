// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/size_picker.h"

#include <algorithm>
#include <numeric>

namespace byoc {
namespace {

std::string describe(std::span<const DLTensor> views, const std::vector<NamedTensor>& inputs) {
  std::string out;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const int32_t rank = views[k].shape == nullptr ? 0 : std::max(views[k].ndim, 0);
    TensorSpec given{inputs[k].type.dtype, {views[k].shape, views[k].shape + rank}};
    out += cat(out.empty() ? "" : ", ", inputs[k].name, " ", given);
  }
  return out;
}

}  // namespace

std::vector<size_t> SizePicker::order_of(std::span<const SizedExecutable> sizes) {
  std::vector<size_t> out(sizes.size());
  std::iota(out.begin(), out.end(), size_t{0});
  std::ranges::stable_sort(out, {},
                           [&](size_t k) { return sizes[k].executable.program.sizes.size(); });
  return out;
}

Result<SizePicker> SizePicker::make(std::span<const SizedExecutable> sizes) {
  if (sizes.empty()) return invalid("there is no size to load").with_slug("executable");
  SizePicker out;
  out.inputs_ = sizes[0].executable.program.given();
  out.numbers_ = order_of(sizes);
  for (size_t k : out.numbers_) {
    BYOC_TRY(OpenSizes open, OpenSizes::make(sizes[k].executable.program));
    out.sizes_.push_back(std::move(open));
  }
  out.described_ = describe_sizes(sizes);
  return out;
}

Result<size_t> SizePicker::pick(std::span<const DLTensor> views) const {
  if (views.size() != inputs_.size()) {
    return invalid(cat("expected ", inputs_.size(), " inputs, got ", views.size()))
        .with_slug("input-count");
  }
  for (size_t k = 0; k < sizes_.size(); ++k) {
    if (sizes_[k].fits(views)) return numbers_[k];
  }
  const OpenSizes& last = sizes_.back();
  std::vector<int64_t> ignored(last.count());
  if (!last.empty()) BYOC_TRY_STATUS(last.read(views, ignored));
  return no_such_size(describe(views, inputs_), described_);
}

}  // namespace byoc
