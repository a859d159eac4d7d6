// SPDX-License-Identifier: Apache-2.0
#include "byoc/op/evaluate.h"
#include "byoc/base/check.h"

#include <cstdlib>

#include "byoc/base/memory.h"

namespace byoc {
namespace {

using Memory = std::shared_ptr<std::byte>;

Result<Memory> allocate(size_t size) {
  if (Memory spilled = spilled_memory(size)) return spilled;
  constexpr size_t kAlignment = Buffer::kAlignment;
  auto* memory = static_cast<std::byte*>(aligned_memory(size, kAlignment));
  if (memory == nullptr) {
    return Status(Code::kResourceExhausted, cat("no memory for a tensor of ", size, " bytes"));
  }
  return Memory(memory, std::free);
}

}  // namespace

Result<std::vector<std::shared_ptr<const Buffer>>> evaluate(const OpDef& op, const Attrs& attrs,
                                                            Types inputs, Types outputs,
                                                            std::span<const Buffer* const> data) {
  if (!op.reference) return unimplemented(cat(op.name, " has no reference kernel"));
  for (TypeId type : inputs) BYOC_TRY_STATUS(size_bytes(*type).status());
  BYOC_CHECK(data.size() == inputs.size(), op.name, ": ", data.size(), " buffers of ",
             inputs.size(), " operands");
  static constexpr std::byte kNothing{};
  std::vector<const void*> in;
  for (const Buffer* buffer : data) in.push_back(buffer ? buffer->data() : &kNothing);
  std::vector<Memory> memory;
  std::vector<size_t> sizes;
  std::vector<void*> out;
  for (TypeId type : outputs) {
    BYOC_TRY(int64_t size, size_bytes(*type));
    BYOC_TRY(Memory bytes, allocate(static_cast<size_t>(size)));
    out.push_back(bytes.get());
    sizes.push_back(static_cast<size_t>(size));
    memory.push_back(std::move(bytes));
  }
  if (op.check) {
    BYOC_TRY(ValueCheck check, op.check(inputs, attrs));
    BYOC_TRY_STATUS(check(in.data()));
  }
  BYOC_TRY(RefKernel kernel, op.reference(inputs, outputs, attrs));
  kernel(in.data(), out.data());
  std::vector<std::shared_ptr<const Buffer>> results;
  for (size_t k = 0; k < memory.size(); ++k) {
    results.push_back(Buffer::adopt({memory[k].get(), sizes[k]}, memory[k]));
  }
  return results;
}

bool reads_types_alone(const OpDef& op) { return op.name == "shape"; }

bool is_dequantized_weight(const OpDef& op, Types inputs) {
  return op.facts.family == OpFamily::kDequantize && dtype_size(inputs[0]->dtype) == 1 &&
         inputs[0]->shape.size() >= 2;
}

}  // namespace byoc
