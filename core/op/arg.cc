// Where the extreme is: argmax, argmin, and the k best with topk.
#include "core/op/families.h"
#include "core/op/kernel.h"

namespace byoc::op {
namespace {

// A strict order of all values in which NaN is the greatest, as in numpy.
template <class T>
bool is_less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a < b || (b != b && a == a);
  else return a < b;
}

Result<std::vector<TensorType>> infer_arg(std::string_view op, TypeId x, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype(op, "x", x, dtypes_of(NumericTypes{})));
  BYOC_TRY(size_t axis, normal_axis(op, attrs.i("axis"), x));
  if (x->shape[axis] == Dim(0))
    return invalid(cat(op, ": nothing to choose from along axis ", axis, " (x ", x, ")"))
        .with_slug("op-shape");
  Shape shape = x->shape;
  if (attrs.b("keepdims", true)) shape[axis] = Dim(1);
  else shape.erase(shape.begin() + static_cast<ptrdiff_t>(axis));
  return one_result({DType::kI64, std::move(shape)});
}

template <class T, bool kGreatest>
int64_t best_of(const T* x, const AxisView& view, bool last) {
  int64_t best = 0;
  for (int64_t k = 1; k < view.extent; ++k) {
    Compute<T> a(x[best * view.inner]), b(x[k * view.inner]);
    bool better = kGreatest ? is_less(a, b) : is_less(b, a);
    bool worse = kGreatest ? is_less(b, a) : is_less(a, b);
    if (better || (last && !worse)) best = k;
  }
  return best;
}

template <class T, bool kGreatest>
RefKernel arg_kernel(AxisView view, bool last) {
  return [view, last](const void* const* in, void* const* out) {
    int64_t* y = out_as<int64_t>(out, 0);
    for (int64_t o = 0; o < view.outer; ++o) {
      const T* x = in_as<T>(in, 0) + o * view.extent * view.inner;
      for (int64_t i = 0; i < view.inner; ++i) *y++ = best_of<T, kGreatest>(x + i, view, last);
    }
  };
}

template <bool kGreatest>
OpDef arg_op(std::string name, std::string doc) {
  OpDef op{.name = name, .doc = std::move(doc), .kind = FusionKind::kReduction};
  op.inputs = {{"x", "any number, rank >= 1"}};
  op.outputs = {{"y", "i64"}};
  op.attrs = {{"axis", 0, "in [-rank, rank)"},
              {"keepdims", true, "the axis stays with extent 1"},
              {"select_last_index", false, "the last of equals instead of the first"}};
  op.infer = [name](Types inputs, const Attrs& attrs) { return infer_arg(name, inputs[0], attrs); };
  op.reference = [name](Types inputs, Types, const Attrs& attrs) -> Result<RefKernel> {
    BYOC_TRY(size_t axis, normal_axis(name, attrs.i("axis"), inputs[0]));
    AxisView view = around_axis(inputs[0], axis);
    bool last = attrs.b("select_last_index", false);
    return for_dtype(name, inputs[0]->dtype, NumericTypes{}, [&]<class T>() -> Result<RefKernel> {
      return arg_kernel<T, kGreatest>(view, last);
    });
  };
  op.flops = [](Types inputs, Types, const Attrs&) { return flop_count(inputs[0]); };
  return op;
}

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

// The k best so far as a heap in the output itself, the worst at its root: no scratch memory.
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

OpDef topk() {
  OpDef op{.name = "topk",
           .doc =
               "the k best of x along `axis`, the best first, and where they were; "
               "the earlier of equals first"};
  op.inputs = {{"x", "any number, rank >= 1"}};
  op.outputs = {{"values", "dtype of x"}, {"indices", "i64"}};
  op.attrs = {{"k", 1, "how many, at most the extent of the axis", AttrSpec::kRequired},
              {"axis", -1, "in [-rank, rank)"},
              {"largest", true, "the greatest are the best, else the least"},
              {"sorted", true, "false: any order will do (it is sorted all the same)"}};
  op.infer = infer_topk;
  op.reference = [](Types inputs, Types, const Attrs& attrs) -> Result<RefKernel> {
    BYOC_TRY(size_t axis, normal_axis("topk", attrs.i("axis"), inputs[0]));
    AxisView view = around_axis(inputs[0], axis);
    return for_dtype("topk", inputs[0]->dtype, NumericTypes{}, [&]<class T>() -> Result<RefKernel> {
      return topk_kernel<T>(view, attrs.i("k"), attrs.b("largest", true));
    });
  };
  op.flops = [](Types inputs, Types, const Attrs&) { return flop_count(inputs[0]); };
  return op;
}

}  // namespace

void add_arg_ops(OpRegistry& ops) {
  ops.add(arg_op<true>("argmax", "y = where x is greatest along `axis`; NaN is the greatest"));
  ops.add(arg_op<false>("argmin", "y = where x is least along `axis`; NaN is the greatest"));
  ops.add(topk());
}

}  // namespace byoc::op
