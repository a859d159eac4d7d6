// SPDX-License-Identifier: Apache-2.0
// Each loop over groups of a function becomes a kernel: an LLVM function with an address per tensor
// that it uses.
#include <algorithm>

#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "plugins/cuda/code/gpu_module.h"
#include "plugins/cuda/code/memory.h"
#include "plugins/cuda/code/statements.h"
#include "plugins/cuda/loops/matrices.h"
#include "plugins/llvm/analysis/walk.h"

namespace byoc::cuda {
namespace {

using llvm_plugin::Home;
using llvm_plugin::MemoryPlan;

/// Facts about the loops of a kernel.
struct Look {
  int64_t threads = 1;
  int loops = 0;             // of threads
  bool is_repeated = false;  // such a loop is inside of another loop
  bool has_failures = false;
};

void look(const te::Stmt& stmt, const Roles& roles, te::Ranges& ranges, bool is_inside, Look& out) {
  if (stmt.is_empty()) return;
  if (const auto* loop = std::get_if<te::For>(&stmt->kind)) {
    const te::Interval begin = te::bounds_of(loop->begin, ranges),
                       extent = te::bounds_of(loop->extent, ranges);
    ranges[loop->var.id()] = {begin.lo, begin.hi + std::max<int64_t>(extent.hi, 1) - 1};
    if (roles.threads.contains(loop->var.id())) {
      ++out.loops;
      out.threads = std::max(out.threads, extent.hi);
      out.is_repeated |= is_inside;
    } else if (!roles.groups.contains(loop->var.id())) {
      is_inside = true;
    }
  }
  if (const auto* call = std::get_if<te::Intrinsic>(&stmt->kind))
    out.has_failures |= !te::index_error_op(*call).empty();
  llvm_plugin::for_each_inner(
      *stmt, [&](const te::Stmt& inner) { look(inner, roles, ranges, is_inside, out); });
}

class Emitter {
 public:
  Emitter(llvm::Module& module, EqualKernels& equal, const llvm_plugin::Machine& machine,
          const MemoryPlan& plan, const GroupFunction& function, const KernelOptions& options)
      : module_(module),
        equal_(equal),
        machine_(machine),
        plan_(plan),
        function_(function.loops),
        roles_(function.roles),
        options_(options) {}
  Result<Program> emit() {
    te::Ranges ranges;
    Look all;
    look(function_.body, roles_, ranges, false, all);
    has_failures_ = all.has_failures;
    BYOC_TRY_STATUS(emit(function_.body));
    program_.workspace_bytes = static_cast<uint64_t>(te::as_int(plan_.workspace_bytes).value_or(0));
    return std::move(program_);
  }

 private:
  Status emit(const te::Stmt& stmt);
  Status emit_kernel(const te::Stmt& stmt, const te::For& groups);
  Status emit_call(const te::Intrinsic& call);
  std::optional<Argument> argument_of(const void* tensor) const;
  std::vector<const void*> find_tensors(const te::Stmt& stmt, Launch& launch) const;
  llvm::Function* declare(const Launch& launch) const;
  void annotate(llvm::Function* kernel, uint32_t threads) const;

  llvm::Module& module_;
  EqualKernels& equal_;
  const llvm_plugin::Machine& machine_;
  const MemoryPlan& plan_;
  const te::LoopFunction& function_;
  const Roles& roles_;
  const KernelOptions& options_;
  bool has_failures_ = false;
  Program program_;
};

Status Emitter::emit(const te::Stmt& stmt) {
  if (stmt.is_empty()) return {};
  if (const auto* alloc = std::get_if<te::Alloc>(&stmt->kind)) return emit(alloc->body);
  if (const auto* block = std::get_if<te::Block>(&stmt->kind)) {
    for (const te::Stmt& inner : block->stmts) BYOC_TRY_STATUS(emit(inner));
    return {};
  }
  if (const auto* call = std::get_if<te::Intrinsic>(&stmt->kind)) return emit_call(*call);
  const auto* groups = std::get_if<te::For>(&stmt->kind);
  if (groups == nullptr || !roles_.groups.contains(groups->var.id()))
    return unimplemented("a statement outside of the kernels of a function");
  return emit_kernel(stmt, *groups);
}

// Returns where a tensor between kernels is; nullopt for the memory of a kernel.
std::optional<Argument> Emitter::argument_of(const void* tensor) const {
  auto number_in = [&](const std::vector<te::Tensor>& list) -> std::optional<size_t> {
    for (size_t k = 0; k < list.size(); ++k)
      if (list[k].id() == tensor) return k;
    return std::nullopt;
  };
  const auto home = plan_.homes.find(tensor);
  if (home == plan_.homes.end()) return std::nullopt;
  if (const auto input = number_in(function_.inputs))
    return *input < options_.n_inputs ? Argument{Argument::kInput, *input}
                                      : Argument{Argument::kConstant, *input - options_.n_inputs};
  if (const auto output = number_in(function_.outputs)) return Argument{Argument::kOutput, *output};
  if (home->second.kind != Home::kWorkspace) return std::nullopt;
  return Argument{Argument::kWorkspace,
                  static_cast<uint64_t>(te::as_int(home->second.offset).value_or(0))};
}

// Returns the tensors that have parameters, in order, and adds their addresses to the launch.
std::vector<const void*> Emitter::find_tensors(const te::Stmt& stmt, Launch& launch) const {
  std::vector<const void*> out;
  const llvm_plugin::Names inside = llvm_plugin::names_in(stmt);
  for (const void* id : inside.in_order) {
    const std::optional<Argument> argument = argument_of(id);
    if (!argument) continue;
    out.push_back(id);
    launch.arguments.push_back(*argument);
  }
  return out;
}

Status Emitter::emit_call(const te::Intrinsic& call) {
  if (call.name != kMatrixProduct) return unimplemented(cat("no library has ", call.name));
  Launch launch{"", 0, 0, {}, MatrixProduct()};
  for (size_t k = 0; k < call.args.size(); ++k)
    (*launch.product).*kMatrixProductFields[k] =
        static_cast<uint64_t>(te::as_int(call.args[k]).value_or(0));
  for (const te::Place& place : call.places)
    launch.arguments.push_back(argument_of(place.tensor.id()).value_or(Argument()));
  program_.launches.push_back(std::move(launch));
  return {};
}

llvm::Function* Emitter::declare(const Launch& launch) const {
  llvm::LLVMContext& context = module_.getContext();
  auto* ptr = llvm::PointerType::getUnqual(context);
  auto* type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                              std::vector<llvm::Type*>(launch.arguments.size(), ptr), false);
  auto* out =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, launch.kernel, module_);
  out->setCallingConv(llvm::CallingConv::PTX_Kernel);
  out->setDoesNotThrow();
  out->addFnAttr(llvm::Attribute::MustProgress);
  for (unsigned k = 0; k < launch.arguments.size(); ++k) {
    const Argument::Kind kind = launch.arguments[k].kind;
    if (kind == Argument::kFailure) continue;
    out->addParamAttr(k, llvm::Attribute::NoAlias);
    out->addParamAttr(k, llvm::Attribute::getWithAlignment(context, llvm::Align(64)));
    if (kind == Argument::kInput || kind == Argument::kConstant)
      out->addParamAttr(k, llvm::Attribute::ReadOnly);
  }
  return out;
}

// Lets the driver start the function, and its assembler use all registers that the threads of one
// group can have.
void Emitter::annotate(llvm::Function* kernel, uint32_t threads) const {
  llvm::LLVMContext& context = module_.getContext();
  auto number = [&](uint32_t x) {
    return llvm::ConstantAsMetadata::get(
        llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), x));
  };
  module_.getOrInsertNamedMetadata("nvvm.annotations")
      ->addOperand(llvm::MDNode::get(
          context, {llvm::ConstantAsMetadata::get(kernel), llvm::MDString::get(context, "kernel"),
                    number(1), llvm::MDString::get(context, "maxntidx"), number(threads),
                    llvm::MDString::get(context, "minctasm"), number(1)}));
}

Status Emitter::emit_kernel(const te::Stmt& stmt, const te::For& groups) {
  constexpr int64_t kMostThreads = 1024, kMostGroups = INT32_MAX;
  te::Ranges ranges;
  Look facts;
  look(stmt, roles_, ranges, false, facts);
  const std::optional<int64_t> count = te::as_int(groups.extent);
  if (!count || *count > kMostGroups || facts.threads > kMostThreads)
    return unimplemented(
        cat("a kernel of ", te::print(groups.extent), " groups of ", facts.threads, " threads"));
  Launch launch{cat(options_.prefix, "_", program_.launches.size()),
                static_cast<uint32_t>(*count),
                static_cast<uint32_t>(facts.threads),
                {}};
  const std::vector<const void*> tensors = find_tensors(stmt, launch);
  if (tensors.size() >= Launch::kMostArguments)
    return unimplemented(cat("a kernel that reads and writes ", tensors.size(), " tensors"));
  if (has_failures_) launch.arguments.push_back({Argument::kFailure, 0});
  llvm::Function* function = declare(launch);
  Statements body(function, machine_, plan_, roles_,
                  {launch.threads, facts.loops > 1 || facts.is_repeated}, options_.contract);
  for (unsigned k = 0; k < tensors.size(); ++k)
    body.values().set_base(tensors[k], function->getArg(k));
  if (has_failures_)
    body.set_failure(function->getArg(static_cast<unsigned>(tensors.size())), &program_.failures);
  BYOC_TRY_STATUS(body.emit(stmt));
  body.builder().CreateRetVoid();
  const std::string own = launch.kernel;
  launch.kernel = equal_.name_of(*function, launch.threads);
  if (launch.kernel == own) annotate(function, launch.threads);
  program_.launches.push_back(std::move(launch));
  return {};
}

}  // namespace

Result<Program> GpuModule::add(const GroupFunction& function, const KernelOptions& options) {
  const GroupFunction prepared{prepared_loads(function.loops), function.roles};
  BYOC_TRY(const MemoryPlan plan, plan_of(prepared));
  Emitter emitter(*module_, equal_, machine_, plan, prepared, options);
  BYOC_TRY(Program out, emitter.emit());
  for (const llvm::Function& callee : *module_) {
    if (callee.isDeclaration() && !callee.isIntrinsic())
      return unimplemented(cat("devices have no function ", callee.getName().str()));
  }
  return out;
}

}  // namespace byoc::cuda
