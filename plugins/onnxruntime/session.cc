// SPDX-License-Identifier: Apache-2.0
#include "session.h"

namespace byoc::ort_plugin {
namespace {

/// Handles of tensors, released at the end of the scope.
class Tensors {
 public:
  explicit Tensors(const Library& library) : library_(library) {}
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;
  ~Tensors() {
    for (ort::OrtValue* value : values_) library_.calls().ReleaseValue(value);
  }

  /// Adds a tensor in the memory of the caller. Handles of no elements need an address, too.
  void add(void* data, size_t size, const int64_t* dims, size_t rank, int element) {
    static constexpr int64_t kNoDims[1] = {};
    static char nothing[1];
    values_.push_back(nullptr);
    check(library_.calls(), library_.calls().CreateTensorWithDataAsOrtValue(
                                library_.memory(), data != nullptr ? data : nothing, size,
                                rank != 0 ? dims : kNoDims, rank, element, &values_.back()));
  }
  void add(const DLTensor& view, void* data, int element) {
    size_t size = view.dtype.bits / 8;
    for (int32_t d = 0; d < view.ndim; ++d) size *= static_cast<size_t>(view.shape[d]);
    add(data, size, view.shape, static_cast<size_t>(view.ndim), element);
  }
  void reserve(size_t count) { values_.reserve(count); }
  ort::OrtValue** data() { return values_.data(); }

 private:
  const Library& library_;
  std::vector<ort::OrtValue*> values_;
};

/// Options of a session while it is made.
class Configuration {
 public:
  explicit Configuration(const ort::Calls& calls) : calls_(calls) {
    check(calls_, calls_.CreateSessionOptions(&options_));
  }
  Configuration(const Configuration&) = delete;
  Configuration& operator=(const Configuration&) = delete;
  ~Configuration() { calls_.ReleaseSessionOptions(options_); }

  void set(const char* key, const char* value) {
    check(calls_, calls_.AddSessionConfigEntry(options_, key, value));
  }
  /// Sets everything that the options decide. Threads that wait sleep: between two kernels the
  /// processor belongs to others. Quantised models are computed as they are written, in f32, since
  /// joined integer operators round otherwise, and saturate on processors without VNNI.
  void fill(const SessionOptions& given) {
    const bool is_plain = given.is_trial || given.is_strict;
    check(calls_, calls_.SetSessionLogSeverityLevel(options_, ort::kOrtFatal));
    check(calls_, calls_.SetSessionGraphOptimizationLevel(
                      options_, is_plain ? ort::kOrtAsWritten : ort::kOrtAllChanges));
    check(calls_, calls_.SetIntraOpNumThreads(options_, static_cast<int>(given.threads)));
    check(calls_, calls_.SetInterOpNumThreads(options_, 1));
    set("session.intra_op.allow_spinning", "0");
    set("session.disable_quant_qdq", "1");
    if (given.is_trial) set("session.disable_prepacking", "1");
  }
  void add_weights(std::span<const char* const> names, Tensors& values) {
    if (names.empty()) return;
    check(calls_,
          calls_.AddExternalInitializers(options_, names.data(), values.data(), names.size()));
  }
  const ort::OrtSessionOptions* get() const { return options_; }

 private:
  const ort::Calls& calls_;
  ort::OrtSessionOptions* options_ = nullptr;
};

}  // namespace

SessionKernel::SessionKernel(std::shared_ptr<const Library> library, const Model& model,
                             std::vector<sdk::Held> weights, const SessionOptions& options)
    : library_(std::move(library)),
      inputs_(model.inputs),
      outputs_(model.outputs),
      weights_(std::move(weights)) {
  for (const Value& input : inputs_) input_names_.push_back(input.name.c_str());
  for (const Value& output : outputs_) output_names_.push_back(output.name.c_str());
  const ort::Calls& calls = library_->calls();
  Configuration configuration(calls);
  configuration.fill(options);
  Tensors values(*library_);
  std::vector<const char*> names;
  for (size_t k = 0; k < model.weights.size(); ++k) {
    const Weight& weight = model.weights[k];
    names.push_back(weight.value.name.c_str());
    values.add(const_cast<void*>(weights_[k].data<void>()), weight.size, weight.dims.data(),
               weight.dims.size(), weight.value.element);
  }
  configuration.add_weights(names, values);
  check(calls, calls.CreateSessionFromArray(library_->environment(), model.bytes.data(),
                                            model.bytes.size(), configuration.get(), &session_));
}

SessionKernel::~SessionKernel() { library_->calls().ReleaseSession(session_); }

sdk::KernelInfo SessionKernel::info() const {
  sdk::KernelInfo out;
  out.flags = BYOC_KERNEL_MAY_ALLOC;
  out.implementation = "onnxruntime " + library_->calls().runtime_version;
  out.n_in = static_cast<uint32_t>(inputs_.size());
  out.n_out = static_cast<uint32_t>(outputs_.size());
  return out;
}

void SessionKernel::run(const sdk::Call& call) const {
  Tensors inputs(*library_), outputs(*library_);
  inputs.reserve(inputs_.size());
  outputs.reserve(outputs_.size());
  for (size_t k = 0; k < inputs_.size(); ++k)
    inputs.add(call.in(k), const_cast<void*>(call.in_data<void>(k)), inputs_[k].element);
  for (size_t k = 0; k < outputs_.size(); ++k)
    outputs.add(call.out(k), call.out_data<void>(k), outputs_[k].element);
  const ort::Calls& calls = library_->calls();
  const uint64_t begin = call.wants_spans() ? sdk::host().now_ns() : 0;
  check(calls, calls.Run(session_, nullptr, input_names_.data(), inputs.data(), inputs_.size(),
                         output_names_.data(), outputs_.size(), outputs.data()));
  if (call.wants_spans()) call.span(-1, sdk::to_str("onnxruntime"), begin, sdk::host().now_ns());
}

}  // namespace byoc::ort_plugin
