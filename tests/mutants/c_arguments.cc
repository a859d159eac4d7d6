// SPDX-License-Identifier: Apache-2.0
#include "mutants/c_arguments.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace byoc::test {
namespace {

constexpr int64_t kMostBytes = 1 << 20;  // of one tensor

/// Sets any number as the device's type: it may be from a later DLPack than this one.
void set_device(DLDevice& device, int type, int32_t id) {
  static_assert(sizeof type == sizeof device.device_type);
  std::memcpy(&device.device_type, &type, sizeof type);
  device.device_id = id;
}

}  // namespace

int64_t Input::number() {
  constexpr int64_t kBorders[] = {-1,        INT64_MIN, INT64_MAX, INT32_MAX,
                                  INT32_MIN, 1LL << 32, 1LL << 62, 64};
  const uint8_t drawn = byte();
  return drawn < 240 ? drawn % 12 : kBorders[drawn % 8];
}

const char* Input::text() {
  constexpr const char* kTexts[] = {"threads",     "1",        "",
                                    nullptr,       "x",        "plugin-option",
                                    "json",        "check",    "isolate-plugin",
                                    "99999999999", "\xff\xfe", "%s%n",
                                    "out/../../x", "none",     "json:a=b",
                                    "plugin"};
  return kTexts[byte() % std::size(kTexts)];
}

/// Returns false when an element is farther away than kMostBytes.
bool Tensor::extent(int64_t& low, int64_t& high) const {
  low = high = 0;
  if (view.shape == nullptr) return true;
  int64_t compact = 1;
  for (size_t k = dims.size(); k-- > 0;) {
    if (dims[k] <= 0) return true;  // nothing is read
    const int64_t stride = view.strides != nullptr ? strides[k] : compact;
    int64_t reach = 0;
    if (__builtin_mul_overflow(stride, dims[k] - 1, &reach) || reach > kMostBytes ||
        reach < -kMostBytes)
      return false;
    (reach < 0 ? low : high) += reach;
    if (__builtin_mul_overflow(compact, dims[k], &compact) || compact > kMostBytes) return false;
  }
  return true;
}

void Tensor::allocate(Input& in) {
  int64_t low = 0, high = 0;
  const int64_t size = std::max<int64_t>((view.dtype.bits * int64_t{view.dtype.lanes} + 7) / 8, 1);
  if (!extent(low, high) || view.byte_offset > 4096 || in.byte() == 255) return;  // null
  memory.resize(static_cast<size_t>((high - low + 1) * size) + view.byte_offset + 64);
  const auto address = reinterpret_cast<uintptr_t>(memory.data());
  view.data = memory.data() + (64 - address % 64) % 64 + static_cast<size_t>(-low * size);
}

void Tensor::change(Input& in) {
  switch (in.byte() % 9) {
    case 0:
      view.ndim = static_cast<int32_t>(in.number());
      break;
    case 1:
      view.dtype = {in.byte(), in.byte(), static_cast<uint16_t>(in.number())};
      break;
    case 2: {
      const auto type = static_cast<int>(in.number());
      set_device(view.device, type, static_cast<int32_t>(in.number()));
      break;
    }
    case 3:
      view.byte_offset = static_cast<uint64_t>(in.number());
      break;
    case 4:
      dims.empty() ? dims.push_back(in.number())
                   : void(dims[in.byte() % dims.size()] = in.number());
      break;
    case 5:
      strides.assign(dims.size(), in.number());
      break;
    case 6:
      strides.assign(dims.size(), 1);
      if (!strides.empty()) strides[in.byte() % strides.size()] = in.number();
      break;
    default:
      break;
  }
}

void Tensor::finish(Input& in) {
  const bool is_null = in.byte() == 255;  // a shape that is not there
  view.shape = is_null ? nullptr : dims.data();
  if (!strides.empty() && strides.size() == dims.size()) view.strides = strides.data();
  const auto rank = static_cast<int32_t>(dims.size());
  if (view.ndim > rank) {  // would be read beyond the arrays
    dims.resize(static_cast<size_t>(std::min(view.ndim, 100)), 1);
    view.ndim = static_cast<int32_t>(dims.size());
    view.shape = is_null ? nullptr : dims.data();
    view.strides = nullptr;
  }
  allocate(in);
}

}  // namespace byoc::test
