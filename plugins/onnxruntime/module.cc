// SPDX-License-Identifier: Apache-2.0
#include "module.h"

namespace byoc::ort_plugin {
namespace {

constexpr std::string_view kFormat = "byoc-onnx-models/1";

}  // namespace

std::string compat_of(const Library& library) {
  return cat(kFormat, " onnxruntime-", library.calls().runtime_version);
}

uint32_t compat_level(const std::string& ours, std::string_view saved) {
  if (saved.substr(0, saved.find(' ')) != kFormat) return 1;
  return saved == ours ? 3 : 2;
}

void OrtModule::add(SavedModel saved, std::unique_ptr<SessionKernel> kernel) {
  index_.emplace(saved.symbol, functions_.size());
  functions_.push_back({std::move(saved), std::move(kernel)});
}

sdk::Module::Entry OrtModule::find(std::string_view symbol) {
  const auto found = index_.find(symbol);
  if (found == index_.end()) return {};
  const One& one = functions_[found->second];
  Entry out{one.kernel.get(), one.kernel->info()};
  out.info.signature = one.saved.signature;
  out.info.const_use = one.saved.const_use;
  return out;
}

void OrtModule::save(sdk::Saver& saver) const {
  for (const One& one : functions_) {
    std::string bytes;
    write_model(one.saved, bytes);
    saver.write(bytes);
  }
}

}  // namespace byoc::ort_plugin
