// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs of the plugins sim and example, written step by step.
#include <string_view>

#include "byoc/runtime/session.h"
#include "tests/sim/sim.h"

namespace byoc::test {

/// Returns sim with these options, wrapping example, and example.
std::shared_ptr<const PluginSet> device_plugins(std::map<std::string, std::string> options = {});
/// Returns the option by which sim counts.
std::pair<const std::string, std::string> counted_in(sim::Counts& counts);

/// An op on f32[n]: relu(x), add(x, y), or x plus a constant of 0.5 and -0.5 in turn.
enum class Op : uint32_t { kRelu, kAdd, kShift };

/// A program that grows. Each function that returns a place returns a new one.
class Programs {
 public:
  explicit Programs(const std::shared_ptr<const PluginSet>& plugins, int64_t elements = 64);
  Place input();
  Place output();
  Place on_host();
  Place on_device();
  /// Runs an op by "sim" or "example": operands, then the result.
  void run(std::string_view plugin, Op op, std::vector<Place> args);
  void copy(Place from, Place to);
  Executable executable;

 private:
  void add_module(const Plugin& plugin);
  Place next(Place::Kind kind, uint64_t& bytes, uint64_t align) const;
  const TensorSpec type_;
};

/// A session with a context and its tensors.
struct Loaded {
  Loaded(Executable executable, const std::shared_ptr<const PluginSet>& plugins,
         const SessionOptions& options = {});
  /// Runs with new random inputs.
  Status run(uint64_t seed);
  std::unique_ptr<Session> session;
  std::unique_ptr<Context> context;
  std::vector<Tensor> inputs, outputs;
  Status status;  // of loading
};

/// Returns the elements of a tensor.
std::vector<float> elements(const Tensor& tensor);

}  // namespace byoc::test
