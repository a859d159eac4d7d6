// SPDX-License-Identifier: Apache-2.0
// Prints a Dag with a trace in the form that parse_te.cc reads.
#include "byoc/te/text.h"
#include "core/te/text/printer.h"

namespace byoc::te {
namespace {

// Prints the op, the choice of the selector and the node that a stage was made for.
void print_origin(std::string& out, const Stage& stage) {
  if (!stage.op.empty()) out += cat(" of ", quoted_text(stage.op));
  if (!stage.compute.empty()) out += cat(" by ", quoted_text(stage.compute));
  if (stage.call != 0) out += cat(" at ", stage.call);
}

bool begins_with_inputs(const Dag& dag) {
  for (size_t k = 0; k < dag.stages.size(); ++k) {
    const bool is_input = std::holds_alternative<Placeholder>(dag.stages[k].kind);
    if (is_input != (k < dag.inputs.size())) return false;
    if (is_input && !(dag.stages[k].outputs[0] == dag.inputs[k])) return false;
  }
  return dag.inputs.size() <= dag.stages.size();
}

void print_names(Printer& printer, const std::vector<Tensor>& tensors) {
  for (size_t k = 0; k < tensors.size(); ++k)
    printer.out += cat(k ? ", " : "", printer.name(tensors[k]));
}

void print_te_stage(Printer& printer, const Stage& stage) {
  printer.line(1);
  if (const Procedure* body = std::get_if<Procedure>(&stage.kind)) {
    printer.tensors(stage.outputs);
    print_origin(printer.out, stage);
    printer.out += " = procedure(";
    print_names(printer, body->inputs);
    printer.out += ") {";
    printer.kernels_of(body->body);
    printer.stmt(body->body, 2);
    printer.line(1);
    printer.out += "}";
    return;
  }
  print_names(printer, stage.outputs);
  print_origin(printer.out, stage);
  printer.out += " =";
  printer.shared_compute(std::get<Compute>(stage.kind));
}

}  // namespace

std::string print_te(const Dag& dag, const Trace& trace) {
  Printer printer;
  printer.out = cat("te ", quoted_name(dag.name), "(");
  printer.tensors(dag.inputs);
  printer.out += ") -> (";
  print_names(printer, dag.outputs);
  printer.out += ") {";
  const bool skips_inputs = begins_with_inputs(dag);
  for (const Stage& stage : dag.stages) {
    const bool is_input = std::holds_alternative<Placeholder>(stage.kind);
    if (is_input && skips_inputs) continue;
    if (is_input) {
      printer.line(1);
      printer.out += cat("input ", printer.name(stage.outputs[0]));
      continue;
    }
    for (const Tensor& output : stage.outputs) printer.name(output);  // keep their names
    printer.begin_scope();
    print_te_stage(printer, stage);
    printer.end_scope();
  }
  printer.out += "\n}";
  if (!trace.steps.empty()) printer.out += cat(" schedule ", quoted_text(print(trace)));
  return printer.out + "\n";
}

}  // namespace byoc::te
