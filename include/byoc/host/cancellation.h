// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cancels long work of plugins from another thread or a signal handler, and reports its progress.
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

struct byoc_cancel;

namespace byoc {

/// Outlives the work that receives it. Thread-safe.
class Cancellation {
 public:
  /// Shows how far work is, 0 to 1000, with a word such as "compiling".
  using ShowProgress = std::function<void(uint32_t permille, std::string_view what)>;

  Cancellation();
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;
  ~Cancellation();

  /// Cancels for good. May be called in a signal handler.
  void cancel() noexcept;
  bool is_cancelled() const noexcept;  ///< true after cancel()
  /// Returns true while a Scope lives: cancelled work ends soon. May be called in a signal handler.
  bool is_polled() const noexcept;
  /// Sets the function that receives the progress that plugins report; it is called by one thread
  /// at a time. Null: none.
  void set_progress(ShowProgress show);
  /// Returns the struct that plugins poll, as the ABI passes it.
  const byoc_cancel* raw() const { return state_.get(); }

  /// Marks work that polls the cancellation. Null: no cancellation.
  class Scope {
   public:
    /// Begins the stretch; null: of no cancellation.
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
