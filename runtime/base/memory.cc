// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>

namespace byoc {
namespace {

// Advises huge pages for the pages that lie wholly inside. The kernel may ignore the advice.
// The advice outlives the memory where free() keeps that, so use it for memory that lives as
// long as a session.
void ask_for_huge_pages(void* memory, size_t size) {
  const uintptr_t from = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t first = (from + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t last = (from + size) / kHugePage * kHugePage;
  if (first < last) (void)::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

constexpr size_t kSpilled = size_t{1} << 20;        // smaller constants stay in memory
constexpr size_t kKept = size_t{64} << 20;          // and so do the first ones, with this sum, or
constexpr size_t kKeptForRuns = size_t{16} << 20;   // with this one beside packed constants
constexpr size_t kReleaseEvery = size_t{32} << 20;  // bytes of new memory

struct Spilled {
  std::mutex mutex;
  std::string folder;  // empty: nothing is spilled
  Spills spills = Spills::kAll;
  size_t scopes = 0, kept = 0, fresh = 0;
  std::map<std::byte*, size_t> ranges;

  void release() const {
    for (const auto& [memory, size] : ranges) release_pages({memory, size});
  }
};

Spilled& spilled() {
  static Spilled& state = *new Spilled;  // outlives whatever frees at exit
  return state;
}

/// Returns a mapping of a new unlinked file whose blocks are reserved, or null.
std::byte* map_new_file(const std::string& folder, size_t size) {
  std::string name = folder + "/.byoc-spill-XXXXXX";
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) return nullptr;
  ::unlink(name.c_str());
  void* memory = MAP_FAILED;
  if (::posix_fallocate(fd, 0, static_cast<off_t>(size)) == 0)
    memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

void unmap(std::byte* memory) {
  std::lock_guard lock(spilled().mutex);
  auto range = spilled().ranges.extract(memory);
  ::munmap(memory, range.mapped());
}

}  // namespace

SpillScope::SpillScope(std::string folder, Spills spills) {
  std::lock_guard lock(spilled().mutex);
  if (spilled().scopes++ > 0) return;  // the first one counts
  spilled().spills = spills;
  spilled().folder = folder.empty() ? "." : std::move(folder);
  spilled().kept = 0;
}

SpillScope::~SpillScope() {
  std::lock_guard lock(spilled().mutex);
  if (--spilled().scopes == 0) spilled().folder.clear();
}

std::shared_ptr<std::byte> spilled_memory(size_t size, bool is_packed) noexcept {
  try {
    Spilled& state = spilled();
    std::unique_lock lock(state.mutex);
    if (state.folder.empty() || size < kSpilled) return nullptr;
    if (is_packed && state.spills == Spills::kAllButPacked) return nullptr;
    const size_t kept = state.spills == Spills::kAll ? kKept : kKeptForRuns;
    if (size <= kept - state.kept) {
      state.kept += size;
      return nullptr;
    }
    if ((state.fresh += size) >= kReleaseEvery) {
      state.fresh = 0;
      state.release();
    }
    std::byte* memory = map_new_file(state.folder, size);
    if (memory == nullptr) return nullptr;
    state.ranges.emplace(memory, size);
    lock.unlock();
    return {memory, unmap};
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void release_spilled() noexcept {
  std::lock_guard lock(spilled().mutex);
  spilled().fresh = 0;
  spilled().release();
}

void release_spilled(std::span<const std::byte> bytes) noexcept {
  const Spilled& state = spilled();
  std::lock_guard lock(spilled().mutex);
  auto after = state.ranges.upper_bound(const_cast<std::byte*>(bytes.data()));
  if (after == state.ranges.begin()) return;
  const auto& [memory, size] = *std::prev(after);
  if (bytes.data() + bytes.size() <= memory + size) release_pages(bytes);
}

// posix_memalign has no rule for sizes, aligned_alloc requires multiples of the alignment.
void* aligned_memory(size_t size, size_t alignment) noexcept {
  if (size > SIZE_MAX - alignment) return nullptr;
  const size_t rounded = (size + alignment - 1) / alignment * alignment;
  if (rounded < kHugePage) return std::aligned_alloc(alignment, rounded != 0 ? rounded : alignment);
  void* memory = nullptr;
  if (::posix_memalign(&memory, std::max(alignment, kHugePage), rounded) != 0) return nullptr;
  ask_for_huge_pages(memory, rounded);
  return memory;
}

void release_pages(std::span<const std::byte> bytes) noexcept {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data()) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size();
  if (!bytes.empty()) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace byoc
