// SPDX-License-Identifier: Apache-2.0
#pragma once
// The host's services for a plugin: memory, threads, log, shared constants. Thread-safe.
#include <atomic>
#include <exception>
#include <memory>
#include <type_traits>

#include "byoc/plugin/sdk/error.h"

namespace byoc::sdk {

/// A read-only tensor the host keeps alive until this is destroyed: a weight, without a copy.
class Held {
 public:
  Held() = default;
  explicit Held(byoc_held held) : held_(held) {}
  Held(Held&& other) noexcept : held_(std::exchange(other.held_, {})) {}
  Held& operator=(Held&& other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~Held() {
    if (held_.release) held_.release(held_.ctx);
  }
  explicit operator bool() const { return held_.view != nullptr; }
  const DLTensor& view() const { return *held_.view; }
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(static_cast<const char*>(view().data) + view().byte_offset);
  }

 private:
  byoc_held held_{};
};

class Host {
 public:
  enum Level : uint32_t { kError, kWarning, kInfo, kDebug, kTrace };
  explicit Host(const byoc_host* table) : table_(table) {}
  const byoc_host* table() const { return table_; }

  void log(Level level, std::string_view who, std::string_view message) const {
    table_->log(table_->ctx, level, to_str(who), to_str(message));
  }
  uint64_t now_ns() const { return table_->now_ns(table_->ctx); }
  uint32_t max_workers() const { return table_->max_workers(table_->ctx); }

  struct Free {
    void operator()(void* memory) const { table->free(table->ctx, memory); }
    const byoc_host* table = nullptr;
  };
  using Memory = std::unique_ptr<void, Free>;
  Memory alloc(uint64_t bytes, uint64_t align = 64) const {
    void* memory = table_->alloc(table_->ctx, bytes, align);
    if (!memory) throw std::bad_alloc();
    return Memory(memory, Free{table_});
  }

  /// Calls body(lo, hi, worker) over blocks of [0, n) of about `grain`; an exception stops the rest
  /// and is thrown here. Allocates nothing.
  template <class Body>
  void parallel_for(uint64_t n, uint64_t grain, Body&& body) const {
    Range<std::remove_reference_t<Body>> range{&body, {}, {}};
    if (table_->parallel_for(table_->ctx, n, grain, range.run, &range) == 0) return;
    if (range.error) std::rethrow_exception(range.error);
    throw Error(BYOC_INTERNAL, "a parallel loop stopped early");
  }

  /// Returns memory of `bytes` that `fill(void* memory)` writes once in the process for `key`; all
  /// callers with that key share it. key: a layout's name, then the constant's key.
  template <class Fill>
  Held packed(std::string_view key, uint64_t bytes, uint64_t align, Fill&& fill) const {
    byoc_held held{};
    auto trampoline = [](void* u, void* memory, uint64_t) noexcept {
      return detail::guarded([&] { (*static_cast<std::remove_reference_t<Fill>*>(u))(memory); });
    };
    detail::check(table_->packed_get(table_->ctx, {key.data(), key.size()}, bytes, align,
                                     trampoline, &fill, &held));
    return Held(held);
  }

 private:
  template <class Body>
  struct Range {
    Body* body;
    std::atomic_flag failed;
    std::exception_ptr error;
    static int32_t run(void* u, uint64_t lo, uint64_t hi, uint32_t worker) noexcept {
      auto* self = static_cast<Range*>(u);
      try {
        (*self->body)(lo, hi, worker);
        return 0;
      } catch (...) {
        if (!self->failed.test_and_set()) self->error = std::current_exception();
        return 1;
      }
    }
  };
  const byoc_host* table_;
};

inline Host host() { return Host(detail::host_table()); }

/// Cancels long work and reports its progress. Thread-safe; valid during the call it came with.
class Cancel {
 public:
  Cancel() = default;  // work that cannot be cancelled
  explicit Cancel(const byoc_cancel* raw) : raw_(raw) {}
  bool is_requested() const { return raw_ && detail::host_table()->cancelled(raw_) != 0; }
  /// Throws BYOC_CANCELLED when the user has interrupted the work.
  void check() const {
    if (is_requested()) throw Error(BYOC_CANCELLED, "cancelled");
  }
  /// Reports `done` of `total` units of work; `what` is a word for the work, "compiling".
  void progress(uint64_t done, uint64_t total, std::string_view what) const {
    if (!raw_ || total == 0) return;
    auto permille = static_cast<uint32_t>(1000.0 * static_cast<double>(done) / total);
    detail::host_table()->progress(raw_, permille, to_str(what));
  }

 private:
  const byoc_cancel* raw_ = nullptr;
};

}  // namespace byoc::sdk
