// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/reordered.h"

#include <algorithm>
#include <cstring>

namespace byoc {
namespace {

using Loops = std::vector<std::pair<uint64_t, uint64_t>>;

constexpr size_t kElement = 4;        // bytes
constexpr uint64_t kMostPadded = 64;  // entries that fill up the last block of a dim

uint32_t element(std::span<const std::byte> bytes, uint64_t index) {
  uint32_t out;
  std::memcpy(&out, bytes.data() + index * kElement, kElement);
  return out;
}

/// Calls body(reordered, constant) with the numbers of both, in the order of the first; stops when
/// it returns false. Returns whether it reached the end.
template <class Body>
bool for_each_element(const Loops& order, Body&& body) {
  std::vector<uint64_t> digits(order.size(), 0);
  const auto [count, stride] = order.back();
  for (uint64_t i = 0, base = 0;;) {
    for (uint64_t k = 0; k < count; ++k, ++i)
      if (!body(i, base + k * stride)) return false;
    size_t d = order.size() - 1;
    while (d-- > 0) {
      base += order[d].second;
      if (++digits[d] < order[d].first) break;
      base -= order[d].first * order[d].second;
      digits[d] = 0;
    }
    if (d == static_cast<size_t>(-1)) return true;
  }
}

/// Finds the loops from the innermost one outwards: each goes along one dim, over a part of what
/// inner loops have left of it.
class OrderSearch {
 public:
  OrderSearch(std::span<const std::byte> constant, std::span<const int64_t> dims,
              std::span<const std::byte> reordered)
      : constant_(constant), reordered_(reordered), size_(constant.size() / kElement) {
    uint64_t stride = 1;
    for (size_t k = dims.size(); k-- > 0;) {
      const auto extent = static_cast<uint64_t>(dims[k]);
      if (extent > 1) dims_.push_back({extent, stride});
      stride *= extent;
    }
  }

  std::optional<Loops> run() {
    if (!dims_.empty() && extend(1)) return Loops(loops_.rbegin(), loops_.rend());
    return std::nullopt;
  }

 private:
  struct Dim {
    uint64_t left, stride;  // what outer loops have left, and its step in the constant
  };

  // Returns how many elements, `done` apart, are those along the dim; at most `left`.
  uint64_t run_along(const Dim& dim, uint64_t done) const {
    uint64_t n = 1;
    while (n < dim.left && element(reordered_, n * done) == element(constant_, n * dim.stride)) ++n;
    return n;
  }

  // Adds loops to those of the first `done` elements. Equal elements may lead astray, so that
  // several dims are tried, the one with the longest run first. Bounded by the number of tries.
  bool extend(uint64_t done) {
    if (done == size_) return is_whole();
    if (--tries_ < 0) return false;
    std::vector<std::pair<uint64_t, size_t>> runs;
    for (size_t k = 0; k < dims_.size(); ++k) {
      uint64_t n = run_along(dims_[k], done);
      while (dims_[k].left % n != 0) --n;
      if (n > 1) runs.emplace_back(n, k);
    }
    std::stable_sort(runs.begin(), runs.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [n, k] : runs) {
      const Dim before = dims_[k];
      loops_.emplace_back(n, before.stride);
      dims_[k] = {before.left / n, before.stride * n};
      if (extend(done * n)) return true;
      dims_[k] = before;
      loops_.pop_back();
    }
    return false;
  }

  bool is_whole() const {
    return for_each_element(Loops(loops_.rbegin(), loops_.rend()), [&](uint64_t to, uint64_t from) {
      return element(reordered_, to) == element(constant_, from);
    });
  }

  std::span<const std::byte> constant_, reordered_;
  uint64_t size_;
  std::vector<Dim> dims_;
  Loops loops_;  // the innermost one first
  int tries_ = 64;
};

/// Returns the constant with a dim filled up by zeros, `padding` as in ElementOrder.
std::vector<std::byte> padded(std::span<const std::byte> constant,
                              const std::vector<uint64_t>& padding) {
  const uint64_t from = padding[0] * padding[2] * kElement, to = padding[1] * padding[2] * kElement;
  std::vector<std::byte> out(constant.size() / from * to);
  for (uint64_t k = 0; k < constant.size() / from; ++k)
    std::memcpy(out.data() + k * to, constant.data() + k * from, from);
  return out;
}

/// Searches with each dim that may be the one whose last block is filled up.
std::optional<ElementOrder> find_padded(std::span<const std::byte> constant,
                                        std::span<const int64_t> dims,
                                        std::span<const std::byte> reordered) {
  uint64_t inner = 1;
  std::vector<int64_t> extents(dims.begin(), dims.end());
  for (size_t k = dims.size(); k-- > 0; inner *= static_cast<uint64_t>(dims[k])) {
    const auto extent = static_cast<uint64_t>(dims[k]);
    const uint64_t entry = constant.size() / extent;
    if (reordered.size() % entry != 0 || reordered.size() / entry - extent >= kMostPadded) continue;
    const std::vector<uint64_t> padding = {extent, reordered.size() / entry, inner};
    extents[k] = static_cast<int64_t>(padding[1]);
    const std::vector<std::byte> whole = padded(constant, padding);
    if (auto loops = OrderSearch(whole, extents, reordered).run())
      return ElementOrder{*std::move(loops), padding};
    extents[k] = dims[k];
  }
  return std::nullopt;
}

}  // namespace

std::optional<ElementOrder> find_order(std::span<const std::byte> constant,
                                       std::span<const int64_t> dims,
                                       std::span<const std::byte> reordered) {
  uint64_t elements = 1;
  for (int64_t dim : dims) elements *= static_cast<uint64_t>(dim);
  if (elements == 0 || elements * kElement != constant.size()) return std::nullopt;
  if (reordered.size() % kElement != 0 || reordered.size() < constant.size()) return std::nullopt;
  if (reordered.size() > constant.size()) return find_padded(constant, dims, reordered);
  auto loops = OrderSearch(constant, dims, reordered).run();
  return loops ? std::optional(ElementOrder{*std::move(loops), {}}) : std::nullopt;
}

namespace {

// Returns the elements of the constant of which there are `elements` with padding; 0: none fits.
uint64_t unpadded(const std::vector<uint64_t>& padding, uint64_t elements) {
  if (padding.empty()) return elements;
  uint64_t part;
  if (padding.size() != 3 || padding[0] == 0 || padding[0] > padding[1] || padding[2] == 0 ||
      __builtin_mul_overflow(padding[1], padding[2], &part) || elements % part != 0)
    return 0;
  return elements / padding[1] * padding[0];
}

}  // namespace

bool is_order_of(const ElementOrder& order, uint64_t bytes, uint64_t reordered) {
  if (order.loops.empty() || bytes == 0 || bytes % kElement != 0 || reordered % kElement != 0)
    return false;
  const uint64_t elements = reordered / kElement;
  uint64_t visited = 1, last = 0;
  for (const auto& [count, stride] : order.loops) {
    uint64_t step;
    if (count == 0 || __builtin_mul_overflow(visited, count, &visited) ||
        __builtin_mul_overflow(count - 1, stride, &step) ||
        __builtin_add_overflow(last, step, &last))
      return false;
  }
  return visited == elements && last < elements &&
         unpadded(order.padding, elements) == bytes / kElement;
}

namespace {

/// Returns the number without padding of an element with padding; nullopt: it is none of the
/// constant's elements.
std::optional<uint64_t> unpadded_index(const std::vector<uint64_t>& padding, uint64_t at) {
  if (padding.empty()) return at;
  const uint64_t cell = at % padding[2], entry = at / padding[2] % padding[1];
  if (entry >= padding[0]) return std::nullopt;
  return (at / padding[2] / padding[1] * padding[0] + entry) * padding[2] + cell;
}

}  // namespace

void apply_order(const ElementOrder& order, std::span<const std::byte> constant,
                 std::span<std::byte> reordered) {
  for_each_element(order.loops, [&](uint64_t to, uint64_t from) {
    const auto at = unpadded_index(order.padding, from);
    std::byte* cell = reordered.data() + to * kElement;
    if (at) std::memcpy(cell, constant.data() + *at * kElement, kElement);
    else std::memset(cell, 0, kElement);
    return true;
  });
}

void restore_order(const ElementOrder& order, std::span<const std::byte> reordered,
                   std::span<std::byte> constant) {
  for_each_element(order.loops, [&](uint64_t from, uint64_t to) {
    if (const auto at = unpadded_index(order.padding, to))
      std::memcpy(constant.data() + *at * kElement, reordered.data() + from * kElement, kElement);
    return true;
  });
}

}  // namespace byoc
