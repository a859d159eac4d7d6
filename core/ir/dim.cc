// SPDX-License-Identifier: Apache-2.0
// Dims are computed with as polynomials of named sizes and of parts that are none (div, min, max),
// which are factors by their text. Bounds come from the intervals of the sizes.
#include "byoc/ir/dim.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "byoc/base/check.h"
#include "byoc/base/size_expression.h"
#include "core/ir/dim_maker.h"
#include "core/ir/polynomial.h"

namespace byoc {
namespace {

using Step = SizeExpression::Step;

/// An interval; the ends are INT64_MIN and INT64_MAX where there is none.
struct Interval {
  int64_t min = 0, max = 0;
};

int64_t saturated(__int128 value) {
  if (value > INT64_MAX) return INT64_MAX;
  return value < INT64_MIN ? INT64_MIN : static_cast<int64_t>(value);
}

int64_t floor_divided(int64_t a, int64_t b) {
  if (a == INT64_MAX || a == INT64_MIN) return a;
  return a / b - (a % b < 0 ? 1 : 0);
}

Interval product_of(Interval a, Interval b) {
  int64_t all[4];
  int n = 0;
  for (int64_t x : {a.min, a.max}) {
    for (int64_t y : {b.min, b.max}) all[n++] = saturated(static_cast<__int128>(x) * y);
  }
  return {*std::min_element(all, all + 4), *std::max_element(all, all + 4)};
}

Interval interval_of(Step::Kind kind, Interval a, Interval b) {
  switch (kind) {
    case Step::kAdd:
      return {saturated(static_cast<__int128>(a.min) + b.min),
              saturated(static_cast<__int128>(a.max) + b.max)};
    case Step::kSubtract:
      return {saturated(static_cast<__int128>(a.min) - b.max),
              saturated(static_cast<__int128>(a.max) - b.min)};
    case Step::kMultiply:
      return product_of(a, b);
    case Step::kDivide:
      return {floor_divided(a.min, std::max<int64_t>(b.min, 1)),
              floor_divided(a.max, std::max<int64_t>(b.min, 1))};
    case Step::kMin:
      return {std::min(a.min, b.min), std::min(a.max, b.max)};
    case Step::kMax:
      return {std::max(a.min, b.min), std::max(a.max, b.max)};
    case Step::kNumber:
    case Step::kSize:
      break;
  }
  BYOC_CHECK(false, "a step with two operands");
  return {};
}

const char* function_name(Step::Kind kind) {
  return kind == Step::kDivide ? "div" : kind == Step::kMin ? "min" : "max";
}

std::string quoted(Symbol name) {
  std::string out;
  print_size_name(out, name.text());
  return out;
}

using SizesByName = std::map<std::string, Dim>;  // by the name as texts have it

/// A part of an expression: its polynomial, and its bounds.
struct Part {
  Polynomial polynomial;
  Interval bounds;
};

// Returns the polynomial of a text; nullopt where it does not fit.
std::optional<Polynomial> polynomial_of(std::string_view text);

// Returns the bounds of a number and a multiple of a remainder: H - 2 * div(H, 2) is 0 or 1, which
// does not follow from the intervals of its terms.
std::optional<Interval> remainder_bounds(const Polynomial& sum) {
  for (const auto& [factor, count] : sum.single_quotients()) {
    const size_t comma = factor.rfind(',');
    const std::string_view divisor(factor.data() + comma + 1, factor.size() - comma - 2);
    int64_t n = 0;
    std::from_chars(divisor.data(), divisor.data() + divisor.size(), n);
    if (n < 1 || count % n != 0) continue;
    const int64_t times = count / -n;  // of divided - n * div(divided, n)
    const auto divided = polynomial_of(std::string_view(factor).substr(4, comma - 4));
    Polynomial rest = sum;
    if (!divided || !rest.add(Polynomial(factor), -count).ok() || !rest.add(*divided, -times).ok())
      continue;
    const auto number = rest.number();
    const Interval whole = product_of({times, times}, {0, n - 1});
    if (number) return interval_of(Step::kAdd, {*number, *number}, whole);
  }
  return std::nullopt;
}

// Returns true when the difference a - b is known to be at least 0.
bool is_least(const Polynomial& b, const Polynomial& a) {
  Polynomial difference = a;
  if (!difference.add(b, -1).ok()) return false;
  if (const auto number = difference.number()) return *number >= 0;
  const std::optional<Interval> bounds = remainder_bounds(difference);
  return bounds && bounds->min >= 0;
}

Result<Part> function_of(Step::Kind kind, const Part& a, const Part& b) {
  const auto x = a.polynomial.number(), y = b.polynomial.number();
  const Interval bounds = interval_of(kind, a.bounds, b.bounds);
  if (kind == Step::kDivide && (!y || *y < 1))
    return invalid(cat("the divisor ", b.polynomial.text(), " is no number of at least 1"))
        .with_slug("size-bounds");
  if (bounds.min == bounds.max && x && y) return Part{Polynomial(bounds.min), bounds};
  if (kind == Step::kDivide) {
    auto [whole, rest] = a.polynomial.split_by(*y);
    if (rest.number()) return Part{std::move(whole), bounds};
    const Polynomial last(cat("div(", rest.text(), ",", *y, ")"));
    BYOC_TRY_STATUS(whole.add(last, 1));
    return Part{std::move(whole), bounds};
  } else {
    const bool is_min = kind == Step::kMin;
    const Polynomial &x = a.polynomial, &y = b.polynomial;
    if (a.bounds.max <= b.bounds.min || is_least(x, y)) return is_min ? a : b;
    if (b.bounds.max <= a.bounds.min || is_least(y, x)) return is_min ? b : a;
    if (a.polynomial.text() == b.polynomial.text()) return a;
  }
  std::string first = a.polynomial.text(), second = b.polynomial.text();
  if (kind != Step::kDivide && second < first) std::swap(first, second);
  return Part{Polynomial(cat(function_name(kind), "(", first, ",", second, ")")), bounds};
}

Result<Part> part_of(Step::Kind kind, Part a, const Part& b) {
  if (kind == Step::kDivide || kind == Step::kMin || kind == Step::kMax)
    return function_of(kind, a, b);
  const Interval bounds = interval_of(kind, a.bounds, b.bounds);
  if (kind == Step::kMultiply) {
    BYOC_TRY(Polynomial product, a.polynomial.times(b.polynomial));
    return Part{std::move(product), bounds};
  }
  BYOC_TRY_STATUS(a.polynomial.add(b.polynomial, kind == Step::kAdd ? 1 : -1));
  const Interval sum = remainder_bounds(a.polynomial).value_or(bounds);
  return Part{std::move(a.polynomial), sum};
}

Part part_of_size(Dim dim) {
  if (dim.is_static()) return {Polynomial(dim.extent()), {dim.extent(), dim.extent()}};
  return {Polynomial(quoted(dim.name())), {dim.min(), dim.max()}};
}

/// Evaluates with `value` for each name; bounds that the whole has are found on the way.
Result<Part> evaluated(const SizeExpression& expression,
                       const std::function<Result<Part>(const std::string& name)>& value) {
  std::vector<Part> stack;
  for (const Step& step : expression.steps()) {
    if (step.kind == Step::kNumber) {
      stack.push_back(part_of_size(Dim(step.value)));
    } else if (step.kind == Step::kSize) {
      BYOC_TRY(Part part, value(expression.names()[static_cast<size_t>(step.value)]));
      stack.push_back(std::move(part));
    } else {
      const Part b = std::move(stack.back());
      stack.pop_back();
      BYOC_TRY(stack.back(), part_of(step.kind, std::move(stack.back()), b));
    }
  }
  BYOC_CHECK(stack.size() == 1, "an expression leaves ", stack.size(), " values");
  return std::move(stack.back());
}

std::optional<Polynomial> polynomial_of(std::string_view text) {
  const Result<SizeExpression> expression = SizeExpression::parse(text);
  if (!expression.ok()) return std::nullopt;
  Result<Part> part = evaluated(*expression, [](const std::string& name) -> Result<Part> {
    std::string key;
    print_size_name(key, name);
    return Part{Polynomial(std::move(key)), {INT64_MIN, INT64_MAX}};
  });
  return part.ok() ? std::optional(std::move(part->polynomial)) : std::nullopt;
}

// Returns the sizes whose names occur in the expression.
std::vector<Dim> used_sizes(const SizeExpression& expression, const SizesByName& sizes) {
  std::vector<Dim> out;
  for (const std::string& name : expression.names()) {
    std::string text;
    print_size_name(text, name);
    auto found = sizes.find(text);
    BYOC_CHECK(found != sizes.end(), "no size ", name);
    out.push_back(found->second);
  }
  std::sort(out.begin(), out.end(), [](Dim a, Dim b) { return a.name() < b.name(); });
  return out;
}

Result<Part> part_of_text(std::string_view text, const SizesByName& sizes) {
  BYOC_TRY(SizeExpression expression, SizeExpression::parse(text));
  return evaluated(expression, [&](const std::string& name) -> Result<Part> {
    std::string key;
    print_size_name(key, name);
    auto found = sizes.find(key);
    BYOC_CHECK(found != sizes.end(), "no size ", name);
    return part_of_size(found->second);
  });
}

// Equal texts are equal dims: the bounds are of the text, however it was computed. (T+1)*(T-1) and
// T*T-1 have the same one.
Result<Dim> dim_of(const Part& computed, const SizesByName& sizes) {
  const std::string text = computed.polynomial.text();
  if (text.size() > kMostText) return too_long();
  if (computed.bounds.max < 0)
    return invalid(cat("the size ", text, " is negative")).with_slug("size-bounds");
  if (auto number = computed.polynomial.number()) {
    if (*number >= 0) return Dim(*number);
    return invalid(cat("the size ", text, " is negative")).with_slug("size-bounds");
  }
  if (auto named = sizes.find(text); named != sizes.end()) return named->second;
  BYOC_TRY(const Part part, part_of_text(text, sizes));
  if (part.polynomial.text() != text) return dim_of(part, sizes);
  BYOC_TRY(SizeExpression expression, SizeExpression::parse(text));
  NamedSize size{text, std::max<int64_t>(part.bounds.min, 0), part.bounds.max,
                 NamedSize::kExpression, used_sizes(expression, sizes)};
  if (size.min == size.max) return Dim(size.min);
  return DimMaker::make(size);
}

void add_sizes(SizesByName& sizes, Dim dim) {
  for (Dim size : sizes_in(dim)) sizes.emplace(quoted(size.name()), size);
}

// Returns the polynomial of a dim; its bounds are those of the dim.
Result<Part> part_of_dim(Dim dim) {
  if (dim.is_counted())
    return unimplemented(cat("the counted size ", dim, " is not computed with"))
        .with_slug("symbolic-shape");
  if (!dim.is_expression()) return part_of_size(dim);
  SizesByName sizes;
  add_sizes(sizes, dim);
  return part_of_text(dim.name().text(), sizes);
}

Result<Dim> computed(Step::Kind kind, Dim a, Dim b) {
  if (a == b && (kind == Step::kMin || kind == Step::kMax)) return a;
  BYOC_TRY(Part x, part_of_dim(a));
  BYOC_TRY(const Part y, part_of_dim(b));
  BYOC_TRY(const Part out, part_of(kind, std::move(x), y));
  SizesByName sizes;
  add_sizes(sizes, a);
  add_sizes(sizes, b);
  return dim_of(out, sizes);
}

}  // namespace

Result<Dim> dim_sum(Dim a, Dim b) { return computed(Step::kAdd, a, b); }
Result<Dim> dim_difference(Dim a, Dim b) { return computed(Step::kSubtract, a, b); }
Result<Dim> dim_product(Dim a, Dim b) { return computed(Step::kMultiply, a, b); }
Result<Dim> dim_min(Dim a, Dim b) { return computed(Step::kMin, a, b); }
Result<Dim> dim_max(Dim a, Dim b) { return computed(Step::kMax, a, b); }

Result<Dim> dim_quotient(Dim a, int64_t divisor) {
  BYOC_CHECK(divisor >= 1, a, " is divided by ", divisor);
  return computed(Step::kDivide, a, Dim(divisor));
}

Result<Dim> dim_ceil_quotient(Dim a, int64_t divisor) {
  if (auto exact = dim_exact_quotient(a, Dim(divisor))) return *exact;
  BYOC_TRY(Dim more, dim_sum(a, Dim(divisor - 1)));
  return dim_quotient(more, divisor);
}

std::optional<Dim> dim_exact_quotient(Dim a, Dim b) {
  Result<Part> x = part_of_dim(a), y = part_of_dim(b);
  if (!x.ok() || !y.ok() || b == Dim(0)) return std::nullopt;
  auto quotient = x->polynomial.divided(y->polynomial);
  if (!quotient) return std::nullopt;
  SizesByName sizes;
  add_sizes(sizes, a);
  Result<Part> part = part_of_text(quotient->text(), sizes);
  Result<Dim> out = part.ok() ? dim_of(*part, sizes) : Result<Dim>(part.status());
  return out.ok() ? std::optional(*out) : std::nullopt;
}

Result<Dim> element_count(const Shape& shape) {
  if (is_static(shape)) {
    BYOC_TRY(const int64_t count, num_elements(shape));
    return Dim(count);
  }
  Dim out(1);
  for (Dim dim : shape) {
    BYOC_TRY(out, dim_product(out, dim));
  }
  return out;
}

std::vector<Dim> sizes_in(Dim dim) {
  if (dim.is_static()) return {};
  if (!dim.is_expression()) return {dim};
  return DimMaker::size_of(dim).sizes;
}

Result<Dim> with_sizes(Dim dim, const std::function<std::optional<Dim>(Dim size)>& replace) {
  if (dim.is_static() || dim.is_counted()) return dim;
  if (!dim.is_expression()) return replace(dim).value_or(dim);
  std::vector<Dim> now;
  SizesByName before, after;
  for (Dim size : sizes_in(dim)) {
    const Dim other = replace(size).value_or(size);
    if (other.is_counted()) return part_of_dim(other).status();
    before.emplace(quoted(size.name()), other);
    add_sizes(after, other);
  }
  BYOC_TRY(SizeExpression expression, SizeExpression::parse(dim.name().text()));
  BYOC_TRY(const Part part, evaluated(expression, [&](const std::string& name) {
             std::string text;
             print_size_name(text, name);
             return part_of_dim(before.at(text));
           }));
  return dim_of(part, after);
}

Result<Dim> parse_dim_expression(std::string_view text, std::span<const Dim> sizes) {
  SizesByName named;
  for (Dim size : sizes) named.emplace(quoted(size.name()), size);
  BYOC_TRY(SizeExpression expression, SizeExpression::parse(text));
  BYOC_TRY(const Part part, evaluated(expression, [&](const std::string& name) -> Result<Part> {
             std::string key;
             print_size_name(key, name);
             auto found = named.find(key);
             if (found == named.end())
               return invalid(cat("the size \"", text, "\" names ", key, ", which has no bounds"))
                   .with_slug("size-syntax");
             return part_of_dim(found->second);
           }));
  return dim_of(part, named);
}

bool has_open(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](Dim dim) { return is_open(dim); });
}

}  // namespace byoc
