// SPDX-License-Identifier: Apache-2.0
#include <exception>

#include "byoc/base/file.h"
#include "byoc/base/version.h"
#include "byoc/export.h"
#include "byoc/ir/visit.h"
#include "core/export/body.h"
#include "core/import/onnx/file/dtypes.h"

namespace byoc {
namespace {

using namespace onnx_export;

constexpr int kOldestOpset = 17;   // has LayerNormalization; axes of most reductions are attributes
constexpr int64_t kIrVersion = 8;  // has functions
constexpr int64_t kIrOfOpset21 = 10;
constexpr uint64_t kPage = 4096;  // alignment of external data
constexpr size_t kSmall = 1024;   // constants up to this size stay in the model

Status refused(const std::set<std::string>& problems) {
  constexpr size_t kShown = 8;
  std::string list;
  size_t shown = 0;
  for (const std::string& problem : problems) {
    if (++shown > kShown) break;
    list += cat(list.empty() ? "" : ", ", problem);
  }
  if (problems.size() > kShown) list += cat(" and ", problems.size() - kShown, " more");
  return unimplemented(cat("no ONNX form of ", list))
      .with_slug("onnx-export")
      .with_help(
          "export what simplifying passes or partition_graph made, not later stages; a library "
          "gives its ops operators by rows, library.onnx (docs/extending.md)");
}

/// Returns the functions that the entry calls, callees first, and the constants of each.
Result<std::pair<std::vector<Symbol>, FunctionConstants>> functions_of(const IRModule& module) {
  if (module.find(module.entry) == nullptr)
    return invalid(cat("the module has no function @", module.entry)).with_slug("unknown-function");
  BYOC_TRY(std::vector<Symbol> order, callees_first(module, module.entry));
  FunctionConstants used;
  for (Symbol name : order) {
    std::vector<UsedConstant>& mine = used[name];
    std::set<UsedConstant::Key> seen;
    auto add = [&](const UsedConstant& constant) {
      if (seen.insert(constant.key()).second) mine.push_back(constant);
    };
    for (const UsedConstant& constant : constants_of(module.function(name))) add(constant);
    for (const Node& node : module.function(name).nodes) {
      for (Symbol callee : callees(node)) {
        auto found = used.find(callee);  // the empty name of no callee is not found
        if (found == used.end()) continue;
        for (const UsedConstant& constant : found->second) add(constant);
      }
    }
  }
  return std::pair(std::move(order), std::move(used));
}

void add_opset(auto& proto, const std::string& domain, int version) {
  auto& opset = *proto.add_opset_import();
  opset.set_domain(domain);
  opset.set_version(version);
}

void add_opsets(auto& proto, int opset, bool has_functions) {
  add_opset(proto, "", opset);
  if (has_functions) add_opset(proto, kFunctionDomain, 1);
}

/// Makes the model, and puts its constants into the message or into a second file.
class ModelWriter {
 public:
  explicit ModelWriter(const IRModule& module) : module_(module) {}

  Status write(const std::string& path, const ExportOptions& options) {
    BYOC_TRY_STATUS(make());
    std::vector<OnnxConstant> outside;
    add_constants(path.substr(path.rfind('/') + 1) + ".data", options.max_inline_bytes, outside);
    BYOC_TRY(const std::string bytes, serialized());
    std::vector<std::span<const std::byte>> data;
    for (const OnnxConstant& constant : outside) {
      data.push_back(constant.data->bytes());
      data.push_back(std::span(kZeros).first(padding_of(constant.data->size())));
    }
    if (!data.empty()) BYOC_TRY_STATUS(write_file(path + ".data", data));
    return write_file(path, bytes);
  }

  Result<OnnxModel> in_memory() {
    BYOC_TRY_STATUS(make());
    OnnxModel out;
    add_constants("constants", 0, out.constants);
    BYOC_TRY(out.bytes, serialized());
    for (const auto& input : model_.graph().input()) out.inputs.push_back(input.name());
    for (const auto& output : model_.graph().output()) out.outputs.push_back(output.name());
    return out;
  }

 private:
  /// Writes all functions, again with a newer opset when a node requires one.
  Status make() {
    BYOC_TRY(auto functions, functions_of(module_));
    int opset = kOldestOpset, written = 0;
    while (written < opset) {
      written = opset;
      std::set<std::string> problems;
      opset = std::max(opset, make_with(functions.first, functions.second, opset, problems));
      if (!problems.empty()) return refused(problems);
    }
    return {};
  }

  /// Returns the opset that the nodes require.
  int make_with(const std::vector<Symbol>& order, const FunctionConstants& used, int opset,
                std::set<std::string>& problems) {
    model_.Clear();
    constants_ = {};
    model_.set_ir_version(opset < 21 ? kIrVersion : kIrOfOpset21);
    model_.set_producer_name("byoc");
    model_.set_producer_version(std::string(version()));
    add_opsets(model_, opset, order.size() > 1);
    Shared shared{module_, constants_, used, opset, problems};
    int needed = 0;
    std::set<std::string> domains;
    for (Symbol name : order) {
      const Function& function = module_.function(name);
      const bool is_entry = name == module_.entry;
      Body body = write_body(function, is_entry ? function.attrs.strings("input_names") : Strings(),
                             is_entry ? function.attrs.strings("output_names") : Strings(),
                             used.at(name), shared);
      needed = std::max(needed, body.needed_opset);
      domains.insert(body.domains.begin(), body.domains.end());
      if (is_entry) add_graph(function, body);
      else add_function(name, function, body, used.at(name), opset);
    }
    for (const std::string& domain : domains) add_opset(model_, domain, 1);
    return needed;
  }

  void add_graph(const Function& function, Body& body) {
    onnx::GraphProto& graph = *model_.mutable_graph();
    graph.set_name(module_.entry.str());
    for (size_t k = 0; k < body.inputs.size(); ++k)
      set_type(*graph.add_input(), body.inputs[k], *function.nodes[k].types[0]);
    for (size_t k = 0; k < body.outputs.size(); ++k)
      set_type(*graph.add_output(), body.outputs[k], *function.type(function.results[k]));
    for (const auto& [name, type] : body.shaped) set_type(*graph.add_value_info(), name, *type);
    graph.mutable_node()->Swap(&body.nodes);
  }

  void add_function(Symbol name, const Function& function, Body& body,
                    const std::vector<UsedConstant>& constants, int opset) {
    onnx::FunctionProto& to = *model_.add_functions();
    to.set_domain(kFunctionDomain);
    to.set_name(name.str());
    for (const char* attribute : {"compiler", "composite"}) {
      if (std::string text = function.attr(attribute); !text.empty())
        to.set_doc_string(cat(attribute, "=", text));
    }
    for (const std::string& input : body.inputs) to.add_input(input);
    for (const UsedConstant& constant : constants) to.add_input(constants_.name(constant));
    for (const std::string& output : body.outputs) to.add_output(output);
    to.mutable_node()->Swap(&body.nodes);
    add_opsets(to, opset, true);
    for (const std::string& domain : body.domains) add_opset(to, domain, 1);
  }

  Result<std::string> serialized() const {
    std::string bytes;
    if (!model_.SerializeToString(&bytes))
      return Status(Code::kResourceExhausted, "the ONNX model does not fit in 2 GiB")
          .with_slug("onnx-export");
    return bytes;
  }

  /// Adds all constants. When together they have more bytes than `max_inline_bytes`, larger ones
  /// are external data in `file`, and are appended to `outside`.
  void add_constants(const std::string& file, uint64_t max_inline_bytes,
                     std::vector<OnnxConstant>& outside) {
    uint64_t total = 0;
    for (const UsedConstant& constant : constants_.all()) total += constant.data->size();
    uint64_t offset = 0;
    for (const UsedConstant& constant : constants_.all()) {
      onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
      tensor.set_name(constants_.name(constant));
      tensor.set_data_type(constant.is_nibbles ? kUint4
                                               : onnx_import::dtype_to_onnx(constant.type->dtype));
      for (int64_t extent : static_extents(constant.type->shape)) tensor.add_dims(extent);
      if (constant.is_nibbles) *tensor.mutable_dims()->rbegin() *= 2;
      auto bytes = constant.data->bytes();
      if (total <= max_inline_bytes || bytes.size() <= kSmall) {
        tensor.set_raw_data(bytes.data(), bytes.size());
        continue;
      }
      add_external(tensor, file, offset, bytes.size());
      outside.push_back({tensor.name(), constant.data, constant.type});
      offset += bytes.size() + padding_of(bytes.size());
    }
  }

  static uint64_t padding_of(uint64_t size) { return (kPage - size % kPage) % kPage; }

  static void add_external(onnx::TensorProto& tensor, const std::string& file, uint64_t offset,
                           uint64_t size) {
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    auto add = [&](const char* key, std::string value) {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(std::move(value));
    };
    add("location", file);
    add("offset", std::to_string(offset));
    add("length", std::to_string(size));
  }

  static constexpr std::byte kZeros[kPage] = {};
  const IRModule& module_;
  onnx::ModelProto model_;
  ConstantNames constants_;
};

/// Runs the work of a writer. Libraries throw when allocation fails.
template <class Work>
auto without_exceptions(const std::string& what, Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& e) {
    return Status(Code::kResourceExhausted, cat("writing ", what, " failed: ", e.what()))
        .with_slug("onnx-export");
  }
}

}  // namespace

Status export_onnx(const IRModule& module, const std::string& path, const ExportOptions& options) {
  return without_exceptions(path, [&] { return ModelWriter(module).write(path, options); });
}

Result<OnnxModel> make_onnx(const IRModule& module) {
  return without_exceptions("an ONNX model", [&] { return ModelWriter(module).in_memory(); });
}

}  // namespace byoc
