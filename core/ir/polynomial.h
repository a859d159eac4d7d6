// SPDX-License-Identifier: Apache-2.0
#pragma once
// Polynomials of named sizes and of parts that are none.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "byoc/base/status.h"

namespace byoc {

inline Status overflow() {
  return Status(Code::kOutOfRange, "a size does not fit in 63 bits").with_slug("size-overflow");
}

/// Expressions that repeat a size in each op of a chain would double with each op. Those of real
/// networks have at most some 100 characters.
inline constexpr size_t kMostText = 4096, kMostTerms = kMostText / 2;
inline Status too_long() {
  return Status(Code::kOutOfRange,
                cat("the expression of a size has more than ", kMostText, " characters"))
      .with_slug("size-length")
      .with_help("give numbers for the sizes of the model, as in --shape N=1");
}

/// The sum of products of factors, each with a number. Factors are texts, sorted.
class Polynomial {
 public:
  Polynomial() = default;
  explicit Polynomial(int64_t number) {
    if (number != 0) terms_[{}] = number;
  }
  explicit Polynomial(std::string factor) { terms_[{std::move(factor)}] = 1; }

  std::optional<int64_t> number() const {
    if (terms_.empty()) return 0;
    if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
    return std::nullopt;
  }

  Status add(const Polynomial& other, int64_t times) {
    for (const auto& [factors, count] : other.terms_) {
      int64_t& sum = terms_[factors];
      int64_t more = 0;
      if (__builtin_mul_overflow(count, times, &more) || __builtin_add_overflow(sum, more, &sum))
        return overflow();
      if (sum == 0) terms_.erase(factors);
    }
    return {};
  }

  Result<Polynomial> times(const Polynomial& other) const {
    Polynomial out;
    for (const auto& [factors, count] : terms_) {
      if (out.terms_.size() > kMostTerms) return too_long();
      Polynomial part;
      for (const auto& [others, times] : other.terms_) {
        std::vector<std::string> both;
        std::merge(factors.begin(), factors.end(), others.begin(), others.end(),
                   std::back_inserter(both));
        if (__builtin_mul_overflow(count, times, &part.terms_[both])) return overflow();
      }
      BYOC_TRY_STATUS(out.add(part, 1));
    }
    return out;
  }

  /// Returns the quotients, "div(T,2)", that are a term by themselves, with their counts. Takes no
  /// time for other terms: each step of an evaluation calls it.
  std::vector<std::pair<std::string, int64_t>> single_quotients() const {
    std::vector<std::pair<std::string, int64_t>> out;
    for (auto at = terms_.lower_bound({kQuotient}); at != terms_.end(); ++at) {
      const auto& [factors, count] = *at;
      if (!factors[0].starts_with(kQuotient)) break;
      if (factors.size() == 1) out.emplace_back(factors[0], count);
    }
    return out;
  }

  /// Returns the quotient by a polynomial of one term that divides every term.
  std::optional<Polynomial> divided(const Polynomial& by) const {
    if (by.terms_.size() != 1) return std::nullopt;
    const auto& [divisors, count] = *by.terms_.begin();
    Polynomial out;
    for (const auto& [factors, times] : terms_) {
      std::vector<std::string> rest;
      if (times % count != 0 ||
          !std::includes(factors.begin(), factors.end(), divisors.begin(), divisors.end()))
        return std::nullopt;
      std::set_difference(factors.begin(), factors.end(), divisors.begin(), divisors.end(),
                          std::back_inserter(rest));
      out.terms_[rest] = times / count;
    }
    return out;
  }

  /// Returns the terms that a number of at least 1 divides, divided by it, and the rest, of which a
  /// number is natural and less than the divisor: (32*H-1) / 2 has 16*H-1 and 1.
  std::pair<Polynomial, Polynomial> split_by(int64_t divisor) const {
    std::pair<Polynomial, Polynomial> out;
    for (const auto& [factors, count] : terms_) {
      const int64_t rest = (count % divisor + divisor) % divisor;
      if (rest != 0 && !factors.empty()) {
        out.second.terms_[factors] = count;
        continue;
      }
      const int64_t quotient = count / divisor - (count % divisor < 0 ? 1 : 0);
      if (quotient != 0) out.first.terms_[factors] = quotient;
      if (rest != 0) out.second.terms_[factors] = rest;
    }
    return out;
  }

  /// Returns "2*B*T+T-1": terms with more factors first, numbers last.
  std::string text() const {
    if (terms_.empty()) return "0";
    std::vector<std::pair<std::vector<std::string>, int64_t>> sorted(terms_.begin(), terms_.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      return (a.second > 0) != (b.second > 0) ? a.second > 0 : a.first.size() > b.first.size();
    });
    std::string out;
    for (const auto& [factors, count] : sorted) {
      const bool is_negative = count < 0;
      if (is_negative || !out.empty()) out += is_negative ? '-' : '+';
      const uint64_t size =
          is_negative ? 0 - static_cast<uint64_t>(count) : static_cast<uint64_t>(count);
      if (size != 1 || factors.empty()) out += cat(size, factors.empty() ? "" : "*");
      for (size_t k = 0; k < factors.size(); ++k) out += cat(k ? "*" : "", factors[k]);
    }
    return out;
  }

 private:
  static constexpr const char* kQuotient = "div(";
  std::map<std::vector<std::string>, int64_t> terms_;  // by factors; no count is 0
};

}  // namespace byoc
