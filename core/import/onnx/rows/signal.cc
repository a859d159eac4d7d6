// SPDX-License-Identifier: Apache-2.0
// DFT, STFT, windows, MelWeightMatrix. Source: ONNX opset 17; opset 20, DFT.
#include <cmath>
#include <numbers>

#include "core/import/onnx/file/dtypes.h"
#include "core/import/onnx/operands.h"
#include "core/import/onnx/rows/computed.h"
#include "core/import/onnx/rows/steps.h"

namespace byoc::onnx_import {
namespace {

constexpr int64_t kMostFramed = int64_t{1} << 28;  // elements of the frames of a signal

// Returns input k, which is one number.
Result<int64_t> constant_int(Graph& graph, const OnnxNode& node, size_t k, const char* what) {
  BYOC_TRY(Ints values, constant_ints(graph, node, k, what));
  if (values.size() == 1) return values[0];
  return invalid(cat("its input \"", what, "\" has ", values.size(), " elements, expected 1"));
}

Result<double> constant_float(Graph& graph, size_t k, const char* what) {
  auto values = graph.const_floats(graph.input(k));
  if (values && values->size() == 1) return values->front();
  return unimplemented(cat("its input \"", what, "\" is not one constant float"));
}

// Adds a constant of f64 values in the dtype of the attribute output_datatype.
Converted constant_output(Graph& graph, const OnnxNode& node, const Shape& shape,
                          const Floats& values) {
  BYOC_TRY(DType dtype, dtype_from_onnx(static_cast<int32_t>(node.i("output_datatype", 1))));
  ValueId wide =
      graph.constant({DType::kF64, shape}, Buffer::copy(std::as_bytes(std::span(values))));
  return std::vector{cast_to(graph, wide, dtype)};
}

// ---- windows: a - b cos(t) + c cos(2 t) for t of one turn

struct Cosines {
  double a, b, c;
};
Converted window(Graph& graph, const OnnxNode& node, Cosines of) {
  BYOC_TRY(int64_t size, constant_int(graph, node, 0, "size"));
  if (size < 0 || size > kMostComputed) return invalid(cat("its size is ", size));
  const int64_t turn = node.i("periodic", 1) != 0 ? size : size - 1;
  Floats values;
  for (int64_t k = 0; k < size; ++k) {
    double t = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(turn);
    values.push_back(of.a - of.b * std::cos(t) + of.c * std::cos(2 * t));
  }
  return constant_output(graph, node, {size}, values);
}

Converted hann(Graph& graph, const OnnxNode& node) { return window(graph, node, {0.5, 0.5, 0}); }
Converted hamming(Graph& graph, const OnnxNode& node) {
  return window(graph, node, {25.0 / 46, 21.0 / 46, 0});
}
Converted blackman(Graph& graph, const OnnxNode& node) {
  return window(graph, node, {0.42, 0.5, 0.08});
}

// ---- MelWeightMatrix: triangles over the bins of a spectrum, equally wide on the mel scale

double to_mel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double to_hertz(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

struct MelPlan {
  int64_t bands, length, rate;
  double low, high;
  int64_t bins() const { return length / 2 + 1; }
};

Result<MelPlan> read_mel(Graph& graph, const OnnxNode& node) {
  MelPlan plan{};
  BYOC_TRY(plan.bands, constant_int(graph, node, 0, "num_mel_bins"));
  BYOC_TRY(plan.length, constant_int(graph, node, 1, "dft_length"));
  BYOC_TRY(plan.rate, constant_int(graph, node, 2, "sample_rate"));
  BYOC_TRY(plan.low, constant_float(graph, 3, "lower_edge_hertz"));
  BYOC_TRY(plan.high, constant_float(graph, 4, "upper_edge_hertz"));
  if (plan.bands < 0 || plan.length < 0 || plan.rate < 1 || plan.bands > kMostComputed ||
      plan.length > kMostComputed || plan.bands * plan.bins() > kMostComputed)
    return invalid(cat("num_mel_bins is ", plan.bands, ", dft_length ", plan.length,
                       ", sample_rate ", plan.rate));
  return plan;
}

// Returns the bins where the triangles begin; triangle k is from point k to k + 2, with its peak at
// k + 1.
Result<Ints> mel_points(const MelPlan& plan) {
  const double low = to_mel(plan.low), points = static_cast<double>(plan.bands + 2);
  const double step = (to_mel(plan.high) - low) / points;
  Ints bins;
  for (int64_t k = 0; k < plan.bands + 2; ++k) {
    double hertz = to_hertz(low + static_cast<double>(k) * step);
    double bin =
        std::floor(static_cast<double>(plan.length + 1) * hertz / static_cast<double>(plan.rate));
    if (!(bin >= 0 && bin < static_cast<double>(plan.bins())))
      return invalid(cat("the frequency ", hertz, " Hz is outside of the spectrum of ", plan.bins(),
                         " bins (lower_edge_hertz, upper_edge_hertz)"));
    bins.push_back(static_cast<int64_t>(bin));
  }
  return bins;
}

Converted mel_weight_matrix(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(MelPlan plan, read_mel(graph, node));
  BYOC_TRY(Ints points, mel_points(plan));
  Floats values(static_cast<size_t>(plan.bins() * plan.bands), 0);
  for (int64_t band = 0; band < plan.bands; ++band) {
    auto k = static_cast<size_t>(band);
    const int64_t begin = points[k], peak = points[k + 1], end = points[k + 2];
    auto set = [&](int64_t bin, int64_t part, int64_t whole) {
      values[static_cast<size_t>(bin * plan.bands + band)] =
          static_cast<double>(part) / static_cast<double>(whole);
    };
    for (int64_t bin = begin; bin < peak; ++bin) set(bin, bin - begin, peak - begin);
    set(peak, 1, 1);
    for (int64_t bin = peak + 1; bin < end; ++bin) set(bin, end - bin, end - peak);
  }
  return constant_output(graph, node, {plan.bins(), plan.bands}, values);
}

// ---- DFT, STFT

Result<Attrs> dft_attrs(Graph& graph, const OnnxNode& node) {
  int64_t axis = node.i("axis", 1);
  if (node.opset() >= 20) {
    axis = -2;
    if (node.has_input(2)) {
      BYOC_TRY(axis, constant_int(graph, node, 2, "axis"));
    }
  }
  int64_t length = 0;
  if (node.has_input(1)) {
    BYOC_TRY(length, constant_int(graph, node, 1, "dft_length"));
    if (length < 1) return invalid(cat("its dft_length is ", length));
  }
  return Attrs{{"axis", axis},
               {"length", length},
               {"inverse", node.i("inverse", 0) != 0},
               {"onesided", node.i("onesided", 0) != 0}};
}

Converted dft(Graph& graph, const OnnxNode& node) {
  BYOC_TRY(Attrs attrs, dft_attrs(graph, node));
  return std::vector{graph.call("dft", {graph.input(0)}, attrs)};
}

// Returns frame_length, which is that of the window, or the whole signal.
Result<int64_t> frame_length(Graph& graph, const OnnxNode& node, Dim signal) {
  Value window = graph.optional_input(2);
  Dim length = signal;
  if (window) {
    if (graph.rank(*window) != 1)
      return invalid(cat("window must have rank 1, it is ", graph.type(*window)));
    length = graph.type(*window).shape[0];
  }
  if (node.has_input(3)) {
    BYOC_TRY(int64_t given, constant_int(graph, node, 3, "frame_length"));
    if (given < 1) return invalid(cat("frame_length is ", given, ", expected at least 1"));
    if (window && length != Dim(given))
      return invalid(cat("frame_length is ", given, ", window is ", graph.type(*window)));
    length = given;
  }
  if (length.is_static() && length.extent() >= 1) return length.extent();
  return invalid(cat("frame_length is ", length, ", expected a known length of at least 1"));
}

// Takes frames of the signal [n, length, 1 or 2], weighs them by the window, and transforms each.
Converted stft(Graph& graph, const OnnxNode& node) {
  ValueId signal = graph.input(0);
  const TensorType type = graph.type(signal);
  if (type.shape.size() != 3 || !type.shape[1].is_static())
    return invalid(cat("signal must be [n, length, 1 or 2] with a known length, it is ", type));
  BYOC_TRY(int64_t step, constant_int(graph, node, 1, "frame_step"));
  BYOC_TRY(int64_t length, frame_length(graph, node, type.shape[1]));
  if (step < 1 || length > type.shape[1].extent())
    return invalid(cat("frame_step is ", step, " and frame_length ", length, " for a signal of ",
                       type.shape[1].extent()));
  const int64_t frames = (type.shape[1].extent() - length) / step + 1;
  if (frames > kMostFramed / length)
    return invalid(cat(frames, " frames of ", length, " have more than 2^28 elements"));
  ValueId begins = multiply(graph, counted(graph, frames), graph.constant_ints({step}));
  ValueId places = add(graph, unsqueezed(graph, begins, {1}), counted(graph, length));
  ValueId framed = graph.call("gather", {signal, places}, {{"axis", 1}});
  if (Value window = graph.optional_input(2))
    framed = multiply(graph, framed, reshaped(graph, *window, {-1, 1}));
  return std::vector{
      graph.call("dft", {framed}, {{"axis", 2}, {"onesided", node.i("onesided", 1) != 0}})};
}

constexpr Row kSignalRows[] = {
    {"DFT", 17, kNewest, dft},
    {"STFT", 17, kNewest, stft},
    {"HannWindow", 17, kNewest, hann},
    {"HammingWindow", 17, kNewest, hamming},
    {"BlackmanWindow", 17, kNewest, blackman},
    {"MelWeightMatrix", 17, kNewest, mel_weight_matrix},
};

}  // namespace

std::span<const Row> signal_rows() { return kSignalRows; }

}  // namespace byoc::onnx_import
