#pragma once
// A function as it crosses the ABI -> loops: tensor expressions, a schedule, lowering.
#include "byoc/translate/translate.h"

namespace byoc::llvm_plugin {

/// `node`: of the graph, where an error was, or -1.
/// Errors: kBadGraph; kUnimplemented where an op has no tensor expression or is not static.
Result<te::LoopFunction> loops_of_graph(std::string_view graph_json, const te::Target& target);
/// As far as it can be told without a schedule.
Status can_translate(std::string_view graph_json, const te::Target& target);

}  // namespace byoc::llvm_plugin
