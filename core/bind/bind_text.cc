// SPDX-License-Identifier: Apache-2.0
// Parses the values of --shape and --bind, which are also the arguments of the passes bind_shapes
// and bind_params.
#include <algorithm>
#include <charconv>

#include "byoc/base/check.h"
#include "byoc/base/literal.h"
#include "byoc/pass/bind.h"
#include "core/bind/entry.h"

namespace byoc {
namespace {

using namespace simplify;

// Splits at the last "=": a name may contain one, shapes and numbers do not.
Result<std::pair<std::string, std::string_view>> split(std::string_view text, const char* slug,
                                                       std::string_view example) {
  size_t at = text.rfind('=');
  if (at != std::string_view::npos && at > 0)
    return std::pair(std::string(text.substr(0, at)), text.substr(at + 1));
  return invalid(cat("\"", text, "\" is not of the form NAME=", example)).with_slug(slug);
}

std::vector<std::string_view> parts(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (size_t from = 0; from <= text.size() && !text.empty();) {
    size_t to = std::min(text.find(separator, from), text.size());
    out.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Returns the form in which users write the values of an input of that type.
std::string form_of(const std::string& name, TypeId input) {
  std::string file = cat("a file: ", name, "=a.npy");
  if (input->shape.empty()) return cat("give one number: ", name, "=1");
  if (input->shape.size() == 1 && !is_static(input->shape))
    return cat("give its elements in brackets: ", name, "=[1,2,...], or ", file);
  Result<int64_t> n = num_elements(input->shape);
  if (!n.ok()) return cat("give ", file);
  std::string_view some = *n == 1 ? "1" : *n == 2 ? "1,2" : "1,2,...";
  return cat("give all its elements (", *n, ") in brackets: ", name, "=[", some, "], or ", file);
}

// Returns the type of n elements for an input: the input's own type when that has n elements, and
// shape [n] when the input has rank 1 and a named size.
Result<TensorType> type_for(const std::string& name, TypeId input, size_t n, bool is_list) {
  if (!is_list && input->shape.empty()) return *input;
  if (is_list && input->shape.size() == 1 && !is_static(input->shape)) {
    return TensorType{input->dtype, {Dim(static_cast<int64_t>(n))}};
  }
  Result<int64_t> expected = num_elements(input->shape);
  if (is_list && expected.ok() && static_cast<size_t>(*expected) == n) return *input;
  std::string given = is_list ? cat("a list of ", n) : "one number";
  return invalid(cat("\"", name, "\" is ", input, ", it cannot be ", given))
      .with_slug("bind-syntax")
      .with_help(form_of(name, input));
}

// "1,1,8,8" -> "1x1x8x8"; where that does not help, an example.
std::string with_x(std::string_view list) {
  std::string out(list);
  std::replace(out.begin(), out.end(), ',', 'x');
  bool is_shape = out.find_first_not_of("0123456789x") == out.npos && out.find("xx") == out.npos;
  return is_shape && out != list ? out : "1x3x224x224";
}

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && number >= 0;
  return is_number ? std::optional(number) : std::nullopt;
}

// Reads "4" or "1..64".
std::optional<GivenSize> given_size(std::string_view text) {
  const size_t dots = text.find("..");
  const std::optional<int64_t> least = whole_number(text.substr(0, dots));
  if (dots == text.npos) return least ? std::optional(GivenSize(*least)) : std::nullopt;
  const std::optional<int64_t> most = whole_number(text.substr(dots + 2));
  if (!least || !most || *least > *most) return std::nullopt;
  return GivenSize(*least, *most);
}

}  // namespace

Result<std::pair<std::string, std::vector<GivenSize>>> parse_shape(std::string_view text) {
  BYOC_TRY(auto pair, split(text, "shape-syntax", "1x3x224x224"));
  auto [name, list] = pair;
  std::vector<GivenSize> extents;
  for (std::string_view part : parts(list, 'x')) {
    if (auto size = given_size(part)) {
      extents.push_back(*size);
      continue;
    }
    return invalid(cat("\"", part, "\" in \"", text, "\" is not a size"))
        .with_slug("shape-syntax")
        .with_help(cat("sizes are whole numbers, or ranges such as 1..64, with x between them: ",
                       name, "=", with_x(list)));
  }
  return std::pair(name, extents);
}

Result<std::pair<std::string, BoundTensor>> parse_binding(const IRModule& module,
                                                          std::string_view text) {
  BYOC_TRY(auto pair, split(text, "bind-syntax", "[0,1]"));
  auto [name, list] = pair;
  BYOC_TRY(const Function* entry, entry_function(module));
  std::optional<uint32_t> number = input_number(*entry, name);
  if (!number) return unknown_input("input", name, input_names(*entry));
  TypeId input = entry->nodes[*number].types[0];
  bool is_list = list.size() >= 2 && list.front() == '[' && list.back() == ']';
  std::vector<std::string_view> elements = {list};
  if (is_list) elements = parts(list.substr(1, list.size() - 2), ',');
  BYOC_TRY(TensorType type, type_for(name, input, elements.size(), is_list));
  std::vector<std::byte> bytes(elements.size() * dtype_size(type.dtype));
  for (size_t k = 0; k < elements.size(); ++k) {
    if (parse_element(trimmed(elements[k]), type.dtype, bytes.data() + k * dtype_size(type.dtype)))
      continue;
    return invalid(cat("\"", elements[k], "\" in \"", text, "\" is not a value of ", type.dtype))
        .with_slug("bind-syntax");
  }
  BYOC_CHECK(*size_bytes(type) == static_cast<int64_t>(bytes.size()), bytes.size(), " bytes for ",
             type);
  return std::pair(name, BoundTensor{type, Buffer::copy(bytes)});
}

}  // namespace byoc
