// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs an artifact of several sizes: a Session for each, and the choice by a call's inputs.
#include "byoc/runtime/session.h"
#include "byoc/runtime/sizes.h"

namespace byoc {

class SizePicker;  // of runtime/ alone

/// All sizes of an artifact, loaded; immutable, so that threads share it. A Context belongs to the
/// Session that made it: programs that call with several sizes have one Context for each. A size
/// may be open, and serves what no exact one does.
class SizedSession {
 public:
  /// Loads every size. Weights that sizes share are in memory once. Errors: those of Session::load,
  /// with the label as the place; slug "executable" without a size; slug "artifact-entries" for
  /// several entries, of which take_entry returns one.
  static Result<SizedSession> load(std::vector<SizedExecutable> sizes,
                                   std::shared_ptr<const PluginSet> plugins,
                                   const SessionOptions& options = {});

  /// Returns the Session whose inputs have the extents of `inputs`: of several the one with the
  /// fewest open sizes. Errors: slug "input-count"; slug "input-size", whose help lists the sizes;
  /// where there are open sizes, those of inputs that the most open program refuses. Allocates
  /// nothing when it succeeds. Cost: O(sizes * inputs).
  Result<Session*> pick(std::span<const DLTensor> inputs) const;

  size_t size() const { return sessions_.size(); }                 ///< how many sizes
  const std::string& label(size_t k) const { return labels_[k]; }  ///< "N=4"
  Session& session(size_t k) const { return *sessions_[k]; }       ///< of size k
 private:
  std::vector<std::string> labels_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::shared_ptr<const SizePicker> picker_;
};

}  // namespace byoc
