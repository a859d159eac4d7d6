// SPDX-License-Identifier: Apache-2.0
#include "task.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace byoc::onednn {
namespace {

using sdk::Body;
using sdk::Operand;

template <class Number>
std::string number_text(Number value) {
  char digits[32];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  return std::string(std::begin(digits), end);
}

std::string text_of(int64_t value) { return number_text(value); }
std::string text_of(double value) { return number_text(value); }
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(sdk::DType value) { return std::string(sdk::dtype_name(value)); }
std::string text_of(const std::string& value) {
  return number_text(value.size()) + ":" + value;  // a length, as any character may occur
}
std::string text_of(const sdk::ConstantKey&) { return "constant"; }
template <class T>
std::string text_of(const std::vector<T>& list) {
  std::string out = "[";
  for (size_t k = 0; k < list.size(); ++k) out += (k == 0 ? "" : ",") + text_of(T(list[k]));
  return out + "]";
}

std::string operand_text(const Operand& operand) {
  std::string out(1, "icn"[static_cast<int>(operand.kind)]);
  out += number_text(operand.index);
  return operand.output == 0 ? out : out + "." + number_text(operand.output);
}

// Appends "conv2d/1 group=1 strides=[1,1] (i0,c0) f32[1,8,4,4]"; a call is "@2".
void append_node(const Graph& graph, const Node& node, std::string& to) {
  to += node.is_call() ? "@" + number_text(node.call) : node.op + "/" + number_text(node.version);
  for (const auto& [name, value] : node.attrs.all())
    to += " " + name + "=" + std::visit([](const auto& v) { return text_of(v); }, value);
  to += " (";
  for (size_t k = 0; k < node.args.size(); ++k)
    to += (k == 0 ? "" : ",") + operand_text(node.args[k]);
  to += ")";
  for (uint32_t type : node.types) to += " " + graph.types[type].text();
  to += "\n";
}

void append_body(const Graph& graph, const Body& body, std::string& to) {
  to += "inputs";
  for (const sdk::Input& input : body.inputs) to += " " + graph.types[input.type].text();
  to += "\n";
  for (const Node& node : body.nodes) append_node(graph, node, to);
  to += "return";
  for (const Operand& output : body.outputs) to += " " + operand_text(output);
  to += "\n";
}

bool is_view(std::string_view op) {
  constexpr std::string_view kOps[] = {
      "reshape", "flatten",          "squeeze", "unsqueeze", "slice", "transpose", "split",
      "gather",  "layout_transform", "concat",  "identity",  "pad",   "where"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

double elements_of(const Type& type) { return static_cast<double>(type.elements()); }

// Returns the operations of a product: its cells times the length of what each one sums.
double product_flops(const Node& node, const Type& left, double cells) {
  if (left.dims.empty()) return cells;
  const bool is_turned = node.op == "gemm" && node.attrs.b("trans_a", false);
  return 2 * cells * static_cast<double>(is_turned ? left.dims.front() : left.dims.back());
}

double flops_of(const Graph& graph, const Body& body, const Node& node) {
  double written = 0, read = 0;
  for (uint32_t type : node.types) written += elements_of(graph.types[type]);
  if (is_view(node.op) || node.args.empty()) return 0;
  const Type& first = graph.type(body, node.args[0]);
  if (node.op == "matmul" || node.op == "gemm") return product_flops(node, first, written);
  if (node.op.starts_with("conv") && node.args.size() > 1) {
    const Type& weights = graph.type(body, node.args[1]);
    const double cells = node.op.ends_with("_transpose") ? elements_of(first) : written;
    const auto filters = static_cast<double>(std::max<int64_t>(weights.dims.front(), 1));
    return 2 * cells * elements_of(weights) / filters;
  }
  double window = 1;
  for (int64_t extent : node.attrs.ints("kernel_shape")) window *= static_cast<double>(extent);
  for (const Operand& operand : node.args)
    read = std::max(read, elements_of(graph.type(body, operand)));
  return window == 1 ? std::max(read, written) : window * written;
}

double flops_of(const Graph& graph, const Body& body) {
  double flops = 0;
  for (const Node& node : body.nodes) {
    const Body* callee = graph.callee(node);
    if (callee == nullptr) {
      flops += flops_of(graph, body, node);
      continue;
    }
    for (const Node& inner : callee->nodes) flops += flops_of(graph, *callee, inner);
  }
  return flops;
}

}  // namespace

std::string task_text(const Graph& graph, const ChainRules& rules) {
  std::string text = rules.keeps_nan ? "onednn keep_nan\n" : "onednn\n";
  for (size_t k = 0; k < graph.functions.size(); ++k) {
    text += "@" + number_text(k) + " " + graph.functions[k].pattern + " ";
    append_body(graph, graph.functions[k], text);
  }
  text += "constants";
  for (const sdk::Constant& constant : graph.constants)
    text += " " + graph.types[constant.type].text();
  text += "\n";
  append_body(graph, graph, text);
  return text;
}

double flops_of(const Graph& graph) { return flops_of(graph, graph); }

double bytes_of(const Graph& graph) {
  double bytes = 0;
  for (size_t k = 0; k < graph.inputs.size(); ++k)
    bytes += static_cast<double>(graph.input_type(k).bytes());
  for (const sdk::Constant& constant : graph.constants)
    bytes += static_cast<double>(graph.types[constant.type].bytes());
  for (size_t k = 0; k < graph.outputs.size(); ++k)
    bytes += static_cast<double>(graph.output_type(k).bytes());
  return bytes;
}

}  // namespace byoc::onednn
