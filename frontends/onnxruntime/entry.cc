// SPDX-License-Identifier: Apache-2.0
// The two functions by which ONNX Runtime finds the provider.
#include "byoc/c/byoc.h"
#include "frontends/onnxruntime/provider.h"

#define BYOC_ORT_EXPORT extern "C" __attribute__((visibility("default")))

namespace byoc::ort {
namespace {

/// Makes a provider per session.
struct Factory : OrtEpFactory {
  Calls calls;
};

const Calls& calls_of(const OrtEpFactory* self) { return static_cast<const Factory*>(self)->calls; }

/// Offers the first processor: byoc's programs run on the cores of this process.
OrtStatus* get_devices(OrtEpFactory* self, const OrtHardwareDevice* const* devices, size_t count,
                       OrtEpDevice** found, size_t most, size_t* n_found) {
  const Calls& calls = calls_of(self);
  *n_found = 0;
  for (size_t k = 0; k < count && *n_found < std::min<size_t>(most, 1); ++k) {
    if (calls.HardwareDevice_Type(devices[k]) != kOrtCpu) continue;
    OrtStatus* status = calls.CreateEpDevice(self, devices[k], nullptr, nullptr, &found[0]);
    if (status != nullptr) return status;
    *n_found = 1;
  }
  return nullptr;
}

OrtStatus* create_ep(OrtEpFactory* self, const OrtHardwareDevice* const*,
                     const OrtKeyValuePairs* const*, size_t, const OrtSessionOptions* session,
                     const OrtLogger* logger, OrtEp** ep) {
  const Calls& calls = calls_of(self);
  return answer(calls, [&]() -> Status {
    BYOC_TRY(Settings settings, read_settings(calls, session));
    BYOC_TRY_STATUS(check_settings(settings));
    *ep = new Provider(calls, logger, std::move(settings));
    return {};
  });
}

OrtStatus* check_compiled(OrtEpFactory*, const OrtHardwareDevice* const*, size_t, const char*,
                          int* compatibility) {
  *compatibility = 0;  // compiled models of ONNX Runtime's form are not made
  return nullptr;
}

/// Fills the functions of things that a provider for processors does not have.
void fill_without_devices(OrtEpFactory& to) {
  to.create_allocator = [](OrtEpFactory*, const void*, const OrtKeyValuePairs*, void** out) {
    *out = nullptr;  // ONNX Runtime's own
    return static_cast<OrtStatus*>(nullptr);
  };
  to.release_allocator = [](OrtEpFactory*, void*) {};
  to.create_data_transfer = [](OrtEpFactory*, void** out) {
    *out = nullptr;
    return static_cast<OrtStatus*>(nullptr);
  };
  to.has_streams = [](const OrtEpFactory*) { return false; };
  to.create_stream = [](OrtEpFactory*, const void*, const OrtKeyValuePairs*, void** out) {
    *out = nullptr;
    return static_cast<OrtStatus*>(nullptr);
  };
}

OrtEpFactory* make_factory(Calls calls) {
  auto* out = new Factory{{}, std::move(calls)};
  out->version = kOrtApiVersion;
  out->name = [](const OrtEpFactory*) { return kProviderName; };
  out->vendor = [](const OrtEpFactory*) { return "byoc"; };
  out->get_devices = get_devices;
  out->create_ep = create_ep;
  out->release_ep = [](OrtEpFactory*, OrtEp* ep) { delete static_cast<Provider*>(ep); };
  out->vendor_id = [](const OrtEpFactory*) { return uint32_t{0}; };
  out->provider_version = [](const OrtEpFactory*) { return byoc_version(); };
  out->check_compiled = check_compiled;
  fill_without_devices(*out);
  return out;
}

}  // namespace
}  // namespace byoc::ort

using namespace byoc::ort;

BYOC_ORT_EXPORT OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base, const OrtLogger*,
                                             OrtEpFactory** factories, size_t most, size_t* count) {
  *count = 0;
  try {
    byoc::Result<Calls> calls = read_calls(*base);
    if (!calls.ok()) return status_of(*base, calls.status());
    if (most == 0) return status_of(*base, byoc::failed("there is no room for a provider"));
    factories[0] = make_factory(*std::move(calls));
    *count = 1;
    return nullptr;
  } catch (const std::exception& e) {
    return status_of(*base, byoc::failed(e.what()));
  }
}

BYOC_ORT_EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<Factory*>(factory);
  return nullptr;
}
