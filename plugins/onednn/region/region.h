// SPDX-License-Identifier: Apache-2.0
#pragma once
// A region as oneDNN runs it: composites dissolved into one unit each, an op with its post-ops.
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "byoc/plugin/sdk/plugin.h"
#include "library/check.h"

namespace byoc::onednn {

using sdk::Graph;
using sdk::Node;
using sdk::Type;
using Dims = std::vector<int64_t>;

/// The reason for which a unit cannot be run by oneDNN; the text reaches the user.
struct Refusal {
  std::string reason;
};

/// A tensor of the region: an input, a constant, or what a unit gives.
struct Value {
  enum Origin { kInput, kConstant, kUnit };
  Origin origin = kInput;
  uint32_t index = 0;  // the input, the constant or the unit
  Type type;
};

/// An op that follows another inside its composite, in the graph's order.
struct Post {
  const Node* node = nullptr;
  int other = -1;      // a binary op's value that is not the chain's
  bool grows = false;  // `other` broadcasts the value so far to a larger result
};

/// Numbers as integers: (x - zero_point) * scale. These are values.
struct Scale {
  int scale = -1, zero_point = -1;  // -1: floats; 0
};
/// The scales of an op on integers (integers.h).
struct Integers {
  Scale first, second, result;
};

struct Unit {
  const Node* node = nullptr;  // the anchor, or an op alone
  std::vector<int> args;       // values
  std::vector<Post> posts;
  int out = -1;             // value
  std::string name;         // the user's
  int64_t graph_node = -1;  // index
  std::optional<Integers> integers;
};

struct Region {
  std::list<Node> made;  // nodes that replace several of the graph's
  std::vector<Value> values;
  std::vector<Unit> units;
  std::vector<int> outputs;                   // values
  std::map<int, std::vector<float>> numbers;  // elements of the constants of integers, if known
  const Value& at(int value) const {
    BYOC_ONEDNN_CHECK(static_cast<size_t>(value) < values.size(), "the region has such a value");
    return values[static_cast<size_t>(value)];
  }
  const Type& type(int value) const { return at(value).type; }
};

/// An output of a region that is the blocks of channels of an image.
struct PackedOutput {
  uint32_t index = 0;
  std::string format;  // of the image whose memory is the output's: "aBcd8b"
};
/// Returns the outputs that are made when these values are made in their memory, by image.
std::map<int, PackedOutput> packed_outputs(const Region& region);

/// Rules for running a chain of post-ops.
struct ChainRules {
  bool keeps_nan = false;  // ops that lose NaN as post-ops are units of their own
};

/// Returns true for a type whose elements can be counted in 32 bits. Products of oneDNN do so in
/// some places, and divide by a count of 0 where it wraps around.
bool is_countable(const Type& type);

/// Reads a region. Nodes point into `graph`. Throws Refusal where a composite is no chain after its
/// first op, and where a tensor is not countable.
Region read_region(const Graph& graph, const ChainRules& rules);

}  // namespace byoc::onednn
