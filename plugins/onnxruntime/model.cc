// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <cstring>

#include "byoc/base/json.h"
#include "byoc/export.h"
#include "byoc/ir/intern.h"
#include "byoc/text/graph_json.h"
#include "core/import/onnx/file/dtypes.h"

namespace byoc::ort_plugin {
namespace {

Value value_of(const std::string& name, TypeId type) {
  return {name, onnx_import::dtype_to_onnx(type->dtype)};
}

Json json_of(const std::vector<Value>& values) {
  Json out = Json::array();
  for (const Value& value : values)
    out.push_back({{"name", value.name}, {"element", value.element}});
  return out;
}

Value value_of(const Json& json) {
  return {json.at("name").get<std::string>(), json.at("element").get<int>()};
}

std::vector<Value> values_of(const Json& list) {
  std::vector<Value> out;
  for (const Json& json : list) out.push_back(value_of(json));
  return out;
}

Status cut_short() { return data_loss("the saved models are cut short or changed"); }

void write_sized(std::string_view bytes, std::string& out) {
  const uint64_t size = bytes.size();
  out.append(reinterpret_cast<const char*>(&size), sizeof size);
  out.append(bytes);
}

/// Takes the next sized bytes from the front of `rest`.
Result<std::string_view> read_sized(std::string_view& rest) {
  uint64_t size = 0;
  if (rest.size() < sizeof size) return cut_short();
  std::memcpy(&size, rest.data(), sizeof size);
  rest.remove_prefix(sizeof size);
  if (size > rest.size()) return cut_short();
  const std::string_view out = rest.substr(0, size);
  rest.remove_prefix(size);
  return out;
}

Result<SavedModel> saved_of(const Json& head, std::string_view bytes) {
  SavedModel out;
  out.symbol = head.at("symbol").get<std::string>();
  out.signature = head.at("signature").get<std::string>();
  out.const_use = head.at("const_use").get<std::vector<uint8_t>>();
  out.model.bytes = std::string(bytes);
  out.model.inputs = values_of(head.at("inputs"));
  out.model.outputs = values_of(head.at("outputs"));
  for (const Json& json : head.at("weights")) {
    Weight& weight = out.model.weights.emplace_back();
    weight.value = value_of(json);
    weight.dims = json.at("dims").get<std::vector<int64_t>>();
    weight.size = json.at("size").get<size_t>();
    if (!ContentKey::parse(json.at("key").get<std::string>(), weight.key)) return cut_short();
  }
  return out;
}

}  // namespace

// Frees the interned values of the graph: a Model has none.
Result<Model> model_of(std::string_view graph_json, const FindConstant& find) {
  InternArena arena;
  InternScope scope(arena);
  BYOC_TRY(const IRModule module, read_graph_json(graph_json, all_ops(), find));
  BYOC_TRY(OnnxModel made, make_onnx(module));
  const Function& entry = module.function(module.entry);
  Model out;
  out.bytes = std::move(made.bytes);
  for (size_t k = 0; k < made.inputs.size(); ++k)
    out.inputs.push_back(value_of(made.inputs[k], entry.nodes[k].types[0]));
  for (size_t k = 0; k < made.outputs.size(); ++k)
    out.outputs.push_back(value_of(made.outputs[k], entry.type(entry.results[k])));
  for (const OnnxConstant& constant : made.constants) {
    out.weights.push_back({value_of(constant.name, constant.type),
                           static_extents(constant.type->shape), constant.data->key(),
                           constant.data->size()});
  }
  return out;
}

void write_model(const SavedModel& saved, std::string& out) {
  Json weights = Json::array();
  for (const Weight& weight : saved.model.weights) {
    weights.push_back({{"name", weight.value.name},
                       {"element", weight.value.element},
                       {"dims", weight.dims},
                       {"key", weight.key.hex()},
                       {"size", weight.size}});
  }
  const Json head = {{"symbol", saved.symbol},
                     {"signature", saved.signature},
                     {"const_use", saved.const_use},
                     {"inputs", json_of(saved.model.inputs)},
                     {"outputs", json_of(saved.model.outputs)},
                     {"weights", weights}};
  write_sized(head.dump(), out);
  write_sized(saved.model.bytes, out);
}

Result<std::vector<SavedModel>> read_models(std::string_view bytes) {
  std::vector<SavedModel> out;
  while (!bytes.empty()) {
    BYOC_TRY(const std::string_view head, read_sized(bytes));
    BYOC_TRY(const std::string_view model, read_sized(bytes));
    BYOC_TRY(const Json json, parse_json(head));
    try {
      BYOC_TRY(out.emplace_back(), saved_of(json, model));
    } catch (const Json::exception&) {
      return cut_short();
    }
  }
  return out;
}

}  // namespace byoc::ort_plugin
