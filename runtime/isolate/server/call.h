// SPDX-License-Identifier: Apache-2.0
#pragma once
// One run of a kernel for another process: views of the tensors in its message, and outputs.
#include "runtime/isolate/wire.h"

namespace byoc::isolate {

class ServedCall {
 public:
  /// Errors: kDataLoss for a message that is no call; kResourceExhausted.
  Status read(Reader& from, const LoadedModule::Kernel& kernel);
  const byoc_call& raw() const { return raw_; }
  /// Writes the dims that the run counted, and the elements of the outputs.
  void write_outputs(Writer& to) const;

 private:
  using Memory = std::unique_ptr<std::byte, void (*)(void*)>;
  struct Tensor {
    DLTensor view{};
    std::vector<int64_t> dims, counted;
    Memory memory{nullptr, nullptr};  // of an output
    uint64_t bytes = 0;
  };
  Status read_tensor(Reader& from, bool is_output, Tensor& tensor);
  std::vector<Tensor> tensors_;
  std::vector<const DLTensor*> pointers_;
  std::vector<int64_t*> out_shapes_;
  std::vector<int64_t> sizes_;
  Memory workspace_{nullptr, nullptr};
  std::shared_ptr<const void> inputs_;
  size_t n_in_ = 0;
  byoc_call raw_{};
};

}  // namespace byoc::isolate
