// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/sequence.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <unordered_map>

#include "byoc/base/check.h"
#include "byoc/plugin/abi.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace byoc::llvm_plugin {
namespace {

uint64_t rounded(uint64_t bytes) {
  return (bytes + Sequence::kUnit - 1) / Sequence::kUnit * Sequence::kUnit;
}

// The pieces of all sequences, each once.
class Pieces {
 public:
  int32_t number_of(const Kernel& piece) {
    auto [at, is_new] = numbers_.emplace(piece.symbol, static_cast<int32_t>(symbols_.size()));
    if (is_new) symbols_.push_back(piece.symbol);
    return at->second;
  }
  const std::vector<std::string>& symbols() const { return symbols_; }

 private:
  std::unordered_map<std::string, int32_t> numbers_;
  std::vector<std::string> symbols_;
};

// Returns per call: the piece, the number of arguments, the arguments.
std::vector<int32_t> table_of(const LinkedSequence& linked, Pieces& pieces) {
  std::vector<int32_t> out;
  for (const Sequence::Call& call : linked.sequence.calls) {
    out.push_back(pieces.number_of(*linked.pieces[call.piece]));
    out.push_back(static_cast<int32_t>(call.args.size()));
    out.insert(out.end(), call.args.begin(), call.args.end());
  }
  return out;
}

struct Layout {  // of the workspace
  uint64_t arena = 0, inner = 0, bytes = 0;
};

Layout layout_of(const LinkedSequence& linked) {
  size_t most = 0;
  uint64_t inner = 0;
  for (const Sequence::Call& call : linked.sequence.calls) most = std::max(most, call.args.size());
  for (const auto& piece : linked.pieces) inner = std::max(inner, piece->workspace.bytes);
  Layout out;
  out.arena = rounded(most * sizeof(void*));
  out.inner = out.arena + rounded(linked.sequence.arena_bytes);
  out.bytes = out.inner + inner;
  BYOC_CHECK(out.arena % Sequence::kUnit == 0 && out.inner % Sequence::kUnit == 0,
             "the parts of a workspace are aligned");
  return out;
}

// int32_t run(const byoc_native_call* call, const int32_t* table, i64 size, i64 arena, i64 inner):
//   own = *call, with operands and workspace of its own
//   for (at = 0; at < size; at += 2 + table[at + 1]) {
//     for (k = 0; k < table[at + 1]; ++k) {
//       place = table[at + 2 + k];
//       operands[k] = place < 0 ? arena + ~place * 64 : data[place];
//     }
//     if (code = pieces[table[at]](&own)) return code;
//   }
class Interpreter {
 public:
  explicit Interpreter(llvm::Module& module) : module_(module), b_(module.getContext()) {
    auto* word = b_.getInt64Ty();
    run_ = make_function("run", {b_.getPtrTy(), b_.getPtrTy(), word, word, word});
    run_->setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  void emit(const std::vector<std::string>& pieces);
  /// A function of the native ABI that runs one table.
  void emit_entry(const std::string& symbol, const std::vector<int32_t>& table,
                  const Layout& layout);

 private:
  using Value = llvm::Value*;
  llvm::Function* make_function(const std::string& name, llvm::ArrayRef<llvm::Type*> types) {
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), types, false);
    auto* out = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module_);
    out->setVisibility(llvm::GlobalValue::DefaultVisibility);
    return out;
  }
  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(b_.getContext(), name, run_);
  }
  Value global(llvm::Constant* data) {
    return new llvm::GlobalVariable(module_, data->getType(), true,
                                    llvm::GlobalValue::InternalLinkage, data);
  }
  Value bytes_after(Value base, Value offset) { return b_.CreateGEP(b_.getInt8Ty(), base, offset); }
  Value field(Value base, uint64_t offset) { return bytes_after(base, b_.getInt64(offset)); }
  Value entry_of_table(Value at) {
    return b_.CreateLoad(b_.getInt32Ty(), b_.CreateGEP(b_.getInt32Ty(), run_->getArg(1), at));
  }
  Value functions(const std::vector<std::string>& pieces);
  Value copy_call();
  void emit_operands(Value at, Value count);

  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  llvm::Function* run_;
  Value data_ = nullptr, workspace_ = nullptr, arena_ = nullptr;
};

void Interpreter::emit_entry(const std::string& symbol, const std::vector<int32_t>& table,
                             const Layout& layout) {
  llvm::Function* entry = make_function(symbol, {b_.getPtrTy()});
  entry->setVisibility(llvm::GlobalValue::HiddenVisibility);
  b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "", entry));
  BYOC_CHECK(table.size() >= 2, "a table of ", table.size(), " numbers calls nothing");
  Value data = global(llvm::ConstantDataArray::get(b_.getContext(), table));
  b_.CreateRet(b_.CreateCall(run_, {entry->getArg(0), data, b_.getInt64(table.size()),
                                    b_.getInt64(layout.arena), b_.getInt64(layout.inner)}));
}

Interpreter::Value Interpreter::functions(const std::vector<std::string>& pieces) {
  std::vector<llvm::Constant*> out;
  for (const std::string& symbol : pieces) {
    out.push_back(make_function(symbol, {b_.getPtrTy()}));
    llvm::cast<llvm::Function>(out.back())->setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
  return global(llvm::ConstantArray::get(llvm::ArrayType::get(b_.getPtrTy(), out.size()), out));
}

// Copies the call. The struct may be smaller or larger than this ABI's: the common part is copied,
// and the size in it is set to that.
Interpreter::Value Interpreter::copy_call() {
  Value call = run_->getArg(0);
  Value own = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), sizeof(byoc_native_call) / 8));
  data_ = b_.CreateLoad(b_.getPtrTy(), field(call, offsetof(byoc_native_call, data)));
  workspace_ = b_.CreateLoad(b_.getPtrTy(), field(call, offsetof(byoc_native_call, workspace)));
  arena_ = bytes_after(workspace_, run_->getArg(3));
  Value given = b_.CreateLoad(b_.getInt32Ty(), field(call, offsetof(byoc_hdr, size)));
  Value most = b_.getInt32(sizeof(byoc_native_call));
  Value size = b_.CreateSelect(b_.CreateICmpULT(given, most), given, most);
  b_.CreateMemCpy(own, llvm::Align(8), call, llvm::Align(8), b_.CreateZExt(size, b_.getInt64Ty()));
  b_.CreateStore(size, field(own, offsetof(byoc_hdr, size)));
  b_.CreateStore(workspace_, field(own, offsetof(byoc_native_call, data)));
  b_.CreateStore(bytes_after(workspace_, run_->getArg(4)),
                 field(own, offsetof(byoc_native_call, workspace)));
  return own;
}

void Interpreter::emit_operands(Value at, Value count) {
  llvm::BasicBlock *before = b_.GetInsertBlock(), *inside = block("operand"),
                   *after = block("call");
  b_.CreateCondBr(b_.CreateICmpSGT(count, b_.getInt64(0)), inside, after);
  b_.SetInsertPoint(inside);
  llvm::PHINode* k = b_.CreatePHI(b_.getInt64Ty(), 2);
  k->addIncoming(b_.getInt64(0), before);
  Value place = entry_of_table(b_.CreateAdd(at, b_.CreateAdd(k, b_.getInt64(2))));
  place = b_.CreateSExt(place, b_.getInt64Ty());
  Value is_arena = b_.CreateICmpSLT(place, b_.getInt64(0));
  // Operand 0 exists whenever an operand is read, so that the load needs no branch.
  Value number = b_.CreateSelect(is_arena, b_.getInt64(0), place);
  Value given = b_.CreateLoad(b_.getPtrTy(), b_.CreateGEP(b_.getPtrTy(), data_, number));
  Value offset = b_.CreateMul(b_.CreateNot(place), b_.getInt64(Sequence::kUnit));
  Value own = b_.CreateGEP(b_.getInt8Ty(), arena_, offset);
  b_.CreateStore(b_.CreateSelect(is_arena, own, given), b_.CreateGEP(b_.getPtrTy(), workspace_, k));
  Value next = b_.CreateAdd(k, b_.getInt64(1));
  k->addIncoming(next, inside);
  b_.CreateCondBr(b_.CreateICmpSLT(next, count), inside, after);
  b_.SetInsertPoint(after);
}

void Interpreter::emit(const std::vector<std::string>& pieces) {
  llvm::BasicBlock *entry = block("entry"), *step = block("step");
  b_.SetInsertPoint(entry);
  Value runs = functions(pieces);
  Value own = copy_call();
  b_.CreateBr(step);
  b_.SetInsertPoint(step);
  llvm::PHINode* at = b_.CreatePHI(b_.getInt64Ty(), 2);
  at->addIncoming(b_.getInt64(0), entry);
  Value piece = b_.CreateZExt(entry_of_table(at), b_.getInt64Ty());
  Value count = entry_of_table(b_.CreateAdd(at, b_.getInt64(1)));
  count = b_.CreateZExt(count, b_.getInt64Ty());
  emit_operands(at, count);
  llvm::BasicBlock *called = b_.GetInsertBlock(), *next_step = block("next"), *done = block("done");
  Value run = b_.CreateLoad(b_.getPtrTy(), b_.CreateGEP(b_.getPtrTy(), runs, piece));
  auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy()}, false);
  Value code = b_.CreateCall(type, run, {own});
  b_.CreateCondBr(b_.CreateICmpEQ(code, b_.getInt32(0)), next_step, done);
  b_.SetInsertPoint(next_step);
  Value next = b_.CreateAdd(at, b_.CreateAdd(count, b_.getInt64(2)));
  at->addIncoming(next, next_step);
  b_.CreateCondBr(b_.CreateICmpSLT(next, run_->getArg(2)), step, done);
  b_.SetInsertPoint(done);
  llvm::PHINode* result = b_.CreatePHI(b_.getInt32Ty(), 2);
  result->addIncoming(code, called);
  result->addIncoming(b_.getInt32(0), next_step);
  b_.CreateRet(result);
}

}  // namespace

Result<CompiledSequences> compile_sequences(std::span<const LinkedSequence> sequences,
                                            const Machine& machine) {
  llvm::LLVMContext context;
  llvm::Module module("sequences", context);
  BYOC_TRY(auto target, make_target_machine(machine, Effort::kSome));
  set_target(module, *target);
  CompiledSequences out;
  Interpreter interpreter(module);
  Pieces pieces;
  std::map<std::pair<std::vector<int32_t>, std::vector<uint64_t>>, std::string> known;
  for (const LinkedSequence& linked : sequences) {
    BYOC_CHECK(!linked.sequence.calls.empty(), "a sequence makes its results");
    const Layout layout = layout_of(linked);
    std::pair key(table_of(linked, pieces), std::vector{layout.arena, layout.inner});
    auto [at, is_new] = known.emplace(std::move(key), cat("sequence_", known.size()));
    if (is_new) interpreter.emit_entry(at->second, at->first.first, layout);
    out.functions.push_back({at->second, "", layout.bytes});
  }
  BYOC_CHECK(out.functions.size() == sequences.size(), "a function per sequence");
  interpreter.emit(pieces.symbols());
  BYOC_TRY(out.code.object, generate(module, *target, CodeKind::kObject));
  out.code.symbol = "sequences";
  return out;
}

}  // namespace byoc::llvm_plugin
