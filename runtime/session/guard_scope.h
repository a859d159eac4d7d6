// SPDX-License-Identifier: Apache-2.0
#pragma once
// Guards kernels: an access outside of their tensors ends the process or the run.

namespace byoc {

/// While one lives, this thread guards what plugins get: constants of the sessions that it loads,
/// and packed ones, end at a page that cannot be accessed, and contexts that it makes pass each
/// kernel copies of its tensors that do.
class GuardScope {
 public:
  explicit GuardScope(bool guards = true);
  ~GuardScope();
  GuardScope(const GuardScope&) = delete;
  GuardScope& operator=(const GuardScope&) = delete;

 private:
  bool outer_;
};

}  // namespace byoc
