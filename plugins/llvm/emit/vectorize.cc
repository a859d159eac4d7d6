// SPDX-License-Identifier: Apache-2.0
// Vectorised loops: the iterations become the lanes of vectors.
#include <algorithm>
#include <bit>
#include <numeric>

#include "byoc/base/check.h"
#include "byoc/ir/visit.h"
#include "plugins/llvm/analysis/walk.h"
#include "plugins/llvm/emit/body.h"

namespace byoc::llvm_plugin {
namespace {

constexpr int64_t kMaxUnrolledVectors = 8;  // more vectors become a loop

struct Shape {
  size_t widest = 1;  // bytes of the widest element that is loaded or stored
  bool has_loops = false;
  bool has_choices = false;  // a load chooses its index, as at the edges of an image
};

bool has_choice(const te::Load& load) {
  bool out = false;
  Seen seen;
  for (const te::Expr& index : load.indices) {
    walk_expr(index, seen,
              [&](const te::Expr& x) { out = out || std::holds_alternative<te::Select>(x->kind); });
  }
  return out;
}

void look(const te::Stmt& stmt, Seen& seen, Shape& shape) {
  auto meet = [&](const te::Tensor& tensor) {
    shape.widest = std::max(shape.widest, dtype_size(tensor.dtype()));
  };
  for_each_expr(*stmt, [&](const te::Expr& x) {
    walk_expr(x, seen, [&](const te::Expr& inner) {
      if (is_float(inner.dtype())) shape.widest = std::max<size_t>(shape.widest, 4);
      auto* load = std::get_if<std::shared_ptr<const te::Load>>(&inner->kind);
      if (load == nullptr) return;
      meet((*load)->tensor);
      shape.has_choices = shape.has_choices || has_choice(**load);
    });
  });
  if (auto* store = std::get_if<te::Store>(&stmt->kind)) meet(store->tensor);
  if (std::holds_alternative<te::For>(stmt->kind)) shape.has_loops = true;
  for_each_inner(*stmt, [&](const te::Stmt& inner) { look(inner, seen, shape); });
}

}  // namespace

// Returns false for statements that run as a serial loop: loops with bounds that differ between
// lanes, memory per iteration, different values stored to one address.
bool Body::can_vectorize(const te::Stmt& stmt) {
  bool fits =
      std::visit(overloaded{
                     [&](const te::For& v) {
                       if (v.kind == te::LoopKind::kParallel) return false;
                       values_.assume(v.var, v.begin);
                       return !values_.varies(v.begin) && !values_.varies(v.extent);
                     },
                     [&](const te::Store& v) {
                       auto varies = [&](const te::Expr& index) { return values_.varies(index); };
                       return std::any_of(v.indices.begin(), v.indices.end(), varies) ||
                              !values_.varies(v.value);
                     },
                     [](const te::If&) { return true; },
                     [&](const te::Let& v) {
                       values_.assume(v.var, v.value);
                       return true;
                     },
                     [](const te::Alloc&) { return false; },
                     [](const te::Block&) { return true; },
                     [](const te::Intrinsic&) { return false; },
                 },
                 stmt->kind);
  if (!fits) return false;
  for_each_inner(*stmt, [&](const te::Stmt& inner) { fits = fits && can_vectorize(inner); });
  return fits;
}

Status Body::emit_lanes(const te::For& loop, Value first, unsigned lanes, int64_t factor) {
  values_.ranges().set(loop.var, range_of(loop));
  if (lanes == 1) return emit_once(loop, first, range_of(loop));
  BYOC_CHECK(std::has_single_bit(lanes), "a vector of ", lanes, " lanes");
  values_.ranges().set_factor(loop.var, factor);
  values_.begin_lanes(loop.var, first, lanes);
  ++vectors_written_;
  Status status = emit(loop.body);
  values_.end_lanes();
  values_.unbind(loop.var);
  return status;
}

Status Body::emit_chunk_loop(const te::For& loop, Value begin, int64_t chunks, unsigned lanes) {
  Value step = builder_.getInt64(lanes);
  Value end = builder_.CreateAdd(begin, builder_.getInt64(static_cast<uint64_t>(chunks) * lanes));
  llvm::BasicBlock *before = builder_.GetInsertBlock(), *inside = block("chunks"),
                   *after = block("rest");
  builder_.CreateBr(inside);
  builder_.SetInsertPoint(inside);
  llvm::PHINode* at = builder_.CreatePHI(builder_.getInt64Ty(), 2);
  at->addIncoming(begin, before);
  int64_t factor = std::gcd(values_.ranges().factor_of(loop.begin), int64_t{lanes});
  BYOC_TRY_STATUS(emit_lanes(loop, at, lanes, factor));
  Value next = builder_.CreateNSWAdd(at, step);
  at->addIncoming(next, builder_.GetInsertBlock());
  mark_loop(builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), inside, after));
  builder_.SetInsertPoint(after);
  return {};
}

// Emits ranges in which the places of loads are known, such as the copied rows of an image with
// mirrored edges.
Status Body::emit_vectorized_parts(const te::For& loop, const std::vector<LoopRange>& parts) {
  BYOC_CHECK(te::as_int(loop.begin), "loop ", loop.var.name(), " is split and begins at no number");
  const int64_t low = *te::as_int(loop.begin), copies = copies_;
  copies_ *= static_cast<int64_t>(parts.size());
  Status status;
  for (const LoopRange& part : parts) {
    te::For inner = loop;
    inner.begin = low + part.first;
    inner.extent = part.last - part.first;
    if (status.ok()) status = emit_vectorized(inner);
  }
  copies_ = copies;
  return status;
}

// Emits vectors of a power of two of lanes: one register, or four when there are loops inside,
// which then run fewer times. The remainder uses smaller and smaller vectors.
Status Body::emit_vectorized(const te::For& loop) {
  int64_t extent = *te::as_int(loop.extent);
  Shape shape;
  Seen seen;
  look(loop.body, seen, shape);
  if (shape.has_choices) {
    const std::vector<LoopRange> parts = split_loop(loop, values_.ranges(), copies_);
    if (parts.size() > 1) return emit_vectorized_parts(loop, parts);
  }
  int64_t width = unit_.machine.vector_bits / 8 / static_cast<int64_t>(shape.widest);
  values_.begin_statement();
  Value begin = values_.value(loop.begin);
  int64_t begin_factor = values_.ranges().factor_of(loop.begin);
  values_.ranges().set(loop.var, range_of(loop));
  values_.ranges().set_factor(loop.var, begin_factor);
  values_.begin_lanes(loop.var, begin, 2);
  bool fits = can_vectorize(loop.body);
  values_.end_lanes();
  values_.unbind(loop.var);
  if (!fits || width < 2) return emit_serial(loop);
  int64_t most = shape.has_loops ? 4 * width : width;
  int64_t done = 0;
  if (int64_t chunks = extent / most; chunks > kMaxUnrolledVectors) {
    BYOC_TRY_STATUS(emit_chunk_loop(loop, begin, chunks, static_cast<unsigned>(most)));
    done = chunks * most;
  }
  while (done < extent) {
    int64_t lanes = std::min<int64_t>(
        most, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(extent - done))));
    Value first = builder_.CreateAdd(begin, builder_.getInt64(static_cast<uint64_t>(done)));
    BYOC_TRY_STATUS(
        emit_lanes(loop, first, static_cast<unsigned>(lanes), std::gcd(begin_factor, done)));
    done += lanes;
  }
  BYOC_CHECK(done == std::max<int64_t>(extent, 0), "vectors have ", done, " of ", extent, " lanes");
  return {};
}

}  // namespace byoc::llvm_plugin
