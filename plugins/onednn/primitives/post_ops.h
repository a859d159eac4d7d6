// SPDX-License-Identifier: Apache-2.0
#pragma once
// Post-ops, built from the graph in the graph's order. The shape distinguishes a bias
// from a residual.
#include <optional>

#include "library/dnnl_compat.h"
#include "region/region.h"

namespace byoc::onednn {

struct Eltwise {
  dnnl::algorithm how;
  float alpha, beta;
};
/// Returns an elementwise op as oneDNN's function with its parameters; nothing where oneDNN has it
/// as several functions (region/chain.h) or not at all.
std::optional<Eltwise> find_eltwise(const Node& node);

struct Binary {
  dnnl::algorithm how;
  std::optional<dnnl::algorithm> swapped;  // for the operands in the other order
};
std::optional<Binary> find_binary(const Node& node);

struct PostInput {
  int index;  // DNNL_ARG_...
  int value;
  Dims dims;           // as the post-op sees it
  bool whole = false;  // has the result's dims, in a layout that oneDNN chooses
};

struct Posts {
  dnnl::primitive_attr attr;  // scratchpad is the user's
  int bias = -1;              // value, one element per channel
  int sum = -1;               // value added to from the result's own memory
  std::vector<PostInput> inputs;
};

struct Channel {
  int64_t count;  // elements of a bias
  int64_t axis;   // the result's
};
/// Reads the unit's chain, whose ops are those of region/chain.h. alpha: factor of the op itself.
/// Throws Refusal.
Posts read_posts(const Region& region, const Unit& unit, Channel channel, float alpha = 1.0f);

}  // namespace byoc::onednn
