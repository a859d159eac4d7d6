// SPDX-License-Identifier: Apache-2.0
// Blocks are placed like boxes that fall on each other: time is the horizontal axis, and a block
// rests on the highest of those below it.
//   order a, b, c:     time  0 1 2 3        bytes a 64, b 128, c 192
//     256   c c c                           c rests on a and on b: its offset is
//      64   a b b .                         max(0 + a, 0 + b) = 128
// The pairs (block, block below) depend on the order and on lifetimes alone, so that they are found
// once. Two blocks that live at the same time are connected by a chain of pairs: they never share
// memory, whatever their bytes are.
#include "runtime/arena/arena_layout.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "byoc/base/check.h"
#include "runtime/arena/block_lives.h"

namespace byoc {
namespace {

constexpr uint64_t kUnit = Buffer::kAlignment;
constexpr uint32_t kFloor = UINT32_MAX;
constexpr uint64_t kMostBytes = uint64_t{1} << 62;  // of one value

/// The highest block at each time.
class Skyline {
 public:
  Skyline() { top_[0] = kFloor; }
  /// Puts a block on the top from `first` to `last`, and appends the blocks that were there.
  void add(uint32_t block, const Lifetime& life, std::vector<uint32_t>& below) {
    const auto end = split(life.last + 1), begin = split(life.first);
    for (auto at = begin; at != end; ++at) {
      if (at->second != kFloor) below.push_back(at->second);
    }
    top_.erase(begin, end);
    top_[life.first] = block;
  }

 private:
  using Segments = std::map<uint32_t, uint32_t>;  // by begin; each ends where the next one begins
  Segments::iterator split(uint32_t time) {
    const auto at = std::prev(top_.upper_bound(time));
    return at->first == time ? at : top_.emplace_hint(std::next(at), time, at->second);
  }
  Segments top_;
};

Status too_large(const std::string& type) {
  return Status(Code::kOutOfRange, cat("the value ", type, " has more than 2^62 bytes"))
      .with_slug("size-overflow");
}

}  // namespace

ArenaLayout::ArenaLayout(const Program& program, const OpenSizes& sizes)
    : n_blocks_(program.blocks()) {
  if (n_blocks_ == 0) return;
  for (const Step& step : program.steps) {
    for (size_t k = 0; k < step.args.size(); ++k) add_value(step.args[k], step.types[k], sizes);
  }
  for (const Instruction& instruction : program.code) {
    for (size_t k = 0; k < instruction.args.size(); ++k)
      add_value(instruction.args[k], instruction.types[k], sizes);
  }
  for (const Copy& copy : program.copies)
    add_value(copy.from, program.outputs[copy.output].type, sizes);
  auto key = [](const Value& v) { return std::tie(v.block, v.offset, v.bytes, v.factors); };
  std::sort(values_.begin(), values_.end(),
            [&](const Value& a, const Value& b) { return key(a) < key(b); });
  const auto rest = std::unique(values_.begin(), values_.end(),
                                [&](const Value& a, const Value& b) { return key(a) == key(b); });
  values_.erase(rest, values_.end());
  const std::vector<Lifetime> lives = block_lives(program);
  for (const std::vector<uint32_t>& order : program.packing)
    stacks_.push_back(stack_of(order, lives));
}

void ArenaLayout::add_value(const Place& place, const TensorSpec& type, const OpenSizes& sizes) {
  if (place.kind != Place::kArena) return;
  BYOC_CHECK(place.index < n_blocks_, "block ", place.index, " of ", n_blocks_);
  TensorSpec numbers = type;
  numbers.open.clear();
  Value value{place.index, place.offset, 0, {}, cat(type)};
  for (size_t d = 0; d < type.dims.size(); ++d) {
    if (!type.is_open(d)) continue;
    value.factors.push_back(sizes.number(type.open[d]));
    numbers.dims[d] = 1;
  }
  const Result<int64_t> bytes = size_bytes(numbers);
  value.bytes = bytes.ok() ? static_cast<uint64_t>(*bytes) : kMostBytes + 1;
  values_.push_back(std::move(value));
}

ArenaLayout::Stack ArenaLayout::stack_of(const std::vector<uint32_t>& order,
                                         const std::vector<Lifetime>& lives) {
  Stack out{order, {0}, {}};
  Skyline skyline;
  for (uint32_t block : order) {
    skyline.add(block, lives[block], out.below);
    out.first.push_back(static_cast<uint32_t>(out.below.size()));
  }
  return out;
}

Status ArenaLayout::measure(std::span<const int64_t> values, std::span<uint64_t> bytes) const {
  BYOC_CHECK(bytes.size() == n_blocks_, bytes.size(), " blocks of ", n_blocks_);
  std::fill(bytes.begin(), bytes.end(), kUnit);  // dims are kept per place: none shares another's
  for (const Value& value : values_) {
    auto is_zero = [&](uint32_t factor) { return values[factor] == 0; };
    uint64_t size = value.bytes;
    if (std::any_of(value.factors.begin(), value.factors.end(), is_zero)) size = 0;
    for (uint32_t factor : value.factors) {
      if (__builtin_mul_overflow(size, static_cast<uint64_t>(values[factor]), &size))
        return too_large(value.type);
    }
    if (size > kMostBytes || value.offset > kMostBytes) return too_large(value.type);
    const uint64_t end = (value.offset + size + kUnit - 1) / kUnit * kUnit;
    bytes[value.block] = std::max(bytes[value.block], end);
  }
  return {};
}

uint64_t ArenaLayout::place_in(const Stack& stack, std::span<const uint64_t> bytes,
                               std::span<uint64_t> offsets) {
  uint64_t all = 0;
  for (size_t k = 0; k < stack.order.size(); ++k) {
    uint64_t offset = 0, end = 0;
    for (uint32_t b = stack.first[k]; b < stack.first[k + 1]; ++b)
      offset = std::max(offset, offsets[stack.below[b]] + bytes[stack.below[b]]);
    offsets[stack.order[k]] = offset;
    if (__builtin_add_overflow(offset, bytes[stack.order[k]], &end)) return UINT64_MAX;
    all = std::max(all, end);
  }
  return all;
}

uint64_t ArenaLayout::place(std::span<const uint64_t> bytes, std::span<uint64_t> offsets) const {
  uint64_t least = UINT64_MAX;
  size_t best = 0;
  for (size_t k = 0; k < stacks_.size(); ++k) {
    const uint64_t all = place_in(stacks_[k], bytes, offsets);
    if (all < least) best = k;
    least = std::min(least, all);
  }
  if (best + 1 < stacks_.size()) place_in(stacks_[best], bytes, offsets);
  return stacks_.empty() ? 0 : least;
}

}  // namespace byoc
