// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/program/run.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace byoc::ort {
namespace {

alignas(64) std::byte no_elements[64];  // the memory of tensors without elements

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, FreeMemory>;

uint64_t bytes_of(const DLDataType& type, std::span<const int64_t> dims) {
  uint64_t out = type.bits / 8;
  for (int64_t dim : dims) out *= static_cast<uint64_t>(dim);
  return out;
}

/// The tensors of one run.
class Run {
 public:
  Run(const Calls& calls, OrtKernelContext* context) : calls_(calls), context_(context) {}

  Status read_inputs(const std::vector<size_t>& places) {
    dims_.resize(places.size());
    inputs_.resize(places.size());
    for (size_t k = 0; k < places.size(); ++k) {
      const OrtValue* value = nullptr;
      BYOC_ORT_TRY(calls_, KernelContext_GetInput(context_, places[k], &value));
      if (value == nullptr)
        return failed(cat("input ", k, " has no value")).with_slug("input-data");
      BYOC_TRY_STATUS(read_dims(value, dims_[k]));
      DLTensor& tensor = inputs_[k];
      // The function takes a tensor that may be written; runs read their inputs.
      BYOC_ORT_TRY(calls_, GetTensorMutableData(const_cast<OrtValue*>(value), &tensor.data));
      tensor.device = {kDLCPU, 0};
      tensor.ndim = static_cast<int32_t>(dims_[k].size());
      tensor.shape = dims_[k].data();
    }
    return {};
  }

  /// Takes a context of the program, and the shapes that an open program makes of the inputs.
  /// Errors: those of byoc_context_take_inputs, for sizes that it does not have.
  Status begin(Program& program) {
    for (size_t k = 0; k < inputs_.size(); ++k) {
      byoc_tensor_info info;
      BYOC_TRY_STATUS(status_of(byoc_session_input(program.session(), k, &info)));
      inputs_[k].dtype = info.dtype;
      if (inputs_[k].data == nullptr) inputs_[k].data = no_elements;
    }
    BYOC_TRY(Program::Lease made, program.lease());
    lease_.emplace(std::move(made));
    is_open_ = byoc_session_is_open(program.session()) != 0;
    if (!is_open_) return {};
    return status_of(byoc_context_take_inputs(lease_->get(), inputs_.data(), inputs_.size()));
  }

  Status finish(Program& program, const std::vector<int64_t>& output_places) {
    outputs_.resize(output_places.size());
    memory_.resize(output_places.size());
    output_dims_.resize(output_places.size());
    for (size_t k = 0; k < outputs_.size(); ++k)
      BYOC_TRY_STATUS(make_output(program, k, output_places[k]));
    BYOC_TRY_STATUS(status_of(
        byoc_run(lease_->get(), inputs_.data(), inputs_.size(), outputs_.data(), outputs_.size())));
    for (size_t k = 0; k < outputs_.size(); ++k) {
      if (memory_[k] != nullptr && output_places[k] >= 0)
        BYOC_TRY_STATUS(return_counted(lease_->get(), k, output_places[k]));
    }
    return {};
  }

  const std::vector<Part::Dims>& dims() const { return dims_; }

 private:
  Status read_dims(const OrtValue* value, Part::Dims& dims) {
    OrtTensorInfo* info = nullptr;
    BYOC_ORT_TRY(calls_, GetTensorTypeAndShape(value, &info));
    size_t rank = 0;
    Status status = take(calls_, calls_.GetDimensionsCount(info, &rank));
    dims.resize(rank);
    if (status.ok() && rank > 0)
      status = take(calls_, calls_.GetDimensions(info, dims.data(), rank));
    calls_.ReleaseTensorInfo(info);
    return status;
  }

  Status data_of(size_t place, std::span<const int64_t> dims, void** data) {
    OrtValue* value = nullptr;
    BYOC_ORT_TRY(calls_,
                 KernelContext_GetOutput(context_, place, dims.data(), dims.size(), &value));
    BYOC_ORT_TRY(calls_, GetTensorMutableData(value, data));
    if (*data == nullptr) *data = no_elements;
    return {};
  }

  Status make_output(Program& program, size_t k, int64_t place) {
    byoc_tensor_info info;
    BYOC_TRY_STATUS(status_of(byoc_session_output(program.session(), k, &info)));
    DLTensor& tensor = outputs_[k];
    tensor.device = {kDLCPU, 0};
    tensor.dtype = info.dtype;
    const int64_t* shape = info.shape;
    if (is_open_)
      BYOC_TRY_STATUS(status_of(byoc_context_output_shape(lease_->get(), k, &shape, &info.ndim)));
    Part::Dims& dims = output_dims_[k];
    dims.assign(shape, shape + info.ndim);
    tensor.ndim = info.ndim;
    tensor.shape = dims.data();
    if (place >= 0 && byoc_session_output_is_counted(program.session(), k) == 0)
      return data_of(static_cast<size_t>(place), dims, &tensor.data);
    constexpr uint64_t kAlignment = 64;
    const uint64_t bytes = bytes_of(info.dtype, dims);
    memory_[k].reset(std::aligned_alloc(
        kAlignment, std::max<uint64_t>(1, (bytes + kAlignment - 1) / kAlignment) * kAlignment));
    if (memory_[k] == nullptr)
      return Status(Code::kResourceExhausted, cat("no memory for ", bytes, " bytes"));
    tensor.data = memory_[k].get();
    return {};
  }

  Status return_counted(const byoc_context* context, size_t k, int64_t place) {
    const int64_t* shape = nullptr;
    int32_t rank = 0;
    BYOC_TRY_STATUS(status_of(byoc_context_output_shape(context, k, &shape, &rank)));
    const std::span<const int64_t> dims(shape, static_cast<size_t>(rank));
    void* data = nullptr;
    BYOC_TRY_STATUS(data_of(static_cast<size_t>(place), dims, &data));
    std::memcpy(data, memory_[k].get(), bytes_of(outputs_[k].dtype, dims));
    return {};
  }

  const Calls& calls_;
  OrtKernelContext* context_;
  std::optional<Program::Lease> lease_;
  bool is_open_ = false;
  std::vector<Part::Dims> dims_, output_dims_;
  std::vector<DLTensor> inputs_{}, outputs_{};
  std::vector<Memory> memory_;  // of outputs that ONNX Runtime does not hold
};

Status wrong_border(const char* what, const std::string& name) {
  return failed(cat("ONNX Runtime made a node with another border than the group: ", what, " '",
                    name, "'"))
      .with_slug("ort-graph");
}

}  // namespace

Result<FusedNode> FusedNode::make(const Calls& calls, const OrtNode* node,
                                  std::shared_ptr<Part> part) {
  BYOC_TRY(const std::vector<std::string> inputs, input_names(calls, node));
  BYOC_TRY(const std::vector<std::string> outputs, output_names(calls, node));
  FusedNode out;
  for (const std::string& name : part->inputs()) {
    auto found = std::find(inputs.begin(), inputs.end(), name);
    if (found == inputs.end()) return wrong_border("it lacks the input", name);
    out.input_places_.push_back(static_cast<size_t>(found - inputs.begin()));
  }
  for (const std::string& name : outputs) {
    const auto& known = part->outputs();
    if (!name.empty() && std::find(known.begin(), known.end(), name) == known.end())
      return wrong_border("it has the output", name);
  }
  for (const std::string& name : part->outputs()) {
    auto found = std::find(outputs.begin(), outputs.end(), name);
    out.output_places_.push_back(found == outputs.end() ? -1 : found - outputs.begin());
  }
  out.part_ = std::move(part);
  return out;
}

Status FusedNode::run(const Calls& calls, OrtKernelContext* context) const {
  std::shared_ptr<Program> program = part_->program();  // outlives the context in the run
  Run run(calls, context);
  BYOC_TRY_STATUS(run.read_inputs(input_places_));
  Status begun;
  if (program != nullptr) begun = run.begin(*program);
  if (program == nullptr || (!begun.ok() && !part_->is_static())) {
    Result<std::shared_ptr<Program>> made = part_->program_for(run.dims());
    if (!made.ok()) return begun.ok() ? made.status() : begun;
    program = *std::move(made);
    begun = run.begin(*program);
  }
  if (!begun.ok() && part_->was_compiled_before()) {
    return std::move(begun).with_help(
        "an EPContext node has the sizes that it was compiled for; its original model has all");
  }
  BYOC_TRY_STATUS(begun);
  return run.finish(*program, output_places_);
}

}  // namespace byoc::ort
