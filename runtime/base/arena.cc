// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/arena.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "byoc/base/check.h"

namespace byoc {
namespace {

constexpr size_t kTryOrders = 4096;       // lifetimes up to which quadratic orders are tried
constexpr uint64_t kBudget = 40'000'000;  // comparisons spent on improving one

struct Event {
  uint32_t step;
  bool is_start;
  uint32_t index;
};

// Sorts ends of a step after its starts: both are live in that step. Linear in lifetimes and steps.
std::vector<Event> events(const std::vector<Lifetime>& lifetimes) {
  uint32_t steps = 0;
  for (const Lifetime& lifetime : lifetimes) steps = std::max(steps, lifetime.last + 1);
  auto slot = [](uint32_t step, bool is_start) { return size_t{2} * step + (is_start ? 0 : 1); };
  std::vector<uint32_t> next(size_t{2} * steps + 1, 0);
  for (const Lifetime& lifetime : lifetimes) {
    ++next[slot(lifetime.first, true) + 1];
    ++next[slot(lifetime.last, false) + 1];
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<Event> out(lifetimes.size() * 2);
  for (uint32_t k = 0; k < lifetimes.size(); ++k) {
    out[next[slot(lifetimes[k].first, true)]++] = {lifetimes[k].first, true, k};
    out[next[slot(lifetimes[k].last, false)]++] = {lifetimes[k].last, false, k};
  }
  return out;
}

uint64_t peak_live(const std::vector<Lifetime>& lifetimes) {
  uint64_t now = 0, peak = 0;
  for (const Event& event : events(lifetimes)) {
    now += event.is_start ? lifetimes[event.index].bytes : -lifetimes[event.index].bytes;
    peak = std::max(peak, now);
  }
  return peak;
}

// Keeps free blocks by offset and by size; takes the smallest that fits, and grows the end when
// none does.
class FreeList {
 public:
  uint64_t take(uint64_t bytes) {
    auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) return grow(bytes);
    auto [size, offset] = *fit;
    erase(offset, size);
    if (size > bytes) insert(offset + bytes, size - bytes);
    return offset;
  }
  void give(uint64_t offset, uint64_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      auto before = std::prev(next);
      if (before->first + before->second == offset) {
        offset = before->first;
        bytes += before->second;
        erase(before->first, before->second);
      }
    }
    next = by_offset_.find(offset + bytes);
    if (next != by_offset_.end()) {
      uint64_t more = next->second;
      erase(next->first, more);
      bytes += more;
    }
    insert(offset, bytes);
  }
  uint64_t end() const { return end_; }

 private:
  uint64_t grow(uint64_t bytes) {
    uint64_t offset = end_;
    if (!by_offset_.empty()) {  // a free block at the end grows
      auto [last, size] = *by_offset_.rbegin();
      if (last + size == end_) {
        erase(last, size);
        offset = last;
      }
    }
    end_ = offset + bytes;
    return offset;
  }
  void insert(uint64_t offset, uint64_t bytes) {
    by_offset_[offset] = bytes;
    by_size_.insert({bytes, offset});
  }
  void erase(uint64_t offset, uint64_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }
  std::map<uint64_t, uint64_t> by_offset_;
  std::set<std::pair<uint64_t, uint64_t>> by_size_;
  uint64_t end_ = 0;
};

ArenaPlan plan_by_time(const std::vector<Lifetime>& lifetimes) {
  ArenaPlan plan;
  plan.offsets.resize(lifetimes.size(), 0);
  FreeList free;
  for (const Event& event : events(lifetimes)) {
    const Lifetime& lifetime = lifetimes[event.index];
    if (lifetime.bytes == 0) continue;
    if (event.is_start) plan.offsets[event.index] = free.take(lifetime.bytes);
    else free.give(plan.offsets[event.index], lifetime.bytes);
  }
  plan.bytes = free.end();
  return plan;
}

// Places tensors one after another in `order`, each at the lowest offset that no tensor with an
// overlapping lifetime occupies.
ArenaPlan plan_in_order(const std::vector<Lifetime>& lifetimes,
                        const std::vector<uint32_t>& order) {
  ArenaPlan plan;
  plan.offsets.resize(lifetimes.size(), 0);
  std::vector<uint32_t> placed;  // by offset
  for (uint32_t index : order) {
    const Lifetime& now = lifetimes[index];
    uint64_t offset = 0;
    for (uint32_t other : placed) {
      const Lifetime& there = lifetimes[other];
      if (there.first > now.last || there.last < now.first) continue;
      if (plan.offsets[other] >= offset + now.bytes) break;
      offset = std::max(offset, plan.offsets[other] + there.bytes);
    }
    plan.offsets[index] = offset;
    plan.bytes = std::max(plan.bytes, offset + now.bytes);
    auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                               [&](uint64_t o, uint32_t p) { return o < plan.offsets[p]; });
    placed.insert(at, index);
  }
  return plan;
}

template <class Less>
std::vector<uint32_t> sorted_order(size_t n, Less&& less) {
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), less);
  return order;
}

// Returns, per lifetime, the total bytes alive at its busiest step: lifetimes that meet the peak
// are placed first.
std::vector<uint64_t> busiest(const std::vector<Lifetime>& lifetimes) {
  std::vector<uint64_t> out(lifetimes.size(), 0);
  std::vector<uint32_t> live;
  uint64_t now = 0;
  for (const Event& event : events(lifetimes)) {
    if (event.is_start) {
      live.push_back(event.index);
      now += lifetimes[event.index].bytes;
      for (uint32_t k : live) out[k] = std::max(out[k], now);
    } else {
      std::erase(live, event.index);
      now -= lifetimes[event.index].bytes;
    }
  }
  return out;
}

// Moves the tensor at the highest offset earlier in the order, as long as the budget lasts: O(n^2)
// a try.
template <class Consider>
void promote_the_highest(const std::vector<Lifetime>& lifetimes, std::vector<uint32_t> order,
                         uint64_t peak, Consider&& consider) {
  uint64_t n = lifetimes.size(), tries = std::min<uint64_t>(400, kBudget / (n * n + 1));
  for (uint64_t k = 0; k < tries; ++k) {
    ArenaPlan plan = plan_in_order(lifetimes, order);
    auto top = std::max_element(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return plan.offsets[a] + lifetimes[a].bytes < plan.offsets[b] + lifetimes[b].bytes;
    });
    bool is_best = plan.bytes <= peak;
    consider(std::move(plan));
    if (is_best) return;
    size_t place = static_cast<size_t>(top - order.begin());
    size_t to = place / 2;  // half way to the front, so that orders do not repeat soon
    std::rotate(order.begin() + static_cast<ptrdiff_t>(to), top, top + 1);
  }
}

}  // namespace

ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes) {
  ArenaPlan best = plan_by_time(lifetimes);
  uint64_t peak = peak_live(lifetimes);
  auto consider = [&](ArenaPlan plan) {
    if (plan.bytes < best.bytes) best = std::move(plan);
  };
  if (lifetimes.size() <= kTryOrders && best.bytes > peak) {
    auto bytes = [&](uint32_t k) { return lifetimes[k].bytes; };
    auto span = [&](uint32_t k) { return uint64_t{lifetimes[k].last} - lifetimes[k].first + 1; };
    std::vector<uint64_t> busy = busiest(lifetimes);
    auto by = [&](auto&& before) { return sorted_order(lifetimes.size(), before); };
    std::vector<uint32_t> orders[] = {
        by([&](uint32_t a, uint32_t b) { return bytes(a) > bytes(b); }),
        by([&](uint32_t a, uint32_t b) {
          return std::pair(busy[a], bytes(a)) > std::pair(busy[b], bytes(b));
        }),
        by([&](uint32_t a, uint32_t b) { return bytes(a) * span(a) > bytes(b) * span(b); }),
        by([&](uint32_t a, uint32_t b) {
          return std::pair(span(a), bytes(a)) > std::pair(span(b), bytes(b));
        }),
    };
    for (const auto& order : orders) {
      if (best.bytes > peak) consider(plan_in_order(lifetimes, order));
    }
    for (const auto& order : orders) {
      if (best.bytes > peak) promote_the_highest(lifetimes, order, peak, consider);
    }
  }
  best.peak_live_bytes = peak;
  BYOC_CHECK(best.bytes >= peak, "an arena of ", best.bytes, " bytes cannot hold ", peak);
  return best;
}

}  // namespace byoc
