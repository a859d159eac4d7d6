// SPDX-License-Identifier: Apache-2.0
#include "byoc/text/builder.h"

#include <algorithm>

namespace byoc {

// Runs `make(types of args)` unless an earlier call failed; remembers its error under `what`.
template <class Make>
ValueId FunctionBuilder::add(std::string_view what, const std::vector<ValueId>& args, Make&& make) {
  if (!status_.ok()) return {};
  auto types = arg_types(args);
  auto node = types.ok() ? make(*types) : Result<uint32_t>(types.status());
  if (node.ok()) return {*node, 0};
  status_ = std::move(node.status()).at(what);
  return {};
}

Result<std::vector<TypeId>> FunctionBuilder::arg_types(const std::vector<ValueId>& args) const {
  std::vector<TypeId> types;
  for (ValueId value : args) {
    if (value.node >= function_.nodes.size() ||
        value.output >= function_.nodes[value.node].types.size()) {
      return invalid(cat("there is no value ", value.node, "#", value.output)).with_slug("builder");
    }
    types.push_back(function_.type(value));
  }
  return types;
}

TypeId FunctionBuilder::type(ValueId value) const {
  auto types = arg_types({value});
  return types.ok() ? (*types)[0] : TypeId();
}

ValueId FunctionBuilder::param(Symbol name, const TensorType& type) {
  return add(cat("parameter ", name), {}, [&](const auto&) -> Result<uint32_t> {
    if (function_.num_params() != function_.nodes.size()) {
      return invalid("parameters come before all other nodes").with_slug("builder");
    }
    bool taken = std::any_of(function_.nodes.begin(), function_.nodes.end(), [&](const Node& node) {
      return std::get<Param>(node.kind).name == name;
    });
    if (taken || name.empty())
      return invalid("a parameter needs a name of its own").with_slug("builder");
    return function_.add_param(name, type);
  });
}

ValueId FunctionBuilder::constant(const TensorType& type, std::shared_ptr<const Buffer> data) {
  return add("constant", {}, [&](const auto&) -> Result<uint32_t> {
    if (data == nullptr) return invalid("a constant needs data").with_slug("builder");
    BYOC_TRY(int64_t bytes, size_bytes(type));
    if (data->size() != static_cast<size_t>(bytes)) {
      return invalid(cat(type, " takes ", bytes, " bytes, ", data->size(), " are given"))
          .with_slug("builder");
    }
    return function_.add_constant(module_.add_constant(std::move(data)), type);
  });
}

namespace {
template <class T>
std::shared_ptr<const Buffer> to_buffer(const std::vector<T>& values) {
  return Buffer::copy(std::as_bytes(std::span(values)));
}
}  // namespace

ValueId FunctionBuilder::constant_f32(const std::vector<int64_t>& dims,
                                      const std::vector<float>& values) {
  return constant({DType::kF32, make_shape(dims)}, to_buffer(values));
}

ValueId FunctionBuilder::constant_i64(const std::vector<int64_t>& dims,
                                      const std::vector<int64_t>& values) {
  return constant({DType::kI64, make_shape(dims)}, to_buffer(values));
}

ValueId FunctionBuilder::call(std::string_view op, const std::vector<ValueId>& args, Attrs attrs,
                              Symbol loc) {
  return add(op, args, [&](const std::vector<TypeId>& inputs) -> Result<uint32_t> {
    BYOC_TRY(const OpDef* def, ops_.get(op));
    BYOC_TRY(Attrs complete, complete_attrs(*def, std::move(attrs)));
    BYOC_TRY(std::vector<TypeId> outputs, infer_types(*def, inputs, complete));
    return function_.add_call(def, intern(std::move(complete)), args, outputs, loc);
  });
}

ValueId FunctionBuilder::invoke(Symbol callee, const std::vector<ValueId>& args, Symbol loc) {
  return add(cat("@", callee), args, [&](const std::vector<TypeId>& inputs) -> Result<uint32_t> {
    const Function* function = module_.find(callee);
    if (function == nullptr)
      return not_found(cat("the module has no function @", callee)).with_slug("unknown-function");
    FunctionSignature expected = signature(*function);
    if (inputs != expected.params) {
      return invalid(cat("the types of the operands are not those of @", callee))
          .with_slug("builder");
    }
    return function_.add_invoke(callee, args, expected.results, loc);
  });
}

ValueId FunctionBuilder::annotate(std::string_view op, ValueId value, const std::string& compiler,
                                  int64_t region) {
  return call(op, {value}, {{"compiler", compiler}, {"region", region}});
}

ValueId FunctionBuilder::begin_region(ValueId value, const std::string& compiler, int64_t region) {
  return annotate("compiler_begin", value, compiler, region);
}

ValueId FunctionBuilder::end_region(ValueId value, const std::string& compiler, int64_t region) {
  return annotate("compiler_end", value, compiler, region);
}

Status FunctionBuilder::finish(Symbol name, const std::vector<ValueId>& results, Attrs attrs) {
  Function function = std::exchange(function_, {});
  Status status = std::exchange(status_, {});
  if (!status.ok()) return std::move(status).at(cat("@", name));
  for (ValueId value : results) {
    if (value.node < function.nodes.size() &&
        value.output < function.nodes[value.node].types.size())
      continue;
    return invalid(
               cat("@", name, " returns ", value.node, "#", value.output, ", which does not exist"))
        .with_slug("builder");
  }
  if (module_.find(name) != nullptr || name.empty()) {
    return Status(Code::kAlreadyExists, cat("@", name, " is a function already, or no name"))
        .with_slug("builder");
  }
  function.results = results;
  function.attrs = std::move(attrs);
  module_.functions.emplace(name, std::move(function));
  return {};
}

}  // namespace byoc
