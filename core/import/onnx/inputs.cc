// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/inputs.h"

#include <cctype>
#include <exception>
#include <map>
#include <set>
#include <unordered_set>

#include "byoc/base/check.h"
#include "byoc/import.h"
#include "core/import/onnx/file/model_file.h"
#include "core/import/onnx/file/narrow.h"
#include "core/import/onnx/file/protobuf_text.h"
#include "core/import/onnx/file/tensor_proto.h"

namespace byoc::onnx_import {
namespace {

// Paddle's exporter names every unknown extent "?": these are not equal.
std::string name_of_size(const onnx::TensorShapeProto::Dimension& dim) {
  return dim.dim_param() == "?" ? "" : dim.dim_param();
}

Status shape_error(std::string message) {
  return invalid(std::move(message)).with_slug("input-shape");
}

/// Returns a size name that the text form can print: letters, digits, underscores.
std::string identifier(const std::string& name) {
  std::string out;
  for (char c : name) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out = "d_" + out;
  return out;
}

class InputTypes {
 public:
  explicit InputTypes(const ImportOptions& options) : options_(options) {}

  Result<std::vector<TensorType>> run(const std::vector<const onnx::ValueInfoProto*>& inputs) {
    for (const auto* input : inputs) BYOC_TRY_STATUS(add(*input));
    BYOC_TRY_STATUS(apply_bound());
    BYOC_TRY_STATUS(apply_shapes());
    name_open_sizes();
    std::vector<TensorType> types;
    for (Input& input : inputs_) types.push_back({input.dtype, resolve(input)});
    return types;
  }

 private:
  struct Size {
    int64_t extent = -1;                  // -1: open
    std::string param;                    // the file's name for it, may be empty
    std::optional<GivenSize> range = {};  // of an open one
  };
  struct Input {
    std::string name;
    DType dtype = DType::kF32;
    bool has_rank = false;
    std::vector<Size> sizes;
  };

  Status add(const onnx::ValueInfoProto& info) {
    BYOC_TRY(ModelInput described, describe_input(info));
    Input input{described.name, described.dtype, described.has_rank, {}};
    const auto& dims = info.type().tensor_type().shape().dim();
    for (int k = 0; k < dims.size(); ++k) {
      input.sizes.push_back({described.dims[static_cast<size_t>(k)], name_of_size(dims[k])});
    }
    BYOC_TRY_STATUS(check_rank(input));
    inputs_.push_back(std::move(input));
    return {};
  }

  static Status check_rank(const Input& input) {
    if (input.sizes.size() <= kMaxRank) return {};
    return shape_error(cat("input ", in_quotes(input.name), " has rank ", input.sizes.size(),
                           ", at most ", kMaxRank, " is supported"));
  }

  std::string describe(const Input& input) const {
    std::string out = cat(input.dtype, "[");
    for (size_t k = 0; k < input.sizes.size(); ++k) {
      const Size& size = input.sizes[k];
      if (k) out += ',';
      out += size.extent >= 0 ? cat(size.extent) : size.param.empty() ? "?" : size.param;
    }
    return out + "]";
  }

  Status set_param(const std::string& param, const GivenSize& extent) {
    if (extent.least < 0) return shape_error(cat("size ", in_quotes(param), " is ", extent));
    auto [found, fresh] = known_.emplace(param, extent);
    if (fresh || found->second == extent) return {};
    return shape_error(cat("size ", in_quotes(param), " is ", found->second, " in one place and ",
                           extent, " in another"));
  }

  /// Sets the shape of `input` to `given`.
  Status set_shape(Input& input, const std::vector<GivenSize>& given) {
    std::string text = cat(in_quotes(input.name), " is given ", make_shape_text(given),
                           ", the model has ", describe(input));
    if (!input.has_rank) input.sizes.assign(given.size(), Size{});
    input.has_rank = true;
    BYOC_TRY_STATUS(check_rank(input));
    if (given.size() != input.sizes.size()) return shape_error(text);
    for (size_t k = 0; k < given.size(); ++k) {
      Size& size = input.sizes[k];
      if (given[k].least < 0 || (size.extent >= 0 && !(GivenSize(size.extent) == given[k])))
        return shape_error(text);
      if (!size.param.empty()) BYOC_TRY_STATUS(set_param(size.param, given[k]));
      if (given[k].is_number()) size.extent = given[k].least;
      else size.range = given[k];
    }
    return {};
  }

  static std::string make_shape_text(const std::vector<GivenSize>& extents) {
    std::string out = "[";
    for (size_t k = 0; k < extents.size(); ++k) out += cat(k ? "," : "", extents[k]);
    return out + "]";
  }

  Input* find(const std::string& name) {
    for (Input& input : inputs_) {
      if (input.name == name) return &input;
    }
    return nullptr;
  }

  Status apply_bound() {
    for (const auto& [name, value] : options_.bind) {
      Input* input = find(name);
      if (input == nullptr) {
        return not_found(
                   cat("--bind names ", in_quotes(name), ", which is not an input of the model"))
            .with_slug("input-name")
            .with_help(inputs_text());
      }
      const TensorType& type = value.first;
      if (type.dtype != input->dtype) {
        return invalid(cat(in_quotes(name), " is bound to ", type, ", the model has ",
                           describe(*input)))
            .with_slug("input-dtype");
      }
      BYOC_TRY_STATUS(set_shape(*input, given_shape(type.shape)));
    }
    return {};
  }

  Status apply_shapes() {
    for (const auto& [name, extents] : options_.shapes) {
      if (Input* input = find(name)) {
        BYOC_TRY_STATUS(set_shape(*input, extents));
      } else if (std::string param = find_param(name); !param.empty() && extents.size() == 1) {
        BYOC_TRY_STATUS(set_param(param, extents[0]));
      } else if (name == kMaxIterations && extents.size() == 1 && extents[0].is_number()) {
        continue;  // read by loops
      } else {
        return not_found(cat("--shape names ", in_quotes(name),
                             ", which is neither an input nor a size of the model"))
            .with_slug("input-shape")
            .with_help(inputs_text());
      }
    }
    for (const Input& input : inputs_) {
      if (input.has_rank) continue;
      return shape_error(cat("the model has no shape for ", in_quotes(input.name)))
          .with_help(cat("set it: --shape ", input.name, "=1x3x224x224"));
    }
    return {};
  }

  /// Returns the file's name of a size, found by that name or by the one that the text form prints.
  std::string find_param(const std::string& name) const {
    for (const Input& input : inputs_) {
      for (const Size& size : input.sizes) {
        if (!size.param.empty() && (size.param == name || identifier(size.param) == name))
          return size.param;
      }
    }
    return "";
  }

  std::string inputs_text() const {
    std::string out = "inputs:";
    for (const Input& input : inputs_) out += cat(" ", input.name, " ", describe(input));
    return out;
  }

  /// Gives distinct symbols to distinct sizes, for all characters that names may have.
  void name_open_sizes() {
    for (const Input& input : inputs_) {
      for (const Size& size : input.sizes) {
        if (!size.param.empty() && !symbols_.count(size.param))
          symbols_[size.param] = fresh(size.param);
      }
    }
  }

  std::string fresh(const std::string& preferred) {
    std::string base = identifier(preferred), name = base;
    for (int k = 1; !taken_.insert(name).second; ++k) name = cat(base, "_", k);
    return name;
  }

  Shape resolve(const Input& input) {
    Shape shape;
    for (size_t k = 0; k < input.sizes.size(); ++k) {
      const Size& size = input.sizes[k];
      auto known = known_.find(size.param);
      if (size.extent >= 0) shape.push_back(size.extent);
      else if (size.param.empty())
        shape.push_back(dim(fresh(cat(input.name, "_dim", k)), size.range));
      else if (known == known_.end()) shape.push_back(named(size.param, {}));
      else if (known->second.is_number()) shape.push_back(known->second.least);
      else shape.push_back(named(size.param, known->second));
    }
    return shape;
  }

  static Dim dim(const std::string& symbol, const std::optional<GivenSize>& range) {
    return range ? Dim::symbol(symbol, range->least, range->most) : Dim::symbol(symbol);
  }
  Dim named(const std::string& param, const std::optional<GivenSize>& range) const {
    auto symbol = symbols_.find(param);
    BYOC_CHECK(symbol != symbols_.end(), "size ", param, " has no symbol");
    return dim(symbol->second, range);
  }

  const ImportOptions& options_;
  std::vector<Input> inputs_;
  std::map<std::string, GivenSize> known_;      // sizes with a number or a range
  std::map<std::string, std::string> symbols_;  // the file's name -> the symbol's name
  std::set<std::string> taken_;
};

}  // namespace

Result<ModelInput> describe_input(const onnx::ValueInfoProto& info) {
  if (!info.type().has_tensor_type()) {
    return unimplemented(cat("input ", in_quotes(info.name()), " is not a tensor"))
        .with_slug("onnx-unsupported");
  }
  const auto& type = info.type().tensor_type();
  ModelInput input{.name = info.name(), .has_rank = type.has_shape()};
  auto dtype = stored_dtype(type.elem_type());
  if (!dtype.ok()) return std::move(dtype.status()).at(cat("input ", in_quotes(info.name())));
  input.dtype = *dtype;
  for (const auto& dim : type.shape().dim()) {
    // Some exporters write -1 for an unknown extent; an extent of zero is a real extent.
    input.dims.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : -1);
    input.dim_names.push_back(name_of_size(dim));
  }
  return input;
}

Result<std::vector<TensorType>> input_types(const std::vector<const onnx::ValueInfoProto*>& inputs,
                                            const ImportOptions& options) {
  return InputTypes(options).run(inputs);
}

std::string open_sizes(const std::vector<const onnx::ValueInfoProto*>& inputs,
                       const std::vector<TensorType>& types) {
  std::set<std::string> seen;
  std::string out;
  const auto add = [&](const std::string& size) {
    if (seen.insert(size).second) out += cat(out.empty() ? "" : " ", "--shape ", size);
  };
  for (size_t k = 0; k < inputs.size(); ++k) {
    std::string whole = cat(inputs[k]->name(), "=");
    bool has_unnamed = false;
    const auto& dims = inputs[k]->type().tensor_type().shape().dim();
    for (size_t d = 0; d < types[k].shape.size(); ++d) {
      const Dim dim = types[k].shape[d];
      whole += cat(d == 0 ? "" : "x", dim.is_static() ? dim.extent() : 1);
      if (dim.is_static() || dim.is_expression()) continue;
      const std::string name = name_of_size(dims[static_cast<int>(d)]);
      if (name.empty()) has_unnamed = true;
      else add(cat(name, "=1"));
    }
    if (has_unnamed) add(whole);
  }
  return out;
}

}  // namespace byoc::onnx_import

namespace byoc {
namespace {

Result<std::vector<ModelInput>> read_inputs(const std::string& path) {
  BYOC_TRY(const auto file, onnx_import::read_model_file(path));
  std::unordered_set<std::string> initializers;
  for (const auto& tensor : file.model->graph().initializer()) initializers.insert(tensor.name());
  std::vector<ModelInput> inputs;
  for (const auto& info : file.model->graph().input()) {
    BYOC_TRY(ModelInput input, onnx_import::describe_input(info));
    input.has_default = initializers.count(info.name()) > 0;
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Result<std::vector<std::string>> read_operators(const std::string& path) {
  BYOC_TRY(const auto file, onnx_import::read_model_file(path));
  std::set<std::string> operators;
  for (const auto& node : file.model->graph().node()) operators.insert(node.op_type());
  return std::vector<std::string>(operators.begin(), operators.end());
}

// Returns the result of `read` for the file; errors name the file.
template <typename T>
Result<T> read_from(const std::string& path, Result<T> (*read)(const std::string&)) {
  try {
    auto value = read(path);
    if (!value.ok()) return std::move(value.status()).at(path);
    return value;
  } catch (const std::exception& e) {  // allocation fails in a library
    return Status(Code::kResourceExhausted, cat("reading ", path, " failed: ", e.what()))
        .with_slug("model-file");
  }
}

}  // namespace

Result<std::vector<ModelInput>> onnx_inputs(const std::string& path) {
  return read_from(path, read_inputs);
}

Result<std::vector<std::string>> onnx_operators(const std::string& path) {
  return read_from(path, read_operators);
}

}  // namespace byoc
