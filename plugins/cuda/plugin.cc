// SPDX-License-Identifier: Apache-2.0
// The cuda plugin: functions as kernels for NVIDIA's devices. It compiles without a driver and
// without a device; artifacts run where both are.
#include <charconv>

#include "byoc/plugin/sdk.h"
#include "plugins/cuda/compile.h"
#include "plugins/cuda/module.h"

namespace byoc::cuda {
namespace {

class CudaPlugin : public sdk::Plugin, public sdk::Devices {
 public:
  void open(const sdk::Options& options) override {
    Result<GpuTarget> target = parse_gpu_target(options.get("sm", "80"));
    if (!target.ok()) throw sdk::Error(BYOC_INVALID_ARGUMENT, target.status().message());
    target_ = *target;
    driver_ = options.get("driver", "libcuda.so.1");
    cublaslt_ = options.get("cublaslt", "auto");
    target_.has_libraries = cublaslt_ != "none";
    const std::string number = options.get("device", "0");
    const auto end = std::from_chars(number.data(), number.data() + number.size(), number_);
    if (end.ec != std::errc() || end.ptr != number.data() + number.size() || number_ < 0)
      throw sdk::Error(BYOC_INVALID_ARGUMENT, "option device=" + number + " is no number");
  }
  std::vector<sdk::Pattern> patterns() const override { return {}; }  // judge gets every op
  sdk::Verdict judge(const sdk::Graph& graph) const override {
    const Status status = can_compile(graph.json, target_);
    return status.ok() ? sdk::Verdict::yes() : sdk::Verdict::no(status.message());
  }
  std::unique_ptr<sdk::Module> compile_module(sdk::CompileRequest& request) override {
    return std::make_unique<CudaModule>(compile_functions(request, target_), number_);
  }
  std::unique_ptr<sdk::Module> load_module(const byoc_load& load) override;
  std::optional<uint32_t> compat(std::string_view text) const override {
    return text.starts_with(kFormat) ? 3 : 0;
  }
  std::string show(sdk::CompileRequest& request, std::string_view form) override {
    if (form != "llvm" && form != "asm") return Plugin::show(request, form);
    return shown_code(request, target_, form);
  }

  std::vector<sdk::DeviceRow> devices() override {
    sdk::DeviceRow row = open_device()->row();
    std::string why;
    const std::shared_ptr<const Blas> blas = open_blas(why);
    row.capabilities.back() = ',';  // the bracket
    row.capabilities += "\"cublaslt\":\"" + (blas != nullptr ? blas->version() : why) + "\"}";
    return {row};
  }
  void* allocate(DLDevice, uint64_t bytes, uint64_t) override { return device().allocate(bytes); }
  void release(DLDevice, void* memory) noexcept override { device().release(memory); }
  void copy(const byoc_copy& copy, sdk::Stream* stream) override {
    device().copy(copy, stream == nullptr ? nullptr : static_cast<Queue*>(stream)->handle());
  }
  std::unique_ptr<sdk::Stream> make_stream(DLDevice) override {
    return std::make_unique<Queue>(device());
  }
  std::unique_ptr<sdk::Event> make_event(DLDevice) override {
    return std::make_unique<QueueEvent>(device());
  }

 private:
  /// Opens the driver and the device when they are first used. Throws BYOC_UNAVAILABLE.
  std::shared_ptr<const Device> open_device() {
    std::lock_guard lock(mutex_);
    if (device_ == nullptr)
      device_ = std::make_shared<const Device>(Library::open(driver_), number_);
    return device_;
  }
  const Device& device() { return *open_device(); }
  /// Opens cuBLASLt when it is first used; null, and why, where it cannot be used.
  std::shared_ptr<const Blas> open_blas(std::string& why) {
    const std::shared_ptr<const Device> device = open_device();
    std::lock_guard lock(mutex_);
    if (blas_ == nullptr && why_no_blas_.empty())
      blas_ = Blas::open(cublaslt_, device, why_no_blas_);
    why = why_no_blas_;
    return blas_;
  }

  GpuTarget target_;
  std::string driver_, cublaslt_, why_no_blas_;
  int number_ = 0;
  std::mutex mutex_;
  std::shared_ptr<const Device> device_;
  std::shared_ptr<const Blas> blas_;
};

/// Returns the address of a constant on the device; null where it has no bytes. A host that did not
/// bring it there gets a copy in `own`.
const void* address_of(const byoc_const& constant, const std::shared_ptr<const Device>& device,
                       DeviceMemory& own) {
  if (BYOC_HAS(&constant, device_data) && constant.device_data != nullptr)
    return constant.device_data;
  const DLTensor& view = *constant.view;
  uint64_t bytes = view.dtype.bits / 8;
  for (int32_t d = 0; d < view.ndim; ++d) bytes *= static_cast<uint64_t>(view.shape[d]);
  if (bytes == 0) return nullptr;
  void* const memory = own.add(bytes);
  byoc_copy copy{};
  copy.dst = memory;
  copy.src = static_cast<const char*>(view.data) + view.byte_offset;
  copy.dst_device = {kDLCUDA, device->number()};
  copy.src_device = {kDLCPU, 0};
  copy.bytes = bytes;
  device->copy(copy, nullptr);
  return memory;
}

// Returns the addresses of the constants of a function; those that it does not read are null.
std::vector<const void*> constants_of(const SavedFunction& function,
                                      const sdk::detail::ConstantsByKey& by_key,
                                      const std::shared_ptr<const Device>& device,
                                      DeviceMemory& own) {
  std::vector<const void*> out;
  for (size_t k = 0; k < function.constants.size(); ++k) {
    out.push_back(nullptr);
    if (function.used[k] == 0) continue;
    uint8_t key[16];
    function.constants[k].copy(reinterpret_cast<char*>(key), sizeof key);
    const auto found = by_key.find(sdk::detail::hex(key));
    if (found == by_key.end())
      throw sdk::Error(BYOC_DATA_LOSS, "a constant of the saved module is not in the artifact");
    out.back() = address_of(*found->second, device, own);
  }
  return out;
}

std::unique_ptr<sdk::Module> CudaPlugin::load_module(const byoc_load& load) {
  if ((load.flags & BYOC_NO_NATIVE) != 0)
    throw sdk::Error(BYOC_PERMISSION_DENIED,
                     "the module is code for a device, which is not allowed");
  SavedModule saved = read_saved({static_cast<const char*>(load.blob.p), load.blob.n});
  const std::shared_ptr<const Device> device = open_device();
  const std::string target = "the model was compiled for sm=" + std::to_string(saved.sm);
  if (static_cast<uint64_t>(device->sm()) < saved.sm)
    throw sdk::Error(
        BYOC_FAILED_PRECONDITION,
        target + ", " + device->row().name + " is sm=" + std::to_string(device->sm()) +
            ": compile it with --plugin-option cuda.sm=" + std::to_string(device->sm()));
  const int needed = driver_for({static_cast<int>(saved.sm)});
  if (device->library().version() < needed)
    throw sdk::Error(BYOC_FAILED_PRECONDITION,
                     target + ", which drivers read from CUDA " + version_text(needed) +
                         " on; this one is for " + version_text(device->library().version()) +
                         ": update it, or compile with --plugin-option cuda.sm=80");
  std::vector<std::vector<const void*>> constants;
  DeviceMemory own(device);
  const sdk::detail::ConstantsByKey by_key = sdk::detail::constants_by_key(load);
  for (const SavedFunction& function : saved.functions)
    constants.push_back(constants_of(function, by_key, device, own));
  std::string why_no_blas;
  std::shared_ptr<const Blas> blas = open_blas(why_no_blas);
  return std::make_unique<CudaModule>(std::move(saved), device, std::move(constants),
                                      std::move(own), std::move(blas), std::move(why_no_blas));
}

}  // namespace
}  // namespace byoc::cuda

BYOC_PLUGIN(byoc::cuda::CudaPlugin, "cuda", "0.1.0", .priority = -10)
