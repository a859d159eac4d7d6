// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/manifest.h"

#include "byoc/base/json.h"
#include "runtime/artifact/manifest_fields.h"

namespace byoc {
namespace {

constexpr std::string_view kManifestFormat = "byoc.artifact";
Status corrupt_manifest(std::string message) {
  return data_loss(std::move(message)).with_slug("artifact-corrupt");
}

// Writes the text directly: a program of a million steps is never held as a tree.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) { out_ += '{'; }
  template <class T>
  void operator()(const char* name, const T& value) {
    if (out_.back() != '{') out_ += ',';
    out_ += cat('"', name, "\":");
    write(out_, value);
  }
  /// Writes a list that readers take for empty when it is absent.
  template <class T>
  void optional(const char* name, const std::vector<T>& list) {
    if (!list.empty()) (*this)(name, list);
  }
  void close() { out_ += '}'; }

  static void write(std::string& out, const Json& value) {
    out += value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  static void write(std::string& out, const std::string& text) { write(out, Json(text)); }
  static void write(std::string& out, double value) { write(out, Json(value)); }
  static void write(std::string& out, const ContentKey& key) { out += cat('"', key, '"'); }
  static void write(std::string& out, const TensorSpec& spec) { out += cat('"', spec, '"'); }
  static void write(std::string& out, Place::Kind kind) { write(out, static_cast<uint32_t>(kind)); }
  static void write(std::string& out, Instruction::Kind kind) {
    write(out, static_cast<uint32_t>(kind));
  }
  template <class T>
  requires std::is_integral_v<T>
  static void write(std::string& out, const T& value) { out += std::to_string(value); }
  template <class A, class B>
  static void write(std::string& out, const std::pair<A, B>& pair) {
    out += '[';
    write(out, pair.first);
    out += ',';
    write(out, pair.second);
    out += ']';
  }
  template <class T>
  static void write(std::string& out, const std::vector<T>& list) {
    out += '[';
    for (const T& value : list) {
      if (&value != list.data()) out += ',';
      write(out, value);
    }
    out += ']';
  }
  template <class T>
  static void write(std::string& out, const T& record) {
    Writer writer(out);
    fields(writer, const_cast<T&>(record));  // `fields` serves both ways; nothing is written
    writer.close();
  }

 private:
  std::string& out_;
};

class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}
  template <class T>
  void operator()(const char* name, T& value) {
    if (!status_.ok()) return;
    auto found = json_.find(name);
    if (found == json_.end()) {
      status_ = corrupt_manifest(cat("\"", name, "\" is missing"));
    } else if (Status status = read(*found, value); !status.ok()) {
      status_ = std::move(status).at(name);
    }
  }
  template <class T>
  void optional(const char* name, std::vector<T>& list) {
    if (json_.contains(name)) (*this)(name, list);
  }
  Status take() { return std::move(status_); }

  static Status read(const Json& json, std::string& out) {
    if (!json.is_string()) return wrong(json, "text");
    out = json.get_ref<const std::string&>();
    return {};
  }
  static Status read(const Json& json, double& out) {
    if (!json.is_number()) return wrong(json, "a number");
    out = json.get<double>();
    return {};
  }
  static Status read(const Json& json, ContentKey& out) {
    if (!json.is_string() || !ContentKey::parse(json.get_ref<const std::string&>(), out))
      return wrong(json, "a key");
    return {};
  }
  static Status read(const Json& json, TensorSpec& out) {
    if (!json.is_string()) return wrong(json, "a type");
    auto spec = parse_tensor_spec(json.get_ref<const std::string&>());
    if (!spec.ok()) return corrupt_manifest(spec.status().message());
    out = *std::move(spec);
    return {};
  }
  static Status read(const Json& json, Place::Kind& out) {
    return read_kind(json, Place::kDevice, "a kind of place", out);
  }
  static Status read(const Json& json, Instruction::Kind& out) {
    return read_kind(json, Instruction::kEnd, "a kind of instruction", out);
  }
  template <class T>
  static Status read_kind(const Json& json, T last, const char* wanted, T& out) {
    uint32_t kind = 0;
    BYOC_TRY_STATUS(read(json, kind));
    if (kind > last) return wrong(json, wanted);
    out = static_cast<T>(kind);
    return {};
  }
  template <class T>
  requires std::is_integral_v<T>
  static Status read(const Json& json, T& out) {
    if (!json.is_number_unsigned() || !std::in_range<T>(json.get<uint64_t>()))
      return wrong(json, "a number in range");
    out = static_cast<T>(json.get<uint64_t>());
    return {};
  }
  template <class A, class B>
  static Status read(const Json& json, std::pair<A, B>& out) {
    if (!json.is_array() || json.size() != 2) return wrong(json, "a pair");
    BYOC_TRY_STATUS(read(json[0], out.first));
    return read(json[1], out.second);
  }
  template <class T>
  static Status read(const Json& json, std::vector<T>& out) {
    if (!json.is_array()) return wrong(json, "a list");
    out.resize(json.size());
    for (size_t k = 0; k < out.size(); ++k) {
      if (Status status = read(json[k], out[k]); !status.ok())
        return std::move(status).at(cat("[", k, "]"));
    }
    return {};
  }
  template <class T>
  static Status read(const Json& json, T& record) {
    if (!json.is_object()) return wrong(json, "an object");
    Reader reader(json);
    fields(reader, record);
    return reader.take();
  }

 private:
  static Status wrong(const Json& json, const char* wanted) {
    return corrupt_manifest(cat("a ", json.type_name(), " where ", wanted, " is expected"));
  }

  const Json& json_;
  Status status_;
};

// Turns steps, instructions and functions, of which there may be a million, into structs as soon as
// the parser has read them and drops them from its tree; the rest of the text is small.
class ListReader {
 public:
  /// Has the signature of nlohmann's parser_callback_t: false drops the value.
  bool operator()(int depth, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::key && depth < kDepths)
      key_[depth] = value.get_ref<const std::string&>();
    if (event != Json::parse_event_t::object_end) return true;
    if (depth == 3 && key_[1] == "program" && key_[2] == "steps") {
      keep(value, steps, "program: steps");
      return false;
    }
    if (depth == 3 && key_[1] == "program" && key_[2] == "code") {
      keep(value, code, "program: code");
      return false;
    }
    if (depth == 4 && key_[1] == "modules" && key_[3] == "functions") {
      keep(value, functions, "modules: functions");
      return false;
    }
    if (depth != 2 || key_[1] != "modules") return true;
    keep(value, modules, "modules");
    modules.back().module.functions = std::move(functions);
    functions.clear();
    return false;
  }

  std::vector<Step> steps;
  std::vector<Instruction> code;
  std::vector<ModuleRecord> modules;
  std::vector<ExternalFunction> functions;  // the functions of the present module
  Status status;                            // the first error

 private:
  static constexpr int kDepths = 5;
  template <class T>
  void keep(const Json& value, std::vector<T>& list, const char* path) {
    Status read = Reader::read(value, list.emplace_back());
    if (!read.ok() && status.ok())
      status = std::move(read).at(cat("[", list.size() - 1, "]")).at(path);
  }
  std::string key_[kDepths];  // the last one at each depth
};

}  // namespace

std::string write_manifest(const Executable& executable, const std::vector<Section>& sections) {
  std::vector<ModuleRecord> modules;
  for (const ExternalModule& module : executable.modules)
    modules.push_back({module, module.blob->key()});
  std::string text;
  Writer writer(text);
  writer("format", std::string(kManifestFormat));
  writer("producer", executable.producer);
  writer("program", executable.program);
  writer("modules", modules);
  writer("sections", sections);
  if (executable.fallback) writer("fallback", fallback_manifest(executable)->key());
  writer.close();
  return text;
}

Result<Manifest> read_manifest(std::string_view text) {
  if (Status scan = scan_json(text); !scan.ok()) return corrupt_manifest(scan.message());
  ListReader lists;
  Json json;
  try {
    json = Json::parse(text, std::ref(lists));
  } catch (const std::exception& e) {
    return corrupt_manifest(cat("not valid JSON: ", e.what()));
  }
  if (!json.is_object() || json.value("format", Json()) != kManifestFormat)
    return corrupt_manifest("it is no manifest of an artifact");
  BYOC_TRY_STATUS(std::move(lists.status));
  Manifest manifest;
  std::vector<ModuleRecord> modules;  // stays empty: the list was read above
  Reader reader(json);
  reader("producer", manifest.executable.producer);
  reader("program", manifest.executable.program);
  reader("modules", modules);
  reader("sections", manifest.sections);
  if (json.contains("fallback")) reader("fallback", manifest.fallback.emplace());
  BYOC_TRY_STATUS(reader.take());
  manifest.executable.program.steps = std::move(lists.steps);
  manifest.executable.program.code = std::move(lists.code);
  for (ModuleRecord& record : lists.modules) {
    manifest.executable.modules.push_back(std::move(record.module));
    manifest.blobs.push_back(record.blob);
  }
  return manifest;
}

}  // namespace byoc
