// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/functions.h"

#include "byoc/base/check.h"
#include "byoc/ir/intern.h"
#include "byoc/text/text.h"

namespace byoc::llvm_plugin {
namespace {

std::string text_of(const topi::Point& point) {
  std::string out;
  for (const auto& [name, value] : point) out += cat(name, "=", value, "\n");
  return out;
}

uint64_t bytes_of(const te::Tensor& tensor) {
  uint64_t out = dtype_size(tensor.dtype());
  for (const te::Expr& extent : tensor.shape()) out *= static_cast<uint64_t>(*te::as_int(extent));
  return out;
}

// Returns whether a float of the function is an integer in steps. ONNX rounds each of its ops, and
// a value next to a tie is another integer where a product and a sum are one operation.
bool is_in_steps(const Function& function, const Node& node, const Call& call) {
  if (call.op->name == "quantize" || call.op->name == "dequantize") return true;
  return call.op->name == "cast" && node.types[0]->dtype == DType::kF32 &&
         function.type(function.args(node)[0])->dtype == DType::kI32;
}

// Returns whether multiply-adds are part of what an op computes: sums of floats, and add_integers,
// which is defined by them.
bool has_own_sums(const Node& node, const Call& call) {
  if (call.op->name == "add_integers") return true;
  return call.op->kind >= FusionKind::kReduction && is_float(node.types[0]->dtype);
}

// Returns whether each op on floats has to be rounded by itself.
bool rounds_each_op(const IRModule& module) {
  bool has_steps = false;
  for (const auto& [name, function] : module.functions) {
    for (const Node& node : function.nodes) {
      auto* call = std::get_if<Call>(&node.kind);
      if (call == nullptr) continue;
      if (has_own_sums(node, *call)) return false;
      has_steps |= is_in_steps(function, node, *call);
    }
  }
  return has_steps;
}

/// One call of compile_functions.
class Request {
 public:
  Request(std::span<const FunctionToLower> functions, const te::Target& target,
          const CompileOptions& options, bool contract)
      : functions_(functions),
        target_(target),
        options_(options),
        contract_(contract),
        contracts_(functions.size()),
        machine_(machine_of(target)),
        host_(machine_of(host_target())),
        lowered_(functions.size()),
        names_(functions.size()),
        out_{std::vector<CompiledFunction>(functions.size()),
             std::vector<Status>(functions.size())} {}
  CompiledFunctions run(const ForEach& read_each);

 private:
  void find_or_lower(size_t f, FunctionModule& function);
  void add_jobs(size_t f);
  void take(size_t f);
  Status status_of(size_t job, size_t f);

  std::span<const FunctionToLower> functions_;
  const te::Target& target_;
  const CompileOptions& options_;
  const bool contract_;
  std::vector<char> contracts_;  // by function: a product and a sum may become one operation
  const Result<Machine> machine_, host_;
  std::vector<std::optional<Lowered>> lowered_;  // nullopt: the cache had it
  std::vector<std::string> names_;               // in the cache
  std::vector<KernelJob> jobs_;                  // of the lowered ones, in their order
  Compiled compiled_;
  size_t next_ = 0;  // of the jobs
  CompiledFunctions out_;
};

void Request::find_or_lower(size_t f, FunctionModule& function) {
  BYOC_CHECK(f < functions_.size(), "function ", f, " of ", functions_.size());
  contracts_[f] = contract_ && !rounds_each_op(function.module);
  if (options_.cache && options_.cache->is_usable()) {
    const std::string use = cat(function.when == SplitWhen::kAlways, contracts_[f] != 0, "\n",
                                text_of(functions_[f].point), te::print(host_target()));
    names_[f] = name_in_cache('f', function, target_, use);
    if (auto known = options_.cache->find_function(names_[f])) {
      out_.functions[f] = *std::move(known);
      return;
    }
  }
  Result<Lowered> lowered = lower_function(function, target_, functions_[f].point);
  if (lowered.ok()) lowered_[f] = *std::move(lowered);
  else out_.errors[f] = std::move(lowered.status());
}

void Request::add_jobs(size_t f) {
  BYOC_CHECK(lowered_[f] && machine_.ok() && host_.ok(), "function ", f, " is lowered");
  const Lowered& lowered = *lowered_[f];
  const EmitOptions emit{contracts_[f] != 0, std::max(target_.threads, 1U),
                         lowered.sequence.has_value(), target_.shares_all};
  for (const te::LoopFunction& loops : lowered.kernels) jobs_.push_back({&loops, &*machine_, emit});
  if (const auto& constants = lowered.constants)
    jobs_.push_back({&constants->loops, &*host_, emit});
}

// Moves the kernels of a lowered function to its result.
void Request::take(size_t f) {
  Lowered& lowered = *lowered_[f];
  CompiledFunction& out = out_.functions[f];
  auto take_next = [&] {
    BYOC_CHECK(next_ < compiled_.kernels.size(), "kernel ", next_, " of ",
               compiled_.kernels.size());
    if (!compiled_.errors[next_].ok()) out_.errors[f] = compiled_.errors[next_];
    return compiled_.kernels[next_++];
  };
  for (size_t k = 0; k < lowered.kernels.size(); ++k) out.kernels.push_back(take_next());
  out.sequence = std::move(lowered.sequence);
  if (auto& constants = lowered.constants) {
    out.constants = ConstantKernel{take_next(), {}, {}, std::move(constants->is_kept)};
    out.constants->reads.assign(constants->reads.begin(), constants->reads.end());
    for (const te::Tensor& output : constants->loops.outputs)
      out.constants->output_bytes.push_back(bytes_of(output));
  }
  const bool is_kept = out_.errors[f].ok() && !names_[f].empty();
  if (is_kept) options_.cache->put_function(names_[f], out);
}

CompiledFunctions Request::run(const ForEach& read_each) {
  for (const auto* machine : {&machine_, &host_}) {
    if (machine->ok()) continue;
    out_.errors.assign(functions_.size(), machine->status());
    return std::move(out_);
  }
  std::vector<FunctionModule> modules = read_functions(functions_, read_each);
  BYOC_CHECK(modules.size() == functions_.size(), modules.size(), " modules of ", functions_.size(),
             " functions are read");
  for (size_t f = 0; f < modules.size(); ++f) out_.errors[f] = modules[f].error;
  auto has_error = [&] {
    return std::ranges::any_of(out_.errors, [](const Status& s) { return !s.ok(); });
  };
  if (has_error()) return std::move(out_);
  read_each(modules.size(), [&](size_t f) { find_or_lower(f, modules[f]); });
  if (has_error()) return std::move(out_);
  for (size_t f = 0; f < modules.size(); ++f) {
    if (lowered_[f]) add_jobs(f), ++out_.lowered;
  }
  compiled_ = compile_kernels(jobs_, options_);
  for (size_t f = 0; f < modules.size(); ++f) {
    if (lowered_[f]) take(f);
  }
  BYOC_CHECK(next_ == jobs_.size(), "each kernel belongs to a function");
  if (options_.cache) options_.cache->trim();
  return std::move(out_);
}

// Removes what differs between equal computations: the names of nodes and parameters.
Function without_names(Function function) {
  for (size_t n = 0; n < function.nodes.size(); ++n) {
    Node& node = function.nodes[n];
    node.loc = {};
    if (auto* param = std::get_if<Param>(&node.kind)) param->name = cat("p", n);
  }
  return function;
}

}  // namespace

std::string name_in_cache(char prefix, FunctionModule& function, const te::Target& target,
                          std::string_view use) {
  InternScope scope(function.arena);
  std::string text = cat(te::print(target), "\n", use, "\n");
  for (const auto& [name, body] : function.module.functions)
    text += print(without_names(body), name == function.module.entry ? Symbol("f") : name);
  return name_in_store(prefix, text);
}

CompiledFunctions compile_functions(std::span<const FunctionToLower> functions,
                                    const te::Target& target, bool contract,
                                    const CompileOptions& options, const ForEach& read_each) {
  return Request(functions, target, options, contract).run(read_each);
}

}  // namespace byoc::llvm_plugin
