// SPDX-License-Identifier: Apache-2.0
#include "byoc/runtime/sized_session.h"

#include <algorithm>

#include "byoc/base/check.h"

namespace byoc {
namespace {

bool has_extents(const DLTensor& view, const std::vector<int64_t>& dims) {
  return static_cast<size_t>(view.ndim) == dims.size() &&
         std::equal(dims.begin(), dims.end(), view.shape);
}

bool fits(std::span<const DLTensor> views, const std::vector<NamedTensor>& inputs) {
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!has_extents(views[k], inputs[k].type.dims)) return false;
  }
  return true;
}

std::string describe(std::span<const DLTensor> views, const std::vector<NamedTensor>& inputs) {
  std::string out;
  for (size_t k = 0; k < inputs.size(); ++k) {
    TensorSpec given{inputs[k].type.dtype, {views[k].shape, views[k].shape + views[k].ndim}};
    out += cat(out.empty() ? "" : ", ", inputs[k].name, " ", given);
  }
  return out;
}

}  // namespace

Result<SizedSession> SizedSession::load(std::vector<SizedExecutable> sizes,
                                        std::shared_ptr<const PluginSet> plugins,
                                        const SessionOptions& options) {
  if (sizes.empty()) return invalid("there is no size to load").with_slug("executable");
  SizedSession out;
  out.described_ = describe_sizes(sizes);
  for (SizedExecutable& size : sizes) {
    auto session = Session::load(std::move(size.executable), plugins, options);
    if (!session.ok()) return std::move(session.status()).at(size.label);
    out.labels_.push_back(std::move(size.label));
    out.sessions_.push_back(*std::move(session));
  }
  return out;
}

Result<Session*> SizedSession::pick(std::span<const DLTensor> inputs) const {
  const std::vector<NamedTensor>& wanted = sessions_.front()->inputs();
  if (inputs.size() != wanted.size()) {
    return invalid(cat("expected ", wanted.size(), " inputs, got ", inputs.size()))
        .with_slug("input-count");
  }
  for (const auto& session : sessions_) {
    if (fits(inputs, session->inputs())) return session.get();
  }
  return no_such_size(describe(inputs, wanted), described_);
}

}  // namespace byoc
