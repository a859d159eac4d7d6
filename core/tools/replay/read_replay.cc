// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "byoc/base/file.h"
#include "byoc/base/json.h"
#include "byoc/options.h"
#include "byoc/tune/space.h"
#include "core/tools/replay/case_sizes.h"
#include "core/tools/replay/run_replay.h"

namespace byoc::driver {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kSchema = "byoc.replay-folder/1";

Status bad(std::string message) { return data_loss(std::move(message)).with_slug("replay-folder"); }

/// Reads typed members of a JSON object. Errors name a member that is missing or of another kind.
class Members {
 public:
  Members(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  Result<std::string> text(const char* name) const {
    BYOC_TRY(const Json* value, member(name, &Json::is_string, "text"));
    return value->get<std::string>();
  }
  Result<const Json*> list(const char* name) const {
    return member(name, &Json::is_array, "a list");
  }
  Result<const Json*> object(const char* name) const {
    return member(name, &Json::is_object, "an object");
  }
  Result<uint32_t> count(const char* name) const {
    BYOC_TRY(const Json* value, member(name, &Json::is_number_unsigned, "a number"));
    if (!std::in_range<uint32_t>(value->get<uint64_t>())) return wrong(name, "a small number");
    return value->get<uint32_t>();
  }
  Status wrong(const char* name, const char* expected) const {
    return bad(cat("\"", name, "\" is not ", expected)).at(where_);
  }

 private:
  Result<const Json*> member(const char* name, bool (Json::*is)() const noexcept,
                             const char* expected) const {
    auto found = json_.is_object() ? json_.find(name) : json_.end();
    if (!json_.is_object() || found == json_.end())
      return bad(cat("\"", name, "\" is missing")).at(where_);
    if (!((*found).*is)()) return wrong(name, expected);
    return &*found;
  }

  const Json& json_;
  std::string where_;
};

class FolderReader {
 public:
  explicit FolderReader(const std::string& folder)
      : folder_(folder), manifest_path_(folder + "/manifest.json") {}

  Result<ReplayCase> read() {
    BYOC_TRY_STATUS(read_manifest());
    Members members(manifest_, manifest_path_);
    BYOC_TRY_STATUS(read_names(members));
    BYOC_TRY_STATUS(read_sizes(members));
    BYOC_TRY(std::string graph, members.text("graph"));
    BYOC_TRY(std::string path, path_of(graph));
    BYOC_TRY(out_.graph_json, read_file(path));
    BYOC_TRY_STATUS(read_constants(members));
    BYOC_TRY(out_.inputs, read_tensors(members, "inputs"));
    BYOC_TRY(out_.outputs, read_tensors(members, "outputs"));
    BYOC_TRY_STATUS(read_limits(members));
    BYOC_TRY_STATUS(check_graph().at(path));
    return std::move(out_);
  }

 private:
  Status read_manifest() {
    std::error_code error;
    if (!fs::is_directory(folder_, error)) return bad(cat("no folder ", folder_));
    if (!is_replay_folder(folder_)) {
      return bad(cat(folder_, " has no manifest.json, so it is no replay folder, or half of one"))
          .with_help("byoc dump MODEL -o DIR makes one");
    }
    BYOC_TRY(std::string text, read_file(manifest_path_));
    auto json = parse_json(text);
    if (!json.ok()) return bad(json.status().message()).at(manifest_path_);
    manifest_ = *std::move(json);
    BYOC_TRY(std::string schema, Members(manifest_, manifest_path_).text("schema"));
    if (schema == kSchema) return {};
    return bad(cat("its schema is \"", schema, "\", this byoc reads \"", kSchema, "\""))
        .at(manifest_path_);
  }

  Status read_names(const Members& members) {
    BYOC_TRY(out_.producer, members.text("producer"));
    BYOC_TRY(out_.model, members.text("model"));
    BYOC_TRY(out_.symbol, members.text("symbol"));
    BYOC_TRY(out_.reference, members.text("reference"));
    BYOC_TRY(out_.target_json, members.text("target"));
    BYOC_TRY(out_.threads, members.count("threads"));
    BYOC_TRY(const Json* nodes, members.list("nodes"));
    for (const Json& node : *nodes) {
      if (!node.is_string()) return members.wrong("nodes", "a list of names");
      out_.nodes.push_back(node.get<std::string>());
    }
    if (manifest_.contains("point")) {
      BYOC_TRY(out_.point_json, members.text("point"));
      auto point = tune::parse_point(out_.point_json);
      if (!point.ok()) return members.wrong("point", "a value per knob, as text");
    }
    if (manifest_.contains("options")) {
      out_.options_json = manifest_["options"].dump();
      BuildOptions ignored;
      Status known = read_function_options(out_.options_json, ignored);
      if (!known.ok()) return bad(known.message()).at(cat(manifest_path_, ": options"));
    }
    const Json& tolerance = manifest_.value("tolerance", Json());
    if (tolerance.is_number()) out_.tolerance = tolerance.get<double>();
    BYOC_TRY(const Json* json, members.object("plugin"));
    Members plugin(*json, manifest_path_);
    BYOC_TRY(out_.plugin, plugin.text("id"));
    BYOC_TRY(out_.plugin_version, plugin.text("version"));
    BYOC_TRY(const Json* options, plugin.object("options"));
    for (const auto& [name, value] : options->items()) {
      if (!value.is_string()) return plugin.wrong("options", "an object of texts");
      out_.plugin_options[name] = value.get<std::string>();
    }
    return {};
  }

  /// Reads the numbers of open sizes, which graphs without any lack.
  Status read_sizes(const Members& members) {
    const Json sizes = manifest_.value("sizes", Json::object());
    for (const auto& [name, number] : sizes.items()) {
      if (!number.is_number_integer()) return members.wrong("sizes", "a number per open size");
      out_.sizes[name] = number.get<int64_t>();
    }
    return {};
  }

  /// Returns the path of a file in the folder. Errors: the file is not inside of the folder.
  Result<std::string> path_of(const std::string& file) const {
    fs::path path(file);
    bool leaves = path.is_absolute() || file.empty();
    for (const fs::path& part : path) leaves = leaves || part == "..";
    if (leaves) return bad(cat("\"", file, "\" is no file of this folder")).at(manifest_path_);
    return cat(folder_, "/", file);
  }

  struct Entry {
    std::string name, path;
    Tensor tensor;
  };
  Result<Entry> read_entry(const Json& json, const std::string& where) const {
    Members members(json, where);
    Entry out;
    BYOC_TRY(out.name, members.text("name"));
    BYOC_TRY(std::string type, members.text("type"));
    BYOC_TRY(std::string file, members.text("file"));
    auto spec = parse_tensor_spec(type);
    if (!spec.ok()) return bad(spec.status().message()).at(where);
    BYOC_TRY(out.path, path_of(file));
    BYOC_TRY(out.tensor, read_npy(out.path));
    if (out.tensor.spec() == *spec) return out;
    return bad(cat("it holds ", out.tensor.spec(), ", the manifest has ", *spec)).at(out.path);
  }

  Result<std::vector<ReplayTensor>> read_tensors(const Members& members, const char* kind) const {
    BYOC_TRY(const Json* list, members.list(kind));
    std::vector<ReplayTensor> out;
    for (const Json& json : *list) {
      BYOC_TRY(Entry entry,
               read_entry(json, cat(manifest_path_, ": ", kind, "[", out.size(), "]")));
      out.push_back({std::move(entry.name), std::move(entry.tensor)});
    }
    return out;
  }

  /// Reads the members "limit" of outputs. Outputs without one may be no steps apart.
  Status read_limits(const Members& members) {
    BYOC_TRY(const Json* list, members.list("outputs"));
    const bool has_any =
        std::ranges::any_of(*list, [](const Json& output) { return output.contains("limit"); });
    for (const Json& output : *list) {
      if (!has_any) break;
      const std::string where = cat(manifest_path_, ": outputs[", out_.limits.size(), "]");
      Limit& limit = out_.limits.emplace_back();
      if (!output.contains("limit")) continue;
      const Json& json = output["limit"];
      BYOC_TRY(const Json* sizes, Members(json, where).list("sizes"));
      BYOC_TRY(limit.why, Members(json, where).text("why"));
      BYOC_TRY(limit.axis, Members(json, where).count("axis"));
      limit.steps = json.value("steps", Json()).is_number() ? json["steps"].get<double>() : -1;
      for (const Json& size : *sizes)
        limit.sizes.push_back(size.is_number() ? size.get<double>() : -1);
      const bool is_right = limit.steps >= 0 &&
                            std::ranges::all_of(limit.sizes, [](double size) { return size >= 0; });
      if (!is_right) return bad("\"limit\" has no steps, or sizes that are no numbers").at(where);
    }
    return {};
  }

  Status read_constants(const Members& members) {
    BYOC_TRY(const Json* list, members.list("constants"));
    for (const Json& json : *list) {
      std::string where = cat(manifest_path_, ": constants[", out_.constants.size(), "]");
      BYOC_TRY(std::string hex, Members(json, where).text("key"));
      BYOC_TRY(Entry entry, read_entry(json, where));
      ExternalConstant constant{std::move(entry.name), {}, entry.tensor.spec()};
      auto buffer = Buffer::copy({entry.tensor.data(), entry.tensor.size_bytes()});
      if (!ContentKey::parse(hex, constant.key)) return bad("\"key\" is no key").at(where);
      if (buffer->key() != constant.key) {
        return bad(cat("its bytes have the key ", buffer->key(), ", the graph has ", constant.key,
                       ": it was changed"))
            .at(entry.path);
      }
      out_.constants.push_back(std::move(constant));
      out_.buffers.push_back(std::move(buffer));
    }
    return {};
  }

  /// Checks that the graph is sound and that its constants, inputs and outputs are the stored ones.
  Status check_graph() const {
    BYOC_TRY(IRModule module, module_of(out_));
    const Function& function = module.function(module.entry);
    if (module.entry.str() != out_.symbol)
      return bad(cat("it is a graph of \"", module.entry, "\", not of \"", out_.symbol, "\""));
    BYOC_TRY_STATUS(check_constants(graph_constants(module, function)));
    std::vector<TypeId> params;
    for (size_t k = 0; k < function.num_params(); ++k) params.push_back(function.nodes[k].types[0]);
    BYOC_TRY_STATUS(check_types("input", params, out_.inputs));
    return check_types("output", function.result_types(), out_.outputs);
  }

  /// Plugins read constants by their index, so order and types must be those of the graph.
  Status check_constants(const std::vector<ConstantRef>& expected) const {
    if (expected.size() != out_.constants.size()) {
      return bad(
          cat("it has ", expected.size(), " constants, the manifest ", out_.constants.size()));
    }
    for (size_t k = 0; k < expected.size(); ++k) {
      const ExternalConstant& stored = out_.constants[k];
      if (stored.key == expected[k].key && cat(stored.type) == cat(*expected[k].type)) continue;
      return bad(cat("constant ", k, " is ", *expected[k].type, " of key ", expected[k].key,
                     ", the manifest has ", stored.type, " of key ", stored.key));
    }
    return {};
  }

  Status check_types(const char* what, const std::vector<TypeId>& expected,
                     const std::vector<ReplayTensor>& stored) const {
    if (expected.size() != stored.size()) {
      return bad(cat("it has ", expected.size(), " ", what, "s, the manifest ", stored.size()));
    }
    for (size_t k = 0; k < expected.size(); ++k) {
      const Result<TensorSpec> spec = spec_at(expected[k], out_.sizes);
      if (spec.ok() && cat(*spec) == cat(stored[k].tensor.spec())) continue;
      return bad(
          cat(what, " ", k, " is ", *expected[k], ", ", stored[k].tensor.spec(), " is stored"));
    }
    return {};
  }

  const std::string folder_, manifest_path_;
  Json manifest_;
  ReplayCase out_;
};

}  // namespace

Result<ReplayCase> read_replay(const std::string& folder) { return FolderReader(folder).read(); }

}  // namespace byoc::driver
