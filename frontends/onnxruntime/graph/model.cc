// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/graph/model.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <unordered_map>

#include "byoc/base/file.h"
#include "frontends/onnxruntime/graph/attributes.h"
#include "frontends/onnxruntime/graph/body.h"

namespace byoc::ort {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "constants";
constexpr size_t kInModel = 1024;   // constants of up to this many bytes are in the model
constexpr size_t kAlignment = 64;   // byoc maps aligned constants, and copies others
constexpr int64_t kIrVersion = 10;  // of ONNX files

// Fields of ONNX's messages. Source: onnx.proto of ONNX.
namespace model_field {
constexpr uint32_t kIr = 1, kGraph = 7, kOpset = 8;
}
namespace opset_field {
constexpr uint32_t kDomain = 1, kVersion = 2;
}
namespace tensor_field {
constexpr uint32_t kExternal = 13, kLocation = 14;
}

/// Writes one group. Values are named in the order in which they are met.
class Writer {
 public:
  Writer(const Graph& graph, const Group& group, const Constants& constants)
      : graph_(graph), group_(group), constants_(constants) {}

  Model run() {
    for (int32_t value : group_.inputs) {
      out_.inputs.push_back(name_of(value));
      body_.message(graph_field::kInput, value_info(value, true));
    }
    size_t bodies = 0;
    for (uint32_t k : group_.nodes)
      body_.message(graph_field::kNode,
                    write_node(
                        graph_, graph_.nodes[k], k, [&](int32_t v) { return name_of(v); }, bodies));
    body_.bytes(graph_field::kName, "group");
    for (int32_t value : group_.outputs) {
      out_.outputs.push_back(name_of(value));
      body_.message(graph_field::kOutput, value_info(value, false));
    }
    Message model;
    model.number(model_field::kIr, kIrVersion);
    for (const auto& [domain, version] : graph_.opsets) {
      Message opset;
      opset.bytes(opset_field::kDomain, domain);
      opset.number(opset_field::kVersion, version);
      model.message(model_field::kOpset, opset);
    }
    model.message(model_field::kGraph, body_);
    out_.bytes = std::move(model).take();
    return std::move(out_);
  }

 private:
  const Value& value_at(int32_t value) const { return graph_.values[static_cast<size_t>(value)]; }

  const std::string& name_of(int32_t value) {
    auto [found, fresh] = names_.try_emplace(value);
    if (fresh) {
      found->second = cat("v", names_.size() - 1);
      if (value_at(value).is_constant) add_constant(value, found->second);
    }
    return found->second;
  }

  void add_constant(int32_t number, const std::string& name) {
    const Value& value = value_at(number);
    Message tensor = tensor_head(name, value.element, value.dims);
    const int64_t offset = constants_.offset_of(number);
    if (offset < 0) {
      tensor.bytes(kRawData,
                   {reinterpret_cast<const char*>(value.constant.data()), value.constant.size()});
    } else {
      add_place(tensor, "location", kFile);
      add_place(tensor, "offset", cat(offset));
      add_place(tensor, "length", cat(value.constant.size()));
      tensor.number(tensor_field::kLocation, 1);
    }
    out_.constants.push_back(number);
    body_.message(graph_field::kInitializer, tensor);
  }

  static void add_place(Message& tensor, std::string_view key, std::string_view value) {
    Message entry;
    entry.bytes(1, key);
    entry.bytes(2, value);
    tensor.message(tensor_field::kExternal, entry);
  }

  Message value_info(int32_t number, bool has_shape) {
    const Value& value = value_at(number);
    Message tensor;
    tensor.number(type_field::kElement, value.element);
    if (has_shape) {
      Message shape;
      for (size_t k = 0; k < value.dims.size(); ++k) shape.message(type_field::kDim, dim(value, k));
      tensor.message(type_field::kShape, shape);
    }
    Message type, out;
    type.message(type_field::kTensor, tensor);
    out.bytes(value_field::kName, name_of(number));
    out.message(value_field::kType, type);
    return out;
  }

  Message dim(const Value& value, size_t k) {
    Message out;
    if (value.dims[k] >= 0) out.number(type_field::kDimValue, value.dims[k]);
    else out.bytes(type_field::kDimName, symbol_of(value.sizes[k]));
    return out;
  }

  /// Equal names are one size; a size without a name is one of its own.
  std::string symbol_of(const std::string& name) {
    if (auto found = symbols_.find(name); found != symbols_.end() && !name.empty())
      return found->second;
    out_.sizes.push_back({cat("s", out_.sizes.size()), name});
    return symbols_[name] = out_.sizes.back().symbol;
  }

  const Graph& graph_;
  const Group& group_;
  const Constants& constants_;
  Model out_;
  Message body_;
  std::unordered_map<int32_t, std::string> names_;
  std::unordered_map<std::string, std::string> symbols_;  // of names of sizes
};

/// Calls `found` with each number of a node that the text names, and where its prefix begins and
/// where the number ends.
template <class Found>
void find_prefixes(std::string_view text, Found&& found) {
  for (size_t begin = text.find(kNodePrefix); begin != text.npos;
       begin = text.find(kNodePrefix, begin + kNodePrefix.size())) {
    uint32_t number = 0;
    const char* digits = text.data() + begin + kNodePrefix.size();
    const auto [end, error] = std::from_chars(digits, text.data() + text.size(), number);
    if (error == std::errc()) found(number, begin, static_cast<size_t>(end - text.data()));
  }
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::make() {
  std::error_code error;
  std::string path = (fs::temp_directory_path(error) / "byoc-ort-XXXXXX").string();
  if (error || ::mkdtemp(path.data()) == nullptr)
    return system_error("cannot make a folder", path, errno);
  return TemporaryFolder(path);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<std::shared_ptr<const Constants>> Constants::write(const Graph& graph) {
  BYOC_TRY(TemporaryFolder folder, TemporaryFolder::make());
  std::shared_ptr<Constants> out(new Constants(std::move(folder)));
  out->offsets_.assign(graph.values.size(), -1);
  std::vector<Bytes> pieces;
  static constexpr std::byte kZeros[kAlignment] = {};
  int64_t offset = 0;
  for (size_t k = 0; k < graph.values.size(); ++k) {
    const Bytes bytes = graph.values[k].constant;
    if (bytes.size() <= kInModel) continue;
    out->offsets_[k] = offset;
    pieces.push_back(bytes);
    if (const size_t rest = bytes.size() % kAlignment)
      pieces.push_back(Bytes(kZeros).first(kAlignment - rest));
    offset += static_cast<int64_t>((bytes.size() + kAlignment - 1) / kAlignment * kAlignment);
  }
  if (!pieces.empty()) BYOC_TRY_STATUS(write_file((out->folder() / kFile).string(), pieces));
  return std::shared_ptr<const Constants>(std::move(out));
}

std::vector<uint32_t> nodes_named_in(std::string_view text) {
  std::vector<uint32_t> out;
  find_prefixes(text, [&](uint32_t number, size_t, size_t) { out.push_back(number); });
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Status with_names_of_graph(const Status& status) {
  if (status.ok()) return {};
  Status out(status.code(), with_names_of_graph(status.message()));
  if (!status.slug().empty()) out = std::move(out).with_slug(status.slug());
  if (!status.where().empty()) out = std::move(out).at(with_names_of_graph(status.where()));
  if (!status.help().empty()) out = std::move(out).with_help(status.help());
  return out;
}

std::string with_names_of_graph(std::string_view text) {
  std::string out;
  size_t done = 0;
  find_prefixes(text, [&](uint32_t, size_t begin, size_t end) {
    out += text.substr(done, begin - done);
    done = end + (end < text.size() && text[end] == ' ');
  });
  return out += text.substr(done);
}

Model write_model(const Graph& graph, const Group& group, const Constants& constants) {
  return Writer(graph, group, constants).run();
}

ContentKey key_of(const Graph& graph, const Model& model) {
  std::string all = model.bytes;
  for (int32_t value : model.constants)
    all += content_key(graph.values[static_cast<size_t>(value)].constant).hex();
  return content_key(std::as_bytes(std::span(all)));
}

}  // namespace byoc::ort
