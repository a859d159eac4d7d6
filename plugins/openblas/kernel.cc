// SPDX-License-Identifier: Apache-2.0
#include "kernel.h"

#include <algorithm>
#include <cstring>

#include "multiply.h"

namespace byoc::openblas {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr double kTileFlops = 4e6;  // about 100 us of one core: a block of a parallel loop
constexpr int64_t kTileStep = 16;   // rows or columns; a multiple of what OpenBLAS computes at once

// Returns into how many tiles a matrix is cut, so that a parallel loop has work for all workers.
int64_t tiles_of(const Product& p, uint32_t threads) {
  if (threads <= 1) return 1;
  const double flops = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) *
                       static_cast<double>(std::max<int64_t>(p.k, 1));
  const int64_t by_work = std::max<int64_t>(1, static_cast<int64_t>(flops / kTileFlops));
  const int64_t by_size = (std::max(p.m, p.n) + kTileStep - 1) / kTileStep;
  return std::max<int64_t>(1, std::min({by_work, by_size, int64_t{4} * threads}));
}

Tile tile_of(const Product& p, int64_t tiles, bool cuts_rows, int64_t index) {
  const int64_t extent = cuts_rows ? p.m : p.n;
  const int64_t step = ((extent + tiles - 1) / tiles + kTileStep - 1) / kTileStep * kTileStep;
  const int64_t begin = std::min(index * step, extent), end = std::min(begin + step, extent);
  if (cuts_rows) return {begin, end - begin, 0, p.n};
  return {0, p.m, begin, end - begin};
}

std::string name_of(const sdk::Graph& graph, const sdk::Node& node) {
  const sdk::Body* body = graph.callee(node);
  return body ? body->pattern : node.op;
}

}  // namespace

ProductKernel::ProductKernel(sdk::Function& function)
    : threads_(std::max<uint32_t>(function.threads, 1)) {
  const sdk::Graph& graph = function.graph;
  for (uint32_t k = 0; k < graph.inputs.size(); ++k) inputs_.push_back(memory_.input(k));
  for (uint32_t k = 0; k < graph.constants.size(); ++k)
    constants_.push_back(memory_.constant(function.constants.keep(k)));
  results_.assign(graph.nodes.size(), kNone);
  for (uint32_t k = 0; k < graph.outputs.size(); ++k) {
    const sdk::Operand& output = graph.outputs[k];
    if (output.kind == sdk::Operand::kNode && results_[output.index] == kNone)
      results_[output.index] = memory_.output(k);
    else
      copies_.push_back(
          {piece_of(output), memory_.output(k), static_cast<uint64_t>(graph.type(output).bytes())});
  }
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) add_step(graph, n);
  memory_.place();
}

ProductKernel::Piece ProductKernel::piece_of(const sdk::Operand& operand) const {
  switch (operand.kind) {
    case sdk::Operand::kInput:
      return inputs_[operand.index];
    case sdk::Operand::kConstant:
      return constants_[operand.index];
    default:
      return results_[operand.index];
  }
}

void ProductKernel::add_step(const sdk::Graph& graph, uint32_t n) {
  const sdk::Node& node = graph.nodes[n];
  if (results_[n] == kNone)
    results_[n] = memory_.scratch(static_cast<uint64_t>(graph.type(node).bytes()));
  Step step{read_product(graph, node), 0, 0, 0, results_[n], 1, true, name_of(graph, node)};
  const Product& p = step.product;
  step.a = piece_of(node.args[p.a.arg]);
  step.b = piece_of(node.args[p.b.arg]);
  step.bias = p.bias ? piece_of(node.args[p.bias->arg]) : step.a;
  step.tiles = tiles_of(p, threads_);
  step.cuts_rows = p.m >= p.n;
  for (Piece piece : {step.a, step.b, step.bias, step.y}) memory_.touch(piece, n);
  steps_.push_back(std::move(step));
}

sdk::KernelInfo ProductKernel::info() const {
  sdk::KernelInfo info;
  info.workspace_bytes = memory_.workspace_bytes();
  info.flags = BYOC_KERNEL_MAY_ALLOC;  // OpenBLAS maps a buffer per thread that calls it, once
  info.implementation = "gemm";
  return info;
}

void ProductKernel::run_step(const Step& step, const sdk::Call& call) const {
  const Product& p = step.product;
  const int64_t count = p.matrices() * step.tiles;
  if (count == 0 || p.m == 0 || p.n == 0) return;
  const void *a = memory_.address(step.a, call), *b = memory_.address(step.b, call);
  const void* bias = memory_.address(step.bias, call);
  void* y = memory_.address(step.y, call);
  sdk::host().parallel_for(
      static_cast<uint64_t>(count), 1, [&](uint64_t lo, uint64_t hi, uint32_t /*worker*/) {
        for (auto k = static_cast<int64_t>(lo); k < static_cast<int64_t>(hi); ++k) {
          const Tile tile = tile_of(p, step.tiles, step.cuts_rows, k % step.tiles);
          if (tile.rows > 0 && tile.columns > 0) multiply(p, k / step.tiles, tile, a, b, bias, y);
        }
      });
}

void ProductKernel::run(const sdk::Call& call) const {
  const bool wants_spans = call.wants_spans();
  const byoc_str details[] = {sdk::to_str("implementation"), sdk::to_str("gemm")};
  for (size_t s = 0; s < steps_.size(); ++s) {
    const uint64_t begin = wants_spans ? sdk::host().now_ns() : 0;
    run_step(steps_[s], call);
    if (wants_spans)
      call.span(static_cast<int64_t>(s), sdk::to_str(steps_[s].name), begin, sdk::host().now_ns(),
                details);
  }
  for (const Copy& copy : copies_) {
    if (copy.bytes != 0)
      std::memcpy(memory_.address(copy.to, call), memory_.address(copy.from, call), copy.bytes);
  }
}

}  // namespace byoc::openblas
