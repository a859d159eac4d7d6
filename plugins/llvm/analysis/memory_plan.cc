// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/analysis/memory_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <string>

#include "byoc/base/arena.h"
#include "byoc/base/check.h"
#include "byoc/te/simplify.h"
#include "byoc/te/tensor.h"
#include "plugins/llvm/analysis/walk.h"

namespace byoc::llvm_plugin {
namespace {

constexpr uint64_t kMaxStackBytes = 64 << 10;  // per function; other tensors use the workspace
constexpr int64_t kAlign = 64;
// Tiles inside of loops have memory for the largest sizes up to these bytes, above it for the sizes
// of the run.
constexpr uint64_t kMaxTileBytes = 16 << 20;

// Keeps rows of the largest size from being a multiple of a page, as all would share a few
// places of the first cache.
void spread_rows(Home& home) {
  constexpr uint64_t kPage = 4096;
  const size_t item = dtype_size(home.tensor.dtype());
  if (home.elements > 0 && home.bytes() % kPage == 0)
    home.elements += static_cast<int64_t>(kAlign / item);
}

te::Expr rounded(const te::Expr& bytes) {
  return te::simplify(te::floor_div(bytes + (kAlign - 1), kAlign) * kAlign);
}

// Returns the bytes of a tensor in a run: a number for a tile with memory for the largest sizes.
te::Expr bytes_of(const Home& home) {
  if (!home.is_open || home.is_spread) return rounded(static_cast<int64_t>(home.bytes()));
  te::Expr out = static_cast<int64_t>(dtype_size(home.tensor.dtype()));
  for (const te::Expr& extent : home.tensor.shape()) out = out * extent;
  return rounded(te::simplify(out));
}

// Memory that statements `first` to `last` use, and the offset that it gets.
struct Piece {
  uint32_t first = 0, last = 0;
  te::Expr bytes;
  te::Expr* offset = nullptr;
};

// Places the pieces whose bytes are numbers, and returns the bytes of all of them.
int64_t place_fixed(std::span<const Piece> pieces) {
  std::vector<Lifetime> lifetimes;
  std::vector<te::Expr*> offsets;
  for (const Piece& piece : pieces) {
    const auto bytes = te::as_int(piece.bytes);
    if (!bytes) continue;
    lifetimes.push_back({static_cast<uint64_t>(*bytes), piece.first, piece.last});
    offsets.push_back(piece.offset);
  }
  const ArenaPlan arena = plan_arena(lifetimes);
  BYOC_CHECK(arena.offsets.size() == offsets.size(), offsets.size(), " lifetimes have ",
             arena.offsets.size(), " places");
  for (size_t k = 0; k < offsets.size(); ++k) {
    BYOC_CHECK(arena.offsets[k] + lifetimes[k].bytes <= arena.bytes, "a tensor at ",
               arena.offsets[k], " ends after ", arena.bytes, " bytes");
    *offsets[k] = static_cast<int64_t>(arena.offsets[k]);
  }
  return static_cast<int64_t>(arena.bytes);
}

// Places the others after them, and returns the end. Pieces of equal expressions share memory where
// they do not live at the same time; which of two others is larger depends on the run.
te::Expr place_open(std::span<const Piece> pieces, te::Expr end) {
  struct Block {
    uint32_t last;
    te::Expr offset;
  };
  std::map<std::string, std::vector<Block>> blocks;  // by bytes
  for (const Piece& piece : pieces) {
    if (te::as_int(piece.bytes)) continue;
    std::vector<Block>& same = blocks[te::print(piece.bytes)];
    const auto free =
        std::ranges::find_if(same, [&](const Block& block) { return block.last < piece.first; });
    if (free != same.end()) {
      free->last = piece.last;
      *piece.offset = free->offset;
      continue;
    }
    same.push_back({piece.last, end});
    *piece.offset = end;
    end = te::simplify(end + piece.bytes);
  }
  return end;
}

// Numbers statements in the order of a walk. The live range of a tensor is from the first to the
// last statement that accesses it. An access in a loop inside the tensor's scope extends the live
// range to the whole of the outermost such loop.
class Planner {
 public:
  explicit Planner(uint32_t threads) { plan_.slots = std::max(threads, 1u); }
  Result<MemoryPlan> plan(const te::LoopFunction& function);

 private:
  struct LiveRange {
    uint32_t first = std::numeric_limits<uint32_t>::max(), last = 0;
    size_t loops = 0;  // number of loops around its Alloc
    const te::StmtNode* parallel = nullptr;
  };
  struct Loop {
    uint32_t enter;
    std::vector<const void*> touched;  // tensors allocated directly outside of this loop
  };
  Status add(const te::Tensor& tensor, Home::Kind kind, uint64_t number, bool is_spread = false);
  Status walk(const te::Stmt& stmt);
  Status walk_loop(const te::StmtNode& node, const te::For& loop);
  Status walk_alloc(const te::Alloc& alloc);
  void touch(const te::Tensor& tensor);
  void place(const te::StmtNode* parallel, te::Expr& bytes);

  MemoryPlan plan_;
  std::unordered_map<const void*, LiveRange> live_ranges_;
  std::vector<const void*> allocs_;             // in order
  std::vector<const te::StmtNode*> parallels_;  // in order
  std::vector<Loop> loops_;
  const te::StmtNode* parallel_ = nullptr;
  uint32_t now_ = 0;
  uint64_t stack_bytes_ = 0;
};

Status Planner::add(const te::Tensor& tensor, Home::Kind kind, uint64_t number, bool is_spread) {
  constexpr int64_t kMostElements = int64_t{1} << 48;
  Home home{kind, number, tensor, {}, {}, 1};
  for (const te::Expr& extent : tensor.shape()) {
    const te::Interval bounds = te::bounds_of(extent);
    const bool is_open = te::is_of_sizes(extent) && bounds.hi < kMostElements;
    if ((!te::as_int(extent) && !is_open) || bounds.hi < 0) {
      return unimplemented(
          cat("tensor ", tensor.name(), " has an extent that is no number: ", te::print(extent)));
    }
    home.is_open |= is_open;
    home.dims.push_back(bounds.hi);
  }
  home.strides.resize(home.dims.size());
  te::Expr step = 1;
  for (size_t k = home.dims.size(); k-- > 0;) {
    home.strides[k] = home.elements;
    home.steps.insert(home.steps.begin(), step);
    if (__builtin_mul_overflow(home.elements, home.dims[k], &home.elements))
      return unimplemented(cat("tensor ", tensor.name(), " is larger than any memory"));
    if (is_spread && k > 0 && home.is_open) spread_rows(home);
    if (home.is_open && !is_spread) step = te::simplify(step * tensor.shape()[k]);
    else step = home.elements;
  }
  home.has_open_steps = std::ranges::any_of(
      home.steps, [](const te::Expr& one) { return !te::as_int(one).has_value(); });
  home.is_spread = is_spread;
  plan_.homes.insert_or_assign(tensor.id(), std::move(home));
  return {};
}

void Planner::touch(const te::Tensor& tensor) {
  auto found = live_ranges_.find(tensor.id());
  if (found == live_ranges_.end()) return;  // an argument
  LiveRange& range = found->second;
  uint32_t from = now_;
  if (range.loops < loops_.size()) {
    Loop& loop = loops_[range.loops];
    from = loop.enter;
    loop.touched.push_back(tensor.id());
  }
  range.first = std::min(range.first, from);
  range.last = std::max(range.last, now_);
}

Status Planner::walk_alloc(const te::Alloc& alloc) {
  const void* id = alloc.tensor.id();
  // Tiles that one iteration makes and reads have the strides of the largest size: addresses are
  // then one register and a number.
  BYOC_TRY_STATUS(add(alloc.tensor, Home::kWorkspace, 0, !loops_.empty()));
  if (!loops_.empty() && plan_.homes.at(id).bytes() > kMaxTileBytes)
    BYOC_TRY_STATUS(add(alloc.tensor, Home::kWorkspace, 0));
  Home& home = plan_.homes.at(id);
  if (alloc.scope == te::Scope::kStack && stack_bytes_ + home.bytes() <= kMaxStackBytes) {
    home.kind = Home::kStack;
    stack_bytes_ += home.bytes();
  } else {
    if (parallel_) home.kind = Home::kSlot;
    LiveRange range;
    range.loops = loops_.size();
    range.parallel = parallel_;
    if (live_ranges_.emplace(id, range).second) allocs_.push_back(id);
  }
  return walk(alloc.body);
}

Status Planner::walk_loop(const te::StmtNode& node, const te::For& loop) {
  bool is_outer_parallel = loop.kind == te::LoopKind::kParallel && !parallel_;
  if (is_outer_parallel) {
    parallel_ = &node;
    parallels_.push_back(&node);
  }
  loops_.push_back({now_++, {}});
  const size_t depth = loops_.size();
  BYOC_TRY_STATUS(walk(loop.body));
  BYOC_CHECK(loops_.size() == depth, "a walk of a loop began at depth ", depth, " and ends at ",
             loops_.size());
  for (const void* id : loops_.back().touched) {
    LiveRange& range = live_ranges_.at(id);
    range.last = std::max(range.last, now_);
  }
  ++now_;
  if (is_outer_parallel) {
    LiveRange range{loops_.back().enter, now_, loops_.size() - 1, nullptr};
    auto [known, is_new] = live_ranges_.emplace(&node, range);
    known->second.last = now_++;
    (void)is_new;
    parallel_ = nullptr;
  }
  loops_.pop_back();
  return {};
}

Status Planner::walk(const te::Stmt& stmt) {
  if (stmt.is_empty()) return {};
  Seen seen;
  for_each_expr(*stmt, [&](const te::Expr& x) {
    walk_expr(x, seen, [&](const te::Expr& inner) {
      if (auto* load = std::get_if<std::shared_ptr<const te::Load>>(&inner->kind))
        touch((*load)->tensor);
    });
  });
  if (auto* store = std::get_if<te::Store>(&stmt->kind)) touch(store->tensor);
  if (auto* intrinsic = std::get_if<te::Intrinsic>(&stmt->kind)) {
    for (const te::Place& place : intrinsic->places) touch(place.tensor);
  }
  ++now_;
  if (auto* loop = std::get_if<te::For>(&stmt->kind)) return walk_loop(*stmt, *loop);
  if (auto* alloc = std::get_if<te::Alloc>(&stmt->kind)) return walk_alloc(*alloc);
  Status status;
  for_each_inner(*stmt, [&](const te::Stmt& inner) {
    if (status.ok()) status = walk(inner);
  });
  return status;
}

// Places the tensors of one parallel loop in its slot. With null, places the tensors outside of all
// parallel loops and the slots of every parallel loop in the workspace.
void Planner::place(const te::StmtNode* parallel, te::Expr& bytes) {
  std::vector<Piece> pieces;
  for (const void* id : allocs_) {
    const LiveRange& range = live_ranges_.at(id);
    Home& home = plan_.homes.at(id);
    if (range.parallel == parallel && range.first <= range.last)
      pieces.push_back({range.first, range.last, bytes_of(home), &home.offset});
  }
  for (const te::StmtNode* node : parallels_) {
    ParallelPlan& region = plan_.parallel[node];
    const LiveRange& range = live_ranges_.at(node);
    if (parallel != nullptr || !region.has_slots() || range.first > range.last) continue;
    const te::Expr all = te::simplify(region.slot_bytes * static_cast<int64_t>(plan_.slots));
    pieces.push_back({range.first, range.last, all, &region.offset});
  }
  const int64_t fixed = place_fixed(pieces);
  bytes = place_open(pieces, fixed);
}

Result<MemoryPlan> Planner::plan(const te::LoopFunction& function) {
  uint64_t number = 0;
  for (const te::Tensor& tensor : function.inputs)
    BYOC_TRY_STATUS(add(tensor, Home::kArgument, number++));
  for (const te::Tensor& tensor : function.outputs)
    BYOC_TRY_STATUS(add(tensor, Home::kArgument, number++));
  BYOC_TRY_STATUS(walk(function.body));
  BYOC_CHECK(loops_.empty() && parallel_ == nullptr, "the walk is inside of ", loops_.size(),
             " loops at its end");
  for (const te::StmtNode* node : parallels_) place(node, plan_.parallel[node].slot_bytes);
  place(nullptr, plan_.workspace_bytes);
  return std::move(plan_);
}

void add_name(Names& names, const void* id) {
  if (names.index.emplace(id, names.in_order.size()).second) names.in_order.push_back(id);
}

void collect(const te::Stmt& stmt, Names& names, Seen& seen) {
  if (stmt.is_empty()) return;
  for_each_expr(*stmt, [&](const te::Expr& x) {
    walk_expr(x, seen, [&](const te::Expr& inner) {
      if (auto* var = std::get_if<te::VarRef>(&inner->kind)) add_name(names, var->var.id());
      if (auto* load = std::get_if<std::shared_ptr<const te::Load>>(&inner->kind))
        add_name(names, (*load)->tensor.id());
    });
  });
  if (auto* store = std::get_if<te::Store>(&stmt->kind)) add_name(names, store->tensor.id());
  if (auto* intrinsic = std::get_if<te::Intrinsic>(&stmt->kind)) {
    for (const te::Place& place : intrinsic->places) add_name(names, place.tensor.id());
  }
  for_each_inner(*stmt, [&](const te::Stmt& inner) { collect(inner, names, seen); });
}

}  // namespace

Result<MemoryPlan> plan_memory(const te::LoopFunction& function, uint32_t threads) {
  return Planner(threads).plan(function);
}

Names names_in(const te::Stmt& body) {
  Names names;
  Seen seen;
  collect(body, names, seen);
  return names;
}

}  // namespace byoc::llvm_plugin
