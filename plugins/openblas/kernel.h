// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/plugin/sdk/memory.h"
#include "product.h"

namespace byoc::openblas {

/// Runs the products of a region, one after another. Re-entrant: what a run writes is in the
/// workspace and the outputs.
class ProductKernel : public sdk::Kernel {
 public:
  /// Throws sdk::Declined for a node that is no product.
  explicit ProductKernel(sdk::Function& function);
  sdk::KernelInfo info() const override;
  void run(const sdk::Call& call) const override;

 private:
  using Piece = sdk::StepMemory::Piece;
  struct Step {
    Product product;
    Piece a, b, bias, y;  // bias: that of a when there is none
    int64_t tiles = 1;    // per matrix, of rows or of columns
    bool cuts_rows = true;
    std::string name;
  };
  struct Copy {
    Piece from, to;
    uint64_t bytes;
  };
  void add_step(const sdk::Graph& graph, uint32_t n);
  Piece piece_of(const sdk::Operand& operand) const;
  void run_step(const Step& step, const sdk::Call& call) const;

  sdk::StepMemory memory_;
  std::vector<Piece> inputs_, constants_, results_;
  std::vector<Step> steps_;
  std::vector<Copy> copies_;
  uint32_t threads_;
};

}  // namespace byoc::openblas
