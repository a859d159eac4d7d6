// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ownership of interned values (Symbol, Dim, TypeId, TypeIds, Attrs) in processes that compile many
// models:
//   InternArena arena;
//   InternScope scope(arena);
//   auto module = import_onnx(path);    // its names and types are the arena's
//   auto executable = build(*module, options);
// Without a scope a value lives until the process ends, which is right for a command and for
// static variables, and grows without bound in a server.
#include <memory>
#include <string_view>

#include "byoc/ir/type.h"

namespace byoc {

/// Owns interned values. A value is freed when the last arena that owns it is destroyed, unless it
/// was also interned outside of every scope: that keeps it until the process ends. A value that is
/// read after it was freed reads as another. One scope at a time may use an arena; different arenas
/// may be used and destroyed on different threads at the same time.
class InternArena {
 public:
  InternArena();
  InternArena(const InternArena&) = delete;
  InternArena& operator=(const InternArena&) = delete;
  ~InternArena();  // O(values owned)

  struct Owned;                       // private to core/ir
  Owned& owned() { return *owned_; }  ///< used by core/ir alone

 private:
  std::unique_ptr<Owned> owned_;
};

/// A value that this thread interns while the scope lives is owned by `arena`. Scopes of a thread
/// nest, and the innermost one counts. Other threads are not affected.
class InternScope {
 public:
  explicit InternScope(InternArena& arena);  ///< Interns in `arena` until the scope ends.
  InternScope(const InternScope&) = delete;
  InternScope& operator=(const InternScope&) = delete;
  ~InternScope();

 private:
  InternArena::Owned* outer_;
};

/// Returns `text` as a Symbol that no arena frees: for static variables, which may be initialised
/// inside a scope.
Symbol lasting_symbol(std::string_view text);

/// The numbers of values that are interned now.
struct InternCounts {
  /// One number per kind.
  size_t symbols = 0, named_sizes = 0, types = 0, type_lists = 0, attrs = 0;
  friend bool operator==(const InternCounts&, const InternCounts&) = default;
};
InternCounts intern_counts();  ///< Counts what is interned. Cost: O(1).

}  // namespace byoc
