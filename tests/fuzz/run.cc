// SPDX-License-Identifier: Apache-2.0
#include "run.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "byoc/runtime/session.h"
#include "core/process/child.h"
#include "support/paths.h"

namespace byoc::fuzz {
namespace {

std::string& plugin_folder() {
  static std::string& folder = *new std::string(BYOC_BUILD_DIR "/lib/byoc/plugins");
  return folder;
}

Result<std::vector<Tensor>> outputs_of(const Session& session) {
  std::vector<Tensor> out;
  for (const NamedTensor& named : session.outputs()) {
    BYOC_TRY(Tensor tensor, Tensor::make(named.type));
    // These bytes are a NaN as a float, and no small number as an integer.
    if (tensor.size_bytes() > 0) std::memset(tensor.data(), 0xff, tensor.size_bytes());
    out.push_back(std::move(tensor));
  }
  return out;
}

Result<std::vector<Tensor>> run(const Session& session, Context& context,
                                const std::vector<Tensor>& inputs) {
  BYOC_TRY(std::vector<Tensor> outputs, outputs_of(session));
  std::vector<DLTensor> in, out;
  for (const Tensor& tensor : inputs) in.push_back(tensor.view());
  for (const Tensor& tensor : outputs) out.push_back(tensor.view());
  BYOC_TRY_STATUS(session.run(context, in, out));
  return outputs;
}

Outcome compare(const std::vector<Tensor>& got, const std::vector<Known>& wanted) {
  if (got.size() != wanted.size())
    return {Outcome::kWrong, cat(got.size(), " results instead of ", wanted.size())};
  for (size_t k = 0; k < got.size(); ++k) {
    TensorSpec spec{wanted[k].type->dtype, static_extents(wanted[k].type->shape)};
    if (got[k].spec() != spec)
      return {Outcome::kWrong, cat("result ", k, " is ", got[k].spec(), " instead of ", spec)};
    std::string text = difference(got[k].data(), wanted[k]);
    if (!text.empty()) return {Outcome::kWrong, cat("result ", k, ": ", text)};
  }
  return {};
}

/// Returns tensors of zeros, which are valid indices of every gather.
Result<std::vector<Tensor>> zeros_like(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors) {
    BYOC_TRY(Tensor zeros, Tensor::make(tensor.spec()));
    out.push_back(std::move(zeros));
  }
  return out;
}

Result<Outcome> run_and_compare(const Session& session, std::vector<Tensor> inputs,
                                const std::vector<Known>& wanted) {
  BYOC_TRY_STATUS(session.check_externs());
  BYOC_TRY(auto context, session.make_context());
  BYOC_TRY(auto first, run(session, *context, inputs));
  Outcome outcome = compare(first, wanted);
  if (outcome.failed()) return outcome;
  BYOC_TRY(std::vector<Tensor> zeros, zeros_like(inputs));
  BYOC_TRY_STATUS(run(session, *context, zeros).status());
  BYOC_TRY(auto again, run(session, *context, inputs));
  for (size_t k = 0; k < first.size(); ++k) {
    if (first[k].size_bytes() > 0 &&
        std::memcmp(first[k].data(), again[k].data(), first[k].size_bytes()) != 0)
      return Outcome{Outcome::kWrong, cat("result ", k, " differs in a later run")};
  }
  return outcome;
}

Result<Outcome> compile_and_run(const Case& graph, const Configuration& configuration,
                                const std::vector<Known>& wanted,
                                const std::shared_ptr<const PluginSet>& plugins) {
  BuildOptions options{.plugins = plugins, .compilers = configuration.compilers};
  options.level = configuration.level;
  options.threads = configuration.threads;
  BYOC_TRY(Executable executable, build(to_module(graph), options));
  BYOC_TRY(auto session,
           Session::load(std::move(executable), plugins, {.threads = configuration.threads}));
  BYOC_TRY(std::vector<Tensor> inputs, inputs_of(graph));
  return run_and_compare(*session, std::move(inputs), wanted);
}

/// Writes "wrong\nresult 0: ...", which is sent through a pipe.
std::string to_text(const Outcome& outcome) {
  return cat(static_cast<int>(outcome.kind), "\n", outcome.what);
}

Outcome from_child(const process::ChildResult& child) {
  if (child.end.kind == process::End::kTimedOut) return {Outcome::kHang, child.defect};
  if (!child.finished) return {Outcome::kCrash, cat(child.defect, "\n", child.printed)};
  size_t line = child.result.find('\n');
  return {static_cast<Outcome::Kind>(std::stoi(child.result)), child.result.substr(line + 1)};
}

}  // namespace

std::string flags_of(const Configuration& configuration) {
  std::string list;
  for (const std::string& id : configuration.compilers) list += (list.empty() ? "" : ",") + id;
  return cat("--compiler ", list, " -O", configuration.level, " --threads ", configuration.threads);
}

std::vector<Configuration> all_configurations() {
  std::vector<std::vector<std::string>> orders;
  std::vector<std::string> ids = {"json", "llvm", "onednn"};
  do {
    for (size_t n = 1; n <= ids.size(); ++n) {
      std::vector<std::string> order(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n));
      if (std::find(orders.begin(), orders.end(), order) == orders.end()) orders.push_back(order);
    }
  } while (std::next_permutation(ids.begin(), ids.end()));
  std::vector<Configuration> out;
  for (int level : {2, 0, 2, 1}) {  // 2, the default, occurs twice
    for (uint32_t k = 0; k < orders.size(); ++k) out.push_back({orders[k], level, 1 + k % 2});
  }
  return out;
}

std::string_view kind_name(Outcome::Kind kind) {
  constexpr std::string_view kNames[] = {"right", "wrong", "error",
                                         "crash", "hang",  "undetermined"};
  return kNames[kind];
}

void set_plugin_folder(std::string folder) { plugin_folder() = std::move(folder); }

std::shared_ptr<const PluginSet> load_plugins() {
  setenv("BYOC_CANARY", "1", 1);  // arenas and workspaces begin as NaN
  PluginSearch search;
  search.folders = {plugin_folder()};
  return PluginSet::load(search);
}

Outcome check(const Case& graph, const Configuration& configuration,
              const std::vector<Known>& wanted, const std::shared_ptr<const PluginSet>& plugins) {
  Result<Outcome> outcome = compile_and_run(graph, configuration, wanted, plugins);
  return outcome.ok() ? *outcome : Outcome{Outcome::kError, outcome.status().to_string()};
}

Outcome check_in_child(const Case& graph, const Configuration& configuration, uint32_t timeout_s) {
  Result<std::vector<Known>> wanted = evaluate_case(graph, kOracleSeed);
  if (!wanted.ok()) return {Outcome::kUndetermined, wanted.status().message()};
  process::ChildLimits limits{.timeout_s = timeout_s};
  return from_child(process::run_in_child(
      limits, [&] { return to_text(check(graph, configuration, *wanted, load_plugins())); }));
}

}  // namespace byoc::fuzz
