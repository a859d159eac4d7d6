// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/check.h"
#include "byoc/runtime/devices.h"
#include "runtime/device/device_arguments.h"

namespace byoc {

struct DeviceBuffer::State {
  std::shared_ptr<const PluginSet> plugins;
  std::unique_ptr<Device> device;
  DeviceMemory memory;  // freed first
  uint64_t bytes = 0;

  Status check(uint64_t n) const {
    if (n <= bytes) return {};
    return Status(Code::kOutOfRange, cat(n, " bytes of a memory of ", bytes));
  }
};

DeviceBuffer::DeviceBuffer(std::unique_ptr<State> state) : state_(std::move(state)) {}
DeviceBuffer::DeviceBuffer(DeviceBuffer&&) noexcept = default;
DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&&) noexcept = default;
DeviceBuffer::~DeviceBuffer() = default;

Result<DeviceBuffer> DeviceBuffer::make(std::shared_ptr<const PluginSet> plugins,
                                        const std::string& plugin, uint32_t id, uint64_t bytes) {
  const Plugin* found = plugins ? plugins->find(plugin) : nullptr;
  if (found == nullptr)
    return not_found(cat("no plugin \"", plugin, "\"")).with_slug("missing-plugin");
  uint32_t type = 0;
  for (const DeviceInfo& info : found->devices()) {
    if (info.id == id) type = info.type;
  }
  auto state = std::make_unique<State>();
  state->plugins = std::move(plugins);
  state->bytes = bytes;
  BYOC_TRY(state->device, Device::find(*found, type, id));
  BYOC_TRY(state->memory, state->device->allocate(bytes, kDeviceAlignment, "a buffer"));
  return DeviceBuffer(std::move(state));
}

void* DeviceBuffer::data() const { return state_->memory.get(); }
uint64_t DeviceBuffer::size_bytes() const { return state_->bytes; }
DLDevice DeviceBuffer::device() const { return state_->device->id(); }

DLTensor DeviceBuffer::view(const TensorSpec& type) const {
  const Result<int64_t> bytes = byoc::size_bytes(type);
  BYOC_CHECK(bytes.ok() && static_cast<uint64_t>(*bytes) <= state_->bytes, type, " in ",
             state_->bytes, " bytes");
  return {.data = data(),
          .device = device(),
          .ndim = static_cast<int32_t>(type.dims.size()),
          .dtype = to_dlpack(type.dtype),
          .shape = const_cast<int64_t*>(type.dims.data()),  // DLPack has no const
          .strides = nullptr,
          .byte_offset = 0};
}

Status DeviceBuffer::write(const void* from, uint64_t bytes) {
  BYOC_TRY_STATUS(state_->check(bytes));
  return state_->device->copy({data(), from, true, false, bytes}, nullptr);
}

Status DeviceBuffer::read(void* to, uint64_t bytes) const {
  BYOC_TRY_STATUS(state_->check(bytes));
  return state_->device->copy({to, data(), false, true, bytes}, nullptr);
}

namespace {

std::optional<size_t> device_of(const ArgumentUse& use) {
  if (use.copies.empty()) return {};
  if (GivenArguments::needs_host(use, use.copies[0].device)) return {};
  return use.copies[0].device;
}

}  // namespace

std::optional<size_t> device_of_input(const Program& program, size_t k) {
  if (k >= program.run_inputs()) return {};
  return device_of(find_argument_uses(program)[k]);
}

std::optional<size_t> device_of_output(const Program& program, size_t k) {
  if (k >= program.run_outputs()) return {};
  return device_of(find_argument_uses(program)[program.inputs.size() + k]);
}

}  // namespace byoc
