// SPDX-License-Identifier: Apache-2.0
#include "bench/support/models.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "byoc/base/check.h"
#include "byoc/base/env.h"
#include "byoc/import.h"
#include "core/tools/model/bindings.h"
#include "core/tools/model/data_set.h"
#include "core/tools/model/model_options.h"
#include "core/tools/replay/region_values.h"
#include "core/tools/verify/verification.h"
#include "support/paths.h"

namespace byoc::bench {
namespace fs = std::filesystem;
namespace {

/// Removes --models DIR or --models=DIR, which Google Benchmark must not see.
std::string take_models_flag(int& argc, char** argv) {
  std::string folder;
  int kept = 0;
  for (int k = 0; k < argc; ++k) {
    std::string_view word = argv[k];
    if (word == "--models" && k + 1 < argc) folder = argv[++k];
    else if (word.starts_with("--models=")) folder = word.substr(9);
    else argv[kept++] = argv[k];
  }
  argc = kept;
  return folder.empty() ? env_value("BYOC_BENCH_MODELS") : folder;
}

bool is_wanted(const std::string& name) { return name == "resnet50" || name.starts_with("bert"); }

void add_networks(const std::string& folder, std::vector<Model>& to) {
  std::vector<Model> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    Model model{entry.path().filename().string(), (entry.path() / "model.onnx").string(), ""};
    if (!is_wanted(model.name) || !fs::exists(model.path, error)) continue;
    std::string data = (entry.path() / "test_data_set_0").string();
    if (fs::is_directory(data, error)) model.data = data;
    found.push_back(std::move(model));
  }
  std::sort(found.begin(), found.end(), [](auto& a, auto& b) { return a.name < b.name; });
  if (found.empty())
    std::fprintf(stderr, "no resnet50/model.onnx and no bert*/model.onnx in \"%s\": digits alone\n",
                 folder.c_str());
  to.insert(to.end(), found.begin(), found.end());
}

template <class T>
T must(Result<T> result, const std::string& what) {
  BYOC_CHECK(result.ok(), what, ": ", result.status().to_string());
  return *std::move(result);
}

std::vector<std::string> shapes_of(const Model& model) {
  if (!model.data.empty()) return must(driver::stored_shapes(model.path, model.data), model.data);
  return model.name == "digits" ? std::vector<std::string>{"N=1"} : std::vector<std::string>();
}

}  // namespace

std::vector<Model> bench_models(int& argc, char** argv) {
  std::vector<Model> models{{"digits", BYOC_SOURCE_DIR "/tests/models/digits/model.onnx", ""}};
  std::string folder = take_models_flag(argc, argv);
  if (folder.empty())
    std::fprintf(stderr, "neither --models DIR nor BYOC_BENCH_MODELS is given: digits alone\n");
  else add_networks(folder, models);
  return models;
}

std::shared_ptr<const PluginSet> bench_plugins() {
  static auto plugins = [] {
    PluginSearch search;
    search.folders = {BYOC_PLUGIN_DIR};
    return PluginSet::load(search);
  }();
  return plugins;
}

LoadedModel load_bench_model(const Model& model) {
  driver::ModelOptions options;
  options.model = model.path;
  options[option::kShape] = shapes_of(model);
  LoadedModel out;
  out.module = must(driver::load_model(options), model.path);
  auto types = must(driver::entry_inputs(out.module), model.path);
  if (!model.data.empty()) {
    auto stored = must(driver::read_stored_inputs(model.data), model.data);
    out.inputs = must(driver::match_inputs(std::move(stored), types), model.data);
    return out;
  }
  for (auto& input : must(cli::make_inputs(types, {}, 0, driver::tensor_readers()), model.path))
    out.inputs.push_back(std::move(input.tensor));
  return out;
}

}  // namespace byoc::bench
