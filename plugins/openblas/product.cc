// SPDX-License-Identifier: Apache-2.0
#include "product.h"

#include <algorithm>
#include <limits>

namespace byoc::openblas {
namespace {

using sdk::Body;
using sdk::Declined;
using sdk::Graph;
using sdk::Node;
using sdk::Operand;
using sdk::Type;
using Ints = std::vector<int64_t>;

/// An operand as extents and strides, in elements.
struct View {
  uint32_t arg = 0;
  Ints dims, strides;
};

/// A node as it is read: an op and its operands' views, whether it is alone or in a composite.
struct Source {
  const Node* op = nullptr;
  std::vector<View> args;
  const Type* result = nullptr;
};

Ints compact_strides(const Ints& dims) {
  Ints strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<int64_t>(dims[d], 1);
  return strides;
}

View view_of(uint32_t arg, const Type& type) {
  if (!type.is_static()) throw Declined("needs shapes that are numbers, has " + type.text());
  return {arg, type.dims, compact_strides(type.dims)};
}

void refuse_unknown(const Node& node, std::initializer_list<std::string_view> known) {
  std::string_view unknown = node.attrs.unknown(known);
  if (!unknown.empty())
    throw Declined("no attribute \"" + std::string(unknown) + "\" of " + node.op + " is known");
  if (node.version != 1)
    throw Declined(node.op + " of version " + std::to_string(node.version) + " is not known");
}

View permuted(const View& from, const Node& transpose) {
  refuse_unknown(transpose, {"perm"});
  Ints perm = transpose.attrs.ints("perm");
  if (perm.empty()) {
    for (size_t d = from.dims.size(); d-- > 0;) perm.push_back(static_cast<int64_t>(d));
  }
  View out{from.arg, {}, {}};
  for (int64_t d : perm) {
    out.dims.push_back(from.dims.at(static_cast<size_t>(d)));
    out.strides.push_back(from.strides.at(static_cast<size_t>(d)));
  }
  return out;
}

/// Returns the view of an operand in a composite: an input of it, transposed or as it is.
View view_in(const Graph& graph, const Body& body, const Operand& operand) {
  if (operand.kind == Operand::kInput) return view_of(operand.index, graph.type(body, operand));
  const Node& node = body.nodes.at(operand.index);
  if (operand.kind != Operand::kNode || node.op != "transpose" ||
      node.args.at(0).kind != Operand::kInput)
    throw Declined("no product has an operand that is the result of " + node.op);
  return permuted(view_of(node.args[0].index, graph.type(body, node.args[0])), node);
}

Source read_alone(const Graph& graph, const Node& node) {
  Source out{&node, {}, &graph.type(node)};
  for (uint32_t k = 0; k < node.args.size(); ++k)
    out.args.push_back(view_of(k, graph.type(node.args[k])));
  return out;
}

Source read_anchor(const Graph& graph, const Body& body) {
  const Node* anchor = body.captured("product");
  if (anchor == nullptr) throw Declined("no pattern \"" + body.pattern + "\" is known");
  Source out{anchor, {}, &graph.type(*anchor)};
  for (const Operand& operand : anchor->args) out.args.push_back(view_in(graph, body, operand));
  return out;
}

Matrices matrices_of(const View& view, size_t batch_rank, const char* name) {
  const size_t rank = view.dims.size();
  const int64_t rows = view.dims[rank - 2], columns = view.dims[rank - 1];
  const int64_t down = view.strides[rank - 2], across = view.strides[rank - 1];
  Matrices out{view.arg, Ints(batch_rank, 0), false, 1};
  if (across == 1 || columns <= 1) {
    out.ld = std::max(columns, rows <= 1 ? columns : down);
  } else if (down == 1 || rows <= 1) {
    out.transposed = true;
    out.ld = std::max(rows, across);
  } else {
    throw Declined(std::string("neither rows nor columns of ") + name + " are contiguous");
  }
  out.ld = std::max<int64_t>(out.ld, 1);
  for (size_t d = 0; d + 2 < rank; ++d) {
    if (view.dims[d] != 1) out.steps[batch_rank - (rank - 2) + d] = view.strides[d];
  }
  return out;
}

void insert_dim(View& view, size_t at) {
  view.dims.insert(view.dims.begin() + static_cast<int64_t>(at), 1);
  view.strides.insert(view.strides.begin() + static_cast<int64_t>(at), 1);
}

/// A product, and where the dims of its result went.
struct Shaped {
  Product product;
  bool is_image = false;      // the result is [n, o, pixels...], and o is in groups
  std::vector<size_t> place;  // else, per dim of the op's result: the batch dim, m or n
};

Shaped read_matmul(const Source& source) {
  refuse_unknown(*source.op, {});
  View a = source.args.at(0), b = source.args.at(1);
  const bool row = a.dims.size() == 1, column = b.dims.size() == 1;
  if (row) insert_dim(a, 0);
  if (column) insert_dim(b, 1);
  Shaped out;
  Product& p = out.product;
  p.m = a.dims[a.dims.size() - 2], p.k = a.dims.back(), p.n = b.dims.back();
  const size_t rank = source.result->dims.size(), inner = (row ? 0 : 1) + (column ? 0 : 1);
  p.batch.assign(source.result->dims.begin(),
                 source.result->dims.begin() + static_cast<int64_t>(rank - inner));
  p.a = matrices_of(a, p.batch.size(), "a");
  p.b = matrices_of(b, p.batch.size(), "b");
  for (size_t d = 0; d < p.batch.size(); ++d) out.place.push_back(d);
  if (!row) out.place.push_back(p.batch.size());
  if (!column) out.place.push_back(p.batch.size() + 1);
  return out;
}

Shaped read_gemm(const Source& source) {
  refuse_unknown(*source.op, {"trans_a", "trans_b", "alpha"});
  View a = source.args.at(0), b = source.args.at(1);
  auto transpose = [](View& view) {
    std::swap(view.dims[0], view.dims[1]);
    std::swap(view.strides[0], view.strides[1]);
  };
  if (source.op->attrs.b("trans_a", false)) transpose(a);
  if (source.op->attrs.b("trans_b", false)) transpose(b);
  Shaped out;
  Product& p = out.product;
  p.m = a.dims[0], p.k = a.dims[1], p.n = b.dims[1];
  p.a = matrices_of(a, 0, "a");
  p.b = matrices_of(b, 0, "b");
  p.alpha = source.op->attrs.f("alpha", 1);
  out.place = {0, 1};
  return out;
}

/// True when all numbers are `value`.
bool all_are(const Ints& numbers, int64_t value) {
  return std::all_of(numbers.begin(), numbers.end(), [&](int64_t n) { return n == value; });
}

// Reads x [n, g, c/g, pixels] and weights [g, o/g, c/g] as a product per image and group.
Shaped read_convolution(const Source& source) {
  const sdk::Attrs& attrs = source.op->attrs;
  refuse_unknown(*source.op, {"strides", "pads", "dilations", "group"});
  const View &x = source.args.at(0), &w = source.args.at(1);
  const Ints kernel(w.dims.begin() + 2, w.dims.end());
  if (!all_are(kernel, 1)) throw Declined("only kernels of one cell are products");
  if (!all_are(attrs.ints("strides"), 1)) throw Declined("a product has no strides");
  if (!all_are(attrs.ints("pads"), 0)) throw Declined("a product has no pads");
  if (x.strides != compact_strides(x.dims) || w.strides != compact_strides(w.dims))
    throw Declined("the operands of a convolution are transposed");
  int64_t pixels = 1;
  for (size_t d = 2; d < x.dims.size(); ++d) pixels *= x.dims[d];
  const int64_t groups = std::max<int64_t>(attrs.i("group", 1), 1);
  Shaped out;
  out.is_image = true;
  Product& p = out.product;
  p.batch = {x.dims[0], groups};
  p.m = w.dims[0] / groups, p.k = w.dims[1], p.n = pixels;
  p.a = {w.arg, {0, p.m * p.k}, false, std::max<int64_t>(p.k, 1)};
  p.b = {x.arg, {x.dims[1] * pixels, p.k * pixels}, false, std::max<int64_t>(p.n, 1)};
  return out;
}

Shaped read_op(const Source& source) {
  const std::string& op = source.op->op;
  if (op == "matmul") return read_matmul(source);
  if (op == "gemm") return read_gemm(source);
  if (op == "conv1d" || op == "conv2d" || op == "conv3d") return read_convolution(source);
  throw Declined("no product is computed by \"" + op + "\"");
}

/// Returns the strides with which a value is read over `dims`.
Ints broadcast(const View& view, const Ints& dims) {
  Ints out(dims.size(), 0);
  for (size_t d = 0; d < view.dims.size(); ++d) {
    const size_t to = dims.size() - view.dims.size() + d;
    if (view.dims[d] != 1) out[to] = view.strides[d];
  }
  return out;
}

/// Returns the one stride of dims that are read as one, as those of an image's pixels are.
int64_t joined_stride(const Ints& dims, const Ints& strides, size_t first) {
  int64_t stride = 0, extent = 1;
  for (size_t d = dims.size(); d-- > first;) {
    if (dims[d] == 1) continue;
    if (extent == 1) stride = strides[d];
    if (strides[d] != stride * extent)
      throw Declined("the bias differs along some of the image's dims alone");
    extent *= dims[d];
  }
  return stride;
}

Bias read_bias(const View& view, const Ints& dims, const Shaped& shaped) {
  const Product& p = shaped.product;
  const Ints strides = broadcast(view, dims);
  Bias out{view.arg, Ints(p.batch.size(), 0), 0, 0};
  if (shaped.is_image) {
    out.steps = {strides[0], strides[1] * p.m};
    out.row = strides[1];
    out.column = joined_stride(dims, strides, 2);
    return out;
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    const size_t to = shaped.place[d];
    (to < p.batch.size()    ? out.steps[to]
     : to == p.batch.size() ? out.row
                            : out.column) = strides[d];
  }
  return out;
}

// Makes the last batch dim a part of m where b is the same for all of it: BLAS is faster on one
// matrix of many rows.
void join_rows(Product& p) {
  while (!p.batch.empty()) {
    const int64_t extent = p.batch.back(), step = p.a.steps.back();
    Bias* bias = p.bias ? &*p.bias : nullptr;
    if (extent != 1) {
      const bool dense = p.m == 1 ? step >= p.k : step == p.m * p.a.ld;
      if (p.b.steps.back() != 0 || p.a.transposed || !dense) return;
      if (bias && p.m != 1 && bias->steps.back() != p.m * bias->row) return;
      if (p.m == 1) {
        p.a.ld = std::max<int64_t>(step, 1);
        if (bias) bias->row = bias->steps.back();
      }
      p.m *= extent;
    }
    p.batch.pop_back();
    p.a.steps.pop_back();
    p.b.steps.pop_back();
    if (bias) bias->steps.pop_back();
  }
}

void check_extents(const Product& p) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();  // OpenBLAS counts in 32 bits
  for (int64_t extent : {p.m, p.n, p.k, p.a.ld, p.b.ld}) {
    if (extent > kMost)
      throw Declined("an extent of " + std::to_string(extent) + " is more than OpenBLAS counts");
  }
}

void add_bias(const Graph& graph, const Body& body, Shaped& shaped, const Source& source) {
  const Node& sum = body.nodes.back();
  if (&sum == source.op) return;
  refuse_unknown(sum, {});
  if (sum.op != "add") throw Declined("no product is followed by " + sum.op);
  if (graph.type(sum).dims != source.result->dims)
    throw Declined("the bias has more dims than the product, or longer ones");
  for (const Operand& operand : sum.args) {
    if (operand.kind != Operand::kInput) continue;
    View view = view_of(operand.index, graph.type(body, operand));
    shaped.product.bias = read_bias(view, source.result->dims, shaped);
    return;
  }
  throw Declined("the bias is no operand of the composite");
}

}  // namespace

int64_t Product::matrices() const {
  int64_t count = 1;
  for (int64_t extent : batch) count *= extent;
  return count;
}

Product read_product(const Graph& graph, const Node& node) {
  const Body* body = graph.callee(node);
  const Source source = body ? read_anchor(graph, *body) : read_alone(graph, node);
  const sdk::DType dtype = source.result->dtype;
  if (dtype != sdk::DType::kF32 && dtype != sdk::DType::kF64)
    throw Declined("OpenBLAS has products of f32 and f64, not of " + source.result->text());
  Shaped shaped = read_op(source);
  shaped.product.dtype = dtype;
  if (body) add_bias(graph, *body, shaped, source);
  join_rows(shaped.product);
  check_extents(shaped.product);
  return shaped.product;
}

}  // namespace byoc::openblas
