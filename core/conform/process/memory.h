#pragma once
// Memory with walls: pages nobody may touch before and behind it, and read-only where asked for.
// In a child that has called name_faults, a step outside ends the child with its name.
#include <cstddef>
#include <memory>
#include <string>

namespace byoc::conform {

/// Where the bytes stand between the walls.
enum class Placement {
  kAtStart,  // aligned to a page; what stays free behind them is filled and checked
  kAtEnd     // as close to the wall behind as `align` allows
};

class GuardedMemory {
 public:
  /// `name` is what messages call it, "input 0"; at least 1 byte is there.
  GuardedMemory(std::string name, size_t size, size_t align, Placement placement);
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  ~GuardedMemory();
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  void make_read_only();
  /// Whether what lies between the walls and the bytes is as it was.
  bool margins_are_whole() const;

 private:
  struct Pages {
    std::byte* at = nullptr;
    size_t bytes = 0;  // walls and all
  };
  Pages pages_;
  std::byte* data_ = nullptr;
  size_t size_ = 0, place_ = 0;  // place_: in the table of walls
};

/// Installs the handler, for this process, which ought to be a child.
void name_faults();

}  // namespace byoc::conform
