#include "region/subviews.h"

#include <algorithm>

namespace byoc::onednn {
namespace {

struct Part {
  Dims starts, steps;
  int64_t drop = -1;
};

Part whole(size_t rank) { return {Dims(rank, 0), Dims(rank, 1)}; }

size_t normal(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

Part read_slice(const Node& node, const Dims& dims) {
  Dims starts = node.attrs.ints("starts"), axes = node.attrs.ints("axes"),
       steps = node.attrs.ints("steps");
  Part part = whole(dims.size());
  for (size_t k = 0; k < starts.size(); ++k) {
    size_t d = axes.empty() ? k : normal(axes[k], dims.size());
    int64_t step = steps.empty() ? 1 : steps[k], start = starts[k];
    if (step < 0) throw Refusal{"a negative step turns the cells around; oneDNN's strides cannot"};
    part.starts[d] = std::clamp<int64_t>(start < 0 ? start + dims[d] : start, 0, dims[d]);
    part.steps[d] = step;
  }
  return part;
}

Part read_pad(const Node& node, const Dims& dims) {
  Dims pads = node.attrs.ints("pads");
  Part part = whole(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) part.starts[d] = -pads[d];
  return part;
}

Part read_gather(const Graph& graph, const Node& node, const Dims& dims) {
  const sdk::Operand& index = node.args[1];
  const std::optional<sdk::Attr>* value =
      index.kind == sdk::Operand::kConstant ? &graph.constants[index.index].value : nullptr;
  const sdk::Ints* list = value && *value ? std::get_if<sdk::Ints>(&**value) : nullptr;
  size_t rank = graph.type(index).rank();
  if (list == nullptr || list->size() != 1 || rank > 1)
    throw Refusal{"oneDNN has no gather, but for a single constant index"};
  Part part = whole(dims.size());
  size_t axis = normal(node.attrs.i("axis", 0), dims.size());
  part.starts[axis] = list->front() < 0 ? list->front() + dims[axis] : list->front();
  if (part.starts[axis] < 0 || part.starts[axis] >= dims[axis])
    throw Refusal{"its index is outside of " + graph.type(node.args[0]).text()};
  part.drop = rank == 0 ? static_cast<int64_t>(axis) : -1;
  return part;
}

const Node* write(const Node& like, const Part& part, std::list<Node>& made) {
  Node node = like;
  node.op = "part";
  node.attrs = {};
  node.attrs.set("starts", part.starts);
  node.attrs.set("steps", part.steps);
  node.attrs.set("drop", part.drop);
  return &made.emplace_back(std::move(node));
}

std::vector<const Node*> read_split(const Graph& graph, const Node& node, const Dims& dims,
                                    std::list<Node>& made) {
  size_t axis = normal(node.attrs.i("axis", 0), dims.size());
  std::vector<const Node*> out;
  Part part = whole(dims.size());
  for (size_t k = 0; k < node.types.size(); ++k) {
    out.push_back(write(node, part, made));
    part.starts[axis] += graph.type(node, k).dims[axis];
  }
  return out;
}

}  // namespace

bool is_part(const Node& node) {
  if (node.op != "pad") return node.op == "slice" || node.op == "split" || node.op == "gather";
  Dims pads = node.attrs.ints("pads");  // one that adds cells is none
  return std::all_of(pads.begin(), pads.end(), [](int64_t cells) { return cells <= 0; });
}

std::vector<const Node*> read_parts(const Graph& graph, const Node& node, std::list<Node>& made) {
  const Type& type = graph.type(node.args[0]);
  if (!type.is_static()) throw Refusal{"dims must be numbers, not " + type.text()};
  if (node.op == "split") return read_split(graph, node, type.dims, made);
  if (node.op == "slice") return {write(node, read_slice(node, type.dims), made)};
  if (node.op == "pad") return {write(node, read_pad(node, type.dims), made)};
  return {write(node, read_gather(graph, node, type.dims), made)};
}

}  // namespace byoc::onednn
