// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/bind.h"

#include <algorithm>
#include <cstring>

#include "byoc/base/check.h"
#include "runtime/artifact/check_view.h"
#include "runtime/artifact/view.h"
#include "runtime/session/session_state.h"

namespace byoc {
namespace {

Status refuse(std::string slug, std::string message) {
  return invalid(std::move(message)).with_slug(std::move(slug));
}

uint64_t bytes_of(const DLTensor& view) {  // types have been checked against the program's
  uint64_t size = view.dtype.bits / 8;
  for (int32_t k = 0; k < view.ndim; ++k) size *= static_cast<uint64_t>(view.shape[k]);
  return size;
}

ByteRange range_of(const DLTensor& view) {
  auto begin = reinterpret_cast<uintptr_t>(data_of(view));
  return {begin, begin + bytes_of(view)};
}

bool is_aligned(const std::byte* data) {
  return reinterpret_cast<uintptr_t>(data) % Buffer::kAlignment == 0;
}

bool is_on_device(const DLTensor& view) { return device_type_of(view.device) != kDLCPU; }

bool is_aligned_there(const DLTensor& view) {
  return reinterpret_cast<uintptr_t>(data_of(view)) % kDeviceAlignment == 0;
}

/// `ranges` are sorted and do not overlap each other.
bool overlaps_any(const std::vector<ByteRange>& ranges, ByteRange range) {
  auto after = std::partition_point(ranges.begin(), ranges.end(),
                                    [&](const ByteRange& r) { return r.begin < range.end; });
  return range.begin < range.end && after != ranges.begin() && (after - 1)->end > range.begin;
}

class Binder {
 public:
  explicit Binder(ContextState& context)
      : context_(context), program_(context.session->executable.program) {}

  Status bind(std::span<const DLTensor> inputs, std::span<const DLTensor> outputs) {
    BYOC_TRY_STATUS(check_count("input", inputs.size(), program_.inputs.size()));
    BYOC_TRY_STATUS(check_count("output", outputs.size(), program_.outputs.size()));
    BYOC_TRY_STATUS(take_sizes(context_, inputs));
    for (size_t k = 0; k < outputs.size(); ++k) BYOC_TRY_STATUS(check_output(outputs[k], k));
    BYOC_TRY_STATUS(sort_outputs(outputs));
    for (size_t k = 0; k < inputs.size(); ++k)
      BYOC_TRY_STATUS(check("input", inputs[k], inputs_of_run()[k]));
    if (context_.given) context_.given->begin();
    if (context_.open && !context_.is_fitted) BYOC_TRY_STATUS(fit_sizes(context_));
    for (size_t k = 0; k < outputs.size(); ++k) BYOC_TRY_STATUS(bind_output(outputs[k], k));
    for (size_t k = 0; k < inputs.size(); ++k) BYOC_TRY_STATUS(bind_input(inputs[k], k));
    return {};
  }

 private:
  const std::vector<NamedTensor>& inputs_of_run() const {
    return context_.open ? context_.open->inputs() : program_.inputs;
  }
  const std::vector<NamedTensor>& outputs_of_run() const {
    return context_.open ? context_.open->outputs() : program_.outputs;
  }

  static Status check_count(const char* kind, size_t have, size_t want) {
    if (have == want) return {};
    return refuse(cat(kind, "-count"), cat("the model has ", want, " ", kind, want == 1 ? "" : "s",
                                           ", ", have, " were given"));
  }

  // Has room for all arguments after the first call, so that addresses stay.
  Result<void*> staging(size_t value) {
    BYOC_CHECK(value + 1 < context_.staging_offsets.size(), "argument ", value,
               " has no staging memory");
    BYOC_TRY_STATUS(context_.staging.reserve(context_.staging_offsets.back(), Buffer::kAlignment,
                                             "inputs and outputs"));
    return static_cast<void*>(context_.staging.get() + context_.staging_offsets[value]);
  }

  /// Checks a view as if it were on the host. Views on a device of the program are compact.
  Status check(const char* kind, const DLTensor& view, const NamedTensor& wanted) const {
    if (!is_on_device(view) || !context_.given) return check_view(kind, view, wanted);
    BYOC_TRY_STATUS(context_.given->find(kind, wanted.name, view.device).status());
    if (context_.open)
      return refuse(cat(kind, "-data"),
                    cat("\"", wanted.name,
                        "\" is on a device; the program has open sizes, and takes tensors in the "
                        "CPU's memory"));
    DLTensor here = view;
    here.device = {kDLCPU, 0};
    BYOC_TRY_STATUS(check_view(kind, here, wanted));
    if (wanted.type.counted != 0)
      return refuse(cat(kind, "-data"), cat("\"", wanted.name,
                                            "\" has sizes that runs count; it is in the CPU's "
                                            "memory, not on a device"));
    if (is_compact(view)) return {};
    return refuse(cat(kind, "-shape"),
                  cat("\"", wanted.name, "\" has strides; tensors on a device are compact"));
  }

  Status check_output(const DLTensor& view, size_t k) const {
    BYOC_TRY_STATUS(check("output", view, outputs_of_run()[k]));
    if (is_compact(view)) return {};
    return refuse("output-shape", cat("\"", program_.outputs[k].name,
                                      "\" has strides; outputs are written compactly"));
  }

  Status bind_output(const DLTensor& view, size_t k) {
    size_t value = program_.inputs.size() + k;
    if (is_on_device(view)) return bind_device_output(view, k);
    context_.values[value] = data_of(view);
    if (is_aligned(data_of(view))) return {};
    BYOC_TRY(context_.values[value], staging(value));
    return {};
  }

  Status sort_outputs(std::span<const DLTensor> outputs) {
    auto& ranges = context_.output_ranges;
    ranges.clear();
    for (const DLTensor& view : outputs) {
      ByteRange range = range_of(view);
      if (range.begin != range.end) ranges.push_back(range);
    }
    std::sort(ranges.begin(), ranges.end(),
              [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
    for (size_t k = 1; k < ranges.size(); ++k) {
      if (ranges[k].begin < ranges[k - 1].end)
        return refuse("output-overlap", "two outputs share memory");
    }
    return {};
  }

  Status bind_device_output(const DLTensor& view, size_t k) {
    const size_t value = program_.inputs.size() + k;
    const ArgumentUse& use = context_.session->argument_uses[value];
    BYOC_TRY(const uint32_t device, context_.given->find("output", "", view.device));
    BYOC_TRY(context_.values[value], staging(value));
    if (!GivenArguments::needs_host(use, device))
      context_.given->take(use, device, data_of(view), is_aligned_there(view));
    return {};
  }

  Status bind_device_input(const DLTensor& view, size_t k) {
    const ArgumentUse& use = context_.session->argument_uses[k];
    BYOC_TRY(const uint32_t device, context_.given->find("input", "", view.device));
    if (overlaps_any(context_.output_ranges, range_of(view)))
      return refuse("output-overlap",
                    cat("input \"", program_.inputs[k].name, "\" and an output share memory"));
    BYOC_TRY(context_.values[k], staging(k));
    context_.given->take(use, device, data_of(view), is_aligned_there(view));
    if (!GivenArguments::needs_host(use, device) || bytes_of(view) == 0) return {};
    return context_.given->device(device).copy(
        {context_.values[k], data_of(view), false, true, bytes_of(view)}, nullptr);
  }

  Status bind_input(const DLTensor& view, size_t k) {
    if (is_on_device(view)) return bind_device_input(view, k);
    context_.values[k] = data_of(view);
    const bool is_state = k >= program_.run_inputs();  // which may be the memory of its output
    const bool direct = is_compact(view) && is_aligned(data_of(view)) &&
                        !overlaps_any(context_.output_ranges, range_of(view));
    if (is_state || direct) return {};
    BYOC_TRY(context_.values[k], staging(k));
    copy_to_compact(view, static_cast<std::byte*>(context_.values[k]));
    return {};
  }

  ContextState& context_;
  const Program& program_;
};

}  // namespace

Status take_sizes(ContextState& context, std::span<const DLTensor> inputs) {
  if (!context.open) return {};
  BYOC_TRY(const bool has_changed, context.open->update(inputs));
  if (has_changed) context.is_fitted = false;
  return {};
}

Status bind_arguments(ContextState& context, std::span<const DLTensor> inputs,
                      std::span<const DLTensor> outputs) {
  return Binder(context).bind(inputs, outputs);
}

Status return_outputs(const ContextState& context, std::span<const DLTensor> outputs) {
  BYOC_CHECK(outputs.size() <= context.values.size(), outputs.size(), " outputs of ",
             context.values.size(), " arguments");
  size_t n_in = context.values.size() - outputs.size();
  for (size_t k = 0; k < outputs.size(); ++k) {
    std::byte* wanted = data_of(outputs[k]);
    uint64_t size = bytes_of(outputs[k]);
    if (wanted == context.values[n_in + k] || size == 0) continue;
    if (!is_on_device(outputs[k])) {
      std::memcpy(wanted, context.values[n_in + k], size);
      continue;
    }
    BYOC_TRY(const uint32_t device, context.given->find("output", "", outputs[k].device));
    if (!GivenArguments::needs_host(context.session->argument_uses[n_in + k], device)) continue;
    BYOC_TRY_STATUS(context.given->device(device).copy(
        {wanted, context.values[n_in + k], true, false, size}, nullptr));
  }
  return {};
}

}  // namespace byoc
