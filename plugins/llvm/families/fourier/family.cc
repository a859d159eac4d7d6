// SPDX-License-Identifier: Apache-2.0
// Fourier transforms by steps. Of a length a b, with n = n1 b + n2 and k = k1 + a k2:
//   y[k] = sum over n2 of  w_b^(n2 k2)  w_(a b)^(n2 k1)  (sum over n1 of  w_a^(n1 k1)  x[n])
// The inner sums are a product with a matrix of a x a, the factors between them are the turns, and
// the outer sums are again a transform, of length b. Parts of complex numbers are a dim of the
// sums, so that a step is one product of real numbers.
#include <numbers>

#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/families/fourier/plan.h"

namespace byoc::llvm_plugin::fourier {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

Exprs join(Exprs a, const Exprs& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Exprs part_of(const Exprs& of, size_t begin, size_t count) {
  const auto at = of.begin() + static_cast<std::ptrdiff_t>(begin);
  return {at, at + static_cast<std::ptrdiff_t>(count)};
}

/// Makes the stages of one call.
class Transform {
 public:
  Transform(te::Builder& builder, const Plan& plan, const Tensor& x, const TensorType& y)
      : builder_(builder), plan_(plan), x_(x), y_(y) {
    dtype_ = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
    for (size_t d = 0; d + 1 < x.shape().size(); ++d) {
      if (d != plan.axis) lines_.push_back(x.shape()[d]);
    }
  }
  Tensor result();

 private:
  /// Returns the part q of the part p times e^(sign 2 pi i turn / length).
  Expr rotation(const Expr& turn, int64_t length, const Expr& p, const Expr& q) const;
  /// Returns x, with its zeros and mirrored elements where it has some.
  Expr element(const Exprs& line, const Expr& n, const Expr& part) const;
  bool is_plain() const {
    return plan_.used == plan_.length && !plan_.is_real_result && x_.dtype() == dtype_;
  }
  Expr zero() const { return te::constant(dtype_, 0); }
  Expr of_samples(const Exprs& line, const Expr& n, const Expr& part) const {
    return is_plain() ? x_(indices(line, n, part)) : samples_(join(line, {n, part}));
  }
  Exprs indices(const Exprs& line, const Expr& along, const Expr& part) const {
    Exprs out = line;
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(plan_.axis), along);
    out.push_back(part);
    return out;
  }
  void step(size_t k);
  void turn(size_t k);
  Tensor stored() const;
  int64_t results_of(size_t k) const;

  te::Builder& builder_;
  const Plan& plan_;
  const Tensor x_;
  const TensorType y_;
  DType dtype_;
  Exprs lines_;          // extents of the dims that are not transformed
  Tensor samples_, at_;  // at_: [lines, left, parts, digits of k...], the last step's digit first
  int64_t left_ = 0;     // of the length
  Exprs digits_;         // their extents
};

Expr Transform::rotation(const Expr& turn, int64_t length, const Expr& p, const Expr& q) const {
  const double angle = (plan_.is_inverse ? 2 : -2) * std::numbers::pi;
  Expr at = te::cast(DType::kF64, te::floor_mod(turn, length)) *
            te::constant(DType::kF64, angle / static_cast<double>(length));
  Expr sine = te::unary(te::UnaryOp::kSin, at);
  return te::select(p == q, te::unary(te::UnaryOp::kCos, at), te::select(p < q, sine, -sine));
}

Expr Transform::element(const Exprs& line, const Expr& n, const Expr& part) const {
  const Expr half = plan_.length / 2 + 1;
  const Expr from = plan_.is_real_result ? te::select(n < half, n, Expr(plan_.length) - n) : n;
  const Expr last = plan_.used - 1;
  Expr value = te::cast(dtype_, x_(indices(line, te::min(from, last), part)));
  if (plan_.is_real_result) value = te::select(n < half || part == Expr(0), value, -value);
  return te::select(from <= last, value, zero());
}

// Returns the number of digits k that the results have.
int64_t Transform::results_of(size_t k) const {
  if (k + 1 < plan_.factors.size()) return plan_.factors[k];
  const int64_t before = plan_.length / plan_.factors[k];
  return (plan_.results + before - 1) / before;
}

void Transform::step(size_t k) {
  const int64_t factor = plan_.factors[k], left = left_ / factor;
  const bool is_first = k == 0, is_last = k + 1 == plan_.factors.size();
  const double scale = is_first && plan_.is_inverse ? 1 / static_cast<double>(plan_.length) : 1;
  const int64_t parts = is_first && !plan_.is_complex ? 1 : 2;
  const int64_t to_parts = is_last && plan_.is_real_result ? 1 : 2;
  auto entry = [&](const Expr& j, const Expr& p, const Expr& q, const Expr& digit) {
    Expr value = rotation(j * digit, factor, p, q) * te::constant(DType::kF64, scale);
    return te::cast(dtype_, value);
  };
  const int64_t digits = results_of(k);
  // Lanes are the digits of the first step, which the matrix has last.
  Tensor matrix =
      is_first ? builder_.compute("matrix", {factor, parts, to_parts, digits},
                                  [&](const Exprs& i) { return entry(i[0], i[1], i[2], i[3]); })
               : builder_.compute("matrix", {to_parts, digits, factor, parts},
                                  [&](const Exprs& i) { return entry(i[2], i[3], i[0], i[1]); });
  const size_t lines = lines_.size();
  Exprs shape = join(join(lines_, {left, to_parts, digits}), digits_);
  at_ = builder_.reduce(
      "sums", shape, {factor, parts}, te::sum_of(dtype_), [&](const Exprs& i, const Exprs& r) {
        const Exprs line = part_of(i, 0, lines);
        const Expr n = r[0] * left + i[lines];
        if (is_first)
          return of_samples(line, n, r[1]) * matrix(r[0], r[1], i[lines + 1], i[lines + 2]);
        return at_(join(join(line, {n, r[1]}), part_of(i, lines + 3, digits_.size()))) *
               matrix(i[lines + 1], i[lines + 2], r[0], r[1]);
      });
  digits_.insert(digits_.begin(), Expr(digits));
  left_ = left;
}

// Multiplies by the turns between two steps.
void Transform::turn(size_t k) {
  const int64_t factor = plan_.factors[k];
  const size_t lines = lines_.size();
  const int64_t length = left_ * factor;
  Tensor turns = builder_.compute("turns", {left_, 2, 2, factor}, [&](const Exprs& i) {
    return te::cast(dtype_, rotation(i[0] * i[3], length, i[2], i[1]));
  });
  Exprs shape = join(join(lines_, {left_, 2}), digits_);
  at_ = builder_.compute("turned", shape, [&](const Exprs& i) {
    auto term = [&](int64_t p) {
      Exprs from = i;
      from[lines + 1] = p;
      return at_(from) * turns(i[lines], i[lines + 1], Expr(p), i[lines + 2]);
    };
    return term(0) + term(1);
  });
}

Tensor Transform::stored() const {
  return builder_.compute("dft", te::extents_of(y_), [&](const Exprs& i) {
    Exprs line = part_of(i, 0, i.size() - 1);
    line.erase(line.begin() + static_cast<std::ptrdiff_t>(plan_.axis));
    Exprs digits;
    Expr rest = i[plan_.axis];
    for (size_t k = 0; k + 1 < plan_.factors.size(); ++k) {
      digits.insert(digits.begin(), te::floor_mod(rest, plan_.factors[k]));
      rest = te::floor_div(rest, plan_.factors[k]);
    }
    digits.insert(digits.begin(), rest);
    return te::cast(x_.dtype(), at_(join(join(line, {Expr(0), i.back()}), digits)));
  });
}

Tensor Transform::result() {
  if (!is_plain()) {
    samples_ = builder_.compute(
        "samples", join(lines_, {plan_.length, plan_.is_complex ? 2 : 1}), [&](const Exprs& i) {
          return element(part_of(i, 0, lines_.size()), i[lines_.size()], i.back());
        });
  }
  left_ = plan_.length;
  for (size_t k = 0; k < plan_.factors.size(); ++k) {
    step(k);
    if (k + 1 < plan_.factors.size()) turn(k);
  }
  return stored();
}

void add_computes(const FamilyCall& call, Strategies& out) {
  const std::optional<Plan> plan = has_exact_sums(call.site) ? std::nullopt : plan_of(call.site);
  if (!plan) return;
  te::Strategy strategy{.name = kCompute, .level = kPreferred};
  strategy.compute = [plan = *plan](te::Builder& builder, std::span<const Tensor> in, Types types,
                                    const Attrs&) -> Result<std::vector<Tensor>> {
    return std::vector<Tensor>{Transform(builder, plan, in[0], *types[0]).result()};
  };
  out.push_back(std::move(strategy));
}

}  // namespace

extern const Family kFamily{.name = "fourier", .add_computes = add_computes};

}  // namespace byoc::llvm_plugin::fourier
