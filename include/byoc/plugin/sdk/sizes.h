// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs with open sizes at the sizes of one run, for plugins with BYOC_PLUGIN_OPEN_SIZES whose
// kernels are made for numbers: at_sizes(graph, {4, 128}) is the same graph with the numbers in its
// types. All of it throws Error. Any number of threads may call it for one graph.
#include <charconv>
#include <span>

#include "byoc/plugin/sdk/graph.h"

namespace byoc::sdk {
namespace detail {

/// Evaluates dims of sizes: "2*T+B*H-1", "div(T+3,4)", "min(T,512)", "max(T-1,0)". Names are
/// identifiers, or in quotes.
class SizeEvaluator {
 public:
  SizeEvaluator(std::string_view text, std::span<const SizeRange> names,
                std::span<const int64_t> values)
      : text_(text), names_(names), values_(values) {}

  /// Returns the value of an expression. Throws BYOC_BAD_GRAPH for a text that is none,
  /// BYOC_OUT_OF_RANGE for a value below 0 or that does not fit in 63 bits.
  int64_t expression() {
    const int64_t value = sum(0);
    if (at_ != text_.size()) expected("an operator");
    return not_negative(value);
  }
  /// Returns the value of an entry of `open_shape`: "3", "N", "2<=N<=64" or "(B*T : B<=4, T)".
  int64_t dim() {
    if (!text_.empty() && text_.front() == '(') {
      const size_t end = text_.rfind(" : ");
      if (end == std::string_view::npos) expected("\" : \" and the sizes");
      return SizeEvaluator(text_.substr(1, end - 1), names_, values_).expression();
    }
    const size_t bound = text_.find("<=");
    if (bound != std::string_view::npos && is_digit(text_.front())) at_ = bound + 2;
    const int64_t value = factor(0);
    if (take('<')) {
      require('=');
      number();
    }
    if (at_ != text_.size()) expected("the end");
    return not_negative(value);
  }

 private:
  static constexpr int kMaxDepth = 64;  // of parentheses and functions

  [[noreturn]] void expected(const std::string& what) const {
    throw Error(BYOC_BAD_GRAPH, "graph JSON: size \"" + std::string(text_) + "\": expected " +
                                    what + " at position " + std::to_string(at_));
  }
  [[noreturn]] void does_not_fit() const {
    throw Error(BYOC_OUT_OF_RANGE,
                "the size \"" + std::string(text_) + "\" does not fit in 63 bits");
  }
  int64_t not_negative(int64_t value) const {
    if (value >= 0) return value;
    throw Error(BYOC_OUT_OF_RANGE,
                "the size \"" + std::string(text_) + "\" is " + std::to_string(value));
  }
  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void require(char c) {
    if (!take(c)) expected(std::string("'") + c + "'");
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_in_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
  }

  int64_t sum(int depth) {
    if (depth > kMaxDepth) expected("less nesting");
    int64_t value = 0;
    bool adds = !take('-');
    for (;;) {
      const int64_t term = product(depth);
      const bool overflows = adds ? __builtin_add_overflow(value, term, &value)
                                  : __builtin_sub_overflow(value, term, &value);
      if (overflows) does_not_fit();
      adds = take('+');
      if (!adds && !take('-')) return value;
    }
  }
  int64_t product(int depth) {
    int64_t value = factor(depth);
    while (take('*')) {
      if (__builtin_mul_overflow(value, factor(depth), &value)) does_not_fit();
    }
    return value;
  }
  int64_t factor(int depth) {
    if (take('(')) {
      const int64_t value = sum(depth + 1);
      require(')');
      return value;
    }
    if (at_ == text_.size() || (text_[at_] != '"' && !is_in_name(text_[at_]))) expected("a size");
    if (text_[at_] == '"') return size(quoted());
    if (is_digit(text_[at_])) return number();
    const size_t begin = at_;
    while (at_ < text_.size() && is_in_name(text_[at_])) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    const bool is_function = name == "div" || name == "min" || name == "max";
    return is_function ? function(name, depth) : size(name);
  }
  int64_t number() {
    int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto result = std::from_chars(begin, text_.data() + text_.size(), value);
    if (result.ec != std::errc()) expected("a number of 63 bits");
    at_ += static_cast<size_t>(result.ptr - begin);
    return value;
  }
  std::string quoted() {
    std::string name;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && ++at_ == text_.size()) break;
      name += text_[at_];
    }
    require('"');
    return name;
  }
  int64_t function(std::string_view name, int depth) {
    require('(');
    const int64_t a = sum(depth + 1);
    require(',');
    const int64_t b = sum(depth + 1);
    require(')');
    if (name == "min") return std::min(a, b);
    if (name == "max") return std::max(a, b);
    if (b < 1) does_not_fit();
    return a / b - (a % b < 0 ? 1 : 0);
  }
  int64_t size(std::string_view name) const {
    for (size_t k = 0; k < names_.size(); ++k) {
      if (names_[k].name == name) return values_[k];
    }
    expected("a size of the graph, not \"" + std::string(name) + "\"");
  }

  std::string_view text_;
  std::span<const SizeRange> names_;
  std::span<const int64_t> values_;
  size_t at_ = 0;
};

/// Puts numbers in the place of open dims. Counted dims stay.
inline void put_sizes(Type& type, std::span<const SizeRange> names,
                      std::span<const int64_t> values) {
  std::vector<SymbolicDim> counted;
  for (SymbolicDim& dim : type.symbols) {
    if (dim.counted) {
      counted.push_back(std::move(dim));
      continue;
    }
    int64_t& extent = type.dims[dim.axis];
    if (dim.expression) {
      extent = SizeEvaluator(dim.name, names, values).expression();
      continue;
    }
    const auto size = std::find_if(names.begin(), names.end(),
                                   [&](const SizeRange& range) { return range.name == dim.name; });
    if (size == names.end())
      throw Error(BYOC_BAD_GRAPH, "graph JSON: \"sizes\" lacks \"" + dim.name + "\"");
    extent = values[static_cast<size_t>(size - names.begin())];
  }
  type.symbols = std::move(counted);
  int64_t bytes = static_cast<int64_t>(dtype_size(type.dtype));
  for (int64_t dim : type.dims) {
    if (dim != Type::kSymbolic && __builtin_mul_overflow(bytes, std::max<int64_t>(dim, 1), &bytes))
      throw Error(BYOC_OUT_OF_RANGE, type.text() + " does not fit in 63 bits");
  }
}

/// Replaces the attribute `open_shape` by `shape`, and of a slice by its `ends`.
inline void put_sizes(Node& node, std::span<const SizeRange> names,
                      std::span<const int64_t> values) {
  if (!node.attrs.has("open_shape")) return;
  Ints shape;
  for (const std::string& text : node.attrs.strings("open_shape"))
    shape.push_back(SizeEvaluator(text, names, values).dim());
  node.attrs.erase("open_shape");
  if (node.op != "slice") return node.attrs.set("shape", std::move(shape));
  const Ints starts = node.attrs.ints("starts"), axes = node.attrs.ints("axes");
  Ints ends;
  for (size_t k = 0; k < starts.size(); ++k) {
    const int64_t axis = axes.empty() ? static_cast<int64_t>(k) : axes.at(k);
    ends.push_back(starts[k] + shape.at(static_cast<size_t>(
                                   axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis)));
  }
  node.attrs.set("ends", std::move(ends));
}

}  // namespace detail

/// Returns the graph at these sizes, one per entry of Graph::size_ranges: its types have numbers,
/// and so have attributes that shapes are made of. It has no `json`; equal types may be there
/// several times. Throws BYOC_OUT_OF_RANGE, with the name, for a size outside of its bounds, and
/// for a type that does not fit in memory. O(the size of the graph).
inline Graph at_sizes(const Graph& graph, std::span<const int64_t> sizes) {
  const std::vector<SizeRange>& names = graph.size_ranges;
  if (sizes.size() != names.size())
    throw Error(BYOC_INVALID_ARGUMENT, "expected " + std::to_string(names.size()) + " sizes, got " +
                                           std::to_string(sizes.size()));
  for (size_t k = 0; k < sizes.size(); ++k) {
    if (sizes[k] >= names[k].min && sizes[k] <= names[k].max) continue;
    throw Error(BYOC_OUT_OF_RANGE, "the size " + names[k].name + " is " + std::to_string(sizes[k]) +
                                       ", it is from " + std::to_string(names[k].min) + " to " +
                                       std::to_string(names[k].max));
  }
  Graph out = graph;
  out.json = {};
  out.sizes.clear();
  out.size_ranges.clear();
  for (Type& type : out.types) detail::put_sizes(type, names, sizes);
  for (Node& node : out.nodes) detail::put_sizes(node, names, sizes);
  for (Body& body : out.functions) {
    for (Node& node : body.nodes) detail::put_sizes(node, names, sizes);
  }
  return out;
}

}  // namespace byoc::sdk
