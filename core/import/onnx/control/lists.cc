// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/control/lists.h"

#include <algorithm>

#include "core/import/onnx/file/protobuf_text.h"

namespace byoc::onnx_import {
namespace {

// Returns how often the body reads a name, graphs inside of it included.
size_t count_readers(const onnx::GraphProto& body, const std::string& name) {
  size_t readers = 0;
  auto count = [&](const onnx::GraphProto& inner) {
    const std::vector<std::string> names = outer_names(inner);
    readers += static_cast<size_t>(std::count(names.begin(), names.end(), name));
  };
  for (const auto& node : body.node()) {
    readers += static_cast<size_t>(std::count(node.input().begin(), node.input().end(), name));
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) count(attribute.g());
      for (const auto& graph : attribute.graphs()) count(graph);
    }
  }
  for (const auto& output : body.output()) readers += output.name() == name ? 1 : 0;
  return readers;
}

// Returns the node that appends one element to the sequence `list` and gives `result`, or copies
// that a node Identity passes on; null when there is none.
onnx::NodeProto* appending_node(onnx::GraphProto& body, const std::string& list,
                                std::string result) {
  for (int k = body.node_size(); k-- > 0;) {
    onnx::NodeProto& node = *body.mutable_node(k);
    if (node.output_size() == 0 || node.output(0) != result || node.input_size() == 0) continue;
    if (node.op_type() == "Identity") {
      result = node.input(0);
      continue;
    }
    const bool at_end = node.input_size() == 2 || (node.input_size() == 3 && node.input(2).empty());
    return node.op_type() == "SequenceInsert" && at_end && node.input(0) == list ? &node : nullptr;
  }
  return nullptr;
}

template <class T>
void move_to_end(T& list, int from) {
  for (int k = from; k + 1 < list.size(); ++k) list.SwapElements(k, k + 1);
}

}  // namespace

Status stack_lists(onnx::NodeProto& loop, onnx::GraphProto& body, size_t carried,
                   const std::vector<size_t>& lists) {
  while (loop.output_size() < body.output_size() - 1) loop.add_output();
  for (size_t n = lists.size(); n-- > 0;) {
    const auto k = static_cast<int>(lists[n]);
    const std::string name = body.input(k + 2).name(), result = body.output(k + 1).name();
    onnx::NodeProto* append = appending_node(body, name, result);
    if (append == nullptr || count_readers(body, name) != 1 || carried <= lists[n])
      return unimplemented(cat("it carries the sequence ", in_quotes(name),
                               "; only one SequenceInsert at its end per iteration is supported"));
    const std::string element = append->input(1);
    append->clear_input();
    append->add_input(element);
    append->set_op_type("Identity");
    body.mutable_input()->DeleteSubrange(k + 2, 1);
    move_to_end(*body.mutable_output(), k + 1);
    body.mutable_output(body.output_size() - 1)->clear_type();
    loop.mutable_input()->DeleteSubrange(k + 2, 1);
    move_to_end(*loop.mutable_output(), k);
  }
  return {};
}

}  // namespace byoc::onnx_import
