// SPDX-License-Identifier: Apache-2.0
#include "region/subviews.h"

#include <algorithm>

#include "library/check.h"

namespace byoc::onednn {
namespace {

struct Subview {
  Dims starts, steps;
  int64_t drop = -1;
};

Subview whole(size_t rank) { return {Dims(rank, 0), Dims(rank, 1)}; }

size_t normal(int64_t axis, size_t rank) {
  auto from_front = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
  BYOC_ONEDNN_CHECK(from_front < rank,
                    "axis " + std::to_string(axis) + " of rank " + std::to_string(rank));
  return from_front;
}

Subview read_slice(const Node& node, const Dims& dims) {
  Dims starts = node.attrs.ints("starts"), axes = node.attrs.ints("axes"),
       steps = node.attrs.ints("steps");
  BYOC_ONEDNN_CHECK(axes.empty() ? starts.size() <= dims.size() : axes.size() == starts.size(),
                    "slice has an axis per start");
  BYOC_ONEDNN_CHECK(steps.empty() || steps.size() == starts.size(), "slice has a step per start");
  Subview view = whole(dims.size());
  for (size_t k = 0; k < starts.size(); ++k) {
    size_t d = axes.empty() ? k : normal(axes[k], dims.size());
    int64_t step = steps.empty() ? 1 : steps[k], start = starts[k];
    if (step < 0) throw Refusal{"a negative step turns the cells around; oneDNN's strides cannot"};
    view.starts[d] = std::clamp<int64_t>(start < 0 ? start + dims[d] : start, 0, dims[d]);
    view.steps[d] = step;
  }
  return view;
}

Subview read_pad(const Node& node, const Dims& dims) {
  Dims pads = node.attrs.ints("pads");
  BYOC_ONEDNN_CHECK(pads.size() == 2 * dims.size(), "pad has two numbers per dim");
  Subview view = whole(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) view.starts[d] = -pads[d];
  return view;
}

Subview read_gather(const Graph& graph, const Node& node, const Dims& dims) {
  BYOC_ONEDNN_CHECK(node.args.size() == 2, "gather reads a value and an index");
  const sdk::Operand& index = node.args[1];
  const std::optional<sdk::Attr>* value =
      index.kind == sdk::Operand::kConstant ? &graph.constants[index.index].value : nullptr;
  const sdk::Ints* list = value && *value ? std::get_if<sdk::Ints>(&**value) : nullptr;
  size_t rank = graph.type(index).rank();
  if (list == nullptr || list->size() != 1 || rank > 1)
    throw Refusal{"oneDNN has no gather, but for a single constant index"};
  Subview view = whole(dims.size());
  size_t axis = normal(node.attrs.i("axis", 0), dims.size());
  view.starts[axis] = list->front() < 0 ? list->front() + dims[axis] : list->front();
  if (view.starts[axis] < 0 || view.starts[axis] >= dims[axis])
    throw Refusal{"its index is outside of " + graph.type(node.args[0]).text()};
  view.drop = rank == 0 ? static_cast<int64_t>(axis) : -1;
  return view;
}

const Node* write(const Node& like, const Subview& view, std::list<Node>& made) {
  Node node = like;
  node.op = "subview";
  node.attrs = {};
  node.attrs.set("starts", view.starts);
  node.attrs.set("steps", view.steps);
  node.attrs.set("drop", view.drop);
  return &made.emplace_back(std::move(node));
}

std::vector<const Node*> read_split(const Graph& graph, const Node& node, const Dims& dims,
                                    std::list<Node>& made) {
  size_t axis = normal(node.attrs.i("axis", 0), dims.size());
  std::vector<const Node*> out;
  Subview view = whole(dims.size());
  for (size_t k = 0; k < node.types.size(); ++k) {
    out.push_back(write(node, view, made));
    BYOC_ONEDNN_CHECK(graph.type(node, k).rank() == dims.size(), "split keeps the rank");
    view.starts[axis] += graph.type(node, k).dims[axis];
  }
  return out;
}

}  // namespace

bool is_subview(const Node& node) {
  if (node.op != "pad") return node.op == "slice" || node.op == "split" || node.op == "gather";
  Dims pads = node.attrs.ints("pads");  // a pad that adds cells is not a view
  return std::all_of(pads.begin(), pads.end(), [](int64_t cells) { return cells <= 0; });
}

std::vector<const Node*> read_subviews(const Graph& graph, const Node& node,
                                       std::list<Node>& made) {
  BYOC_ONEDNN_CHECK(!node.args.empty(), node.op + " has an operand");
  const Type& type = graph.type(node.args[0]);
  if (!type.is_static()) throw Refusal{"dims must be numbers, not " + type.text()};
  if (node.op == "split") return read_split(graph, node, type.dims, made);
  if (node.op == "slice") return {write(node, read_slice(node, type.dims), made)};
  if (node.op == "pad") return {write(node, read_pad(node, type.dims), made)};
  return {write(node, read_gather(graph, node, type.dims), made)};
}

}  // namespace byoc::onednn
