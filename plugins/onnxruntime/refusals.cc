// SPDX-License-Identifier: Apache-2.0
#include "refusals.h"

#include <algorithm>

namespace byoc::ort_plugin {
namespace {

using sdk::DType;

/// An op on its operands, as the tests of the table read it.
struct Site {
  const sdk::Graph& graph;
  const sdk::Node& node;

  const sdk::Type& input(size_t k) const { return graph.type(node.args[k]); }
  DType dtype() const { return input(0).dtype; }
  bool is_float() const { return dtype() <= DType::kBF16; }
  bool is_half() const { return dtype() == DType::kF16 || dtype() == DType::kBF16; }
  bool is_double() const { return dtype() == DType::kF64; }
  bool has(const char* attribute, const char* value) const {
    return node.attrs.s(attribute, "") == value;
  }
};

bool always(const Site&) { return true; }

/// Returns true when some run may have an operand without elements.
bool may_be_empty(const Site& site) {
  const auto has_no_elements = [&](const sdk::Operand& operand) {
    const sdk::Type& type = site.graph.type(operand);
    return std::ranges::count(type.dims, 0) > 0 ||
           std::ranges::any_of(type.symbols, [](const auto& dim) { return dim.min == 0; });
  };
  return std::ranges::any_of(site.node.args, has_no_elements);
}

bool is_float(const Site& site) { return site.is_float(); }
bool is_integer(const Site& site) { return !site.is_float(); }
bool is_double(const Site& site) { return site.is_double(); }
bool is_half(const Site& site) { return site.is_half(); }

bool casts_to_integers(const Site& site) {
  const DType to = site.node.types.empty() ? site.dtype() : site.graph.type(site.node).dtype;
  return site.is_float() && to > DType::kBF16 && to != DType::kBool;
}
bool counts_pads_of_cut_windows(const Site& site) {
  return site.node.attrs.b("ceil_mode", false) && site.node.attrs.b("count_include_pad", false);
}
bool has_one_row(const Site& site) { return site.input(0).rank() < 3; }
bool has_no_pixels(const Site& site) { return site.input(0).rank() < 3; }
bool has_rows_of_one(const Site& site) {
  const auto& dims = site.input(0).dims;
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t axis = site.node.attrs.i("axis", -1);
  int64_t elements = 1;
  for (int64_t d = axis < 0 ? axis + rank : axis; d < rank; ++d)
    elements *= dims[static_cast<size_t>(d)];
  return elements == 1;
}
bool has_scales_of_groups(const Site& site) {
  return site.input(1).dims.at(0) != site.input(0).dims.at(1);
}
bool is_empty_integer(const Site& site) { return !site.is_float() && may_be_empty(site); }
bool is_no_image(const Site& site) { return site.input(0).rank() != 4; }
bool is_padded_by_cells(const Site& site) { return !site.has("padding_mode", "zeros"); }
bool is_antialiased(const Site& site) { return site.node.attrs.b("antialias", false); }
bool reduces_half(const Site& site) { return site.is_half() && !site.has("reduction", "none"); }
bool is_circular(const Site& site) { return site.has("mode", "circular"); }
bool has_lengths(const Site& site) {
  return site.node.args.size() > (site.node.op == "lstm" ? 7u : 5u);
}

struct Refusal {
  std::string_view op;
  bool (*applies)(const Site&);
  const char* reason;
  uint32_t right_from = UINT32_MAX;  // minor version of ONNX Runtime, of those that were checked
};

// Found by `byoc check-plugin --level full` with ONNX Runtime 1.23.2, 1.24.4 and 1.32.0.
constexpr Refusal kRefusals[] = {
    {"average_pool", counts_pads_of_cut_windows, "it divides cut windows by other numbers", 32},
    {"batch_norm", is_half, "infinities become NaN in halves"},
    {"bit_shift", always, "it shifts by numbers that are too large otherwise"},
    {"cast", casts_to_integers, "floats outside of the integers are undefined"},
    {"deform_rows", always, "a product with weights of 0 makes NaN of infinities"},
    {"dft", has_one_row, "it fails on signals without a batch", 32},
    {"divide", is_integer, "a divisor of 0 ends the process"},
    {"erf", is_float, "erf of NaN is 1", 32},
    {"gelu", is_double, "it computes f64 in f32"},
    {"global_average_pool", has_no_pixels, "it has no pools without pixels"},
    {"global_lp_pool", has_no_pixels, "it has no pools without pixels"},
    {"global_max_pool", has_no_pixels, "it has no pools without pixels"},
    {"grid_sample", is_no_image, "it samples images only"},
    {"grid_sample", is_padded_by_cells, "places that are NaN have values"},
    {"group_norm", is_double, "it computes f64 in f32"},
    {"group_norm", has_scales_of_groups, "it has scales of channels only"},
    {"gru", has_lengths, "sequences of length 0 lose their state"},
    {"gru", is_double, "it has no f64"},
    {"hardmax", is_float, "the element of a row with NaN depends on the processor"},
    {"layer_norm", has_rows_of_one, "it refuses rows of one element"},
    {"layer_norm", is_half, "it computes the mean in halves", 32},
    {"linear_attention", may_be_empty, "it fails on tensors without elements"},
    {"log_softmax", is_double, "a row with NaN has values in f64"},
    {"log_sum", is_integer, "integers are rounded otherwise"},
    {"log_sum_exp", is_integer, "integers are rounded otherwise"},
    {"lrn", always, "a NaN reaches channels outside of its window"},
    {"lstm", has_lengths, "sequences of length 0 lose their state"},
    {"lstm", is_double, "it has no f64"},
    {"matmul", is_empty_integer, "it fails on integers without elements"},
    {"max", is_empty_integer, "the maximum of no integers is 0", 32},
    {"max_pool", is_integer, "indices of integers are wrong", 32},
    {"mean", may_be_empty, "the mean of no elements is 0"},
    {"min", is_empty_integer, "the minimum of no integers is 0", 32},
    {"mod", is_integer, "a divisor of 0 ends the process"},
    {"prelu", is_float, "infinities become NaN", 32},
    {"resize", is_antialiased, "infinities do not become NaN"},
    {"rnn", has_lengths, "sequences of length 0 lose their state"},
    {"rnn", is_double, "it has no f64"},
    {"roi_align", always, "it takes samples at other places"},
    {"round_rows", always, "a block with NaN has values"},
    {"scatter_elements", reduces_half, "it has no reduction of halves"},
    {"scatter_nd", reduces_half, "it has no reduction of halves"},
    {"shrink", is_double, "it computes f64 in f32"},
    {"shrink", is_integer, "it computes integers in f32"},
    {"sign", is_half, "the sign of NaN is 0 in halves"},
    {"update_rows", is_circular, "it refuses starts beyond the rows of a circular cache"},
};

/// Returns an attribute of f64 that f32, which ONNX has for attributes, does not hold; or "".
std::string inexact_attribute(const Site& site) {
  if (!site.is_double()) return "";
  for (const auto& [name, value] : site.node.attrs.all()) {
    const double* number = std::get_if<double>(&value);
    if (number != nullptr && static_cast<double>(static_cast<float>(*number)) != *number)
      return name;
  }
  return "";
}

}  // namespace

std::string refusal_of(const sdk::Graph& graph, const sdk::Node& node, uint32_t minor) {
  if (node.args.empty() || node.is_call()) return "";
  const Site site{graph, node};
  for (const Refusal& row : kRefusals) {
    if (row.op == node.op && minor < row.right_from && row.applies(site))
      return "ONNX Runtime computes " + node.op + " otherwise: " + row.reason;
  }
  if (const std::string name = inexact_attribute(site); !name.empty())
    return "ONNX holds the attribute " + name + " in f32, which is too coarse for f64";
  return "";
}

}  // namespace byoc::ort_plugin
