// SPDX-License-Identifier: Apache-2.0
#include "core/conform/samples/exporter_values.h"

namespace byoc::conform {
namespace {

struct ExporterRow {
  std::string_view op;
  std::span<const double> values;
};

// Sources: torch.onnx.export and tf2onnx of GELU (exact and tanh), SiLU, hard swish, layer, group
// and RMS norms, attention scores and masks.
constexpr double kAdd[] = {1, 1e-5, 1e-12, 1e-6, 3};
constexpr double kSubtract[] = {1, 0.5};
constexpr double kMultiply[] = {0.5, 0.70710678118654752, 0.044715, 0.79788456080286536, 0.125, 2};
constexpr double kDivide[] = {1.4142135623730951, 8, 6, 2};
constexpr double kPower[] = {2, 3, 0.5};
constexpr double kMaximum[] = {0, -1, 1e-12};
constexpr double kMinimum[] = {6, 1};
constexpr ExporterRow kExporterRows[] = {
    {"add", kAdd},     {"subtract", kSubtract}, {"multiply", kMultiply}, {"divide", kDivide},
    {"power", kPower}, {"maximum", kMaximum},   {"minimum", kMinimum}};

}  // namespace

std::span<const double> exporter_values(std::string_view op) {
  for (const ExporterRow& row : kExporterRows) {
    if (row.op == op) return row.values;
  }
  return {};
}

}  // namespace byoc::conform
