// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that a host program provides, and float tensors to call with.
#include <functional>

#include "byoc/runtime/session.h"

namespace byoc::test {

/// Owned, aligned floats with a view. A copy has separate memory.
class Floats {
 public:
  Floats(std::initializer_list<float> values)
      : tensor_(*Tensor::make({DType::kF32, {static_cast<int64_t>(values.size())}})) {
    std::copy(values.begin(), values.end(), reinterpret_cast<float*>(tensor_.data()));
  }
  Floats(const Floats& other) : tensor_(*other.tensor_.copy()) {}
  DLTensor view() const { return tensor_.view(); }
  std::span<const float> values() const {
    return {reinterpret_cast<const float*>(tensor_.data()), tensor_.size_bytes() / sizeof(float)};
  }

 private:
  Tensor tensor_;
};

/// Returns a host function that computes out = f(a, b) for each element.
template <class F>
HostExtern elementwise(F f) {
  return [f](std::span<const DLTensor> in, std::span<DLTensor> out) -> Status {
    const auto *a = static_cast<const float*>(in[0].data),
               *b = static_cast<const float*>(in[1].data);
    for (int64_t k = 0; k < out[0].shape[0]; ++k)
      static_cast<float*>(out[0].data)[k] = f(a[k], b[k]);
    return {};
  };
}

/// Provides the functions `add` and `mul` of add_mul().
inline void provide(Session& session) {
  (void)session.register_extern("add", elementwise(std::plus<float>()));
  (void)session.register_extern("mul", elementwise(std::multiplies<float>()));
}

}  // namespace byoc::test
