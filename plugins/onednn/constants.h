// SPDX-License-Identifier: Apache-2.0
#pragma once
// The constants of one function in the forms that its plans read: as the host has them, and in
// layouts of oneDNN, each once per process. Plans for other sizes are made after compile has
// returned: they share the forms of the first plans, and other forms are made from these.
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "primitives/choices.h"
#include "region/region.h"

namespace byoc::onednn {

/// Returns a name of the change from one layout to another, in all processes with this oneDNN.
std::string layout_key(const Desc& from, const Desc& to);

/// Any number of threads may call it at a time, once finish_compile has returned.
class ConstantStore {
 public:
  using Shared = std::shared_ptr<const sdk::Held>;
  /// `constants`: of the request; they are read until finish_compile.
  ConstantStore(sdk::Constants& constants, const Graph& graph, const dnnl::engine& engine);

  /// Returns the elements, which the graph has in the layout `have`, in the layout `want`: the
  /// host's own memory where these are equal.
  Shared in_layout(uint32_t constant, const Desc& have, const Desc& want);
  /// Returns elements that were computed from this constant and others.
  Shared computed(uint32_t constant, const std::vector<float>& elements);
  /// Returns the elements of scales, zero points and biases of integers. Throws Refusal.
  std::vector<float> numbers(uint32_t constant);

  /// Returns the layouts that were required so far, the first one of each constant and view.
  PackedLayouts layouts() const;
  /// Keeps what later plans are made from.
  void finish_compile();
  /// Plans of a trial are made to see that they can be: forms that are not there yet are null.
  void set_trial(bool is_trial);

 private:
  struct Form {
    Desc have, want;
    Shared held;
  };
  struct Constant {
    Type type;
    std::string key;                                             // the hash of its bytes
    Shared as_is;                                                // may be null
    std::map<std::string, Form> forms;                           // by layouts, made by compile
    std::map<std::string, std::weak_ptr<const sdk::Held>> late;  // the same, made after it
    std::map<std::string, Shared> computed;                      // by elements
  };
  Constant& at(uint32_t constant);
  Shared keep(Constant& constant);
  Shared packed(Constant& constant, const Desc& have, const Desc& want);
  Shared packed_late(Constant& constant, const Desc& have, const Desc& want,
                     const std::string& key);
  std::vector<std::byte> plain_elements(const Constant& constant) const;

  sdk::Constants* request_;  // null after finish_compile
  bool is_trial_ = false;
  dnnl::engine engine_;
  std::vector<Constant> constants_;
  PackedLayouts layouts_;
  mutable std::mutex mutex_;
};

}  // namespace byoc::onednn
