// SPDX-License-Identifier: Apache-2.0
#include "kernel.h"

#include <algorithm>
#include <cstring>

namespace byoc::xnnpack {
namespace {

constexpr int64_t kBlock = 16;  // a block of 16 x 16 floats is read and written by cache lines

// Writes the transposition of x [rows, columns] to y [columns, rows].
void transpose(const float* x, int64_t rows, int64_t columns, float* y) {
  for (int64_t r0 = 0; r0 < rows; r0 += kBlock) {
    const int64_t r1 = std::min(r0 + kBlock, rows);
    for (int64_t c0 = 0; c0 < columns; c0 += kBlock) {
      const int64_t c1 = std::min(c0 + kBlock, columns);
      for (int64_t c = c0; c < c1; ++c) {
        for (int64_t r = r0; r < r1; ++r) y[c * rows + r] = x[r * columns + c];
      }
    }
  }
}

std::string_view name_of(const Step& step) {
  switch (step.kind) {
    case Step::kToImage:
      return "to channels last";
    case Step::kToPlain:
      return "to channels first";
    case Step::kCopy:
      return "copy";
    default:
      return step.unit.name;
  }
}

}  // namespace

sdk::KernelInfo XnnpackKernel::info() const {
  sdk::KernelInfo info;
  info.workspace_bytes = plan_.memory.workspace_bytes();
  info.flags = BYOC_KERNEL_SERIAL | BYOC_KERNEL_MAY_ALLOC;
  info.resident_bytes = plan_.packed_bytes;
  info.implementation = "xnnpack";
  return info;
}

void XnnpackKernel::run_operator_of(const Step& step, const sdk::Call& call, float* y) const {
  Operands in = step.operands;
  in.a = static_cast<const float*>(plan_.memory.address(step.a, call));
  in.b = static_cast<const float*>(plan_.memory.address(step.b, call));
  const Range &a = ranges_[step.value_a], &b = ranges_[step.value_b];
  if (!a.has_denormals && !b.has_denormals && a.largest <= step.largest &&
      b.largest <= step.largest) {
    run_operator(step.unit, step.op.get(), in, step.elements, y);
  } else {
    compute(step.unit, in, step.elements, y);
  }
}

void XnnpackKernel::run_step(const Step& step, const sdk::Call& call) const {
  const auto* x = static_cast<const float*>(plan_.memory.address(step.a, call));
  auto* y = static_cast<float*>(plan_.memory.address(step.y, call));
  const int64_t image = step.channels * step.pixels;
  switch (step.kind) {
    case Step::kOperator:
      run_operator_of(step, call, y);
      break;
    case Step::kToImage:
      for (int64_t n = 0; n < step.images; ++n)
        transpose(x + n * image, step.channels, step.pixels, y + n * image);
      break;
    case Step::kToPlain:
      for (int64_t n = 0; n < step.images; ++n)
        transpose(x + n * image, step.pixels, step.channels, y + n * image);
      break;
    case Step::kCopy:
      if (step.elements != 0) std::memcpy(y, x, step.elements * sizeof(float));
  }
  if (step.sets_range) ranges_[step.value_y] = range_of(y, step.elements);
}

void XnnpackKernel::run(const sdk::Call& call) const {
  const bool wants_spans = call.wants_spans();
  for (const Step& step : plan_.steps) {
    const uint64_t begin = wants_spans ? sdk::host().now_ns() : 0;
    run_step(step, call);
    if (!wants_spans) continue;
    const byoc_str details[] = {sdk::to_str("implementation"), sdk::to_str("xnnpack"),
                                sdk::to_str("is_reorder"),
                                sdk::to_str(step.kind == Step::kOperator ? "0" : "1")};
    call.span(step.node, sdk::to_str(name_of(step)), begin, sdk::host().now_ns(), details);
  }
}

}  // namespace byoc::xnnpack
