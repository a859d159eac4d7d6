// SPDX-License-Identifier: Apache-2.0
#include "bench/support/graphs.h"

#include <random>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"

namespace byoc::bench {
namespace {

class Maker {
 public:
  explicit Maker(uint32_t seed) : random_(seed) {
    for (const char* name : {"relu", "tanh", "exp", "add", "multiply"}) {
      const OpDef* op = all_ops().find(name);
      BYOC_CHECK(op, "no op ", name);
      ops_.push_back({op, intern(*complete_attrs(*op, {}))});
    }
    values_.push_back({function_.add_param("x", type_), 0});
  }
  ValueId last() const { return values_.back(); }
  ValueId nth_last(uint32_t n) const {
    return values_[values_.size() - 1 - std::min<size_t>(n, values_.size() - 1)];
  }
  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  size_t ops() const { return values_.size() - 1; }
  ValueId unary(uint32_t which, ValueId a) { return add(which, {a}); }
  ValueId binary(uint32_t which, ValueId a, ValueId b) { return add(3 + which, {a, b}); }
  IRModule finish() {
    function_.results = {last()};
    IRModule module;
    module.functions["main"] = std::move(function_);
    return module;
  }

 private:
  ValueId add(uint32_t which, std::initializer_list<ValueId> args) {
    auto [op, attrs] = ops_[which];
    values_.push_back({function_.add_call(op, attrs, args, type_), 0});
    return last();
  }
  std::mt19937 random_;
  TypeId type_ = TensorType{DType::kF32, {64}};
  std::vector<std::pair<const OpDef*, const Attrs*>> ops_;
  std::vector<ValueId> values_;
  Function function_;
};

void add_chain(Maker& m) { m.unary(static_cast<uint32_t>(m.ops() % 3), m.last()); }

void add_transformer_layer(Maker& m) {
  ValueId in = m.last();
  ValueId q = m.unary(0, in), k = m.unary(1, in), v = m.unary(0, in);
  ValueId attention = m.binary(1, m.binary(0, q, k), v);
  ValueId middle = m.binary(0, attention, in);
  m.binary(0, m.unary(2, m.unary(1, middle)), middle);
}

void add_cell(Maker& m) {
  for (int node = 0; node < 5; ++node) {
    ValueId a = m.nth_last(m.pick(8)), b = m.nth_last(m.pick(8));
    m.binary(m.pick(2), m.unary(m.pick(3), a), b);
  }
}

void add_random(Maker& m) {
  ValueId a = m.nth_last(m.pick(32));
  if (m.pick(2)) m.unary(m.pick(3), a);
  else m.binary(m.pick(2), a, m.nth_last(m.pick(32)));
}

}  // namespace

std::string_view family_name(Family family) {
  static constexpr std::string_view kNames[] = {"chain", "transformer", "nas", "random"};
  return kNames[static_cast<int>(family)];
}

IRModule make_graph(Family family, uint32_t ops, uint32_t seed) {
  static constexpr void (*kGrow[])(Maker&) = {add_chain, add_transformer_layer, add_cell,
                                              add_random};
  Maker maker(seed);
  while (maker.ops() < ops) kGrow[static_cast<int>(family)](maker);
  return maker.finish();
}

}  // namespace byoc::bench
