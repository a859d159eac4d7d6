// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/module.h"

#include <algorithm>
#include <cstring>

#include "byoc/base/check.h"
#include "byoc/base/index_error.h"
#include "plugins/llvm/store/bytes.h"

namespace byoc::llvm_plugin {
namespace {

constexpr std::string_view kTrailer = "byoc-llvm-module/5";

std::string pack(const std::vector<Signature>& functions, const Packing& packing) {
  std::string out;
  put_number(out, functions.size());
  for (const Signature& f : functions) {
    put_text(out, f.symbol);
    for (uint64_t x : {uint64_t{f.n_in}, uint64_t{f.n_out}, f.workspace.bytes}) put_number(out, x);
    put_text(out, f.workspace.by_sizes);
    put_number(out, f.constants.size());
    for (const std::string& key : f.constants) {
      BYOC_CHECK(key.size() == sizeof byoc_const::key, "a key of ", key.size(), " bytes");
      out += key;
    }
    put_text(out, f.types);
    put_text(out, {reinterpret_cast<const char*>(f.const_use.data()), f.const_use.size()});
    put_number(out, f.packed_from.has_value());
    if (f.packed_from) put_numbers(out, *f.packed_from);
    put_number(out, f.inplace.size());
    for (auto [in, result] : f.inplace) put_number(out, in), put_number(out, result);
  }
  put_text(out, packing.compat);
  put_text(out, packing.code.object);
  put_number(out, packing.code.makers.size());
  for (const ConstantMaker& maker : packing.code.makers) {
    put_number(out, maker.workspace_bytes);
    put_numbers(out, maker.output_bytes);
  }
  put_number(out, out.size());
  return out.append(kTrailer);
}

/// Returns the bytes of the addresses that run hands to the code. They are at the begin of the
/// workspace; the code's own part, whose bytes may depend on the sizes of a run, follows them.
uint64_t table_bytes(const Signature& s, size_t constants) {
  return ((s.n_in + s.n_out + constants) * sizeof(void*) + 63) / 64 * 64;
}

class Unloadable : public sdk::Kernel {
 public:
  explicit Unloadable(std::string why) : why_(std::move(why)) {}
  void run(const sdk::Call&) const override { throw sdk::Error(BYOC_FAILED_PRECONDITION, why_); }

 private:
  std::string why_;
};

}  // namespace

std::vector<std::pair<uint32_t, uint32_t>> inplace_of(const sdk::Graph& graph) {
  const bool is_update = graph.loops.empty() && graph.nodes.size() == 1 &&
                         graph.outputs.size() == 1 && graph.nodes[0].op == "update_rows";
  if (!is_update || graph.nodes[0].args.empty()) return {};
  const sdk::Operand& cache = graph.nodes[0].args[0];
  if (cache.kind != sdk::Operand::kInput || graph.outputs[0].kind != sdk::Operand::kNode) return {};
  return {{cache.index, 0}};
}

class NativeModule::Kernel : public sdk::Kernel {
 public:
  Kernel(const Signature& signature, const byoc_native_fn& fn, const KernelConstants& constants)
      : signature_(signature), fn_(fn) {
    for (const sdk::Held& one : constants.held) constants_.push_back(one.data<char>());
    for (const auto& one : constants.packed)
      constants_.push_back(reinterpret_cast<const char*>(one.bytes.data()));
  }
  void run(const sdk::Call& call) const override {
    char* workspace = static_cast<char*>(call.workspace());
    void** data = reinterpret_cast<void**>(workspace);
    void** next = data;
    for (uint32_t k = 0; k < signature_.n_in; ++k)
      *next++ = const_cast<char*>(call.in_data<char>(k));
    for (const char* constant : constants_) *next++ = const_cast<char*>(constant);
    for (uint32_t k = 0; k < signature_.n_out; ++k) *next++ = call.out_data<char>(k);
    byoc_native_failure failure{};
    failure.h = {sizeof failure, BYOC_TAG_NATIVE_FAILURE, nullptr};
    byoc_native_call native{{sizeof native, BYOC_TAG_NATIVE_CALL, nullptr},
                            data,
                            workspace + table_bytes(signature_, constants_.size()),
                            sdk::host().table(),
                            call.raw().call_id,
                            &failure};
    if (BYOC_HAS(&call.raw(), sizes)) native.sizes = call.raw().sizes;
    const int32_t code = fn_.run(&native);
    if (code == BYOC_OUT_OF_RANGE && failure.op.n > 0) {
      const std::string_view op(failure.op.p, failure.op.n);
      const Status error = index_outside(op, failure.index, failure.low, failure.extent);
      throw sdk::Error(BYOC_OUT_OF_RANGE, error.message());
    }
    if (code != 0) throw sdk::Error(BYOC_INTERNAL, "native code returned " + std::to_string(code));
  }

 private:
  const Signature& signature_;
  const byoc_native_fn& fn_;
  std::vector<const char*> constants_;
};

NativeModule::NativeModule(std::string object, std::string compat, std::vector<Signature> functions,
                           std::vector<KernelConstants> constants, Packing packing)
    : object_(std::move(object)),
      compat_(std::move(compat)),
      functions_(std::move(functions)),
      constants_(std::move(constants)),
      packing_(std::move(packing)),
      kernels_(functions_.size()) {
  BYOC_CHECK(constants_.size() == functions_.size(), functions_.size(),
             " functions have constants of ", constants_.size());
}

NativeModule::~NativeModule() = default;

// Makes the kernel of function k. Code for another processor can be saved, and not loaded here.
std::unique_ptr<sdk::Kernel> NativeModule::make_kernel(size_t k) {
  BYOC_CHECK(k < functions_.size(), "function ", k, " of ", functions_.size());
  if (!loaded_ && load_error_.empty()) {
    auto result = LoadedObject::load(object_, sdk::host().table());
    if (result.ok()) loaded_ = *std::move(result);
    else load_error_ = result.status().message();
  }
  if (!loaded_) return std::make_unique<Unloadable>(load_error_);
  return std::make_unique<Kernel>(functions_[k], loaded_->function(k), constants_[k]);
}

sdk::Module::Entry NativeModule::find(std::string_view symbol) {
  auto found = std::find_if(functions_.begin(), functions_.end(),
                            [&](const Signature& f) { return f.symbol == symbol; });
  if (found == functions_.end()) return {};
  size_t k = static_cast<size_t>(found - functions_.begin());
  if (!kernels_[k]) kernels_[k] = make_kernel(k);
  sdk::KernelInfo info;
  const uint64_t table =
      table_bytes(*found, constants_[k].held.size() + constants_[k].packed.size());
  info.workspace_bytes = table + found->workspace.bytes;
  if (!found->workspace.by_sizes.empty())
    info.open_workspace = cat(table, "+", found->workspace.by_sizes);
  info.implementation = "llvm";
  info.n_in = found->n_in;
  info.n_out = found->n_out;
  info.signature = found->types;
  info.inplace = found->inplace;
  info.const_use = found->const_use;
  info.const_use.resize(found->constants.size(), BYOC_CONST_KEPT);
  return {kernels_[k].get(), std::move(info)};
}

void NativeModule::save(sdk::Saver& saver) const {
  saver.set_flags(BYOC_MODULE_NATIVE);
  saver.write(object_);
  saver.write(pack(functions_, packing_));
  for (size_t k = 0; k < constants_.size(); ++k) {
    for (const auto& packed : constants_[k].packed)
      saver.packed(k, {packed.bytes.data(), packed.bytes.size()}, Buffer::kAlignment);
  }
}

SavedModule read_saved(std::string_view blob) {
  if (!blob.ends_with(kTrailer))
    throw sdk::Error(BYOC_DATA_LOSS, "not a module that this plugin saved");
  blob.remove_suffix(kTrailer.size());
  if (blob.size() < sizeof(uint64_t)) throw sdk::Error(BYOC_DATA_LOSS, "the saved module is empty");
  uint64_t size = Reader(blob.substr(blob.size() - sizeof(uint64_t))).number();
  blob.remove_suffix(sizeof(uint64_t));
  if (size > blob.size()) throw sdk::Error(BYOC_DATA_LOSS, "the saved module is cut short");
  Reader reader(blob.substr(blob.size() - size));
  SavedModule out{std::string(blob.substr(0, blob.size() - size)), {}, {}};
  for (uint64_t n = reader.number(); n > 0; --n) {
    Signature f;
    f.symbol = std::string(reader.text());
    f.n_in = static_cast<uint32_t>(reader.number());
    f.n_out = static_cast<uint32_t>(reader.number());
    f.workspace.bytes = reader.number();
    f.workspace.by_sizes = std::string(reader.text());
    for (uint64_t keys = reader.number(); keys > 0; --keys)
      f.constants.emplace_back(reader.raw(sizeof byoc_const::key));
    f.types = std::string(reader.text());
    const std::string_view use = reader.text();
    f.const_use.assign(use.begin(), use.end());
    if (reader.number() != 0) f.packed_from = reader.numbers();
    for (uint64_t pairs = reader.number(); pairs > 0; --pairs) {
      const auto in = static_cast<uint32_t>(reader.number());
      f.inplace.emplace_back(in, static_cast<uint32_t>(reader.number()));
    }
    out.functions.push_back(std::move(f));
  }
  out.packing.compat = std::string(reader.text());
  out.packing.code.object = std::string(reader.text());
  for (uint64_t n = reader.number(); n > 0; --n) {
    ConstantMaker& maker = out.packing.code.makers.emplace_back();
    maker.workspace_bytes = reader.number();
    maker.output_bytes = reader.numbers();
  }
  return out;
}

}  // namespace byoc::llvm_plugin
