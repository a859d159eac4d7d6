// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tensors of one run in memory: where they are, and the views that the plugin gets.
#include <cstring>

#include "byoc/runtime/tensor.h"
#include "core/conform/context/loaded_plugin.h"
#include "runtime/guard/guarded_memory.h"

namespace byoc::conform {

inline constexpr std::byte kFill{0xa5};
inline constexpr size_t kOffsetBytes = 64;

/// Describes where the tensors of one run are in memory.
struct Arrangement {
  const char* name;
  const char* check;  // that fails on a wrong value; null: FunctionTest::value_check
  Placement placement = Placement::kAtStart;
  bool by_elements = false;  // aligned to the elements; else to 64 bytes
  bool offset = false, strided_inputs = false, strided_outputs = false, special = false;
  int in_place = -1;  // which declared pair shares memory
  bool spans = false;
  bool other_values = false;  // than the first run
  bool large_values = false;  // far from 0
};
/// Holds the memory of one argument and the view that the plugin gets.
class Argument {
 public:
  Argument(std::string_view name, TypeId type, const Arrangement& how, bool strided)
      : spec_(spec_of(type)),
        element_(dtype_size(spec_.dtype)),
        step_(strided ? 2 : 1),
        offset_(how.offset ? kOffsetBytes : 0),
        memory_(name, bytes() * step_ + offset_, how.by_elements ? element_ : 64, how.placement) {
    std::fill_n(memory_.data(), memory_.size(), kFill);
    int64_t stride = static_cast<int64_t>(step_);
    strides_.resize(spec_.dims.size());
    for (size_t d = spec_.dims.size(); d-- > 0; stride *= spec_.dims[d]) strides_[d] = stride;
    view_.data = bytes() == 0 && !how.offset ? nullptr : memory_.data();
    view_.device = {kDLCPU, 0};
    view_.ndim = static_cast<int32_t>(spec_.dims.size());
    view_.dtype = to_dlpack(spec_.dtype);
    view_.shape = spec_.dims.data();
    view_.strides = strided ? strides_.data() : nullptr;
    view_.byte_offset = offset_;
  }
  Argument(const Argument&) = delete;

  size_t bytes() const { return static_cast<size_t>(num_elements(spec_)) * element_; }
  void write(const std::byte* compact) {
    for (size_t k = 0; k < bytes() / element_; ++k)
      std::memcpy(first() + k * step_ * element_, compact + k * element_, element_);
  }
  std::vector<std::byte> read() const {
    std::vector<std::byte> out(bytes());
    for (size_t k = 0; k < bytes() / element_; ++k)
      std::memcpy(out.data() + k * element_, first() + k * step_ * element_, element_);
    return out;
  }
  GuardedMemory& memory() { return memory_; }
  const DLTensor* view() const { return &view_; }
  /// Returns true when the bytes before and between the elements have not changed.
  bool gaps_are_whole() const {
    const std::byte *begin = memory_.data(), *end = begin + memory_.size();
    for (const std::byte* at = begin; at < end; ++at) {
      auto place = static_cast<size_t>(at - begin);
      bool inside = place >= offset_ && (place - offset_) / element_ % step_ == 0;
      if (!inside && *at != kFill) return false;
    }
    return memory_.changed_margin() == nullptr;
  }

 private:
  std::byte* first() const { return memory_.data() + offset_; }
  TensorSpec spec_;
  size_t element_, step_, offset_;
  GuardedMemory memory_;
  std::vector<int64_t> strides_;
  DLTensor view_{};
};

}  // namespace byoc::conform
