// SPDX-License-Identifier: Apache-2.0
#include "runtime/signature/sodium.h"

#include <dlfcn.h>

namespace byoc {
namespace {

// The names of libsodium's binary interface; Debian 12 has 23, later ones 26.
constexpr const char* kNames[] = {"libsodium.so.23", "libsodium.so.26"};

template <class Function>
bool find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, name));
  return out != nullptr;
}

}  // namespace

bool Sodium::load() {
  for (const char* name : kNames) {
    void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);  // stays until the process ends
    int (*init)() = nullptr;
    if (library == nullptr || !find(library, "sodium_init", init) || init() < 0) continue;
    if (find(library, "crypto_sign_verify_detached", verify_) &&
        find(library, "crypto_generichash", hash_))
      return true;
  }
  return false;
}

Result<const Sodium*> Sodium::open() {
  static Sodium only;
  static const bool is_loaded = only.load();
  if (is_loaded) return &only;
  return Status(Code::kFailedPrecondition, "signatures are checked by libsodium, which is not here")
      .with_slug("signature-library")
      .with_help("apt install libsodium23");
}

bool Sodium::is_signed(std::span<const uint8_t, 64> signature, std::span<const std::byte> message,
                       std::span<const uint8_t, 32> key) const {
  return verify_(signature.data(), message.data(), message.size(), key.data()) == 0;
}

std::array<std::byte, 64> Sodium::blake2b(std::span<const std::byte> message) const {
  std::array<std::byte, 64> out{};
  hash_(out.data(), out.size(), message.data(), message.size(), nullptr, 0);
  return out;
}

}  // namespace byoc
