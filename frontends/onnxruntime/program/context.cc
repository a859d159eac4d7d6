// SPDX-License-Identifier: Apache-2.0
// The attributes are those that ONNX Runtime documents for EPContext.
#include "frontends/onnxruntime/program/context.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "byoc/base/file.h"
#include "frontends/onnxruntime/graph/attributes.h"

namespace byoc::ort {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "ep_cache_context";  // the artifact, or the name of its file
constexpr const char *kIsMain = "main_context", *kEmbedMode = "embed_mode";
constexpr size_t kMostBytes = std::numeric_limits<int32_t>::max();  // of an attribute

Status bad_context(std::string message) {
  return failed(std::move(message)).with_slug("ort-context");
}

constexpr uint8_t kBoolCode = 6;  // of DLPack

/// ONNX's number of an element type of byoc; 0: none.
int element_of(const DLDataType& type) {
  struct Row {
    int element;
    uint8_t code, bits;
  };
  static constexpr Row kRows[] = {{1, kDLFloat, 32},  {2, kDLUInt, 8},   {3, kDLInt, 8},
                                  {4, kDLUInt, 16},   {5, kDLInt, 16},   {6, kDLInt, 32},
                                  {7, kDLInt, 64},    {9, kBoolCode, 8}, {10, kDLFloat, 16},
                                  {11, kDLFloat, 64}, {12, kDLUInt, 32}, {13, kDLUInt, 64},
                                  {16, kDLBfloat, 16}};
  for (const Row& row : kRows) {
    if (row.code == type.code && row.bits == type.bits) return row.element;
  }
  return 0;
}

/// The attributes of a node to be made. ONNX Runtime takes those that the node gets.
class Attributes {
 public:
  explicit Attributes(const Calls& calls) : calls_(calls) {}
  Attributes(const Attributes&) = delete;
  ~Attributes() {
    for (OrtOpAttr* one : all_) {
      if (one != nullptr) calls_.ReleaseOpAttr(one);
    }
  }
  Status add(const char* name, int64_t value) { return add(name, &value, 1, OrtAttribute::kInt); }
  Status add(const char* name, std::string_view text) {
    return add(name, text.data(), static_cast<int>(text.size()), OrtAttribute::kString);
  }
  std::vector<OrtOpAttr*>& all() { return all_; }

 private:
  Status add(const char* name, const void* data, int size, OrtAttribute type) {
    OrtOpAttr* made = nullptr;
    BYOC_ORT_TRY(calls_, CreateOpAttr(name, data, size, static_cast<int>(type), &made));
    all_.push_back(made);
    return {};
  }

  const Calls& calls_;
  std::vector<OrtOpAttr*> all_;
};

/// Returns the file of the model with EPContext nodes, as its user names it; else the model that is
/// read. Errors: slug "ort-context" where ONNX Runtime has neither.
Result<fs::path> model_path(const Calls& calls, const OrtGraph* graph, const Settings& settings) {
  if (!settings.contexts.path.empty()) return fs::path(settings.contexts.path);
  const char* path = nullptr;
  BYOC_ORT_TRY(calls, Graph_GetModelPath(graph, &path));
  if (path != nullptr && *path != '\0') return fs::path(path);
  return bad_context("the model has no file, and so no folder for the programs of EPContext nodes")
      .with_help("set ep.context_file_path, or ep.context_embed_mode=1 when the model is made");
}

Result<std::string> bytes_of(const Program& program) {
  BYOC_TRY(const TemporaryFolder folder, TemporaryFolder::make());
  const std::string path = (folder.path() / "program.byoc").string();
  BYOC_TRY_STATUS(program.save(path));
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  if (error || size <= kMostBytes) return read_file(path);
  return bad_context(cat("a program of ", size, " bytes is too large for an attribute, which has ",
                         kMostBytes))
      .with_help("set ep.context_embed_mode=0, so that programs are files beside the model");
}

/// Writes the program's file. Returns its name.
Result<std::string> write_beside(const Calls& calls, const OrtGraph* graph, const std::string& node,
                                 const Program& program, const Settings& settings) {
  BYOC_TRY(const fs::path model, model_path(calls, graph, settings));
  const std::string name = cat(model.stem().string(), "_", node, ".byoc");
  BYOC_TRY_STATUS(program.save((model.parent_path() / name).string()));
  return name;
}

std::vector<const char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<const char*> out;
  for (const std::string& text : texts) out.push_back(text.c_str());
  return out;
}

/// The names of a part's values that the node has; others are left out.
std::vector<std::string> names_in(const std::vector<std::string>& node,
                                  std::vector<std::string> part) {
  for (std::string& name : part) {
    if (std::ranges::count(node, name) == 0) name.clear();
  }
  return part;
}

Result<int64_t> number(const Calls& calls, const OrtNode* node, const char* name,
                       int64_t otherwise) {
  BYOC_TRY(auto raw, find_attribute(calls, node, name, OrtAttribute::kInt));
  if (raw && raw->size() == sizeof otherwise) std::memcpy(&otherwise, raw->data(), raw->size());
  return otherwise;
}

/// Loads the file that a node names. It lies in the folder of the model, or in one of its folders.
Result<std::shared_ptr<Program>> load_beside(const Calls& calls, const OrtGraph* graph,
                                             const std::string& name, const Settings& settings) {
  const fs::path file(name);
  if (file.empty() || file.is_absolute() || std::ranges::count(file, fs::path("..")) > 0)
    return bad_context(cat("\"", name, "\" is no name of a file in the folder of the model"));
  BYOC_TRY(const fs::path model, model_path(calls, graph, settings));
  return Program::of_file((model.parent_path() / file).string(), settings);
}

Result<std::shared_ptr<Program>> load(const Calls& calls, const OrtGraph* graph,
                                      const OrtNode* node, const Settings& settings) {
  BYOC_TRY(const int64_t is_main, number(calls, node, kIsMain, 1));
  if (is_main != 1)
    return bad_context("it has no program of its own, and byoc makes none of these");
  BYOC_TRY(const int64_t is_embedded, number(calls, node, kEmbedMode, 1));
  BYOC_TRY(auto program, find_attribute(calls, node, kProgram, OrtAttribute::kString));
  if (!program) return bad_context(cat("it lacks the attribute ", kProgram));
  if (is_embedded == 0) return load_beside(calls, graph, *program, settings);
  return Program::of_bytes(*program, settings);
}

using SessionInfo = byoc_error* (*)(const byoc_session*, size_t, byoc_tensor_info*);

/// Compares the values of a node with those of the program, whose memory ONNX Runtime makes.
Status check_values(const Graph& graph, const std::vector<int32_t>& values, const char* what,
                    size_t count, SessionInfo info_of, const byoc_session* session) {
  if (values.size() != count) {
    return bad_context(cat("it has ", values.size(), " ", what, "s, and its program has ", count));
  }
  for (size_t k = 0; k < count; ++k) {
    byoc_tensor_info info;
    BYOC_TRY_STATUS(status_of(info_of(session, k, &info)));
    if (values[k] == Node::kNone) continue;
    const Value& value = graph.values[static_cast<size_t>(values[k])];
    if (value.element == element_of(info.dtype)) continue;
    return bad_context(cat("its ", what, " '", value.name, "' has elements of type ", value.element,
                           ", and its program has ", element_of(info.dtype)));
  }
  return {};
}

Result<std::shared_ptr<Part>> part_of(const Calls& calls, const OrtGraph* handle,
                                      const Graph& graph, const Settings& settings) {
  const Node& node = graph.nodes[0];
  BYOC_TRY(auto program, load(calls, handle, node.handle, settings));
  const byoc_session* session = program->session();
  BYOC_TRY_STATUS(check_values(graph, node.inputs, "input", byoc_session_input_count(session),
                               byoc_session_input, session));
  BYOC_TRY_STATUS(check_values(graph, node.outputs, "output", byoc_session_output_count(session),
                               byoc_session_output, session));
  BYOC_TRY(auto inputs, input_names(calls, node.handle));
  BYOC_TRY(auto outputs, output_names(calls, node.handle));
  return Part::of_program(std::move(inputs), std::move(outputs), std::move(program));
}

}  // namespace

Result<OrtNode*> write_context(const Calls& calls, const OrtGraph* graph, const OrtNode* fused,
                               const Part& part, const Settings& settings) {
  if (calls.CreateNode == nullptr)
    return bad_context("this ONNX Runtime is built without the interface that makes nodes");
  const char* name = nullptr;
  BYOC_ORT_TRY(calls, Node_GetName(fused, &name));
  const bool is_embedded = settings.contexts.is_embedded;
  BYOC_TRY(const std::string program,
           is_embedded ? bytes_of(*part.program())
                       : write_beside(calls, graph, name, *part.program(), settings));
  Attributes attributes(calls);
  BYOC_TRY_STATUS(attributes.add(kProgram, program));
  BYOC_TRY_STATUS(attributes.add(kIsMain, 1));
  BYOC_TRY_STATUS(attributes.add(kEmbedMode, is_embedded));
  BYOC_TRY_STATUS(attributes.add("ep_sdk_version", byoc_version()));
  BYOC_TRY_STATUS(attributes.add("partition_name", name));
  BYOC_TRY_STATUS(attributes.add("source", kProviderName));
  BYOC_TRY(const auto fused_inputs, input_names(calls, fused));
  BYOC_TRY(const auto fused_outputs, output_names(calls, fused));
  const std::vector<std::string> inputs = names_in(fused_inputs, part.inputs());
  const std::vector<std::string> outputs = names_in(fused_outputs, part.outputs());
  OrtNode* out = nullptr;
  // The node has the name of the one that it replaces: ONNX Runtime finds it by that.
  BYOC_ORT_TRY(calls, CreateNode(kContextOp, kContextDomain, name, pointers_to(inputs).data(),
                                 inputs.size(), pointers_to(outputs).data(), outputs.size(),
                                 attributes.all().data(), attributes.all().size(), &out));
  return out;
}

Result<std::shared_ptr<Part>> read_context(const Calls& calls, const OrtGraph* graph,
                                           const Settings& settings) {
  BYOC_TRY(const Graph read, read_graph(calls, graph));
  if (read.nodes.size() != 1 || !read.nodes[0].is_context)
    return bad_context("ONNX Runtime has joined an EPContext node with others");
  Result<std::shared_ptr<Part>> part = part_of(calls, graph, read, settings);
  if (part.ok()) return part;
  const Status& status = part.status();
  Status out(status.code(), cat("the EPContext node \"", read.nodes[0].name,
                                "\" cannot be run: ", status.message()));
  if (!status.where().empty()) out = std::move(out).at(status.where());
  out = std::move(out).with_slug(status.slug().empty() ? "ort-context" : status.slug());
  return std::move(out).with_help(cat(
      status.help(), status.help().empty() ? "" : "; ",
      "a session with ep.context_enable=1 makes the node again, from the model it was made of"));
}

}  // namespace byoc::ort
