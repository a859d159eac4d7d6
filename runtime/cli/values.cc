// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/values.h"

#include <cstring>
#include <optional>

#include "byoc/base/literal.h"
#include "byoc/base/nearest.h"
#include "runtime/artifact/check_view.h"
#include "runtime/artifact/open_inputs.h"

namespace byoc::cli {
namespace {

Status bad_value(std::string message) {
  return invalid(std::move(message))
      .with_slug("input-value")
      .with_help("x=a.npy, x=f32[1,3]=0.5, x=f32[3]=1,2,3, x=zeros or x=random");
}

std::string_view ending_of(std::string_view text) {
  size_t dot = text.rfind('.');
  return dot == std::string_view::npos || text.find('/', dot) != std::string_view::npos
             ? ""
             : text.substr(dot);
}

/// Splits "f32[1,3]=0.5" into f32[1,3] and "0.5".
std::optional<TensorSpec> take_type(std::string_view& text) {
  auto spec = parse_tensor_spec(text.substr(0, text.find('=')));
  if (!spec.ok()) return std::nullopt;
  text.remove_prefix(std::min(text.find('='), text.size() - 1) + 1);
  return *std::move(spec);
}

/// Reads an element in the form of constants, and also 1 and 0 for bools.
bool store_element(DType dtype, std::string_view text, std::byte* to) {
  bool digit = dtype == DType::kBool && (text == "0" || text == "1");
  return parse_element(digit ? (text == "1" ? "true" : "false") : text, dtype, to);
}

/// Parses one number for all elements, or as many as there are elements.
Result<Tensor> parse_elements(const TensorSpec& spec, std::string_view text) {
  BYOC_TRY(Tensor tensor, Tensor::make(spec));
  size_t size = dtype_size(spec.dtype), given = 0;
  auto n = static_cast<size_t>(num_elements(spec));
  for (std::string_view rest = text;; ++given) {
    std::string_view word = rest.substr(0, rest.find(','));
    std::byte element[8];
    if (!store_element(spec.dtype, word, element))
      return bad_value(cat("\"", word, "\" is no number of type ", spec.dtype));
    if (given < n) std::memcpy(tensor.data() + given * size, element, size);
    if (word.size() == rest.size()) break;
    rest.remove_prefix(word.size() + 1);
  }
  ++given;
  if (given != n && given != 1) return bad_value(cat(given, " elements given, ", spec, " has ", n));
  for (size_t k = 1; given == 1 && k < n; ++k)
    std::memcpy(tensor.data() + k * size, tensor.data(), size);
  return tensor;
}

template <class Int>
void keep_lowest_bits(Tensor& tensor) {
  auto* elements = reinterpret_cast<Int*>(tensor.data());
  for (int64_t k = 0; k < num_elements(tensor.spec()); ++k) elements[k] &= 1;
}

// Integers of 32 and 64 bits are 0 or 1, because they are masks or indices. An index outside of its
// table is an error; tables with one row are rare.
Result<Tensor> random_tensor(const TensorSpec& spec, uint64_t seed) {
  BYOC_TRY(Tensor tensor, Tensor::make(spec));
  fill_random(tensor, seed);
  if (spec.dtype == DType::kI32) keep_lowest_bits<int32_t>(tensor);
  if (spec.dtype == DType::kI64) keep_lowest_bits<int64_t>(tensor);
  return tensor;
}

Result<size_t> find_input(const std::vector<NamedTensor>& wanted, const std::string& name) {
  std::vector<std::string> names;
  if (name.empty() && wanted.size() == 1) return size_t{0};
  for (size_t k = 0; k < wanted.size(); ++k) {
    if (wanted[k].name == name) return k;
    names.push_back(wanted[k].name);
  }
  std::string known;
  for (const std::string& one : names) known += cat(known.empty() ? "" : ", ", one);
  std::string message = name.empty()
                            ? cat("the model has ", wanted.size(), " inputs: which one is meant?")
                            : cat("no input \"", name, "\"", did_you_mean(name, names));
  return not_found(std::move(message)).with_slug("unknown-input").with_help(cat("inputs: ", known));
}

}  // namespace

TensorReaders npy_reader() { return {{".npy", read_npy}}; }

std::pair<std::string, std::string> split_binding(std::string_view text,
                                                  const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (text.starts_with(name) && text.substr(name.size()).starts_with('=')) {
      return {name, std::string(text.substr(name.size() + 1))};
    }
  }
  size_t equals = text.find('=');
  bool typed = parse_tensor_spec(text.substr(0, equals)).ok();
  if (equals == std::string_view::npos || typed) return {"", std::string(text)};
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

Result<Tensor> parse_value(std::string_view text, const TensorSpec* wanted, uint64_t seed,
                           const TensorReaders& readers) {
  if (auto reader = readers.find(std::string(ending_of(text))); reader != readers.end()) {
    return reader->second(std::string(text));
  }
  std::string_view rest = text;
  std::optional<TensorSpec> typed = take_type(rest);
  const TensorSpec* spec = typed ? &*typed : wanted;
  if (spec == nullptr) return bad_value(cat("\"", text, "\" has no type"));
  if (rest == "random" || (typed && rest.empty())) return random_tensor(*spec, seed);
  if (rest == "zeros") return Tensor::make(*spec);
  auto tensor = parse_elements(*spec, rest);
  if (!tensor.ok() && !typed)
    return bad_value(
        cat("\"", text, "\" is not a readable file, not a type and not a value of ", *spec));
  return tensor;
}

Result<std::vector<NamedInput>> make_inputs(const std::vector<NamedTensor>& wanted,
                                            const std::vector<std::string>& bindings, uint64_t seed,
                                            const TensorReaders& readers) {
  std::vector<std::string> names;
  for (const NamedTensor& input : wanted) names.push_back(input.name);
  std::vector<std::optional<NamedInput>> given(wanted.size());
  for (const std::string& binding : bindings) {
    auto [name, value] = split_binding(binding, names);
    BYOC_TRY(size_t k, find_input(wanted, name));
    if (given[k])
      return invalid(cat("input \"", wanted[k].name, "\" is given twice")).with_slug("input-twice");
    auto tensor = parse_value(value, &wanted[k].type, seed + k, readers);
    if (!tensor.ok())
      return std::move(tensor.status()).at(cat(value, " -> input \"", wanted[k].name, "\""));
    given[k] = NamedInput{*std::move(tensor), value};
  }
  SizesByName sizes;
  for (size_t k = 0; k < wanted.size(); ++k)
    if (given[k]) note_sizes(wanted[k].type, given[k]->tensor.spec().dims, sizes);
  BYOC_TRY(const std::vector<NamedTensor> of_run, inputs_at(wanted, std::move(sizes)));
  std::vector<NamedInput> inputs;
  for (size_t k = 0; k < wanted.size(); ++k) {
    if (given[k]) {
      BYOC_TRY_STATUS(check_view("input", given[k]->tensor.view(), of_run[k])
                          .at(cat(given[k]->source, " -> input \"", wanted[k].name, "\"")));
    } else {
      BYOC_TRY(Tensor tensor, random_tensor(of_run[k].type, seed + k));
      given[k] = NamedInput{std::move(tensor), cat("random, seed ", seed + k)};
    }
    inputs.push_back(*std::move(given[k]));
  }
  return inputs;
}

}  // namespace byoc::cli
