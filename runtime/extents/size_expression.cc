// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/size_expression.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "byoc/base/check.h"

namespace byoc {
namespace {

constexpr int kMaxDepth = 64;                        // of parentheses and functions
constexpr size_t kMostValues = 4 * (kMaxDepth + 1);  // that wait at once: a term and a factor each

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_in_name(char c) { return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)); }

bool is_function(std::string_view name) { return name == "div" || name == "min" || name == "max"; }

}  // namespace

void print_size_name(std::string& out, std::string_view name) {
  const bool is_plain = !name.empty() && begins_name(name[0]) && !is_function(name) &&
                        std::all_of(name.begin(), name.end(), is_in_name);
  if (is_plain) {
    out += name;
    return;
  }
  out += '"';
  for (char c : name) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

/// Reads sums of products by recursive descent, at most kMaxDepth deep.
class SizeExpressionParser {
 public:
  explicit SizeExpressionParser(std::string_view text) : text_(text) { out_.text_ = text; }
  Result<SizeExpression> run() {
    BYOC_TRY_STATUS(sum(0));
    if (at_ != text_.size()) return error("an operator");
    return std::move(out_);
  }

 private:
  using Step = SizeExpression::Step;

  Status error(std::string_view expected) const {
    return invalid(cat("size \"", text_, "\": expected ", expected, " at position ", at_))
        .with_slug("size-syntax");
  }
  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void emit(Step::Kind kind, int64_t value = 0) { out_.steps_.push_back({kind, value}); }

  // A sum may begin with a minus: 0 is then its first term.
  Status sum(int depth) {
    if (depth > kMaxDepth) return error("less nesting");
    const bool is_negative = take('-');
    if (is_negative) emit(Step::kNumber);
    BYOC_TRY_STATUS(product(depth));
    if (is_negative) emit(Step::kSubtract);
    while (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) {
      const Step::Kind kind = text_[at_++] == '+' ? Step::kAdd : Step::kSubtract;
      BYOC_TRY_STATUS(product(depth));
      emit(kind);
    }
    return {};
  }

  Status product(int depth) {
    BYOC_TRY_STATUS(factor(depth));
    while (take('*')) {
      BYOC_TRY_STATUS(factor(depth));
      emit(Step::kMultiply);
    }
    return {};
  }

  Status factor(int depth) {
    if (take('(')) {
      BYOC_TRY_STATUS(sum(depth + 1));
      return take(')') ? Status() : error("')'");
    }
    if (at_ == text_.size()) return error("a size");
    if (std::isdigit(static_cast<unsigned char>(text_[at_]))) return number();
    if (text_[at_] == '"') return quoted();
    if (!begins_name(text_[at_])) return error("a size");
    const size_t begin = at_;
    while (at_ < text_.size() && is_in_name(text_[at_])) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    return is_function(name) ? function(name, depth) : size(std::string(name));
  }

  Status number() {
    int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto result = std::from_chars(begin, text_.data() + text_.size(), value);
    if (result.ec != std::errc()) return error("a number of 63 bits");
    at_ += static_cast<size_t>(result.ptr - begin);
    emit(Step::kNumber, value);
    return {};
  }

  Status quoted() {
    std::string name;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && ++at_ == text_.size()) break;
      name += text_[at_];
    }
    if (!take('"') || name.empty()) return error("a name in quotes");
    return size(std::move(name));
  }

  Status function(std::string_view name, int depth) {
    if (!take('(')) return error("'('");
    BYOC_TRY_STATUS(sum(depth + 1));
    if (!take(',')) return error("','");
    BYOC_TRY_STATUS(sum(depth + 1));
    if (!take(')')) return error("')'");
    emit(name == "div" ? Step::kDivide : name == "min" ? Step::kMin : Step::kMax);
    return {};
  }

  Status size(std::string name) {
    std::vector<std::string>& names = out_.names_;
    const auto found = std::find(names.begin(), names.end(), name);
    emit(Step::kSize, found - names.begin());
    if (found == names.end()) names.push_back(std::move(name));
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  SizeExpression out_;
};

Result<SizeExpression> SizeExpression::parse(std::string_view text) {
  return SizeExpressionParser(text).run();
}

namespace {

int64_t floor_divided(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Computes a step; returns false when the result does not fit.
bool apply(SizeExpression::Step::Kind kind, int64_t a, int64_t b, int64_t& out) {
  using Step = SizeExpression::Step;
  switch (kind) {
    case Step::kAdd:
      return !__builtin_add_overflow(a, b, &out);
    case Step::kSubtract:
      return !__builtin_sub_overflow(a, b, &out);
    case Step::kMultiply:
      return !__builtin_mul_overflow(a, b, &out);
    case Step::kDivide:
      out = b < 1 ? 0 : floor_divided(a, b);
      return b >= 1;
    case Step::kMin:
      out = std::min(a, b);
      return true;
    case Step::kMax:
      out = std::max(a, b);
      return true;
    case Step::kNumber:
    case Step::kSize:
      break;
  }
  BYOC_CHECK(false, "a step with two operands");
  return false;
}

}  // namespace

Result<int64_t> SizeExpression::evaluate(std::span<const int64_t> sizes) const {
  BYOC_CHECK(sizes.size() == names_.size(), sizes.size(), " sizes for ", names_.size(), " names");
  std::array<int64_t, kMostValues> stack{};
  size_t n = 0;
  for (const Step& step : steps_) {
    if (step.kind == Step::kNumber || step.kind == Step::kSize) {
      BYOC_CHECK(n < stack.size(), "an expression of ", n, " values at once");
      stack[n++] = step.kind == Step::kNumber ? step.value : sizes[static_cast<size_t>(step.value)];
      continue;
    }
    --n;
    if (!apply(step.kind, stack[n - 1], stack[n], stack[n - 1]))
      return Status(Code::kOutOfRange, cat("the size ", text_, " does not fit in 63 bits"))
          .with_slug("size-overflow");
  }
  if (stack[0] >= 0) return stack[0];
  return Status(Code::kOutOfRange, cat("the size ", text_, " is ", stack[0]))
      .with_slug("size-overflow");
}

}  // namespace byoc
