// SPDX-License-Identifier: Apache-2.0
// The onnxruntime plugin: every op that has a form in ONNX, by the library of ONNX Runtime.
#include "byoc/plugin/sdk.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "module.h"
#include "refusals.h"

namespace byoc::ort_plugin {
namespace {

/// The places of constants, by their keys.
using Places = std::map<ContentKey, uint64_t>;

ContentKey key_of(const byoc_const& constant) {
  ContentKey out;
  std::copy(std::begin(constant.key), std::end(constant.key), out.bytes.begin());
  return out;
}

Places places_of(const sdk::Constants& constants) {
  Places out;
  for (size_t k = 0; k < constants.size(); ++k) out.emplace(key_of(constants.raw(k)), k);
  return out;
}

/// Returns a constant as a buffer that borrows it.
std::shared_ptr<const Buffer> borrowed(const sdk::Function& function, uint64_t k) {
  const DLTensor& view = *function.constants.raw(k).view;
  const sdk::Type& type = function.graph.types[function.graph.constants[k].type];
  const auto* data = static_cast<const std::byte*>(view.data) + view.byte_offset;
  return Buffer::adopt_keyed({data, static_cast<size_t>(type.bytes())}, nullptr,
                             key_of(function.constants.raw(k)));
}

/// Returns the weights of a model, which the session reads where the host has them. The other
/// constants are in the model.
std::vector<sdk::Held> weights_of(const Model& model, const Places& places,
                                  sdk::Function& function) {
  std::vector<sdk::Held> out;
  for (size_t k = 0; k < function.constants.size(); ++k) (void)function.constants.data(k);
  for (const Weight& weight : model.weights)
    out.push_back(function.constants.keep(places.at(weight.key)));
  return out;
}

std::vector<sdk::Held> weights_of(const Model& model, const Places& places, const byoc_load& load) {
  std::vector<sdk::Held> out;
  for (const Weight& weight : model.weights) {
    const auto place = places.find(weight.key);
    if (place == places.end())
      throw sdk::Error(BYOC_DATA_LOSS,
                       "the constant \"" + weight.value.name + "\" is not in the artifact");
    byoc_held held{};
    sdk::detail::check(
        sdk::detail::host_table()->const_keep(load.consts[place->second]->ref, &held));
    out.emplace_back(held);
  }
  return out;
}

class OrtPlugin : public sdk::Plugin {
 public:
  void open(const sdk::Options& options) override {
    const char* variable = ::secure_getenv("BYOC_ONNXRUNTIME");
    library_ = std::make_shared<Library>(options.get("library", variable ? variable : ""));
  }
  std::vector<sdk::Pattern> patterns() const override { return {}; }  // judge gets every op

  /// Accepts what has a form in ONNX, and what ONNX Runtime makes a session of.
  sdk::Verdict judge(const sdk::Graph& graph) const override {
    const uint32_t minor = library_->calls().runtime_minor;
    if (std::string why = refusal_of(graph, graph.nodes.at(0), minor); !why.empty())
      return sdk::Verdict::no(why);
    const Result<Model> model = model_of(graph.json, nullptr);
    if (!model.ok()) return sdk::Verdict::no(model.status().message());
    SessionKernel(library_, *model, {}, {.is_trial = true});
    return sdk::Verdict::yes("onnxruntime");
  }

  /// Writes the models, and makes a session of each to find out what ONNX Runtime refuses.
  std::unique_ptr<sdk::Module> compile_module(sdk::CompileRequest& request) override {
    auto module = std::make_unique<OrtModule>(compat_of(*library_));
    for (sdk::Function& function : request.functions) {
      function.cancel.check();
      try {
        add(function, *module);
      } catch (const sdk::Error& e) {
        throw sdk::Declined(e.message(), -1, static_cast<int64_t>(function.index));
      }
      function.cancel.progress(function.index + 1, request.functions.size(), "compiling");
    }
    return module;
  }

  std::unique_ptr<sdk::Module> load_module(const byoc_load& load) override {
    const std::string_view bytes(static_cast<const char*>(load.blob.p), load.blob.n);
    Result<std::vector<SavedModel>> saved = read_models(bytes);
    if (!saved.ok())
      throw sdk::Error(static_cast<uint32_t>(saved.status().code()), saved.status().message());
    const SessionOptions options{.threads = load.threads,
                                 .is_strict = (load.flags & BYOC_STRICT_FP) != 0};
    Places places;
    for (uint64_t k = 0; k < load.n_consts; ++k) places.emplace(key_of(*load.consts[k]), k);
    auto module = std::make_unique<OrtModule>(compat_of(*library_));
    for (SavedModel& one : *saved) {
      sdk::Cancel(load.cancel).check();
      auto kernel = std::make_unique<SessionKernel>(library_, one.model,
                                                    weights_of(one.model, places, load), options);
      module->add(std::move(one), std::move(kernel));
    }
    return module;
  }

  std::optional<uint32_t> compat(std::string_view text) const override {
    return compat_level(compat_of(*library_), text);
  }

 private:
  void add(sdk::Function& function, OrtModule& module) const {
    const Places places = places_of(function.constants);
    Result<Model> model =
        model_of(function.graph_json, [&](const ContentKey& key) -> std::shared_ptr<const Buffer> {
          const auto place = places.find(key);
          return place == places.end() ? nullptr : borrowed(function, place->second);
        });
    if (!model.ok()) throw sdk::Declined(model.status().message());
    std::vector<sdk::Held> weights = weights_of(*model, places, function);
    auto kernel = std::make_unique<SessionKernel>(library_, *model, std::move(weights),
                                                  SessionOptions{.is_trial = true});
    module.add({function.graph.symbol, function.graph.signature(), function.constants.use(),
                *std::move(model)},
               std::move(kernel));
  }

  std::shared_ptr<const Library> library_;
};

}  // namespace
}  // namespace byoc::ort_plugin

BYOC_PLUGIN(byoc::ort_plugin::OrtPlugin, "onnxruntime", "0.1.0", .flags = BYOC_PLUGIN_OPEN_SIZES,
            .priority = -30)
