// SPDX-License-Identifier: Apache-2.0
// The k best along an axis, by a heap, or by digits of the elements (select.h, radix.h).
#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/counted.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"
#include "core/op/reduce/reduce.h"
#include "core/op/reduce/select.h"

namespace byoc::op {
namespace {

Result<std::vector<TensorType>> infer_topk(Types inputs, const Attrs& attrs) {
  TypeId x = inputs[0];
  BYOC_TRY_STATUS(expect_dtype("topk", "x", x, dtypes_of(NumericTypes{})));
  BYOC_TRY(size_t axis, normal_axis("topk", attrs.i("axis"), x));
  int64_t k = attrs.i("k");
  if (k < 0 || k > x->shape[axis].max())
    return invalid(cat("topk: k is ", k, ", axis ", axis, " has ", x->shape[axis], " elements (x ",
                       x, ")"))
        .with_slug("op-shape");
  if (!x->shape[axis].is_static() && k > x->shape[axis].min())
    return invalid(cat("topk: k is ", k, ", axis ", axis, " may have fewer elements (x ", x, ")"))
        .with_slug("op-shape");
  Shape shape = x->shape;
  shape[axis] = Dim(k);
  return std::vector<TensorType>{{x->dtype, shape}, {DType::kI64, shape}};
}

// Keeps the k best so far as a heap in the output itself, the worst at its root: no scratch memory.
template <class T>
struct TopHeap {
  T* values;
  int64_t* indices;
  int64_t stride;
  bool largest;

  bool before(T a, int64_t a_index, T b, int64_t b_index) const {
    Compute<T> u(a), v(b);
    if (largest ? is_less(v, u) : is_less(u, v)) return true;
    if (largest ? is_less(u, v) : is_less(v, u)) return false;
    return a_index < b_index;  // the earlier of equals
  }
  bool before(int64_t a, int64_t b) const {
    return before(values[a * stride], indices[a * stride], values[b * stride], indices[b * stride]);
  }
  void swap(int64_t a, int64_t b) {
    std::swap(values[a * stride], values[b * stride]);
    std::swap(indices[a * stride], indices[b * stride]);
  }
  void sift_down(int64_t at, int64_t size) {
    for (;;) {
      int64_t worst = at;
      for (int64_t child = 2 * at + 1; child <= 2 * at + 2 && child < size; ++child) {
        if (before(worst, child)) worst = child;
      }
      if (worst == at) return;
      swap(at, worst);
      at = worst;
    }
  }
  void set(int64_t at, T value, int64_t index) {
    values[at * stride] = value;
    indices[at * stride] = index;
  }
};

template <class T>
void select_best(const T* x, const AxisView& view, int64_t k, TopHeap<T> heap) {
  for (int64_t j = 0; j < k; ++j) heap.set(j, x[j * view.inner], j);
  for (int64_t j = k / 2; j-- > 0;) heap.sift_down(j, k);
  for (int64_t j = k; j < view.extent; ++j) {
    T value = x[j * view.inner];
    if (!heap.before(value, j, heap.values[0], heap.indices[0])) continue;
    heap.set(0, value, j);
    heap.sift_down(0, k);
  }
  for (int64_t size = k; size-- > 1;) {  // heap sort: the worst goes to the end
    heap.swap(0, size);
    heap.sift_down(0, size);
  }
}

template <class T>
RefKernel topk_kernel(AxisView view, int64_t k, bool largest) {
  BYOC_CHECK(k >= 0 && k <= view.extent, "the ", k, " best of ", view.extent);
  return [view, k, largest](const void* const* in, void* const* out) {
    if (k == 0) return;
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t i = 0; i < view.inner; ++i) {
        const T* x = in_as<T>(in, 0) + o * view.extent * view.inner + i;
        int64_t to = o * k * view.inner + i;
        select_best(
            x, view, k,
            TopHeap<T>{out_as<T>(out, 0) + to, out_as<int64_t>(out, 1) + to, view.inner, largest});
      }
    }
  };
}

// Writes the same heap as statements.
struct HeapLoops {
  Tensor values, indices;
  Exprs at;  // the line; its index along `axis` is set later
  size_t axis;
  bool largest;

  Exprs place(const Expr& j) const {
    Exprs i = at;
    i[axis] = j;
    return i;
  }
  // Returns the order of the result.
  Expr before(const Expr& a, const Expr& a_index, const Expr& b, const Expr& b_index) const {
    Expr u = widened(a), v = widened(b);
    auto less = [](const Expr& x, const Expr& y) {
      return is_float(x.dtype()) ? x < y || (is_nan(y) && !is_nan(x)) : x < y;
    };
    Expr better = largest ? less(v, u) : less(u, v), worse = largest ? less(u, v) : less(v, u);
    return better || (!worse && a_index < b_index);
  }
  Expr before(const Expr& a, const Expr& b) const {
    return before(values(place(a)), indices(place(a)), values(place(b)), indices(place(b)));
  }
  // Returns whether an element comes before the root, which is earlier in the line: equals lose.
  // Nearly all elements lose by the first compare. NaN is the greatest value.
  Expr beats_root(const Expr& element) const {
    const Expr x = widened(element), root = widened(values(place(0)));
    const Expr wins = largest ? !(x <= root) : !(root <= x);
    return is_float(x.dtype()) ? wins && !is_nan(largest ? root : x) : wins;
  }
  te::Stmt set(const Expr& j, Expr value, Expr index) const {
    return te::make_block({te::make_store(values, place(j), std::move(value)),
                           te::make_store(indices, place(j), std::move(index))});
  }
  te::Stmt swap(const Expr& a, const Expr& b) const {
    te::Var value("value", values.dtype()), index("index");
    te::Stmt moves =
        te::make_block({set(a, values(place(b)), indices(place(b))), set(b, value, index)});
    return te::make_let(value, values(place(a)), te::make_let(index, indices(place(a)), moves));
  }
  // `levels` is the number of times an entry can sink in the whole heap.
  te::Stmt sift_down(const Expr& from, const Expr& size, int64_t levels) const {
    Scalar now("now", DType::kI64), worst("worst", DType::kI64);
    te::Stmt sink = te::loop("level", levels, [&](Expr) {
      std::vector<te::Stmt> steps = {worst.set(now.get())};
      for (int64_t k : {1, 2}) {
        Expr child = now.get() * 2 + k;
        te::Stmt take = te::make_if(before(worst.get(), child), worst.set(child));
        steps.push_back(te::make_if(child < size, take));
      }
      steps.push_back(
          te::make_if(worst.get() != now.get(),
                      te::make_block({swap(now.get(), worst.get()), now.set(worst.get())})));
      return te::make_block(std::move(steps));
    });
    return now.in(worst.in(te::make_block({now.set(from), sink})));
  }
};

// Calls body(j) for j from `begin` to `end`, by blocks of adjacent elements: those of a block of
// which none beats the root are skipped. So are nearly all blocks, once the heap has good elements.
te::Stmt for_candidates(const HeapLoops& heap, const ExprFn& element, int64_t begin,
                        const Expr& end, const std::function<te::Stmt(const Expr&)>& body) {
  constexpr int64_t kBlock = 64, kLanes = 16;
  const Expr blocks = floor_div(end - begin, kBlock), tail = blocks * kBlock + begin;
  const Tensor wins("wins", DType::kI32, {kLanes});
  const Expr one = te::int_constant(DType::kI32, 1), none = te::int_constant(DType::kI32, 0);
  te::Stmt whole = te::loop("b", blocks, [&](Expr b) {
    const Expr first = b * kBlock + begin;
    te::Stmt compare = te::loop(
        "l", kLanes,
        [&](Expr l) {
          Expr any;
          for (int64_t at = 0; at < kBlock; at += kLanes) {
            const Expr is_better = heap.beats_root(element(first + l + at));
            any = at == 0 ? is_better : any || is_better;
          }
          return te::make_store(wins, {l}, te::select(any, one, none));
        },
        te::LoopKind::kVectorized);
    Expr count = wins(0);
    for (int64_t l = 1; l < kLanes; ++l) count = count + wins(l);
    te::Stmt each = te::loop("j", kBlock, [&](Expr j) { return body(first + j); });
    return te::make_block({std::move(compare), te::make_if(none < count, std::move(each))});
  });
  te::Stmt rest = te::loop("j", end - tail, [&](Expr j) { return body(tail + j); });
  return te::make_alloc(wins, te::Scope::kStack,
                        te::make_block({std::move(whole), std::move(rest)}));
}

te::Stmt select_best(const HeapLoops& heap, const Tensor& x, int64_t k, const Expr& extent) {
  int64_t levels = 0;
  while (int64_t{2} << levels <= k) ++levels;
  auto element = [&](const Expr& j) { return x(heap.place(j)); };
  te::Stmt fill = te::loop("j", k, [&](Expr j) { return heap.set(j, element(j), j); });
  te::Stmt heapify =
      te::loop("j", k / 2, [&](Expr j) { return heap.sift_down(Expr(k / 2 - 1) - j, k, levels); });
  auto enter = [&](const Expr& j) {
    return te::make_if(heap.beats_root(element(j)),
                       te::make_block({heap.set(0, element(j), j), heap.sift_down(0, k, levels)}));
  };
  const bool are_adjacent = heap.axis + 1 == heap.at.size();
  te::Stmt rest = are_adjacent
                      ? for_candidates(heap, element, k, extent, enter)
                      : te::loop("j", extent - k, [&](Expr step) { return enter(step + k); });
  te::Stmt sort = te::loop("j", k - 1, [&](Expr j) {
    Expr end = Expr(k - 1) - j;
    return te::make_block({heap.swap(0, end), heap.sift_down(0, end, levels)});
  });
  return te::make_block({fill, heapify, rest, sort});
}

// Puts the k best by digits of their elements; nullopt where a heap of them costs less.
std::optional<te::Stmt> sorted_best(const HeapLoops& best, const Tensor& x, int64_t k,
                                    int64_t extent) {
  auto element = [&](const Expr& j) { return x(best.place(j)); };
  auto put_best = [&](const Expr& rank, const Expr& place) {
    return best.set(rank, element(place), place);
  };
  if (SelectionLoops::pays(x.dtype(), extent, k))
    return SelectionLoops(x.dtype(), extent, k, best.largest, element).best(put_best);
  if (!RadixLoops::pays(x.dtype(), extent, k)) return std::nullopt;
  return RadixLoops(x.dtype(), extent, best.largest, element)
      .sort([&](const Expr& rank, const Expr& place) {
        te::Stmt put = put_best(rank, place);
        return k < extent ? te::make_if(rank < Expr(k), put) : put;
      });
}

// Makes a loop over the lines of x along `axis`, which threads share if there may be enough to do.
te::Stmt for_lines(const Shape& x, size_t axis, const std::function<te::Stmt(const Exprs&)>& body) {
  constexpr double kEnough = 1 << 14;  // elements; a thread begins in the time of some thousand
  Shape lines = x;
  lines[axis] = Dim(1);
  Expr count = 1;
  double most_lines = 1;
  for (Dim dim : lines) {
    count = count * te::extent_of(dim);
    most_lines *= static_cast<double>(dim.max());
  }
  if (most_lines < 2 || most_lines * static_cast<double>(x[axis].max()) < kEnough)
    return loops_over(te::extents_of({DType::kI64, lines}), body);
  return te::loop(
      "line", count, [&](Expr line) { return body(unflattened(line, lines)); },
      te::LoopKind::kParallel);
}

Result<Tensors> compute_topk(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("topk", attrs.i("axis"), out[0]));
  const Shape x = type_of(in[0]).shape;
  BYOC_CHECK(axis < x.size() && out.size() == 2, "topk of rank ", x.size(), " has ", out.size(),
             " results");
  const int64_t k = attrs.i("k");
  BYOC_CHECK(k >= 0 && k <= x[axis].min(), "the ", k, " best of ", x[axis]);
  const Expr extent = te::extent_of(x[axis]);
  const bool largest = attrs.b("largest", true);
  return builder.procedure("topk", {*out[0], *out[1]}, {in[0]}, [&](const Tensors& y) {
    if (k == 0) return te::Stmt();
    return for_lines(x, axis, [&](const Exprs& i) {
      const HeapLoops heap{y[0], y[1], i, axis, largest};
      std::optional<te::Stmt> sorted;
      if (x[axis].is_static()) sorted = sorted_best(heap, in[0], k, x[axis].extent());
      return sorted ? *std::move(sorted) : select_best(heap, in[0], k, extent);
    });
  });
}

OpDef topk() {
  OpDef op{.name = "topk",
           .doc =
               "the k best of x along `axis`, the best first, and their positions; "
               "the earlier of equals first"};
  op.inputs = {{"x", "any number, rank >= 1"}};
  op.outputs = {{"values", "dtype of x"}, {"indices", "i64"}};
  op.attrs = {{"k", 1, "how many, at most the extent of the axis", AttrSpec::kRequired},
              {"axis", -1, "in [-rank, rank)"},
              {"largest", true, "the greatest are the best, else the least"},
              {"sorted", true, "false: any order is valid (it is sorted anyway)"}};
  op.infer = infer_topk;
  op.reference = [](Types inputs, Types, const Attrs& attrs) -> Result<RefKernel> {
    BYOC_TRY(size_t axis, normal_axis("topk", attrs.i("axis"), inputs[0]));
    AxisView view = around_axis(inputs[0], axis);
    return for_dtype("topk", inputs[0]->dtype, NumericTypes{}, [&]<class T>() -> Result<RefKernel> {
      return topk_kernel<T>(view, attrs.i("k"), attrs.b("largest", true));
    });
  };
  op.compute = with_open_sizes(compute_topk);
  op.flops = [](Types inputs, Types, const Attrs&) { return flop_count(inputs[0]); };
  return op;
}

// ---- topk whose k is computed

Result<std::vector<TensorType>> topk_types(TypeId x, const Attrs& attrs, Dim k) {
  BYOC_TRY(size_t axis, normal_axis("topk_counted", attrs.i("axis"), x));
  Shape shape = x->shape;
  shape[axis] = k;
  return std::vector<TensorType>{{x->dtype, shape}, {DType::kI64, shape}};
}

Result<std::vector<TensorType>> infer_topk_counted(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype("topk_counted", "x", in[0], dtypes_of(NumericTypes{})));
  BYOC_TRY_STATUS(expect_dtype("topk_counted", "k", in[1], {DType::kI64}));
  if (!in[1]->shape.empty() && in[1]->shape != Shape{1})
    return invalid(cat("topk_counted: k must have one element (k ", in[1], ")"))
        .with_slug("op-shape");
  BYOC_TRY(size_t axis, normal_axis("topk_counted", attrs.i("axis"), in[0]));
  BYOC_TRY(int64_t most, most_of("topk_counted", in[0]->shape[axis], in[0]));
  BYOC_TRY(Dim k, counted_dim("topk_counted", attrs, most));
  return topk_types(in[0], attrs, k);
}

Result<std::vector<TensorType>> sizes_topk(Types in, const void* const* data, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("topk_counted", attrs.i("axis"), in[0]));
  const int64_t k = *in_as<int64_t>(data, 1), extent = in[0]->shape[axis].extent();
  if (k >= 0 && k <= extent) return topk_types(in[0], attrs, Dim(k));
  return Status(Code::kOutOfRange,
                cat("topk_counted: k is ", k, ", axis ", axis, " has ", extent, " elements"));
}

OpDef topk_counted() {
  OpDef op{.name = "topk_counted",
           .doc = "topk with k as an operand. Each run has its own number of results."};
  op.inputs = {{"x", "any number, rank >= 1"}, {"k", "i64, from 0 to the extent of the axis"}};
  op.outputs = {{"values", "dtype of x"}, {"indices", "i64"}};
  op.attrs = {{"axis", -1, "in [-rank, rank)"},
              {"largest", true, "the greatest are the best, else the least"},
              {"sorted", true, "false: any order is valid (it is sorted anyway)"},
              size_attr()};
  op.infer = infer_topk_counted;
  op.reference = [](Types inputs, Types outputs, const Attrs& attrs) -> Result<RefKernel> {
    BYOC_TRY(size_t axis, normal_axis("topk_counted", attrs.i("axis"), inputs[0]));
    const AxisView view = around_axis(inputs[0], axis);
    const int64_t k = outputs[0]->shape[axis].extent();
    return for_dtype("topk_counted", inputs[0]->dtype, NumericTypes{},
                     [&]<class T>() -> Result<RefKernel> {
                       return topk_kernel<T>(view, k, attrs.b("largest", true));
                     });
  };
  op.sizes = sizes_topk;
  return op;
}

}  // namespace

void add_topk_ops(OpRegistry& ops) {
  ops.add(topk());
  ops.add(topk_counted());
}

}  // namespace byoc::op
