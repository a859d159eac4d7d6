// SPDX-License-Identifier: Apache-2.0
#include "core/tools/model/bindings.h"

#include <algorithm>
#include <set>

#include "core/import/onnx/file/tensor_file.h"
#include "runtime/cli/command.h"

namespace byoc::driver {
namespace {

/// Splits "batch=1,seq=16" when every part has the form NAME=EXTENTS; a name may contain commas.
std::vector<std::string> shapes_of(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  bool are_shapes = std::all_of(parts.begin(), parts.end(),
                                [](const std::string& part) { return parse_shape(part).ok(); });
  return are_shapes ? parts : std::vector{text};
}

/// Returns the reader for the file of "axes=a.npy"; null when the text itself has the value.
const std::function<Result<Tensor>(const std::string&)>* reader_for(
    const std::string& text, const cli::TensorReaders& readers) {
  for (const auto& [ending, reader] : readers) {
    if (text.ends_with(ending)) return &reader;
  }
  return nullptr;
}

Status given_twice(const std::string& name, const std::vector<GivenSize>& first,
                   const std::vector<GivenSize>& second) {
  Status status = cli::usage_error(cat("--shape names \"", name, "\" twice"));
  if (first.size() != 1 || second.size() != 1 || first[0].is_number() == second[0].is_number())
    return status;
  return std::move(status).with_help(
      cat("only byoc compile takes both, for one program of each; here give one of them: --shape ",
          name, "=", first[0], " or --shape ", name, "=", second[0]));
}

Result<std::pair<std::string, BoundTensor>> parse_one(const std::string& text,
                                                      const IRModule& model,
                                                      const cli::TensorReaders& readers) {
  auto* read = reader_for(text, readers);
  if (read == nullptr) return parse_binding(model, text);
  size_t equals = text.find('=');
  if (equals == text.npos || equals == 0)
    return cli::usage_error(cat("--bind expects NAME=VALUE, not \"", text, "\""));
  BYOC_TRY(Tensor tensor, (*read)(text.substr(equals + 1)));
  return std::pair(text.substr(0, equals), bound_tensor(tensor));
}

}  // namespace

cli::TensorReaders tensor_readers() {
  cli::TensorReaders readers = cli::npy_reader();
  readers[".pb"] = [](const std::string& path) -> Result<Tensor> {
    BYOC_TRY(PbTensor read, read_pb(path));
    return std::move(read.tensor);
  };
  return readers;
}

Result<GivenShapes> parse_shapes(const std::vector<std::string>& texts) {
  GivenShapes shapes;
  for (const std::string& text : texts) {
    for (const std::string& part : shapes_of(text)) {
      auto shape = parse_shape(part);
      if (!shape.ok()) {
        return cli::usage_error(cat("--shape: ", shape.status().message()))
            .with_help(shape.status().help());
      }
      const auto [first, is_new] = shapes.insert(*shape);
      if (!is_new) return given_twice(shape->first, first->second, shape->second);
    }
  }
  return shapes;
}

Result<std::map<std::string, BoundTensor>> parse_bindings(const std::vector<std::string>& texts,
                                                          const IRModule& model) {
  const cli::TensorReaders readers = tensor_readers();
  std::map<std::string, BoundTensor> bound;
  for (const std::string& text : texts) {
    BYOC_TRY(auto one, parse_one(text, model, readers));
    if (!bound.insert(one).second)
      return cli::usage_error(cat("--bind names \"", one.first, "\" twice"));
  }
  return bound;
}

IRModule signature_module(const std::vector<ModelInput>& inputs) {
  Function function;
  for (const ModelInput& input : inputs) {
    TensorType type{input.dtype, {}};
    for (int64_t dim : input.dims) type.shape.push_back(dim < 0 ? Dim::symbol("n") : Dim(dim));
    if (!input.has_rank) type.shape = {Dim::symbol("n")};
    function.add_param(input.name, type);
  }
  IRModule module;
  module.functions[module.entry] = std::move(function);
  return module;
}

BoundTensor bound_tensor(const Tensor& tensor) {
  return {{tensor.spec().dtype, make_shape(tensor.spec().dims)},
          Buffer::copy({tensor.data(), tensor.size_bytes()})};
}

std::vector<std::string> with_counters_at_zero(std::span<const NamedTensor> states,
                                               std::vector<std::string> bindings) {
  std::vector<std::string> names;
  for (const NamedTensor& state : states) names.push_back(state.name);
  std::set<std::string> given;
  for (const std::string& binding : bindings)
    given.insert(cli::split_binding(binding, names).first);
  for (const NamedTensor& state : states) {
    const bool counts = state.type.dtype == DType::kI32 || state.type.dtype == DType::kI64;
    if (counts && !given.contains(state.name)) bindings.push_back(cat(state.name, "=zeros"));
  }
  return bindings;
}

}  // namespace byoc::driver
