// SPDX-License-Identifier: Apache-2.0
#pragma once
// The description of one XNNPACK operator: an op, with a bias and bounds of the result where
// XNNPACK has them. Nothing here includes XNNPACK.
#include <limits>

#include "byoc/plugin/sdk/plugin.h"

namespace byoc::xnnpack {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The window of a convolution or a pool over an image, and the extents on both sides of it.
struct Window {
  int64_t n = 1, c = 1, h = 1, w = 1;       // of the operand
  int64_t out_c = 1, out_h = 1, out_w = 1;  // of the result
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t top = 0, left = 0, bottom = 0, right = 0;  // padding
  int64_t groups = 1;
};

/// A product of rows by a constant matrix.
struct Product {
  int64_t rows = 1, k = 1, n = 1;
  bool by_columns = false;  // the matrix is stored [n, k]
};

/// One operator.
struct Unit {
  enum Kind {
    kConvolution,
    kProduct,
    kMaxPool,
    kAveragePool,
    kGlobalAverage,
    kUnary,
    kBinary,
    kSoftmax
  };
  Kind kind = kUnary;
  const sdk::Node* op = nullptr;  // the anchor; lives as long as the graph
  std::string name;               // of the op
  std::vector<uint32_t> args;     // the arguments of the node that are data: one, or two of kBinary
  int64_t weight = -1, bias = -1;  // the arguments of the node that are constants; -1: none
  float low = -kInfinity, high = kInfinity;  // bounds of the result
  float parameter = 0;                       // alpha of elu and leaky_relu
  Window window;
  Product product;
  int64_t channels = 1;  // kSoftmax: the extent of the axis

  /// True for units that need the channels of an image to be last.
  bool is_image() const { return kind <= kGlobalAverage && kind != kProduct; }
};

/// Reads an op or composite. Throws sdk::Declined with the reason for what XNNPACK cannot compute.
Unit read_unit(const sdk::Graph& graph, const sdk::Node& node);

/// Reads the window of a convolution or pool `op` of an operand to a result. Throws sdk::Declined.
Window read_convolution(const sdk::Node& op, const sdk::Type& x, const sdk::Type& weight,
                        const sdk::Type& y);
Window read_pool(const sdk::Node& op, const sdk::Type& x, const sdk::Type& y);

/// Throws sdk::Declined when the node has an attribute that is not listed.
void refuse_unknown(const sdk::Node& node, std::initializer_list<std::string_view> known);

}  // namespace byoc::xnnpack
