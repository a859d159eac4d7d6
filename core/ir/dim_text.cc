// SPDX-License-Identifier: Apache-2.0
// Reads dims as they are printed.
#include <charconv>

#include "byoc/base/size_expression.h"
#include "byoc/ir/dim.h"
#include "byoc/ir/open_shape.h"

namespace byoc {
namespace {

/// Reads "3", "N", "2<=N<=64", "?n<=64" and "(B*T : B<=4, T)".
class DimReader {
 public:
  explicit DimReader(std::string_view text) : text_(text) {}
  Result<Dim> run() {
    BYOC_TRY(Dim dim, take("(") ? expression() : size());
    if (!rest().empty()) return error("the end");
    return dim;
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }
  bool take(std::string_view word) {
    if (!rest().starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  Status error(std::string_view expected) const {
    return invalid(cat("\"", text_, "\" is no dim: expected ", expected, " at position ", at_))
        .with_slug("size-syntax");
  }

  Result<int64_t> number() {
    int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto result = std::from_chars(begin, text_.data() + text_.size(), value);
    if (result.ec != std::errc() || value < 0) return error("a number");
    at_ += static_cast<size_t>(result.ptr - begin);
    return value;
  }

  Result<std::string> name() {
    std::string out;
    if (!take("\"")) {
      const size_t end = std::min(text_.find_first_of("<,) ", at_), text_.size());
      out = text_.substr(at_, end - at_);
      at_ = end;
    } else {
      while (at_ < text_.size() && text_[at_] != '"') {
        if (text_[at_] == '\\') ++at_;
        if (at_ < text_.size()) out += text_[at_++];
      }
      if (!take("\"")) return error("a quote");
    }
    if (out.empty()) return error("a name");
    return out;
  }

  Result<Dim> size() {
    const bool is_counted = take("?");
    int64_t min = 0, max = Dim::kUnbounded;
    if (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      BYOC_TRY(min, number());
      if (!take("<=")) return Dim(min);
    }
    BYOC_TRY(const std::string found, name());
    if (take("<=")) {
      BYOC_TRY(max, number());
    }
    if (min > max || (is_counted && (min > 0 || max == Dim::kUnbounded)))
      return error("bounds in order");
    return is_counted ? Dim::counted(found, max) : Dim::symbol(found, min, max);
  }

  // Reads the rest of an expression with its sizes.
  Result<Dim> expression() {
    const size_t end = text_.rfind(" : ");
    if (end == std::string_view::npos || end < at_) return error("\" : \" and the sizes");
    const std::string_view text = text_.substr(at_, end - at_);
    at_ = end + 3;
    std::vector<Dim> sizes;
    do {
      BYOC_TRY(Dim dim, size());
      if (dim.is_static()) return error("a name");
      sizes.push_back(dim);
    } while (take(", "));
    if (!take(")")) return error("')'");
    return parse_dim_expression(text, sizes);
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<Dim> parse_dim(std::string_view text) { return DimReader(text).run(); }

namespace {

// Returns the text that size_expression.h evaluates.
std::string open_text(Dim dim) {
  if (dim.is_expression()) return dim.name().str();
  std::string out;
  print_size_name(out, dim.name().text());
  return out;
}

}  // namespace

Result<TensorSpec> program_type(const TensorType& type) {
  TensorSpec out{type.dtype, {}};
  const Shape bounds = at_bounds(type.shape);
  if (!is_static(bounds)) {
    return invalid(cat(type, " has a size without a number"))
        .with_slug("symbolic-shape")
        .with_help("give them, as in --shape N=1");
  }
  out.dims = static_extents(bounds);
  for (size_t d = 0; d < type.shape.size(); ++d) {
    if (type.shape[d].is_counted()) out.counted |= uint32_t{1} << d;
    if (!is_open(type.shape[d])) continue;
    out.open.resize(type.shape.size());
    out.open[d] = open_text(type.shape[d]);
  }
  return out;
}

Result<Shape> open_shape_of(const Attrs& attrs) {
  Shape out;
  for (const std::string& text : attrs.strings(kOpenShapeAttr)) {
    BYOC_TRY(Dim dim, parse_dim(text));
    out.push_back(dim);
  }
  return out;
}

void set_open_shape(Attrs& attrs, const Shape& shape) {
  if (is_static(shape)) {
    attrs.erase(kOpenShapeAttr);
    attrs.set("shape", static_extents(shape));
    return;
  }
  Strings texts;
  for (Dim dim : shape) texts.push_back(cat(dim));
  attrs.set(kOpenShapeAttr, std::move(texts));
}

std::vector<GivenSize> given_shape(const Shape& shape) {
  std::vector<GivenSize> out;
  for (int64_t extent : static_extents(shape)) out.emplace_back(extent);
  return out;
}

void print_to(std::string& out, const GivenSize& size) {
  out += size.is_number() ? cat(size.least) : cat(size.least, "..", size.most);
}

}  // namespace byoc
