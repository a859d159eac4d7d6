// SPDX-License-Identifier: Apache-2.0
#pragma once
// The networks that benchmarks run: digits of the tree, and larger ones from a folder.
#include <string>
#include <vector>

#include "byoc/compile.h"
#include "byoc/runtime/tensor.h"

namespace byoc::bench {

struct Model {
  std::string name, path;  // "resnet50", the file
  std::string data;        // a test_data_set folder, or empty
};

/// Returns digits, then DIR/resnet50/model.onnx and DIR/bert*/model.onnx, DIR being --models DIR
/// (removed from the arguments) or BYOC_BENCH_MODELS. Reports missing models on stderr.
std::vector<Model> bench_models(int& argc, char** argv);

/// Returns all plugins of the build.
std::shared_ptr<const PluginSet> bench_plugins();

struct LoadedModel {
  IRModule module;
  std::vector<Tensor> inputs;  // stored ones, else random with seed 0
};
/// Loads a model. Extents that the file leaves open are those of the stored inputs, or 1. Aborts
/// with the error.
LoadedModel load_bench_model(const Model& model);

}  // namespace byoc::bench
