// SPDX-License-Identifier: Apache-2.0
#pragma once
// The module of a plugin that overrides Plugin::compile alone. Its artifact is the graphs, and
// loading compiles them again by the same code.
#include <cstring>

#include "byoc/plugin/sdk/parse.h"
#include "byoc/plugin/sdk/plugin.h"

namespace byoc::sdk::detail {

/// The formats of the blob. The second one has points, and is written when a function has one.
inline constexpr std::string_view kGraphModuleFormat = "byoc-graphs/1";
inline constexpr std::string_view kPointModuleFormat = "byoc-graphs-points/1";

inline std::string graph_module_compat(const Plugin& plugin, std::string_view format) {
  std::string made_with = plugin.made_with();
  return std::string(format) + (made_with.empty() ? "" : " ") + made_with;
}
inline std::string_view format_of(std::string_view compat) {
  return compat.substr(0, compat.find(' '));
}

class GraphModule : public Module {
 public:
  explicit GraphModule(const Plugin& plugin)
      : compat_(graph_module_compat(plugin, kGraphModuleFormat)),
        flags_(plugin.stores_packed() ? BYOC_MODULE_PACKED : 0) {}
  /// Compiles `function`; an error is given its index.
  void add(Plugin& plugin, Function& function) {
    One one{function.graph.symbol, std::string(function.graph_json), {}, nullptr, {}};
    if (!function.point.empty()) {
      one.point_json = Json(function.point).dump();
      if (!has_points_) compat_ = graph_module_compat(plugin, kPointModuleFormat);
      has_points_ = true;
    }
    try {
      one.kernel = plugin.compile(function);
    } catch (Error& e) {
      if (e.function < 0) e.function = static_cast<int64_t>(function.index);
      throw;
    }
    if (!one.kernel)
      throw Error(BYOC_INTERNAL, "compile returned no kernel", -1,
                  static_cast<int64_t>(function.index));
    one.info = one.kernel->info();
    one.info.n_in = static_cast<uint32_t>(function.graph.inputs.size());
    one.info.n_out = static_cast<uint32_t>(function.graph.outputs.size());
    one.info.signature = function.graph.signature();
    if (one.info.const_use.empty()) one.info.const_use = function.constants.use();
    index_.emplace(one.symbol, functions_.size());
    functions_.push_back(std::move(one));
  }
  Entry find(std::string_view symbol) override {
    auto found = index_.find(symbol);
    if (found == index_.end()) return {};
    const One& one = functions_[found->second];
    return {one.kernel.get(), one.info};
  }
  std::string compat() const override { return compat_; }
  struct Saved {
    std::string_view symbol, graph_json, point_json;
  };
  /// Writes per function its symbol, its JSON and, in a module with points, its point, each after
  /// its size: 8 bytes, little endian.
  void save(Saver& saver) const override {
    saver.set_flags(flags_);
    for (const One& one : functions_) {
      write_text(saver, one.symbol);
      write_text(saver, one.graph_json);
      if (has_points_) write_text(saver, one.point_json);
    }
  }
  /// Reads what save wrote under the text `compat`.
  static std::vector<Saved> read(byoc_bytes blob, std::string_view compat) {
    const bool has_points = format_of(compat) == kPointModuleFormat;
    std::string_view rest(static_cast<const char*>(blob.p), blob.n);
    std::vector<Saved> saved;
    while (!rest.empty()) {
      std::string_view symbol = read_text(rest), graph_json = read_text(rest);
      saved.push_back({symbol, graph_json, has_points ? read_text(rest) : std::string_view()});
    }
    return saved;
  }

 private:
  struct One {
    std::string symbol, graph_json, point_json;
    std::unique_ptr<Kernel> kernel;
    KernelInfo info;
  };
  [[noreturn]] static void corrupt() {
    throw Error(BYOC_DATA_LOSS, "the saved graphs are cut short or changed");
  }
  static void write_text(Saver& saver, std::string_view text) {
    uint64_t size = text.size();
    char bytes[sizeof size];
    std::memcpy(bytes, &size, sizeof size);
    saver.write({bytes, sizeof size});
    saver.write(text);
  }
  static std::string_view read_text(std::string_view& rest) {
    uint64_t size = 0;
    if (rest.size() < sizeof size) corrupt();
    std::memcpy(&size, rest.data(), sizeof size);
    rest.remove_prefix(sizeof size);
    if (size > rest.size()) corrupt();
    std::string_view text = rest.substr(0, size);
    rest.remove_prefix(size);
    return text;
  }
  std::string compat_;
  uint64_t flags_;
  bool has_points_ = false;
  std::vector<One> functions_;
  std::map<std::string, size_t, std::less<>> index_;  // by symbol
};

/// Reads byoc_function.point; empty for an empty text.
inline Point parse_point(std::string_view json) {
  Point out;
  if (json.empty()) return out;
  check_depth(json);
  const Json object = Json::parse(json, nullptr, false);
  if (!object.is_object()) throw Error(BYOC_INVALID_ARGUMENT, "the point is no JSON object");
  for (const auto& [name, value] : object.items()) {
    if (!value.is_string())
      throw Error(BYOC_INVALID_ARGUMENT, "knob \"" + name + "\" of the point is no string");
    out[name] = value.template get<std::string>();
  }
  return out;
}

inline std::string hex(const uint8_t (&key)[16]) {
  std::string out;
  for (uint8_t byte : key) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

using ConstantsByKey = std::map<std::string, const byoc_const*>;

inline ConstantsByKey constants_by_key(const byoc_load& load) {
  ConstantsByKey by_key;
  for (uint64_t k = 0; k < load.n_consts; ++k) by_key[hex(load.consts[k]->key)] = load.consts[k];
  return by_key;
}

/// Returns the constants that a graph names, out of those given for the whole module.
inline Constants constants_of(const Graph& graph, const ConstantsByKey& by_key) {
  std::vector<const byoc_const*> raw;
  for (const Constant& constant : graph.constants) {
    auto found = by_key.find(constant.key);
    if (found == by_key.end())
      throw Error(BYOC_DATA_LOSS, "constant \"" + constant.name + "\" is not in the artifact");
    raw.push_back(found->second);
  }
  return Constants(std::move(raw), graph);
}

inline std::unique_ptr<Module> compile_module(Plugin& plugin, CompileRequest& request) {
  if (auto module = plugin.compile_module(request)) return module;
  auto module = std::make_unique<GraphModule>(plugin);
  for (Function& function : request.functions) {
    function.cancel.check();
    module->add(plugin, function);
    function.cancel.progress(function.index + 1, request.functions.size(), "compiling");
  }
  return module;
}

inline std::unique_ptr<Module> load_module(Plugin& plugin, const byoc_load& load) {
  if (auto module = plugin.load_module(load)) return module;
  auto module = std::make_unique<GraphModule>(plugin);
  const ConstantsByKey by_key = constants_by_key(load);
  uint64_t index = 0;
  for (const GraphModule::Saved& saved : GraphModule::read(load.blob, to_view(load.compat))) {
    Graph graph = parse_graph(saved.graph_json);
    graph.symbol = std::string(saved.symbol);
    Constants constants = constants_of(graph, by_key);
    Cancel cancel(load.cancel);
    cancel.check();
    Function function{index++,
                      saved.graph_json,
                      std::move(graph),
                      std::move(constants),
                      load.threads,
                      load.flags,
                      {},
                      true,
                      cancel,
                      parse_point(saved.point_json)};
    module->add(plugin, function);
  }
  return module;
}

/// Returns 3: same made_with; 2: graphs, but made with another library or CPU; 1: no graphs.
inline uint32_t graph_module_level(const Plugin& plugin, std::string_view text) {
  const std::string_view format = format_of(text);
  if (format != kGraphModuleFormat && format != kPointModuleFormat) return 1;
  return text == graph_module_compat(plugin, format) ? 3 : 2;
}
inline uint32_t compat(const Plugin& plugin, std::string_view text) {
  if (std::optional<uint32_t> level = plugin.compat(text)) return *level;
  return graph_module_level(plugin, text);
}

}  // namespace byoc::sdk::detail
