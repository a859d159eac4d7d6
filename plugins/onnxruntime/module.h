// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiled functions: their models, which artifacts hold, and their sessions.
#include <map>

#include "session.h"

namespace byoc::ort_plugin {

/// The text of `compat`: the form of the saved bytes, and the version of the library.
std::string compat_of(const Library& library);
/// Compares two such texts: 1: another form, 2: another version of the library, 3: the same.
uint32_t compat_level(const std::string& ours, std::string_view saved);

class OrtModule : public sdk::Module {
 public:
  explicit OrtModule(std::string compat) : compat_(std::move(compat)) {}
  void add(SavedModel saved, std::unique_ptr<SessionKernel> kernel);
  Entry find(std::string_view symbol) override;
  void save(sdk::Saver& saver) const override;
  std::string compat() const override { return compat_; }

 private:
  struct One {
    SavedModel saved;
    std::unique_ptr<SessionKernel> kernel;
  };
  std::string compat_;
  std::vector<One> functions_;
  std::map<std::string, size_t, std::less<>> index_;  // by symbol
};

}  // namespace byoc::ort_plugin
