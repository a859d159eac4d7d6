// SPDX-License-Identifier: Apache-2.0
#include "operators.h"

#include <xnnpack.h>

#include <algorithm>

namespace byoc::xnnpack {
namespace {

std::string status_name(xnn_status status) {
  constexpr std::string_view kNames[] = {
      "success",       "uninitialized",         "invalid parameter",
      "invalid state", "unsupported parameter", "unsupported hardware",
      "out of memory"};
  const auto at = static_cast<size_t>(status);
  return at < std::size(kNames) ? std::string(kNames[at]) : "status " + std::to_string(at);
}

size_t count(int64_t n) { return static_cast<size_t>(n); }
uint32_t small(int64_t n) {
  if (n < 0 || n > UINT32_MAX) throw sdk::Declined(std::to_string(n) + " is more than XNNPACK has");
  return static_cast<uint32_t>(n);
}

// Returns weights [o, i, h, w] as [o, h, w, i].
std::vector<float> channels_last(const Window& w, const float* weight) {
  const int64_t inner = w.c / w.groups, cells = w.kernel_h * w.kernel_w;
  std::vector<float> out(count(w.out_c * inner * cells));
  for (int64_t o = 0; o < w.out_c; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t k = 0; k < cells; ++k)
        out[count((o * cells + k) * inner + i)] = weight[(o * inner + i) * cells + k];
    }
  }
  return out;
}

xnn_status make_convolution(const Unit& unit, const float* weight, const float* bias,
                            xnn_operator_t* op) {
  const Window& w = unit.window;
  const std::vector<float> kernel = channels_last(w, weight);
  return xnn_create_convolution2d_nhwc_f32(
      small(w.top), small(w.right), small(w.bottom), small(w.left), small(w.kernel_h),
      small(w.kernel_w), small(w.stride_h), small(w.stride_w), small(w.dilation_h),
      small(w.dilation_w), small(w.groups), count(w.c / w.groups), count(w.out_c / w.groups),
      count(w.c), count(w.out_c), kernel.data(), bias, unit.low, unit.high, 0, op);
}

xnn_status make_pool(const Unit& unit, xnn_operator_t* op) {
  const Window& w = unit.window;
  const size_t c = count(w.c);
  if (unit.kind == Unit::kGlobalAverage)
    return xnn_create_global_average_pooling_nwc_f32(c, c, c, unit.low, unit.high, 0, op);
  if (unit.kind == Unit::kMaxPool) {
    return xnn_create_max_pooling2d_nhwc_f32(
        small(w.top), small(w.right), small(w.bottom), small(w.left), small(w.kernel_h),
        small(w.kernel_w), small(w.stride_h), small(w.stride_w), small(w.dilation_h),
        small(w.dilation_w), c, c, c, unit.low, unit.high, 0, op);
  }
  return xnn_create_average_pooling2d_nhwc_f32(
      small(w.top), small(w.right), small(w.bottom), small(w.left), small(w.kernel_h),
      small(w.kernel_w), small(w.stride_h), small(w.stride_w), c, c, c, unit.low, unit.high, 0, op);
}

xnn_status make_binary(const Unit& unit, xnn_operator_t* op) {
  if (unit.name == "add") return xnn_create_add_nd_f32(unit.low, unit.high, 0, op);
  if (unit.name == "subtract") return xnn_create_subtract_nd_f32(unit.low, unit.high, 0, op);
  return xnn_create_multiply_nd_f32(unit.low, unit.high, 0, op);
}

/// The functions of XNNPACK for an op of one operand.
struct UnaryRow {
  std::string_view op;
  xnn_status (*create)(const Unit&, size_t n, xnn_operator_t*);
  xnn_status (*setup)(xnn_operator_t, size_t, const float*, float*, pthreadpool_t);
};

template <auto create>
xnn_status plain(const Unit&, size_t n, xnn_operator_t* op) {
  return create(n, n, n, 0, op);
}
xnn_status clamp(const Unit& unit, size_t n, xnn_operator_t* op) {
  return xnn_create_clamp_nc_f32(n, n, n, unit.low, unit.high, 0, op);
}
xnn_status leaky_relu(const Unit& unit, size_t n, xnn_operator_t* op) {
  return xnn_create_leaky_relu_nc_f32(n, n, n, unit.parameter, 0, op);
}
xnn_status elu(const Unit& unit, size_t n, xnn_operator_t* op) {
  return xnn_create_elu_nc_f32(n, n, n, unit.parameter, 0, op);
}

const UnaryRow& unary_row(const std::string& op) {
  static constexpr UnaryRow kRows[] = {
      {"abs", plain<xnn_create_abs_nc_f32>, xnn_setup_abs_nc_f32},
      {"negative", plain<xnn_create_negate_nc_f32>, xnn_setup_negate_nc_f32},
      {"floor", plain<xnn_create_floor_nc_f32>, xnn_setup_floor_nc_f32},
      {"ceil", plain<xnn_create_ceiling_nc_f32>, xnn_setup_ceiling_nc_f32},
      {"round", plain<xnn_create_bankers_rounding_nc_f32>, xnn_setup_bankers_rounding_nc_f32},
      {"sqrt", plain<xnn_create_square_root_nc_f32>, xnn_setup_square_root_nc_f32},
      {"sigmoid", plain<xnn_create_sigmoid_nc_f32>, xnn_setup_sigmoid_nc_f32},
      {"hard_swish", plain<xnn_create_hardswish_nc_f32>, xnn_setup_hardswish_nc_f32},
      {"leaky_relu", leaky_relu, xnn_setup_leaky_relu_nc_f32},
      {"elu", elu, xnn_setup_elu_nc_f32},
      {"relu", clamp, xnn_setup_clamp_nc_f32},
      {"clip", clamp, xnn_setup_clamp_nc_f32}};
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const UnaryRow& one) { return one.op == op; });
  if (row == std::end(kRows)) throw sdk::Declined("XNNPACK has no \"" + op + "\"");
  return *row;
}

xnn_status create(const Unit& unit, const float* weight, const float* bias, uint64_t elements,
                  xnn_operator_t* op) {
  const Product& p = unit.product;
  const size_t channels = count(unit.channels);
  switch (unit.kind) {
    case Unit::kConvolution:
      return make_convolution(unit, weight, bias, op);
    case Unit::kProduct:
      return xnn_create_fully_connected_nc_f32(count(p.k), count(p.n), count(p.k), count(p.n),
                                               weight, bias, unit.low, unit.high,
                                               p.by_columns ? 0 : XNN_FLAG_TRANSPOSE_WEIGHTS, op);
    case Unit::kBinary:
      return make_binary(unit, op);
    case Unit::kSoftmax:
      return xnn_create_softmax_nc_f32(channels, channels, channels, 0, op);
    case Unit::kUnary:
      return unary_row(unit.name).create(unit, elements, op);
    default:
      return make_pool(unit, op);
  }
}

std::vector<size_t> sizes(const std::vector<int64_t>& dims) { return {dims.begin(), dims.end()}; }

xnn_status setup_binary(const Unit& unit, xnn_operator_t op, const Operands& in, float* y) {
  const std::vector<size_t> a = sizes(in.a_dims), b = sizes(in.b_dims);
  auto setup = unit.name == "add"        ? xnn_setup_add_nd_f32
               : unit.name == "subtract" ? xnn_setup_subtract_nd_f32
                                         : xnn_setup_multiply_nd_f32;
  return setup(op, a.size(), a.data(), b.size(), b.data(), in.a, in.b, y, nullptr);
}

xnn_status setup(const Unit& unit, xnn_operator_t op, const Operands& in, uint64_t elements,
                 float* y) {
  const Window& w = unit.window;
  const size_t n = count(w.n), height = count(w.h), width = count(w.w);
  switch (unit.kind) {
    case Unit::kConvolution:
      return xnn_setup_convolution2d_nhwc_f32(op, n, height, width, in.a, y, nullptr);
    case Unit::kProduct:
      return xnn_setup_fully_connected_nc_f32(op, count(unit.product.rows), in.a, y, nullptr);
    case Unit::kMaxPool:
      return xnn_setup_max_pooling2d_nhwc_f32(op, n, height, width, in.a, y, nullptr);
    case Unit::kAveragePool:
      return xnn_setup_average_pooling2d_nhwc_f32(op, n, height, width, in.a, y, nullptr);
    case Unit::kGlobalAverage:
      return xnn_setup_global_average_pooling_nwc_f32(op, n, height * width, in.a, y, nullptr);
    case Unit::kBinary:
      return setup_binary(unit, op, in, y);
    case Unit::kSoftmax:
      return xnn_setup_softmax_nc_f32(op, elements / count(unit.channels), in.a, y, nullptr);
    default:
      return unary_row(unit.name).setup(op, 1, in.a, y, nullptr);
  }
}

}  // namespace

void DeleteOperator::operator()(xnn_operator* op) const { xnn_delete_operator(op); }

void initialise() {
  const xnn_status status = xnn_initialize(nullptr);
  if (status != xnn_status_success)
    throw sdk::Error(BYOC_UNAVAILABLE, "XNNPACK does not start: " + status_name(status));
}

Operator make_operator(const Unit& unit, const float* weight, const float* bias,
                       uint64_t elements) {
  xnn_operator_t op = nullptr;
  const xnn_status status = create(unit, weight, bias, elements, &op);
  if (status == xnn_status_out_of_memory) throw std::bad_alloc();
  if (status != xnn_status_success)
    throw sdk::Declined("XNNPACK refuses " + unit.name + ": " + status_name(status));
  return Operator(op);
}

void run_operator(const Unit& unit, xnn_operator* op, const Operands& in, uint64_t elements,
                  float* y) {
  xnn_status status = setup(unit, op, in, elements, y);
  if (status == xnn_status_success) status = xnn_run_operator(op, nullptr);
  if (status != xnn_status_success)
    throw sdk::Error(BYOC_INTERNAL, "XNNPACK fails in " + unit.name + ": " + status_name(status));
}

}  // namespace byoc::xnnpack
