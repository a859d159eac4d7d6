// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/dtype.h"

#include <charconv>

#include "byoc/base/external.h"

namespace byoc {
namespace {
constexpr std::string_view kNames[kDTypeCount] = {"f32", "f64", "f16", "bf16", "i8",  "u8",  "i16",
                                                  "u16", "i32", "u32", "i64",  "u64", "bool"};
}  // namespace

std::string_view dtype_name(DType dtype) { return kNames[static_cast<int>(dtype)]; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (int k = 0; k < kDTypeCount; ++k) {
    if (kNames[k] == name) return static_cast<DType>(k);
  }
  return std::nullopt;
}

void print_to(std::string& out, const TensorSpec& spec) {
  out += cat(spec.dtype, "[");
  for (size_t k = 0; k < spec.dims.size(); ++k)
    out += cat(k ? "," : "", spec.is_open(k) ? spec.open[k] : "",
               spec.is_counted(k) || spec.is_open(k) ? "<=" : "", spec.dims[k]);
  out += ']';
}

// The bits of TensorSpec::counted.
constexpr size_t kMostCountedDims = 32;

namespace {

// Returns the expression before "<=" of an open dim at the beginning of the dims; "" of others.
std::string_view open_part(std::string_view dims) {
  bool is_quoted = false;
  int depth = 0;
  for (size_t k = 0; k + 1 < dims.size(); ++k) {
    const char c = dims[k];
    if (is_quoted && c == '\\') ++k;
    else if (c == '"') is_quoted = !is_quoted;
    else if (is_quoted) continue;
    else if (c == '(') ++depth;
    else if (c == ')') --depth;
    else if (c == ',' && depth == 0) return {};
    else if (c == '<' && dims[k + 1] == '=') return dims.substr(0, k);
  }
  return {};
}

}  // namespace

Result<TensorSpec> parse_tensor_spec(std::string_view text) {
  auto wrong = [&] {
    return invalid(cat("\"", text, "\" is not a type like f32[1,3,224,224] or i64[]"))
        .with_slug("type-syntax");
  };
  size_t bracket = text.find('[');
  std::optional<DType> dtype = parse_dtype(text.substr(0, bracket));
  if (bracket == std::string_view::npos || !dtype || text.back() != ']') return wrong();
  TensorSpec spec{*dtype, {}};
  std::string_view dims = text.substr(bracket + 1, text.size() - bracket - 2);
  while (!dims.empty()) {
    int64_t dim = 0;
    const std::string_view open = open_part(dims);
    if (!open.empty()) {
      spec.open.resize(spec.dims.size());
      spec.open.emplace_back(open);
      dims.remove_prefix(open.size() + 2);
    } else if (dims.starts_with("<=")) {
      if (spec.dims.size() >= kMostCountedDims) return wrong();
      spec.counted |= uint32_t{1} << spec.dims.size();
      dims.remove_prefix(2);
    }
    auto [end, error] = std::from_chars(dims.data(), dims.data() + dims.size(), dim);
    if (error != std::errc() || dim < 0) return wrong();
    spec.dims.push_back(dim);
    if (!spec.open.empty()) spec.open.resize(spec.dims.size());
    dims.remove_prefix(static_cast<size_t>(end - dims.data()));
    if (dims.empty()) break;
    if (dims[0] != ',' || dims.size() == 1) return wrong();
    dims.remove_prefix(1);
  }
  return spec;
}

Result<int64_t> size_bytes(const TensorSpec& spec) {
  int64_t bytes = static_cast<int64_t>(dtype_size(spec.dtype));
  bool empty = false;
  for (int64_t dim : spec.dims) {
    if (dim < 0) return invalid(cat("a dim of ", spec, " is negative")).with_slug("tensor-size");
    empty |= dim == 0;
  }
  if (empty) return int64_t{0};
  for (int64_t dim : spec.dims) {
    if (__builtin_mul_overflow(bytes, dim, &bytes)) {
      return Status(Code::kOutOfRange, cat("the size of ", spec, " does not fit in 63 bits"))
          .with_slug("tensor-size");
    }
  }
  return bytes;
}

int64_t num_elements(const TensorSpec& spec) {
  int64_t n = 1;
  for (int64_t dim : spec.dims) n *= dim;
  return n;
}

bool operator==(const ExternalModule& a, const ExternalModule& b) {
  auto same_blob = [&] {
    if (!a.blob || !b.blob) return a.blob == b.blob;
    return a.blob->key() == b.blob->key() && a.blob->size() == b.blob->size();
  };
  return a.plugin == b.plugin && a.plugin_version == b.plugin_version && a.compat == b.compat &&
         a.options_json == b.options_json && a.flags == b.flags && a.functions == b.functions &&
         a.packed == b.packed && same_blob();
}

}  // namespace byoc
