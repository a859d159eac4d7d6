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
  explicit Held(byoc_held held) : held_(held) {}  ///< Owns the tensor.
  /// Moves; the source is empty.
  Held(Held&& other) noexcept : held_(std::exchange(other.held_, {})) {}
  /// Moves; the source has what this held.
  Held& operator=(Held&& other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~Held() {
    if (held_.release) held_.release(held_.ctx);
  }
  /// True when a tensor is held.
  explicit operator bool() const { return held_.view != nullptr; }
  const DLTensor& view() const { return *held_.view; }  ///< the tensor; there must be one
  /// The first element, with byte_offset applied.
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(static_cast<const char*>(view().data) + view().byte_offset);
  }

 private:
  byoc_held held_{};
};

/// The services of the host. Cheap to copy; every call may be made from any thread.
class Host {
 public:
  /// The levels of log.
  enum Level : uint32_t { kError, kWarning, kInfo, kDebug, kTrace };
  explicit Host(const byoc_host* table) : table_(table) {}  ///< Wraps the table.
  const byoc_host* table() const { return table_; }         ///< the table itself

  /// Prints a line on stderr when BYOC_LOG allows the level.
  void log(Level level, std::string_view who, std::string_view message) const {
    table_->log(table_->ctx, level, to_str(who), to_str(message));
  }
  uint64_t now_ns() const { return table_->now_ns(table_->ctx); }  ///< the steady clock
  /// Workers of a parallel_for that starts here.
  uint32_t max_workers() const { return table_->max_workers(table_->ctx); }

  /// Frees memory of alloc.
  struct Free {
    void operator()(void* memory) const { table->free(table->ctx, memory); }  ///< the deleter
    const byoc_host* table = nullptr;                                         ///< the host's table
  };
  /// Memory of the host, freed when it goes out of scope.
  using Memory = std::unique_ptr<void, Free>;
  /// Allocates `bytes` bytes; `align` is a power of two. Throws when memory is short.
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

/// The host of this plugin; valid once its entry was called.
inline Host host() { return Host(detail::host_table()); }

/// Cancels long work and reports its progress. Thread-safe; valid during the call it came with.
class Cancel {
 public:
  Cancel() = default;  // work that cannot be cancelled
  /// Wraps what a request or a call has; may be null.
  explicit Cancel(const byoc_cancel* raw) : raw_(raw) {}
  /// True once the user has interrupted the work.
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
