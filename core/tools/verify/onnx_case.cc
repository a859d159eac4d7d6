// SPDX-License-Identifier: Apache-2.0
#include "core/tools/verify/onnx_case.h"

#include <algorithm>
#include <filesystem>

#include "byoc/base/check.h"
#include "byoc/import.h"
#include "core/tools/model/bindings.h"
#include "core/tools/model/compare.h"
#include "core/tools/model/data_set.h"
#include "core/tools/model/execute.h"
#include "core/tools/verify/case_tolerance.h"

namespace byoc::driver {
namespace fs = std::filesystem;
namespace {

/// The inputs that become constants, from none to all that may be shapes, axes or sizes.
enum class Binding { kNone, kSmallIntegers, kSmall };
constexpr Binding kBindings[] = {Binding::kNone, Binding::kSmallIntegers, Binding::kSmall};
constexpr int64_t kSmallElements = 64;

bool is_bound(const Tensor& tensor, Binding binding) {
  const TensorSpec& spec = tensor.spec();
  bool small = spec.dims.size() <= 1 && num_elements(spec) <= kSmallElements;
  if (binding == Binding::kNone) return false;
  return small && (binding == Binding::kSmall || is_int(spec.dtype));
}

bool is_unsupported(const Status& status) {
  constexpr std::string_view kSlugs[] = {"onnx-unsupported", "no-codegen", "strict",
                                         "symbolic-shape", "case-data"};
  return std::count(std::begin(kSlugs), std::end(kSlugs), status.slug()) > 0;
}

std::vector<std::string> data_sets(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with("test_data_set_"))
      found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Names the tensors by position when their names are not those of inputs, as in old files.
void name_by_position(std::vector<PbTensor>& tensors, const std::vector<ModelInput>& inputs) {
  std::vector<std::string> names;
  for (const ModelInput& input : inputs) {
    if (!input.has_default) names.push_back(input.name);
  }
  bool known = std::all_of(tensors.begin(), tensors.end(), [&](const PbTensor& t) {
    return std::count_if(inputs.begin(), inputs.end(),
                         [&](const ModelInput& i) { return i.name == t.name; }) > 0;
  });
  if (known || tensors.size() > names.size()) return;  // match_inputs reports what is left
  for (size_t k = 0; k < tensors.size(); ++k) tensors[k].name = names[k];
}

/// Adds the bounds of the sizes that the input names, or, where one is not given, its stored shape.
void add_shape(const ModelInput& input, const std::vector<int64_t>& stored,
               const GivenShapes& sizes, ImportOptions& options) {
  bool has_all = input.has_rank;
  for (size_t d = 0; d < input.dims.size() && has_all; ++d)
    has_all = input.dims[d] >= 0 || sizes.count(input.dim_names[d]) > 0;
  if (!has_all) {
    options.shapes[input.name] = {stored.begin(), stored.end()};
    return;
  }
  for (const std::string& name : input.dim_names) {
    if (auto given = sizes.find(name); given != sizes.end()) options.shapes.insert(*given);
  }
}

ImportOptions import_options(const std::vector<PbTensor>& data,
                             const std::vector<ModelInput>& inputs, const GivenShapes& sizes,
                             Binding binding) {
  ImportOptions options;
  for (const PbTensor& tensor : data) {
    if (is_bound(tensor.tensor, binding)) {
      BoundTensor bound = bound_tensor(tensor.tensor);
      options.bind[tensor.name] = {bound.type, bound.data};
      continue;
    }
    for (const ModelInput& input : inputs) {
      bool open = !input.has_rank || std::count(input.dims.begin(), input.dims.end(), -1) > 0;
      if (input.name == tensor.name && open)
        add_shape(input, tensor.tensor.spec().dims, sizes, options);
    }
  }
  return options;
}

struct Compiled {
  Executable executable;
  std::vector<std::string> bound;
};

Result<Compiled> compile(const std::string& model, const std::vector<PbTensor>& data,
                         const std::vector<ModelInput>& inputs, const BuildOptions& options,
                         const GivenShapes& sizes) {
  Status last;
  for (Binding binding : kBindings) {
    ImportOptions import = import_options(data, inputs, sizes, binding);
    if (binding != Binding::kNone && import.bind.empty()) continue;
    auto module = import_onnx(model, all_ops(), import);
    Status status = module.status();
    if (module.ok()) {
      auto executable = build(*std::move(module), options);
      status = executable.status();
      if (status.ok()) {
        Compiled out{*std::move(executable), {}};
        for (const auto& [name, value] : import.bind) out.bound.push_back(name);
        return out;
      }
    }
    if (!is_unsupported(status)) return status;
    last = std::move(status);
  }
  return last;
}

Status compare_outputs(const std::vector<std::string>& operators, const std::vector<Tensor>& got,
                       const std::vector<Tensor>& expected, const std::vector<NamedTensor>& names) {
  BYOC_CHECK(got.size() == expected.size() && got.size() == names.size(), got.size(), " outputs, ",
             expected.size(), " are stored");
  for (size_t k = 0; k < got.size(); ++k) {
    const CaseTolerance tolerance = case_tolerance(operators, expected[k]);
    Difference difference =
        compare_each(got[k], expected[k], tolerance.relative, tolerance.absolute);
    if (difference.is_equal) continue;
    return failed(cat("output \"", names[k].name, "\" ", got[k].spec(), ": ",
                      describe(difference, got[k].spec())))
        .with_slug("mismatch");
  }
  return {};
}

/// Reports a case whose stored inputs have other shapes than its model, so that no run is right.
Status check_consistency(const std::vector<PbTensor>& data, const std::vector<ModelInput>& inputs) {
  for (const PbTensor& tensor : data) {
    for (const ModelInput& input : inputs) {
      if (input.name != tensor.name || !input.has_rank) continue;
      const auto& dims = tensor.tensor.spec().dims;
      bool fits = std::equal(
          dims.begin(), dims.end(), input.dims.begin(), input.dims.end(),
          [](int64_t given, int64_t expected) { return expected < 0 || given == expected; });
      if (fits) continue;
      return unimplemented(cat("the case contradicts itself: input \"", input.name,
                               "\" is stored as ", tensor.tensor.spec(),
                               ", its model states other extents"))
          .with_slug("case-data");
    }
  }
  return {};
}

/// Runs one data set. The stored outputs are read last: a model whose outputs are not tensors fails
/// before, with a better message.
Status run_data_set(const std::string& model, const std::string& folder,
                    const BuildOptions& options, const GivenShapes& sizes, CaseResult& result,
                    bool& ran_kernels) {
  BYOC_TRY(auto inputs, onnx_inputs(model));
  BYOC_TRY(auto data, read_stored_inputs(folder));
  name_by_position(data, inputs);
  BYOC_TRY_STATUS(check_consistency(data, inputs));
  BYOC_TRY(Compiled compiled, compile(model, data, inputs, options, sizes));
  result.bound = compiled.bound;
  ran_kernels = ran_kernels || !compiled.executable.program.steps.empty();
  std::vector<NamedTensor> outputs = compiled.executable.program.outputs;
  BYOC_TRY(auto in, match_inputs(std::move(data), compiled.executable.program.inputs));
  BYOC_TRY(auto stored, read_stored_outputs(folder));
  BYOC_TRY(auto expected, match_outputs(std::move(stored), outputs));
  auto got = execute(std::move(compiled.executable), options.plugins, options.threads, in);
  if (!got.ok()) return std::move(got.status()).at("while running");
  BYOC_TRY(auto operators, onnx_operators(model));
  return compare_outputs(operators, *got, expected, outputs);
}

}  // namespace

Result<std::vector<std::string>> find_cases(const std::vector<std::string>& folders) {
  std::vector<std::string> cases;
  for (const std::string& folder : folders) {
    size_t before = cases.size();
    std::error_code error;
    if (fs::exists(fs::path(folder) / "model.onnx", error)) cases.push_back(folder);
    for (auto at = fs::recursive_directory_iterator(folder, error);
         !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      bool nested =
          at->path().filename() == "model.onnx" && at->path().parent_path() != fs::path(folder);
      if (nested) cases.push_back(at->path().parent_path().string());
    }
    if (cases.size() == before) {
      return not_found(cat("no model.onnx in ", folder, " or below",
                           error ? cat(": ", error.message()) : ""))
          .with_slug("no-cases");
    }
  }
  std::sort(cases.begin(), cases.end());
  cases.erase(std::unique(cases.begin(), cases.end()), cases.end());
  return cases;
}

CaseResult run_case(const std::string& folder, const BuildOptions& options,
                    const GivenShapes& sizes) {
  CaseResult result;
  std::vector<std::string> sets = data_sets(folder);
  Status status;
  bool ran_kernels = false;  // in one data set at least
  if (sets.empty()) status = failed("the case has no test_data_set_*").with_slug("data-set");
  for (const std::string& set : sets) {
    status = run_data_set(folder + "/model.onnx", set, options, sizes, result, ran_kernels);
    if (!status.ok()) break;
  }
  if (!status.ok()) {
    result.verdict = is_unsupported(status) ? CaseResult::kUnsupported : CaseResult::kFailed;
    result.reason = status.to_string();
  } else {
    result.verdict = options.strict && !ran_kernels ? CaseResult::kFolded : CaseResult::kPassed;
  }
  return result;
}

}  // namespace byoc::driver
