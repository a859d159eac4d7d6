// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory for a kernel of several steps: inputs, outputs, constants, and values between the steps,
// which share the workspace when they are not live at the same time. Not part of sdk.h: a plugin
// that runs one op per kernel needs none of it.
#include "byoc/plugin/sdk/plugin.h"

namespace byoc::sdk {

/// The pieces of memory that the steps of a kernel touch. compile adds the pieces, declares which
/// step touches which one, and calls place; run requests addresses. address is thread-safe.
class StepMemory {
 public:
  /// Names a piece.
  using Piece = uint32_t;
  /// A piece that holds input `k` of the call.
  Piece input(uint32_t k) { return add({kInput, k, {}, 0, 0}); }
  /// A piece that holds output `k` of the call.
  Piece output(uint32_t k) { return add({kOutput, k, {}, 0, 0}); }
  /// A piece that holds a constant.
  Piece constant(Held held) { return add({kConstant, 0, std::move(held), 0, 0}); }
  /// A piece of the workspace, aligned to 64 bytes, for the time from the first step that touches
  /// it to the last.
  Piece scratch(uint64_t bytes) { return add({kScratch, 0, {}, bytes, 0}); }

  /// Declares that a step reads or writes a piece. Steps are numbered in the order of running.
  void touch(Piece piece, uint32_t step) {
    pieces_[piece].first = std::min(pieces_[piece].first, step);
    pieces_[piece].last = std::max(pieces_[piece].last, step);
  }
  /// Gives each piece of the workspace the lowest offset that is free while it lives. Called once,
  /// before the first address. O(n log n + n m) for n pieces of which m live at once.
  void place() {
    std::vector<Piece> order, live;  // by first step, by offset
    for (Piece p = 0; p < pieces_.size(); ++p) {
      if (pieces_[p].home == kScratch && pieces_[p].first <= pieces_[p].last) order.push_back(p);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](Piece a, Piece b) { return pieces_[a].first < pieces_[b].first; });
    for (Piece p : order) {
      std::erase_if(live, [&](Piece q) { return pieces_[q].last < pieces_[p].first; });
      insert(live, p);
    }
  }
  /// The size of the workspace; valid after place.
  uint64_t workspace_bytes() const { return workspace_bytes_; }
  /// Returns the first byte of a piece in this call; throws when an input or output is not compact.
  /// May be null for a tensor without elements.
  void* address(Piece piece, const Call& call) const {
    const Row& row = pieces_[piece];
    switch (row.home) {
      case kInput:
        return const_cast<char*>(call.in_data<char>(row.index));
      case kOutput:
        return call.out_data<char>(row.index);
      case kConstant:
        return const_cast<char*>(row.held.data<char>());
      default:
        return static_cast<char*>(call.workspace()) + row.offset;
    }
  }

 private:
  enum Home : uint8_t { kInput, kOutput, kConstant, kScratch };
  struct Row {
    Home home;
    uint32_t index;
    Held held;
    uint64_t bytes, offset;
    uint32_t first = UINT32_MAX, last = 0;
  };
  static uint64_t aligned(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

  Piece add(Row row) {
    pieces_.push_back(std::move(row));
    return static_cast<Piece>(pieces_.size() - 1);
  }
  void insert(std::vector<Piece>& live, Piece p) {
    Row& row = pieces_[p];
    auto before = live.begin();
    for (; before != live.end() && pieces_[*before].offset < row.offset + aligned(row.bytes);
         ++before)
      row.offset = pieces_[*before].offset + aligned(pieces_[*before].bytes);
    live.insert(before, p);
    workspace_bytes_ = std::max(workspace_bytes_, row.offset + aligned(row.bytes));
  }

  std::vector<Row> pieces_;
  uint64_t workspace_bytes_ = 0;
};

}  // namespace byoc::sdk
