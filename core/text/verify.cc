// SPDX-License-Identifier: Apache-2.0
// Verifies the properties that every pass may rely on. Messages name function and node.
#include <unordered_set>

#include "byoc/base/check.h"
#include "byoc/ir/composite.h"
#include "byoc/ir/control.h"
#include "byoc/ir/visit.h"
#include "byoc/te/module.h"
#include "byoc/text/text.h"
#include "core/text/infer_cache.h"

namespace byoc {
namespace {

Status wrong(std::string message) { return invalid(std::move(message)).with_slug("ir-invalid"); }

std::string words(TypeIds types) { return types.size() == 0 ? "nothing" : cat(types); }

// The signature of each function, computed once.
using Signatures = std::map<Symbol, FunctionSignature>;
using Externals = std::map<std::string_view, const ExternalFunction*>;

class FunctionVerifier {
 public:
  FunctionVerifier(const IRModule& module, const Function& function, const Signatures& signatures,
                   const Externals& externals, InferCache& types)
      : module_(module),
        function_(function),
        signatures_(signatures),
        externals_(externals),
        types_(types) {}
  Status verify();

 private:
  Status check_node(uint32_t index);
  Status check_args(uint32_t index, Operands slice);
  Status check(const Param& param, uint32_t index);
  Status check(const Constant& constant, uint32_t index);
  Status check(const Call& call, uint32_t index);
  Status check(const Invoke& invoke, uint32_t index);
  Status check(const Extern& external, uint32_t index);
  Status check(const Control& control, uint32_t index);
  Status check_dims(TypeIds types);
  Status check_attr_kinds() const;
  Status check_attr_constants(const Attrs& attrs);
  Status check_value(ValueId value, uint32_t limit);
  std::vector<TypeId> arg_types(Operands slice) const;

  const IRModule& module_;
  const Function& function_;
  const Signatures& signatures_;
  const Externals& externals_;
  InferCache& types_;
  size_t params_ = 0;
  std::unordered_set<Symbol> names_;
  std::map<Symbol, Dim> dims_;
};

Status FunctionVerifier::verify() {
  params_ = function_.num_params();
  for (uint32_t k = 0; k < function_.nodes.size(); ++k) {
    Status status = check_node(k);
    if (!status.ok()) return std::move(status).at(describe(function_, k));
  }
  auto limit = static_cast<uint32_t>(function_.nodes.size());
  for (ValueId value : function_.results) {
    Status status = check_value(value, limit);
    if (!status.ok()) return std::move(status).at("return");
  }
  BYOC_TRY_STATUS(check_attr_kinds());
  BYOC_TRY_STATUS(check_attr_constants(function_.attrs));
  if (te::has_loops(function_)) BYOC_TRY_STATUS(te::check_loops(function_));
  auto known = captures(function_);
  return known.ok() ? Status() : std::move(known.status());
}

Status FunctionVerifier::check_node(uint32_t index) {
  const Node& node = function_.nodes[index];
  return std::visit(overloaded{
                        [&](const Param& param) { return check(param, index); },
                        [&](const Constant& constant) { return check(constant, index); },
                        [&](const auto& with_args) {
                          Status status = check_args(index, with_args.args);
                          return status.ok() ? check(with_args, index) : status;
                        },
                    },
                    node.kind);
}

Status FunctionVerifier::check_value(ValueId value, uint32_t limit) {
  if (value.node >= limit) return wrong(cat("node ", value.node, " is read before it is computed"));
  size_t outputs = function_.nodes[value.node].types.size();
  if (value.output < outputs) return {};
  return wrong(cat("output ", value.output, " of ", describe(function_, value.node),
                   " is read, it has ", outputs));
}

Status FunctionVerifier::check_args(uint32_t index, Operands slice) {
  if (uint64_t{slice.begin} + slice.count > function_.operands.size()) {
    return wrong("its operands are outside the function's list of operands");
  }
  for (ValueId value : function_.args(slice)) BYOC_TRY_STATUS(check_value(value, index));
  return {};
}

Status FunctionVerifier::check(const Param& param, uint32_t index) {
  if (index >= params_) return wrong("a parameter comes after other nodes");
  if (param.name.empty()) return wrong("a parameter has no name");
  if (!names_.insert(param.name).second)
    return wrong(cat("two parameters are called \"", param.name, "\""));
  if (function_.nodes[index].types.size() != 1) return wrong("a parameter has one type");
  return check_dims(function_.nodes[index].types);
}

Status FunctionVerifier::check(const Constant& constant, uint32_t index) {
  TypeIds types = function_.nodes[index].types;
  if (types.size() != 1) return wrong("a constant has one type");
  if (constant.data == nullptr) return wrong("a constant has no bytes");
  auto stored = module_.constants.find(constant.data->key());
  if (stored == module_.constants.end() || stored->second.get() != constant.data) {
    return wrong("its bytes are not in the module's pool of constants");
  }
  BYOC_TRY(int64_t bytes, size_bytes(*types[0]));
  if (static_cast<size_t>(bytes) == constant.data->size()) return {};
  return wrong(cat(types[0], " takes ", bytes, " bytes, the constant has ", constant.data->size()));
}

Status FunctionVerifier::check(const Call& call, uint32_t index) {
  if (call.op == nullptr || call.attrs == nullptr)
    return wrong("a call has no op or no attributes");
  BYOC_TRY(Attrs complete, complete_attrs(*call.op, *call.attrs));
  if (!(complete == *call.attrs)) {
    return wrong(cat("attributes ", *call.attrs, " are not complete: ", complete));
  }
  BYOC_TRY_STATUS(check_attr_constants(*call.attrs));
  BYOC_TRY(TypeIds types, types_.infer(*call.op, call.attrs, arg_types(call.args)));
  TypeIds have = function_.nodes[index].types;
  if (types == have) return {};
  return wrong(cat("its type is ", words(have), ", inference gives ", words(types)));
}

Status FunctionVerifier::check(const Invoke& invoke, uint32_t index) {
  auto callee = signatures_.find(invoke.function);
  BYOC_CHECK(callee != signatures_.end(), "@", invoke.function, " was not verified before");
  const FunctionSignature& wanted = callee->second;
  std::vector<TypeId> given = arg_types(invoke.args);
  if (given != wanted.params) {
    return wrong(cat("it gives ", words(given), " to @", invoke.function, ", which takes ",
                     words(wanted.params)));
  }
  TypeIds have = function_.nodes[index].types;
  if (have == TypeIds(wanted.results)) return {};
  return wrong(
      cat("its type is ", words(have), ", @", invoke.function, " returns ", words(wanted.results)));
}

Status FunctionVerifier::check(const Extern& external, uint32_t index) {
  if (external.symbol.empty()) return wrong("an extern has no symbol");
  BYOC_TRY_STATUS(check_dims(function_.nodes[index].types));
  auto known = externals_.find(external.symbol.text());
  if (known == externals_.end()) return {};  // the host program provides it
  size_t n_in = external.args.count, n_out = function_.nodes[index].types.size();
  if (n_in == known->second->n_in && n_out == known->second->n_out) return {};
  return wrong(cat("it has ", n_in, " operands and ", n_out, " outputs, @", external.symbol,
                   " takes ", known->second->n_in, " and gives ", known->second->n_out));
}

Status FunctionVerifier::check(const Control&, uint32_t index) {
  const Node& node = function_.nodes[index];
  std::vector<FunctionSignature> bodies;
  for (Symbol name : callees(node)) {
    if (name.empty()) continue;
    for (const char* attr : {"compiler", "composite", "primitive"}) {
      if (!module_.function(name).attrs.has(attr)) continue;
      return wrong(cat("@", name, " has the attribute ", attr, ", which a body must not have"))
          .with_help("call the function inside the body");
    }
    bodies.push_back(signatures_.at(name));
  }
  BYOC_TRY(TypeIds types, control_types(function_, node, bodies));
  if (types == node.types) return check_dims(types);
  return wrong(cat("its type is ", words(node.types), ", its bodies give ", words(types)));
}

Status FunctionVerifier::check_dims(TypeIds types) {
  for (size_t k = 0; k < types.size(); ++k) {
    for (Dim dim : types[k]->shape) {
      if (dim.is_static()) continue;
      auto [known, is_new] = dims_.try_emplace(dim.name(), dim);
      if (!is_new && !(known->second == dim))
        return wrong(cat("dim ", dim, " was ", known->second, " before"));
    }
  }
  return {};
}

// An attribute of functions that passes and plugins read, with its kind.
struct AttrKind {
  std::string_view name;
  AttrValue example;
};

std::span<const AttrKind> attr_kinds() {
  static const AttrKind kinds[] = {
      {"compiler", std::string()},
      {"composite", std::string()},
      {"owner", std::string()},
      {"global_symbol", std::string()},
      {"input_names", Strings{"x"}},
      {"output_names", Strings{"y"}},
      {"state_inputs", Strings{"x"}},
      {"state_outputs", Strings{"y"}},
      {"state_rows", Strings{""}},
      {"opset", int64_t{1}},
      {"arena_offsets", Ints{0}},
      {"arena_blocks", Ints{0}},
      {"joins", Strings{"@f"}},
      {"loops", std::string()},
      {"arena_bytes", int64_t{0}},
      {"arena_peak_live", int64_t{0}},
      {"compute", std::string()},
      {"locs", Strings{"x"}},
      {"ops", int64_t{1}},
      {"flops", 1.0},
  };
  return kinds;
}

Status FunctionVerifier::check_attr_kinds() const {
  for (const AttrKind& due : attr_kinds()) {
    const AttrValue* value = function_.attrs.find(due.name);
    if (value == nullptr || value->index() == due.example.index()) continue;
    std::string_view expected = attr_kind(due.example);
    bool is_empty_list = attr_equal(*value, Ints{});  // an empty list has no kind of element
    if (is_empty_list && expected.starts_with("list")) continue;
    return wrong(cat("attribute ", due.name, ": expected ", expected, ", got ", attr_kind(*value)));
  }
  return {};
}

Status FunctionVerifier::check_attr_constants(const Attrs& attrs) {
  for (const auto& [name, value] : attrs) {
    auto* constant = std::get_if<ConstantRef>(&value);
    if (constant == nullptr || module_.constants.contains(constant->key)) continue;
    return wrong(
        cat("attribute ", name, ": const<", constant->key, "> is not in the module's pool"));
  }
  return {};
}

std::vector<TypeId> FunctionVerifier::arg_types(Operands slice) const {
  std::vector<TypeId> types;
  types.reserve(slice.count);
  for (ValueId value : function_.args(slice)) types.push_back(function_.type(value));
  return types;
}

Status add_names(const IRModule& module, const ExternalFunction& function, Externals& out) {
  auto add = [&](const std::string& symbol) -> Status {
    if (out.emplace(symbol, &function).second && module.find(symbol) == nullptr) return {};
    return wrong(cat("two functions are called @", symbol));
  };
  BYOC_TRY_STATUS(add(function.symbol));
  for (const ExternalAlias& alias : function.aliases) BYOC_TRY_STATUS(add(alias.symbol));
  return {};
}

Result<Externals> external_functions(const IRModule& module) {
  Externals out;
  for (const ExternalModule& external : module.external_mods) {
    for (const ExternalFunction& function : external.functions) {
      BYOC_TRY_STATUS(add_names(module, function, out));
      for (const ExternalConstant& constant : function.constants) {
        if (module.constants.contains(constant.key)) continue;
        return wrong(cat("constant ", constant.name, " of @", function.symbol,
                         " is not in the module's pool"));
      }
      for (const auto& [key, align] : function.packed) {
        if (module.constants.contains(key)) continue;
        return wrong(
            cat("packed constant ", key, " of @", function.symbol, " is not in the module's pool"));
      }
    }
    for (const auto& [name, key] : external.packed) {
      if (module.constants.contains(key)) continue;
      return wrong(cat("packed constant ", key, " of plugin \"", external.plugin,
                       "\" is not in the module's pool"));
    }
  }
  return out;
}

}  // namespace

Status verify(const IRModule& module) {
  if (module.find(module.entry) == nullptr) {
    return wrong(cat("the module has no entry function @", module.entry));
  }
  BYOC_TRY(std::vector<Symbol> order, callees_first(module));
  BYOC_TRY(Externals externals, external_functions(module));
  InferCache types;
  Signatures signatures;
  for (Symbol name : order) {
    const Function& function = module.function(name);
    Status status = FunctionVerifier(module, function, signatures, externals, types).verify();
    if (!status.ok()) return std::move(status).at(cat("@", name));
    signatures.emplace(name, signature(function));
  }
  return {};
}

}  // namespace byoc
