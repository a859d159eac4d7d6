// SPDX-License-Identifier: Apache-2.0
#pragma once
// Grows a random graph op by op. Every value is computed as it is added, so that an op is added
// where its results are determined (oracle.h), and indices are in range.
#include <functional>
#include <optional>
#include <random>

#include "case.h"
#include "oracle.h"

namespace byoc::fuzz {

/// The range of the elements that a leaf gets.
struct Domain {
  double low = -2, high = 2;
  bool is_whole = false;      // whole numbers, of floats too
  bool has_specials = false;  // more NaN, infinities, zeros of both signs than the usual range
};

class Grower {
 public:
  explicit Grower(uint64_t seed, DType main_dtype);

  // Random choices; deterministic for a seed, on every machine.
  uint64_t pick(uint64_t n);  // in [0, n)
  int64_t between(int64_t low, int64_t high);
  bool chance(double probability);
  double real(double low, double high);
  template <class T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[pick(choices.size())];
  }
  DType main_dtype() const { return main_dtype_; }
  DType any_dtype();                                // the main one most of the time
  int64_t extent();                                 // 0 and 1 often
  int64_t favourite() const { return favourite_; }  // an extent that many dims have; 0: none
  Shape shape(size_t rank);
  Shape shape() { return shape(pick(7)); }

  // These return values of the graph.
  Ref parameter(TypeId type, const Domain& domain = {});
  Ref constant(TypeId type, const Domain& domain = {});
  /// Returns either of them, or an existing leaf of the same type: shared weights.
  Ref weight(TypeId type, const Domain& domain = {});
  Ref constant_ints(DType dtype, const std::vector<int64_t>& extents,
                    const std::vector<double>& values);
  /// Adds a constant of these elements.
  Ref constant_of(TypeId type, const std::vector<double>& values);
  /// Returns a value that fits, preferably a recent one.
  std::optional<Ref> find(const std::function<bool(const TensorType&)>& fits);
  /// With true, `any`, `any_float` and `find` mostly return the newest value that fits.
  void prefer_newest(bool newest) { prefers_newest_ = newest; }
  /// Returns a value of the graph, or a new leaf; often seen through a view.
  Ref any();
  Ref any_float();
  /// Returns `value` after a random op that moves elements, such as transpose, or unchanged.
  Ref viewed(Ref value);
  TypeId type(Ref ref) const { return graph_.type(ref); }
  const Shape& shape_of(Ref ref) const { return type(ref)->shape; }
  size_t rank(Ref ref) const { return type(ref)->shape.size(); }
  int64_t dim(Ref ref, size_t k) const { return type(ref)->shape[k].extent(); }
  const Known& known(Ref ref) const {
    return ref.is_leaf ? leaves_[ref.index] : steps_[ref.index][ref.output];
  }

  /// Adds a call and returns its first output. Returns nothing when the op does not take the
  /// operands, or when its results are not determined or mostly NaN.
  std::optional<Ref> call(std::string_view op, const std::vector<Ref>& args, Attrs attrs = {});
  /// Returns the same, or `args[0]`, for chains in which a step may be left out.
  Ref then(std::string_view op, const std::vector<Ref>& args, Attrs attrs = {});

  /// Repeats a call of the graph on the same operands: with the same attributes, with another one,
  /// or with two operands swapped. Passes either keep such calls distinct or merge them.
  std::optional<Ref> twin();
  std::optional<Ref> twin_of(Ref result);  // of the call that returns it

  /// Lets results have as many elements.
  void set_most_elements(int64_t count) { most_elements_ = count; }

  size_t steps() const { return graph_.steps.size(); }
  /// Makes each value without readers a result, and some other values.
  Case finish();

 private:
  Ref leaf(TypeId type, const Domain& domain, bool is_constant);
  Ref add_leaf(TypeId type, Bytes data, bool is_constant);
  Bytes random_data(TypeId type, const Domain& domain);
  Bytes random_bits(TypeId type);
  void add_specials(std::vector<double>& values, DType dtype, const Domain& domain);
  std::vector<Ref> values() const;

  std::mt19937_64 next_;
  DType main_dtype_;
  bool has_specials_, has_long_rows_, prefers_newest_ = false;
  int64_t most_elements_;  // of a result
  int64_t favourite_ = 0;  // an extent that many dims have; 0: none
  Case graph_;
  std::vector<Known> leaves_;
  std::vector<std::vector<Known>> steps_;
  std::vector<std::string> names_;
};

/// One way to add an op or a few. Returns false when nothing was added.
using Growth = std::function<bool(Grower&)>;
struct Family {
  std::string name;
  double weight;  // its share of the choices, relative to the others
  Growth grow;
  std::vector<std::string> ops;  // that it makes
};
std::vector<Family> elementwise_families();
std::vector<Family> shape_families();
std::vector<Family> window_families();
std::vector<Family> algebra_families();
std::vector<Family> cache_families();
std::vector<Family> integer_families();
std::vector<Family> broadcast_families();
std::vector<Family> empty_families();
std::vector<Family> exact_families();
Family qdq_family();  // one of integer_families
/// Returns all families.
const std::vector<Family>& all_families();

/// Returns a random broadcast partner's shape: some dims 1, leading ones left out.
Shape partner_shape(Grower& g, const Shape& shape);
/// Returns the shape of an operand that follows an op: a vector along `axis` most of the time, else
/// a broadcast partner along other dims.
Shape operand_shape(Grower& g, const Shape& shape, size_t axis);
/// Adds one to three sums and products with vectors along `axis`, as exporters write a bias, a
/// batch norm or a scale.
Ref scaled_and_shifted(Grower& g, Ref y, size_t axis);
/// Returns a random axis of `rank` dims, negative half of the time.
int64_t random_axis(Grower& g, size_t rank);

enum class Style { kCnn, kTransformer, kNoise, kImages, kChains };
/// Returns the graph of a seed.
Case random_case(uint64_t seed, Style style);

}  // namespace byoc::fuzz
