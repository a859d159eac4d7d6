// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/compile.h"

#include "byoc/ir/intern.h"
#include "byoc/text/graph_json.h"
#include "byoc/translate/translate.h"

namespace byoc::cuda {
namespace {

/// The kernels of a function; and those of its form with calls of libraries, if it has such.
struct Loops {
  GroupFunction own;
  std::optional<GroupFunction> by_library = std::nullopt;
};

// Frees the interned values of the graph: loops contain none.
Result<Loops> loops_of(std::string_view graph_json, bool has_libraries) {
  InternArena arena;
  InternScope scope(arena);
  BYOC_TRY(IRModule module, read_graph_json(graph_json, all_ops(), nullptr));
  BYOC_TRY(const te::Dag dag, te::translate_to_te(module, module.function(module.entry),
                                                  te::Target(), te::by_level()));
  Loops out;
  BYOC_TRY(out.own, group_loops(dag));
  if (has_libraries) {
    BYOC_TRY(GroupFunction by_library, group_loops(dag, true));
    if (by_library.has_calls) out.by_library = std::move(by_library);
  }
  return out;
}

[[noreturn]] void fail(const Status& status, int64_t function) {
  if (status.code() == Code::kUnimplemented) throw sdk::Declined(status.message(), -1, function);
  throw sdk::Error(static_cast<uint32_t>(status.code()), status.message(), -1, function);
}

template <class T>
T value_of(Result<T> result, int64_t function = -1) {
  if (!result.ok()) fail(result.status(), function);
  return *std::move(result);
}

SavedFunction saved_of(sdk::Function& function, std::pair<Program, Program> programs) {
  SavedFunction out{function.graph.symbol,
                    function.graph.signature(),
                    function.graph.inputs.size(),
                    function.graph.outputs.size(),
                    {},
                    {},
                    std::move(programs.first),
                    std::move(programs.second)};
  out.used.resize(function.constants.size());
  for (const Program* program : {&out.program, &out.by_library}) {
    for (const Launch& launch : program->launches)
      for (const Argument& argument : launch.arguments)
        if (argument.kind == Argument::kConstant) out.used[argument.at] = 1;
  }
  for (size_t c = 0; c < function.constants.size(); ++c) {
    const byoc_const& constant = function.constants.raw(c);
    out.constants.emplace_back(reinterpret_cast<const char*>(constant.key), sizeof constant.key);
  }
  return out;
}

struct Compiled {
  std::unique_ptr<GpuModule> module;
  std::vector<std::pair<Program, Program>> programs;  // own kernels, and with libraries
};

Compiled compile_all(sdk::CompileRequest& request, const GpuTarget& target) {
  Compiled out{value_of(GpuModule::make(target)), {}};
  const bool contract = (request.raw.flags & BYOC_STRICT_FP) == 0;
  for (sdk::Function& function : request.functions) {
    const auto number = static_cast<int64_t>(function.index);
    function.cancel.check();
    const Loops loops = value_of(loops_of(function.graph_json, target.has_libraries), number);
    auto program_of = [&](const GroupFunction& form, std::string_view letter) {
      const size_t n_inputs = function.graph.inputs.size();
      return value_of(out.module->add(form, {cat(letter, number), n_inputs, contract}), number);
    };
    Program own = program_of(loops.own, "f");
    out.programs.emplace_back(std::move(own),
                              loops.by_library ? program_of(*loops.by_library, "l") : Program());
    function.cancel.progress(function.index + 1, request.functions.size(), "compiling");
  }
  return out;
}

}  // namespace

Status can_compile(std::string_view graph_json, const GpuTarget& target) {
  BYOC_TRY(const Loops loops, loops_of(graph_json, false));
  BYOC_TRY(std::unique_ptr<GpuModule> module, GpuModule::make(target));
  return module->add(loops.own, {"f", loops.own.loops.inputs.size(), true}).status();
}

SavedModule compile_functions(sdk::CompileRequest& request, const GpuTarget& target) {
  Compiled compiled = compile_all(request, target);
  SavedModule out{static_cast<uint64_t>(target.sm), value_of(compiled.module->ptx()), {}};
  for (sdk::Function& function : request.functions)
    out.functions.push_back(saved_of(function, std::move(compiled.programs[out.functions.size()])));
  return out;
}

std::string shown_code(sdk::CompileRequest& request, const GpuTarget& target,
                       std::string_view form) {
  Compiled compiled = compile_all(request, target);
  return form == "llvm" ? compiled.module->llvm() : value_of(compiled.module->ptx());
}

}  // namespace byoc::cuda
