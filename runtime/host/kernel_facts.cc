// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/kernel_facts.h"

#include <bit>

#include "byoc/base/size_expression.h"
#include "byoc/runtime/device_type.h"
#include "runtime/host/host.h"

namespace byoc {
namespace {

constexpr uint64_t kMaxWorkspace = uint64_t{1} << 46, kMaxAlign = 4096;

using Kernel = LoadedModule::Kernel;

/// Returns errors that continue the text `kernel "main_0"`.
Status check_needs(const byoc_kernel_info& info, const KernelShape& shape) {
  if (info.n_in != shape.n_in || info.n_out != shape.n_out) {
    return invalid(cat("takes ", info.n_in, " inputs and gives ", info.n_out,
                       " outputs, its graph ", shape.n_in, " and ", shape.n_out));
  }
  uint64_t align = info.workspace_align;
  if (align != 0 && (!std::has_single_bit(align) || align > kMaxAlign)) {
    return invalid(cat("aligns its workspace to ", align, ", no power of two up to ", kMaxAlign));
  }
  if (info.workspace_bytes > kMaxWorkspace && info.open_workspace.n == 0) {
    return invalid(cat("requires a workspace of ", info.workspace_bytes, " bytes"));
  }
  if (info.open_workspace.n != 0) {
    const auto size = SizeExpression::parse(text_of(info.open_workspace));
    if (!size.ok()) return invalid(cat("gives its workspace as ", size.status().message()));
  }
  if (const bool counts = info.flags & BYOC_KERNEL_OUT_SHAPES; counts != shape.gives_counted) {
    return invalid(counts ? "has the flag OUT_SHAPES, the dims of its graph's outputs are numbers"
                          : "has no flag OUT_SHAPES, its graph has outputs with counted dims");
  }
  return {};
}

bool is_on_host(const DLDevice& device) {
  const int type = device_type_of(device);
  return type == kDLCPU || type == 0;
}

/// Checks where the kernel runs, and where its arguments are.
Status read_device(const byoc_plugin& table, const byoc_kernel_info& info, const KernelShape& shape,
                   Kernel& kernel) {
  const bool is_async = (info.flags & BYOC_KERNEL_ASYNC) != 0;
  if (is_on_host(info.device)) {
    if (is_async) return invalid("has the flag ASYNC, which kernels of the host do not have");
    if (info.n_placement != 0) return invalid("gives a placement, and runs on the host");
    return {};
  }
  if (table.device == nullptr) {
    return invalid(cat("requires device type ", device_type_of(info.device),
                       ", its plugin has no slots for devices"));
  }
  if (info.device.device_id < 0) return invalid(cat("requires the device ", info.device.device_id));
  if (info.open_workspace.n != 0 || shape.gives_counted)
    return invalid("runs on a device, with sizes that each run finds out");
  kernel.device = {static_cast<uint32_t>(device_type_of(info.device)),
                   static_cast<uint32_t>(info.device.device_id)};
  if (info.n_placement == 0) return {};
  if (info.n_placement != uint64_t{shape.n_in} + shape.n_out || info.placement == nullptr)
    return invalid(cat("places ", info.n_placement, " arguments, its graph has ",
                       uint64_t{shape.n_in} + shape.n_out));
  kernel.placement.assign(info.placement, info.placement + info.n_placement);
  for (size_t k = 0; k < kernel.placement.size(); ++k) {
    if (kernel.placement[k] > BYOC_PLACE_HOST)
      return invalid(
          cat("places argument ", k, " at ", int{kernel.placement[k]}, ", expected 0 or 1"));
    if (is_async && k >= shape.n_in && kernel.placement[k] == BYOC_PLACE_HOST)
      return invalid(cat("has the flag ASYNC, and output ", k - shape.n_in, " on the host"));
  }
  return {};
}

Status read_inplace(const byoc_kernel_info& info, const KernelShape& shape, Kernel& kernel) {
  if (info.n_inplace > std::min(shape.n_in, shape.n_out) ||
      (info.n_inplace && !info.inplace_pairs)) {
    return invalid(cat("has ", info.n_inplace, " in-place pairs"));
  }
  std::vector<bool> used_in(shape.n_in), used_out(shape.n_out);
  for (uint64_t k = 0; k < info.n_inplace; ++k) {
    uint32_t in = info.inplace_pairs[2 * k], out = info.inplace_pairs[2 * k + 1];
    if (in >= shape.n_in || out >= shape.n_out || used_in[in] || used_out[out]) {
      return invalid(
          cat("has the in-place pair (", in, ", ", out, "), out of range or used twice"));
    }
    used_in[in] = used_out[out] = true;
    kernel.inplace.emplace_back(in, out);
  }
  return {};
}

Status read_const_use(const byoc_kernel_info& info, const KernelShape& shape, Kernel& kernel) {
  kernel.const_use.assign(shape.n_consts, BYOC_CONST_KEPT);
  if (info.n_consts == 0) return {};  // absent: all are kept
  if (info.n_consts != shape.n_consts || !info.const_use) {
    return invalid(
        cat("reports the use of ", info.n_consts, " constants, its graph has ", shape.n_consts));
  }
  for (size_t k = 0; k < shape.n_consts; ++k) {
    if (info.const_use[k] > BYOC_CONST_DEVICE) {
      return invalid(
          cat("reports use ", info.const_use[k], " of constant ", k, ", expected 0 to 4"));
    }
    if (info.const_use[k] == BYOC_CONST_DEVICE && kernel.device.empty())
      return invalid(cat("reads constant ", k, " on a device, and runs on the host"));
    kernel.const_use[k] = info.const_use[k];
  }
  return {};
}

Result<Kernel> checked(const byoc_plugin& table, const byoc_kernel_info& info,
                       const KernelShape& shape) {
  Kernel kernel;
  BYOC_TRY_STATUS(check_needs(info, shape));
  BYOC_TRY_STATUS(read_device(table, info, shape, kernel));
  BYOC_TRY_STATUS(read_inplace(info, shape, kernel));
  BYOC_TRY_STATUS(read_const_use(info, shape, kernel));
  kernel.open_workspace = text_of(info.open_workspace);
  kernel.workspace_bytes = kernel.open_workspace.empty() ? info.workspace_bytes : 0;
  kernel.workspace_align = std::max<uint64_t>(info.workspace_align, 1);
  kernel.flags = info.flags;
  kernel.implementation = text_of(info.implementation);
  kernel.signature = text_of(info.signature);
  return kernel;
}

}  // namespace

Status plugin_defect(std::string_view id, std::string_view what) {
  return Status(Code::kInternal, cat(id, ": ", what))
      .with_slug("plugin-defect")
      .with_help("a defect of the plugin; report it to its author");
}

Result<Kernel> read_kernel(const byoc_plugin& table, const std::string& id, byoc_module* module,
                           const KernelShape& shape) {
  byoc_kernel* handle = nullptr;
  BYOC_TRY_STATUS(call_plugin(id, {"kernel", shape.symbol},
                              [&] { return table.kernel(module, to_str(shape.symbol), &handle); }));
  if (!handle) return plugin_defect(id, cat("gave no kernel for \"", shape.symbol, "\""));
  auto info = with_header<byoc_kernel_info>(BYOC_TAG_KERNEL_INFO);
  BYOC_TRY_STATUS(
      call_plugin(id, {"info", shape.symbol}, [&] { return table.info(handle, &info); }));
  Result<Kernel> kernel = checked(table, info, shape);
  if (!kernel.ok())
    return plugin_defect(id, cat("kernel \"", shape.symbol, "\" ", kernel.status().message()));
  kernel->handle = handle;
  return kernel;
}

}  // namespace byoc
