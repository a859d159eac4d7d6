// SPDX-License-Identifier: Apache-2.0
#include "runtime/isolate/server/call.h"

#include <algorithm>
#include <cstdlib>

#include "byoc/base/memory.h"
#include "runtime/host/host.h"

namespace byoc::isolate {
namespace {

constexpr size_t kTensorAlignment = 64;

std::unique_ptr<std::byte, void (*)(void*)> allocate(uint64_t bytes, uint64_t align) {
  return {static_cast<std::byte*>(aligned_memory(std::max<uint64_t>(bytes, 1),
                                                 std::max<uint64_t>(align, kTensorAlignment))),
          std::free};
}

Status no_memory() { return Status(Code::kResourceExhausted, "no memory for a run"); }

}  // namespace

Status ServedCall::read_tensor(Reader& from, bool is_output, Tensor& tensor) {
  tensor.view.dtype = from.plain<DLDataType>();
  tensor.view.device = {kDLCPU, 0};
  uint64_t elements = 1;
  for (size_t n = from.count(); n > 0; --n) {
    tensor.dims.push_back(static_cast<int64_t>(from.number()));
    elements *= static_cast<uint64_t>(tensor.dims.back());
  }
  tensor.bytes = (elements * tensor.view.dtype.bits * tensor.view.dtype.lanes + 7) / 8;
  tensor.view.ndim = static_cast<int32_t>(tensor.dims.size());
  tensor.view.shape = tensor.dims.data();
  if (from.number() != 0) tensor.counted = tensor.dims;
  if (!is_output) {
    const auto bytes = from.bytes();
    if (bytes.size() != tensor.bytes) from.fail();
    tensor.view.data = const_cast<std::byte*>(bytes.data());
    return {};
  }
  tensor.memory = allocate(tensor.bytes, kTensorAlignment);
  if (!tensor.memory) return no_memory();
  tensor.view.data = tensor.memory.get();
  return {};
}

Status ServedCall::read(Reader& from, const LoadedModule::Kernel& kernel) {
  raw_.h = {sizeof raw_, BYOC_TAG_CALL, nullptr};
  raw_.workspace_bytes = from.number();
  n_in_ = from.number();
  tensors_.resize(from.count());
  const bool gives_shapes = from.number() != 0;
  for (size_t k = 0; k < tensors_.size(); ++k)
    BYOC_TRY_STATUS(read_tensor(from, k >= n_in_, tensors_[k]));
  for (size_t n = from.count(); n > 0; --n) sizes_.push_back(static_cast<int64_t>(from.number()));
  if (!from.ok() || n_in_ > tensors_.size()) return data_loss("the request is no message");
  inputs_ = from.owner();
  workspace_ = allocate(raw_.workspace_bytes, kernel.workspace_align);
  if (!workspace_) return no_memory();
  raw_.workspace = workspace_.get();
  for (Tensor& tensor : tensors_) pointers_.push_back(&tensor.view);
  for (size_t k = n_in_; k < tensors_.size(); ++k)
    out_shapes_.push_back(tensors_[k].counted.empty() ? nullptr : tensors_[k].counted.data());
  raw_.args = pointers_.data();
  raw_.n_args = static_cast<uint32_t>(pointers_.size());
  raw_.out_shapes = gives_shapes ? out_shapes_.data() : nullptr;
  raw_.sizes = sizes_.empty() ? nullptr : sizes_.data();
  return {};
}

void ServedCall::write_outputs(Writer& to) const {
  for (size_t k = n_in_; k < tensors_.size(); ++k) {
    for (int64_t dim : tensors_[k].counted) to.number(static_cast<uint64_t>(dim));
    to.bytes({tensors_[k].memory.get(), tensors_[k].bytes});
  }
}

}  // namespace byoc::isolate
