// SPDX-License-Identifier: Apache-2.0
#include "byoc/runtime/sized_session.h"

#include "byoc/base/check.h"
#include "runtime/artifact/size_picker.h"

namespace byoc {

Result<SizedSession> SizedSession::load(std::vector<SizedExecutable> sizes,
                                        std::shared_ptr<const PluginSet> plugins,
                                        const SessionOptions& options) {
  BYOC_TRY(sizes, take_entry(std::move(sizes), ""));
  BYOC_TRY(SizePicker picker, SizePicker::make(sizes));
  SizedSession out;
  out.picker_ = std::make_shared<const SizePicker>(std::move(picker));
  for (SizedExecutable& size : sizes) {
    auto session = Session::load(std::move(size.executable), plugins, options);
    if (!session.ok()) return std::move(session.status()).at(size.label);
    out.labels_.push_back(std::move(size.label));
    out.sessions_.push_back(*std::move(session));
  }
  return out;
}

Result<Session*> SizedSession::pick(std::span<const DLTensor> inputs) const {
  BYOC_TRY(const size_t k, picker_->pick(inputs));
  BYOC_CHECK(k < sessions_.size(), "size ", k, " of ", sessions_.size());
  return sessions_[k].get();
}

}  // namespace byoc
