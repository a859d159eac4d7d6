// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/native.h"

#include <set>

#include "byoc/base/buffer.h"
#include "byoc/base/check.h"
#include "byoc/plugin/abi.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "plugins/llvm/analysis/walk.h"
#include "plugins/llvm/fingerprint.h"
#include "plugins/llvm/machine/link.h"
#include "plugins/llvm/topi/code_size.h"

namespace byoc::llvm_plugin {
namespace {

// The newest minor of the ABI that changed a struct of native modules: an older runtime loads them.
constexpr uint32_t kNativeMinor = 2;

struct Optimised {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::TargetMachine> target;
  Emitted emitted;
};

// The limit for kernels that take less time than their call.
constexpr int64_t kBriefOperations = 1 << 13;

// Returns true for loops with branches, or with selects such as those of padding, around which
// loops are split (analysis/loop_splitting.h).
bool has_conditions(const te::Stmt& stmt) {
  bool out = std::holds_alternative<te::If>(stmt->kind);
  Seen seen;
  for_each_expr(*stmt, [&](const te::Expr& x) {
    walk_expr(x, seen, [&](const te::Expr& inner) {
      out = out || std::holds_alternative<te::Select>(inner->kind);
    });
  });
  for_each_inner(*stmt, [&](const te::Stmt& inner) { out = out || has_conditions(inner); });
  return out;
}

Effort effort_for(const te::LoopFunction& function, const EmitOptions& options) {
  bool is_brief = options.saves_effort && topi::operations_of(function) <= kBriefOperations;
  if (is_brief) return Effort::kSome;
  const bool has_branches = !function.body.is_empty() && has_conditions(function.body);
  return has_branches ? Effort::kAll : Effort::kMost;
}

Result<Optimised> emit_optimised(const te::LoopFunction& function, const std::string& symbol,
                                 const Machine& machine, const EmitOptions& options) {
  const Effort effort = effort_for(function, options);
  auto context = std::make_unique<llvm::LLVMContext>();
  BYOC_TRY(auto target, make_target_machine(machine, effort));
  BYOC_TRY(Emitted emitted, emit_function(function, symbol, machine, *target, options, *context));
  BYOC_CHECK(emitted.workspace.bytes % 64 == 0, symbol, " has a workspace of ",
             emitted.workspace.bytes, " bytes, which are no whole lines");
  optimise(*emitted.module, *target, effort);
  return Optimised{std::move(context), std::move(target), std::move(emitted)};
}

/// Emits the tables of the module: byoc_native_fn per kernel, byoc_native_table, and the entry
/// that returns it.
class TableModule {
 public:
  explicit TableModule(const Machine& machine) : machine_(machine), module_("table", context_) {}

  Result<std::string> make(std::span<const Kernel* const> functions,
                           std::span<const std::string> signatures) {
    BYOC_TRY(auto target, make_target_machine(machine_, Effort::kLittle));
    set_target(module_, *target);
    BYOC_CHECK(signatures.empty() || signatures.size() == functions.size(), functions.size(),
               " functions have ", signatures.size(), " signatures");
    std::vector<llvm::Constant*> fns;
    for (size_t k = 0; k < functions.size(); ++k)
      fns.push_back(function_table(*functions[k], k < signatures.size() ? signatures[k] : ""));
    auto* list = llvm::ConstantArray::get(llvm::ArrayType::get(ptr(), fns.size()), fns);
    auto* table = global(llvm::ConstantStruct::getAnon(
        {header(sizeof(byoc_native_table), BYOC_TAG_NATIVE_TABLE), u32(BYOC_ABI_MAJOR),
         u32(kNativeMinor), u64(fns.size()), global(list)}));
    auto* type = llvm::FunctionType::get(ptr(), {ptr()}, false);
    auto* entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                         BYOC_NATIVE_ENTRY_SYMBOL, module_);
    llvm::IRBuilder<>(llvm::BasicBlock::Create(context_, "", entry)).CreateRet(table);
    return generate(module_, *target, CodeKind::kObject);
  }

 private:
  llvm::PointerType* ptr() { return llvm::PointerType::getUnqual(context_); }
  llvm::Constant* u32(uint64_t x) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context_), x);
  }
  llvm::Constant* u64(uint64_t x) {
    return llvm::ConstantInt::get(llvm::Type::getInt64Ty(context_), x);
  }
  llvm::Constant* header(uint64_t size, uint64_t tag) {
    return llvm::ConstantStruct::getAnon(
        {u32(size), u32(tag), llvm::ConstantPointerNull::get(ptr())});
  }
  llvm::Constant* global(llvm::Constant* value) {
    return new llvm::GlobalVariable(module_, value->getType(), true,
                                    llvm::GlobalValue::InternalLinkage, value);
  }
  llvm::Constant* text(const std::string& text) {  // the fields of a byoc_str
    if (text.empty()) return llvm::ConstantPointerNull::get(ptr());
    return global(llvm::ConstantDataArray::getString(context_, text, /*AddNull=*/false));
  }
  llvm::Constant* function_table(const Kernel& kernel, const std::string& signature) {
    auto* type = llvm::FunctionType::get(llvm::Type::getInt32Ty(context_), {ptr()}, false);
    auto* run =
        llvm::cast<llvm::Function>(module_.getOrInsertFunction(kernel.symbol, type).getCallee());
    run->setVisibility(llvm::GlobalValue::HiddenVisibility);
    const std::string& by_sizes = kernel.workspace.by_sizes;
    return global(llvm::ConstantStruct::getAnon(
        {header(sizeof(byoc_native_fn), BYOC_TAG_NATIVE_FN), run, u64(kernel.workspace.bytes),
         u64(64), text(signature), u64(signature.size()), text(by_sizes), u64(by_sizes.size())}));
  }

  const Machine& machine_;
  llvm::LLVMContext context_;
  llvm::Module module_;
};

}  // namespace

std::shared_ptr<const Kernel> with_names(std::shared_ptr<const Kernel> kernel,
                                         std::span<const std::string> names) {
  if (kernel->workspace.by_sizes.empty()) return kernel;
  Kernel out = *kernel;
  out.workspace = with_names(std::move(out.workspace), names);
  return std::make_shared<const Kernel>(std::move(out));
}

std::string kernel_symbol(const te::LoopFunction& function, const Machine& machine,
                          const EmitOptions& options) {
  std::string text = cat(fingerprint(function), "|", machine.triple, "|", machine.tune_cpu, "|",
                         machine.feature_string(), "|", machine.vector_bits, "|", options.contract,
                         "|", options.threads, "|", llvm_version());
  if (options.saves_effort) text += "|saves effort";
  if (options.shares_all) text += "|shares all";
  return "k" + content_key(std::as_bytes(std::span(text))).hex();
}

Result<Kernel> compile_kernel(const te::LoopFunction& function, const std::string& symbol,
                              const Machine& machine, const EmitOptions& options) {
  BYOC_TRY(Optimised code, emit_optimised(function, symbol, machine, options));
  BYOC_TRY(std::string object, generate(*code.emitted.module, *code.target, CodeKind::kObject));
  return Kernel{symbol, std::move(object), std::move(code.emitted.workspace),
                code.emitted.has_tiles};
}

Result<Listings> list_kernel(const te::LoopFunction& function, const Machine& machine,
                             const EmitOptions& options) {
  std::string symbol = kernel_symbol(function, machine, options);
  BYOC_TRY(Optimised code, emit_optimised(function, symbol, machine, options));
  Listings out;
  llvm::raw_string_ostream stream(out.llvm);
  code.emitted.module->print(stream, nullptr);
  BYOC_TRY(out.assembly, generate(*code.emitted.module, *code.target, CodeKind::kAssembly));
  return out;
}

Result<std::string> link_native(std::span<const Kernel* const> functions, const Machine& machine,
                                std::span<const std::string> signatures,
                                std::span<const Kernel* const> callees) {
  TableModule table(machine);
  BYOC_TRY(std::string table_object, table.make(functions, signatures));
  std::vector<std::string> objects = {std::move(table_object)};
  std::set<std::string> taken;
  for (std::span<const Kernel* const> kernels : {functions, callees}) {
    for (const Kernel* kernel : kernels) {
      BYOC_CHECK(kernel != nullptr && !kernel->symbol.empty(), "a kernel has code and a symbol");
      bool is_new = !kernel->object.empty() && taken.insert(kernel->symbol).second;
      if (is_new) objects.push_back(kernel->object);
    }
  }
  return link_shared(objects, BYOC_NATIVE_ENTRY_SYMBOL, machine);
}

}  // namespace byoc::llvm_plugin
