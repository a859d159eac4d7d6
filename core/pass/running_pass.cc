// SPDX-License-Identifier: Apache-2.0
#include "core/pass/running_pass.h"

#include <atomic>
#include <csignal>
#include <stdexcept>

#include "byoc/base/check.h"
#include "byoc/base/defect.h"
#include "byoc/base/env.h"

namespace byoc {
namespace {

constexpr size_t kKeptElements = 64;  // as the text form prints them inline

constinit thread_local const RunningPass* own_pass = nullptr;
constinit std::atomic<const RunningPass*> shared_pass{nullptr};  // the first one of all threads

bool is_kept(const Constant& constant, const TensorType& type) {
  const size_t element = dtype_size(type.dtype);
  return constant.data->size() <= kKeptElements * element;
}

/// Keeps the constants that attributes name.
void keep_attributes(const Attrs& attrs, const IRModule& from, IRModule& to) {
  for (const auto& [name, value] : attrs) {
    const auto* constant = std::get_if<ConstantRef>(&value);
    if (constant == nullptr) continue;
    if (auto found = from.constants.find(constant->key); found != from.constants.end())
      to.constants.insert(*found);
  }
}

/// Copies a module. Of large constants the first element is left, which the text form repeats.
IRModule without_weights(const IRModule& module) {
  IRModule out;
  out.functions = module.functions;
  out.attrs = module.attrs;
  out.entry = module.entry;
  out.external_mods = module.external_mods;
  keep_attributes(out.attrs, module, out);
  for (auto& [name, function] : out.functions) {
    keep_attributes(function.attrs, module, out);
    for (Node& node : function.nodes) {
      if (const auto* call = std::get_if<Call>(&node.kind))
        keep_attributes(*call->attrs, module, out);
      auto* constant = std::get_if<Constant>(&node.kind);
      if (constant == nullptr || constant->data == nullptr) continue;
      const auto found = module.constants.find(constant->data->key());
      const bool is_whole = found != module.constants.end() && is_kept(*constant, *node.types[0]);
      const auto bytes = constant->data->bytes();
      const size_t first = std::min(bytes.size(), dtype_size(node.types[0]->dtype));
      constant->data = is_whole ? out.constants.insert(*found).first->second.get()
                                : out.add_constant(Buffer::copy(bytes.first(first)));
    }
  }
  return out;
}

bool is_planted(std::string_view kind, const Pass& pass) {
  return env_value("BYOC_PLANT") == cat(kind, "=", pass.name);
}

}  // namespace

RunningPassScope::RunningPassScope(const Pass& pass, const PassContext& context,
                                   const IRModule& before) {
  const std::string kept = env_value("BYOC_BUG");
  if (!reports_defects() || own_pass != nullptr || kept == "0") return;
  const bool has_weights = kept == "weights";
  running_ =
      RunningPass{&pass, &context, has_weights ? before : without_weights(before), has_weights};
  own_pass = &*running_;
  const RunningPass* none = nullptr;
  shared_pass.compare_exchange_strong(none, own_pass);
}

RunningPassScope::~RunningPassScope() {
  if (!running_) return;
  own_pass = nullptr;
  const RunningPass* expected = &*running_;
  shared_pass.compare_exchange_strong(expected, nullptr);
}

const RunningPass* running_pass() { return own_pass ? own_pass : shared_pass.load(); }

void plant_defect(const Pass& pass) {
  BYOC_CHECK(!is_planted("check", pass), "planted in ", pass.name);
  if (is_planted("crash", pass)) std::raise(SIGSEGV);
  if (is_planted("throw", pass)) throw std::logic_error(cat("planted in ", pass.name));
}

void plant_broken_module(const Pass& pass, IRModule& module) {
  if (is_planted("module", pass)) module.entry = "planted";
}

}  // namespace byoc
