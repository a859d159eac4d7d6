// SPDX-License-Identifier: Apache-2.0
#include "core/tools/verify/accuracy.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "byoc/base/json.h"
#include "core/tools/model/bindings.h"
#include "core/tools/model/execute.h"
#include "runtime/base/element_type.h"

namespace byoc::driver {
namespace {

std::vector<double> numbers_of(const Tensor& tensor) {
  std::vector<double> out;
  with_element_type(tensor.spec().dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* elements = reinterpret_cast<const T*>(tensor.data());
    for (int64_t k = 0; k < num_elements(tensor.spec()); ++k)
      out.push_back(static_cast<double>(elements[k]));
  });
  return out;
}

// Counts the rows of `extent` elements whose greatest element is in the same place.
int64_t count_same_top(const std::vector<double>& a, const std::vector<double>& b, int64_t extent) {
  int64_t same = 0;
  for (auto row = static_cast<ptrdiff_t>(0); row < std::ssize(a); row += extent) {
    auto top = [&](const std::vector<double>& x) {
      auto first = x.begin() + row;
      return std::max_element(first, first + extent) - first;
    };
    same += top(a) == top(b);
  }
  return same;
}

Status check_names(std::string_view what, const std::vector<NamedTensor>& ours,
                   const std::vector<NamedTensor>& floats) {
  auto differ = [&](const std::string& why) {
    return invalid(cat("the float model has other ", what, ": ", why)).with_slug("vs-float");
  };
  if (ours.size() != floats.size()) return differ(cat(floats.size(), " instead of ", ours.size()));
  for (size_t k = 0; k < ours.size(); ++k) {
    if (ours[k].name != floats[k].name || ours[k].type != floats[k].type)
      return differ(cat("\"", floats[k].name, "\" ", floats[k].type, " instead of \"", ours[k].name,
                        "\" ", ours[k].type));
  }
  return {};
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string cosine_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", value);  // mostly near 1
  return text;
}

}  // namespace

OutputAccuracy accuracy_of(std::string name, const Tensor& got, const Tensor& expected) {
  OutputAccuracy out{.name = std::move(name), .spec = expected.spec()};
  const std::vector<double> a = numbers_of(got), b = numbers_of(expected);
  double noise = 0, signal = 0, product = 0, length = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    const double error = std::abs(a[k] - b[k]);
    if (std::isnan(error) || error > out.max_error) out.max_error = error;  // NaN stays
    out.mean_error += error / static_cast<double>(a.size());
    out.largest = std::max(out.largest, std::abs(b[k]));
    noise += error * error;
    signal += b[k] * b[k];
    product += a[k] * b[k];
    length += a[k] * a[k];
  }
  out.noise_db = noise == 0 ? INFINITY : 10 * std::log10(signal / noise);
  if (noise != 0) out.cosine = signal * length == 0 ? 0 : product / std::sqrt(signal * length);
  const auto& dims = out.spec.dims;
  if (dims.size() >= 2 && dims.back() > 1 && !a.empty()) {
    out.rows = std::ssize(a) / dims.back();
    out.same_top = count_same_top(a, b, dims.back());
  }
  return out;
}

Result<std::vector<OutputAccuracy>> compare_with_float(IRModule module, IRModule float_module,
                                                       const BuildOptions& options,
                                                       const std::vector<std::string>& inputs,
                                                       uint64_t seed) {
  BYOC_TRY(Executable ours, build(std::move(module), options));
  BuildOptions of_floats = options;
  of_floats.options.erase("precision");
  BYOC_TRY(Executable floats, build(std::move(float_module), of_floats));
  const std::vector<NamedTensor> names = ours.program.taken();
  BYOC_TRY_STATUS(check_names("inputs", ours.program.given(), floats.program.given()));
  BYOC_TRY_STATUS(check_names("outputs", names, floats.program.taken()));
  BYOC_TRY(auto made, cli::make_inputs(ours.program.given(), inputs, seed, tensor_readers()));
  std::vector<Tensor> values;
  for (auto& input : made) values.push_back(std::move(input.tensor));
  BYOC_TRY(auto got, execute(std::move(ours), options.plugins, options.threads, values));
  BYOC_TRY(auto expected, execute(std::move(floats), options.plugins, options.threads, values));
  std::vector<OutputAccuracy> out;
  for (size_t k = 0; k < got.size(); ++k)
    out.push_back(accuracy_of(names[k].name, got[k], expected[k]));
  return out;
}

std::string accuracy_text(const OutputAccuracy& accuracy) {
  std::string text =
      cat("\"", accuracy.name, "\" ", accuracy.spec, "\n  largest error  ",
          number(accuracy.max_error), ", of values up to ", number(accuracy.largest),
          "\n  mean error     ", number(accuracy.mean_error), "\n  signal/noise   ",
          number(accuracy.noise_db), " dB\n  cosine         ", cosine_text(accuracy.cosine), "\n");
  if (accuracy.rows > 0)
    text += cat("  same top       ", accuracy.same_top, " of ", accuracy.rows, " rows\n");
  return text;
}

Json to_json(const OutputAccuracy& accuracy) {
  auto finite = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  return {{"name", accuracy.name},
          {"type", cat(accuracy.spec)},
          {"max_error", finite(accuracy.max_error)},
          {"mean_error", finite(accuracy.mean_error)},
          {"largest", finite(accuracy.largest)},
          {"noise_db", finite(accuracy.noise_db)},
          {"cosine", finite(accuracy.cosine)},
          {"rows", accuracy.rows},
          {"same_top", accuracy.same_top}};
}

}  // namespace byoc::driver
