// SPDX-License-Identifier: Apache-2.0
#include "grow.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace byoc::fuzz {
namespace {

constexpr int64_t kMostElements = 6000, kMostElementsOfLong = 16000;
constexpr size_t kMostRank = 7;

/// Returns a value near `value`; lists keep their length.
AttrValue other_value(Grower& g, const AttrValue& value) {
  if (auto* flag = std::get_if<bool>(&value)) return !*flag;
  if (auto* number = std::get_if<double>(&value))
    return *number * g.real(0.5, 1.5) + g.real(0, 0.5);
  if (auto* whole = std::get_if<int64_t>(&value)) return *whole + g.one_of<int64_t>({-1, 1});
  auto* list = std::get_if<Ints>(&value);
  if (list == nullptr || list->empty()) return value;
  Ints out = *list;
  const size_t half = out.size() / 2, k = g.pick(std::max<size_t>(half, 1));
  if (g.chance(0.3)) std::reverse(out.begin(), out.end());
  else if (half > 0 && g.chance(0.4)) --out[k], ++out[k + half];  // pads: the extents stay
  else out[g.pick(out.size())] += g.one_of<int64_t>({-1, 1});
  return out;
}

double nan_share(const Known& known) {
  if (!is_float(known.type->dtype) || element_count(known.type) == 0) return 0;
  std::vector<double> values = elements(known.type, *known.right);
  auto count = std::count_if(values.begin(), values.end(), [](double x) { return std::isnan(x); });
  return static_cast<double>(count) / static_cast<double>(values.size());
}

}  // namespace

Grower::Grower(uint64_t seed, DType main_dtype) : next_(seed), main_dtype_(main_dtype) {
  has_specials_ = chance(0.4);
  has_long_rows_ = chance(0.06);
  most_elements_ = has_long_rows_ ? kMostElementsOfLong : kMostElements;
  // Equal extents of different dims: an axis that is mistaken for another one fits.
  if (chance(0.4)) favourite_ = one_of<int64_t>({2, 3, 4, 5, 7, 8, 8, 16});
  // Names that several nodes share, as exporters write them.
  names_ = {"", "", "n", "layer/op", "x0"};
}

uint64_t Grower::pick(uint64_t n) { return next_() % n; }
int64_t Grower::between(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(pick(static_cast<uint64_t>(high - low + 1)));
}
double Grower::real(double low, double high) {
  return low + (high - low) * static_cast<double>(next_() >> 11) * 0x1p-53;
}
bool Grower::chance(double probability) { return real(0, 1) < probability; }

DType Grower::any_dtype() {
  if (chance(0.6)) return main_dtype_;
  return static_cast<DType>(pick(kDTypeCount));
}

int64_t Grower::extent() {
  if (favourite_ > 0 && chance(0.4)) return favourite_;
  uint64_t which = pick(100);
  if (which < 3) return 0;
  if (which < 30) return 1;
  if (which < 92) return between(2, 9);
  return one_of<int64_t>({16, 17, 24, 31, 32, 64});
}

Shape Grower::shape(size_t rank) {
  Shape out;
  const bool is_long = has_long_rows_ && rank > 0 && rank < 4 && chance(0.6);
  int64_t count = 1;
  for (size_t k = 0; k < rank; ++k) {
    int64_t size = extent();
    if (is_long) size = k + 1 == rank ? between(130, 1100) : between(1, 3);
    else if (count * size > 1500) size = 1;
    count *= std::max<int64_t>(size, 1);
    out.push_back(Dim(size));
  }
  return out;
}

Bytes Grower::random_data(TypeId type, const Domain& domain) {
  std::vector<double> values(static_cast<size_t>(element_count(type)));
  const DType dtype = type->dtype;
  const bool is_usual = domain.low == -2 && domain.high == 2 && !domain.is_whole;
  if (is_int(dtype) && is_usual && chance(0.35)) return random_bits(type);
  for (double& value : values) {
    value = real(domain.low, domain.high);
    if (dtype == DType::kBool) value = value > (domain.low + domain.high) / 2 ? 1 : 0;
    else if (domain.is_whole || is_int(dtype)) value = std::floor(value + 0.5);
    if (!is_float(dtype) && !is_signed_int(dtype)) value = std::abs(value);
    else if (is_float(dtype) && !domain.is_whole && chance(0.1)) value = std::round(value * 4) / 4;
  }
  if (is_float(dtype) && (is_usual || domain.has_specials)) add_specials(values, dtype, domain);
  return from_elements(type, values);
}

// Replaces a few values: a NaN that reaches most of a graph hides all other faults.
void Grower::add_specials(std::vector<double>& values, DType dtype, const Domain& domain) {
  const size_t n = values.size();
  if (!has_specials_ || n == 0 || !chance(n < 4 ? 0.15 : domain.has_specials || n > 60 ? 0.8 : 0.5))
    return;
  const size_t most = domain.has_specials ? 1 + n / 16 : 2;
  for (size_t k = 1 + pick(most); k > 0; --k) {
    double& value = values[pick(n)];
    value = one_of<double>({std::nan(""), std::nan(""), INFINITY, -INFINITY, -0.0, 1e-40, -1e-40});
    // The instructions that round to bf16 take denormals for 0: plugins/onednn/README.md.
    if (dtype == DType::kBF16 && std::abs(value) < 1) value = -0.0;
  }
}

// Draws integers of the whole range: sums wrap around, and signs matter.
Bytes Grower::random_bits(TypeId type) {
  const size_t size = static_cast<size_t>(element_count(type)) * dtype_size(type->dtype);
  return Buffer::make(size, [&](std::byte* to) {
    for (size_t k = 0; k < size; ++k) to[k] = static_cast<std::byte>(pick(256));
  });
}

Ref Grower::add_leaf(TypeId type, Bytes data, bool is_constant) {
  leaves_.push_back(exact(type, data));
  std::string name = cat(is_constant ? "c" : "x", graph_.leaves.size());
  graph_.leaves.push_back({std::move(name), type, std::move(data), is_constant});
  return {true, static_cast<uint32_t>(graph_.leaves.size() - 1), 0};
}

Ref Grower::leaf(TypeId type, const Domain& domain, bool is_constant) {
  return add_leaf(type, random_data(type, domain), is_constant);
}
Ref Grower::parameter(TypeId type, const Domain& domain) { return leaf(type, domain, false); }
Ref Grower::constant(TypeId type, const Domain& domain) { return leaf(type, domain, true); }

Ref Grower::weight(TypeId type, const Domain& domain) {
  const bool is_usual = domain.low == -2 && domain.high == 2 && !domain.is_whole;
  if (is_usual && chance(0.15)) {
    auto shared = find([&](const TensorType& t) { return TypeId(t) == type; });
    if (shared) return *shared;
  }
  return leaf(type, domain, chance(0.65));
}

Ref Grower::constant_ints(DType dtype, const std::vector<int64_t>& extents,
                          const std::vector<double>& values) {
  TypeId type = TensorType{dtype, make_shape(extents)};
  return add_leaf(type, from_elements(type, values), chance(0.5));
}

Ref Grower::constant_of(TypeId type, const std::vector<double>& values) {
  return add_leaf(type, from_elements(type, values), true);
}

std::vector<Ref> Grower::values() const {
  std::vector<Ref> out;
  for (uint32_t k = 0; k < graph_.leaves.size(); ++k) {
    if (!graph_.leaves[k].is_constant) out.push_back({true, k, 0});
  }
  for (uint32_t k = 0; k < graph_.steps.size(); ++k) {
    for (uint32_t output = 0; output < graph_.steps[k].types.size(); ++output)
      out.push_back({false, k, output});
  }
  return out;
}

std::optional<Ref> Grower::find(const std::function<bool(const TensorType&)>& fits) {
  std::vector<Ref> found;
  for (Ref ref : values()) {
    if (fits(*type(ref))) found.push_back(ref);
  }
  if (found.empty()) return std::nullopt;
  if (prefers_newest_ && chance(0.85)) return found.back();
  if (chance(0.6)) return found[found.size() - 1 - pick(std::min<size_t>(found.size(), 3))];
  return found[pick(found.size())];
}

Ref Grower::any() {
  std::optional<Ref> there;
  if (chance(0.75)) there = find([](const TensorType&) { return true; });
  if (!there) there = parameter(TensorType{any_dtype(), shape()}, {.has_specials = true});
  return chance(0.25) ? viewed(*there) : *there;
}

Ref Grower::any_float() {
  std::optional<Ref> there;
  if (chance(0.8)) there = find([](const TensorType& t) { return is_float(t.dtype); });
  if (!there) there = parameter(TensorType{main_dtype_, shape()}, {.has_specials = true});
  return chance(0.3) ? viewed(*there) : *there;
}

std::optional<Ref> Grower::call(std::string_view name, const std::vector<Ref>& args, Attrs attrs) {
  const OpDef* op = all_ops().find(name);
  if (op == nullptr) return std::nullopt;
  Result<Attrs> complete = complete_attrs(*op, std::move(attrs));
  if (!complete.ok()) return std::nullopt;
  std::vector<TypeId> in;
  std::vector<const Known*> operands;
  double nans = 0;
  for (Ref arg : args) {
    in.push_back(type(arg));
    operands.push_back(&known(arg));
    nans = std::max(nans, nan_share(known(arg)));
  }
  Result<std::vector<TypeId>> types = infer_types(*op, in, *complete);
  if (!types.ok()) return std::nullopt;
  for (TypeId type : *types) {
    if (type->shape.size() > kMostRank) return std::nullopt;
    if (element_count(type) > most_elements_) return std::nullopt;
  }
  auto results = evaluate_step(*op, *complete, operands, *types, next_());
  if (!results.ok()) return std::nullopt;
  for (const Known& result : *results) {
    if (nan_share(result) > std::max(0.5, nans)) return std::nullopt;
  }
  graph_.steps.push_back({op, intern(*std::move(complete)), args, *types, one_of(names_)});
  steps_.push_back(*std::move(results));
  return Ref{false, static_cast<uint32_t>(graph_.steps.size() - 1), 0};
}

std::optional<Ref> Grower::twin() {
  if (graph_.steps.empty()) return std::nullopt;
  return twin_of({false, static_cast<uint32_t>(pick(graph_.steps.size())), 0});
}

std::optional<Ref> Grower::twin_of(Ref result) {
  const Step step = graph_.steps[result.index];
  std::vector<Ref> args = step.args;
  Attrs attrs = *step.attrs;
  // Indices are in range, and name different cells, with these attributes alone.
  const bool has_indices =
      std::any_of(args.begin(), args.end(), [&](Ref arg) { return !is_float(type(arg)->dtype); }) &&
      args.size() > 1 && step.op->kind != FusionKind::kBroadcast;
  if (args.size() > 1 && !has_indices && chance(0.3)) std::swap(args[0], args[1]);
  if (attrs.empty() || has_indices || chance(0.3)) return call(step.op->name, args, attrs);
  const auto& [name, value] = *(attrs.begin() + static_cast<std::ptrdiff_t>(pick(attrs.size())));
  attrs.set(name, other_value(*this, value));
  return call(step.op->name, args, attrs);
}

Ref Grower::then(std::string_view op, const std::vector<Ref>& args, Attrs attrs) {
  return call(op, args, std::move(attrs)).value_or(args[0]);
}

Ref Grower::viewed(Ref value) {
  const Shape& s = shape_of(value);
  std::vector<int64_t> extents = static_extents(s);
  const auto r = static_cast<int64_t>(s.size());
  switch (pick(6)) {
    case 0: {
      Ints perm;
      for (int64_t k = 0; k < r; ++k) perm.push_back(k);
      for (size_t k = perm.size(); k > 1; --k) std::swap(perm[k - 1], perm[pick(k)]);
      return then("transpose", {value}, {{"perm", perm}});
    }
    case 1:
      return then("unsqueeze", {value}, {{"axes", Ints{between(-r - 1, r)}}});
    case 2:
      return then("squeeze", {value});
    case 3: {  // two neighbouring dims become one, or one becomes two
      if (r < 2) return then("reshape", {value}, {{"shape", Ints{-1, 1}}});
      size_t k = pick(s.size() - 1);
      extents[k] *= extents[k + 1];
      extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(k) + 1);
      return then("reshape", {value}, {{"shape", extents}, {"allow_zero", true}});
    }
    case 4: {
      if (r == 0) return value;
      size_t k = pick(s.size());
      int64_t begin = extents[k] > 1 ? between(0, extents[k] - 1) : 0;
      return then("slice", {value},
                  {{"starts", Ints{begin}},
                   {"ends", Ints{between(begin + 1, extents[k] + 1)}},
                   {"axes", Ints{static_cast<int64_t>(k)}}});
    }
    default: {
      if (r == 0) return value;
      size_t k = pick(s.size());
      int64_t first = between(0, extents[k]);
      auto split =
          call("split", {value},
               {{"axis", static_cast<int64_t>(k)}, {"split", Ints{first, extents[k] - first}}});
      return split ? Ref{false, split->index, static_cast<uint32_t>(pick(2))} : value;
    }
  }
}

Case Grower::finish() {
  std::vector<std::vector<bool>> read(graph_.steps.size());
  for (size_t k = 0; k < graph_.steps.size(); ++k) read[k].resize(graph_.steps[k].types.size());
  for (const Step& step : graph_.steps) {
    for (Ref arg : step.args) {
      if (!arg.is_leaf) read[arg.index][arg.output] = true;
    }
  }
  for (uint32_t k = 0; k < graph_.steps.size(); ++k) {
    for (uint32_t output = 0; output < read[k].size(); ++output) {
      if (chance(read[k][output] ? 0.12 : 0.9)) graph_.results.push_back({false, k, output});
    }
  }
  if (!graph_.results.empty() && chance(0.05)) graph_.results.push_back(one_of(graph_.results));
  if (!graph_.leaves.empty() && chance(0.05))  // a parameter or a constant, as it is
    graph_.results.push_back({true, static_cast<uint32_t>(pick(graph_.leaves.size())), 0});
  if (graph_.results.empty() && !graph_.steps.empty())
    graph_.results.push_back({false, static_cast<uint32_t>(graph_.steps.size() - 1), 0});
  if (graph_.results.empty()) graph_.results.push_back(parameter(TensorType{}));
  return chance(0.5) ? without_unused(graph_) : graph_;
}

Shape partner_shape(Grower& g, const Shape& shape) {
  Shape out = shape;
  switch (g.pick(5)) {
    case 0:
      return {};
    case 1:  // one dim stays
      for (Dim& dim : out) dim = Dim(1);
      if (!out.empty()) {
        size_t k = g.pick(out.size());
        out[k] = shape[k];
      }
      break;
    case 2:
      for (Dim& dim : out) {
        if (g.chance(0.4)) dim = Dim(1);
      }
      break;
    default:
      break;
  }
  size_t drop = g.chance(0.5) ? 0 : g.pick(out.size() + 1);
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(drop));
  return out;
}

Shape operand_shape(Grower& g, const Shape& shape, size_t axis) {
  if (g.chance(0.35)) return partner_shape(g, shape);
  Shape out(shape.size() - axis, Dim(1));
  out[0] = shape[axis];
  return out;
}

Ref scaled_and_shifted(Grower& g, Ref y, size_t axis) {
  static const std::vector<std::string> kOps = {"add",      "add",      "add",    "multiply",
                                                "multiply", "subtract", "divide", "maximum"};
  for (int64_t k = g.one_of<int64_t>({1, 1, 2, 3}); k > 0; --k) {
    const std::string& op = g.one_of(kOps);
    TypeId type = TensorType{g.type(y)->dtype, operand_shape(g, g.shape_of(y), axis)};
    Ref other = g.weight(type, op == "divide" ? Domain{0.5, 2} : Domain{-1, 1});
    y = g.chance(0.8) ? g.then(op, {y, other}) : g.call(op, {other, y}).value_or(y);
  }
  return y;
}

int64_t random_axis(Grower& g, size_t rank) {
  auto axis = static_cast<int64_t>(g.pick(rank));
  return g.chance(0.5) ? axis : axis - static_cast<int64_t>(rank);
}

const std::vector<Family>& all_families() {
  static const auto& families = *new std::vector<Family>([] {
    std::vector<Family> all;
    for (auto&& some : {elementwise_families(), shape_families(), window_families(),
                        algebra_families(), cache_families(), integer_families(), exact_families(),
                        broadcast_families(), empty_families()})
      all.insert(all.end(), some.begin(), some.end());
    return all;
  }());
  return families;
}

}  // namespace byoc::fuzz
