// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cancelling long work of plugins from another thread or a signal handler, and seeing how far it is.
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

struct byoc_cancel;

namespace byoc {

/// Outlives the work it is given to. Thread-safe.
class Cancellation {
 public:
  using ShowProgress = std::function<void(uint32_t permille, std::string_view what)>;

  Cancellation();
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;
  ~Cancellation();

  /// May be called in a signal handler. There is no way back.
  void cancel() noexcept;
  bool is_cancelled() const noexcept;
  /// Returns true while a Scope lives: cancelled work ends soon. May be called in a signal handler.
  bool is_polled() const noexcept;
  /// `show` is called by one thread at a time, with what plugins report; null: by none.
  void set_progress(ShowProgress show);
  /// What plugins poll, as the ABI passes it.
  const byoc_cancel* raw() const { return state_.get(); }

  /// Marks work that looks at the cancellation. Null: no cancellation.
  class Scope {
   public:
    explicit Scope(const Cancellation* cancellation);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

   private:
    byoc_cancel* state_;
  };

 private:
  std::unique_ptr<byoc_cancel> state_;
};

}  // namespace byoc
