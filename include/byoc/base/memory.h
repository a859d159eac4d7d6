// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of tensors: aligned, and for constants of large models in files, which the system may
// write to disk.
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace byoc {

/// The bytes of a huge page of x86-64, and of aarch64 with pages of 4 KiB.
inline constexpr size_t kHugePage = size_t{2} << 20;

/// Allocates at least `size` bytes on a multiple of `alignment`, a power of two; std::free frees
/// them. Returns null when allocation fails. Pieces of 2 MiB and more begin at a multiple of 2 MiB,
/// and get huge pages where the kernel gives them on request (madvise(2), MADV_HUGEPAGE): images
/// and weights then need a page table entry for each 2 MiB, not for each 4 KiB. Thread-safe.
void* aligned_memory(size_t size, size_t alignment) noexcept;

/// Gives the pages of a mapped file back to the system, those that hold a part of `bytes` alone;
/// the next read brings them back. `bytes` is a part of a mapping without writers. Thread-safe.
void release_pages(std::span<const std::byte> bytes) noexcept;

/// The constants that a SpillScope is about: packed ones are read in every run.
enum class Spills { kAll, kAllButPacked };

/// While one exists, large constants of the process are in unlinked files of `folder`, once those
/// in memory have 64 MiB together. Memory from there stays valid afterwards. Of several the first
/// one counts until the last one is gone. Thread-safe.
class SpillScope {
 public:
  /// `folder`: "" is the current folder.
  explicit SpillScope(std::string folder, Spills spills = Spills::kAll);
  ~SpillScope();
  SpillScope(const SpillScope&) = delete;
  SpillScope& operator=(const SpillScope&) = delete;
};

/// Returns memory of `size` bytes in a file, aligned to 4096 bytes, when a SpillScope for such
/// memory exists and the size is at least 1 MiB; else, or when the folder has no space, null.
/// Thread-safe.
std::shared_ptr<std::byte> spilled_memory(size_t size, bool is_packed = false) noexcept;

/// Releases the pages of all spilled memory: contents stay in the system's cache and on disk until
/// they are next read. May be called at any time. Cost: O(pages that are resident). Thread-safe.
void release_spilled() noexcept;
/// Does so for a part of one piece of memory, unless that is not spilled. Cost: O(pages of it).
void release_spilled(std::span<const std::byte> bytes) noexcept;

}  // namespace byoc
