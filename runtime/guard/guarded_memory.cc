// SPDX-License-Identifier: Apache-2.0
#include "runtime/guard/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "byoc/base/check.h"
#include "byoc/base/env.h"

namespace byoc {
namespace {

constexpr std::byte kMargin{0xff};  // NaN as f16, bf16, f32 and f64, -1 as an integer
constexpr size_t kMaxRanges = 4096;

/// A range in the table that the signal handler searches, without locks and without allocation.
struct NamedRange {
  std::atomic<const std::byte*> begin;  // guard pages included; null: there is nothing to search
  const std::byte *end, *data, *data_end;
  bool is_taken;
  char name[160];
};
NamedRange ranges[kMaxRanges];
std::mutex& ranges_mutex() {
  static std::mutex& mutex = *new std::mutex;  // outlives whatever releases at exit
  return mutex;
}
size_t first_free = 0;  // no place before it is free

size_t take_place() {
  std::lock_guard lock(ranges_mutex());
  for (size_t k = first_free; k < kMaxRanges; ++k) {
    if (std::exchange(ranges[k].is_taken, true)) continue;
    first_free = k + 1;
    return k;
  }
  first_free = kMaxRanges;
  return kMaxRanges;  // further ones have no name in messages
}

void give_back(size_t place) {
  std::lock_guard lock(ranges_mutex());
  ranges[place].begin.store(nullptr, std::memory_order_release);
  ranges[place].is_taken = false;
  first_free = std::min(first_free, place);
}

size_t page_bytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

Status no_memory(size_t bytes) {
  return Status(Code::kResourceExhausted, cat("no memory for ", bytes, " guarded bytes"))
      .with_slug("no-memory");
}

void append(char*& at, const char* end, const char* text) {
  while (*text != '\0' && at < end) *at++ = *text++;
}

void describe(const NamedRange& range, const std::byte* address, char* to, size_t size) {
  char* at = to;
  const char* end = to + size - 1;
  const bool inside = address >= range.data && address < range.data_end;
  append(at, end,
         inside                 ? "it wrote to "
         : address < range.data ? "it accessed memory before "
                                : "it accessed memory past the end of ");
  append(at, end, range.name);
  if (inside) append(at, end, ", which is read-only,");
  *at = '\0';
}

constinit thread_local bool is_guarded = false;

}  // namespace

Result<GuardedMemory> GuardedMemory::reserve(size_t capacity) {
  const size_t page = page_bytes();
  if (capacity > SIZE_MAX / 2) return no_memory(capacity);
  const size_t inner = (std::max<size_t>(capacity, 1) + page - 1) / page * page;
  void* memory = mmap(nullptr, inner + 2 * page, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return no_memory(capacity);
  GuardedMemory out;
  out.pages_ = {static_cast<std::byte*>(memory) + page, inner};
  out.open_ = out.open_end_ = out.data_ = out.pages_.at;
  out.place_ = take_place();
  return out;
}

GuardedMemory::GuardedMemory(std::string_view name, size_t size, size_t align,
                             Placement placement) {
  Result<GuardedMemory> made = reserve(size);
  BYOC_CHECK(made.ok(), made.status().to_string());
  *this = *std::move(made);
  Status status = place(name, size, align, placement);
  BYOC_CHECK(status.ok(), status.to_string());
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept { *this = std::move(other); }

GuardedMemory& GuardedMemory::operator=(GuardedMemory&& other) noexcept {
  std::swap(pages_, other.pages_);
  std::swap(open_, other.open_);
  std::swap(open_end_, other.open_end_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(place_, other.place_);
  return *this;
}

GuardedMemory::~GuardedMemory() {
  if (pages_.at == nullptr) return;
  if (place_ < kMaxRanges) give_back(place_);
  munmap(pages_.at - page_bytes(), pages_.bytes + 2 * page_bytes());
}

Status GuardedMemory::place(std::string_view name, size_t size, size_t align, Placement placement) {
  const size_t page = page_bytes();
  BYOC_CHECK(size <= pages_.bytes && align > 0 && align <= page, size, " bytes aligned to ", align,
             " in pages of ", pages_.bytes);
  const size_t inner = (std::max<size_t>(size, 1) + page - 1) / page * page;
  std::byte* end = pages_.at + pages_.bytes;
  std::byte* begin = end - inner;
  if (begin > pages_.at) mprotect(pages_.at, pages_.bytes - inner, PROT_NONE);
  if (mprotect(begin, inner, PROT_READ | PROT_WRITE) != 0) return no_memory(size);
  open_ = begin, open_end_ = end;
  data_ = placement == Placement::kAtStart ? begin : begin + (inner - size) / align * align;
  size_ = size;
  std::memset(open_, static_cast<int>(kMargin), static_cast<size_t>(data_ - open_));
  std::memset(data_ + size, static_cast<int>(kMargin), static_cast<size_t>(end - data_ - size));
  set_range(name);
  return {};
}

// A handler on another thread skips the range while its texts change.
void GuardedMemory::set_range(std::string_view name) {
  if (place_ >= kMaxRanges) return;
  NamedRange& range = ranges[place_];
  range.begin.store(nullptr, std::memory_order_release);
  range.end = pages_.at + pages_.bytes + page_bytes();
  range.data = data_, range.data_end = data_ + size_;
  const size_t length = std::min(name.size(), sizeof range.name - 1);
  std::memcpy(range.name, name.data(), length);
  range.name[length] = '\0';
  range.begin.store(pages_.at - page_bytes(), std::memory_order_release);
}

void GuardedMemory::make_read_only() {
  mprotect(open_, static_cast<size_t>(open_end_ - open_), PROT_READ);
}

const char* GuardedMemory::changed_margin() const {
  auto is_whole = [](const std::byte* from, const std::byte* to) {
    return std::all_of(from, to, [](std::byte b) { return b == kMargin; });
  };
  if (!is_whole(open_, data_)) return "before";
  return is_whole(data_ + size_, open_end_) ? nullptr : "past the end of";
}

bool describe_access(const void* address, char* to, size_t size) noexcept {
  const auto* at = static_cast<const std::byte*>(address);
  for (const NamedRange& range : ranges) {
    const std::byte* begin = range.begin.load(std::memory_order_acquire);
    if (begin == nullptr || at < begin || at >= range.end) continue;
    describe(range, at, to, size);
    return true;
  }
  return false;
}

bool set_guards_memory(bool guards) { return std::exchange(is_guarded, guards); }

bool guards_memory() { return is_guarded || env_value("BYOC_GUARD") == "1"; }

}  // namespace byoc
