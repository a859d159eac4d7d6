// SPDX-License-Identifier: Apache-2.0
#include "core/conform/process/memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "byoc/base/check.h"
#include "core/process/child.h"

namespace byoc::conform {
namespace {

constexpr std::byte kMargin{0xc3};
constexpr size_t kMaxRanges = 256;

/// A range in the table that the signal handler searches, without locks and without allocation.
struct GuardedRange {
  const std::byte *begin, *end;  // guard pages included
  const std::byte *data, *data_end;
  bool read_only;
  char name[80];
};
GuardedRange ranges[kMaxRanges];

size_t free_place() {
  for (size_t k = 0; k < kMaxRanges; ++k) {
    if (ranges[k].begin == nullptr) return k;
  }
  return kMaxRanges;  // further ones have no name in messages
}

void append(char*& at, const char* end, const char* text) {
  while (*text != '\0' && at < end) *at++ = *text++;
}

void describe_fault(const GuardedRange& range, const std::byte* address, char* to, size_t size) {
  char* at = to;
  const char* end = to + size - 1;
  bool inside = address >= range.data && address < range.data_end;
  append(at, end,
         inside                 ? "it wrote to "
         : address < range.data ? "it accessed memory before "
                                : "it accessed memory past the end of ");
  append(at, end, range.name);
  if (inside) append(at, end, ", which is read-only,");
  *at = '\0';
}

void handle_fault(int signal, siginfo_t* info, void*) {
  auto* address = static_cast<const std::byte*>(info->si_addr);
  for (const GuardedRange& range : ranges) {
    if (range.begin == nullptr || address < range.begin || address >= range.end) continue;
    describe_fault(range, address, process::activity().fault, sizeof process::activity().fault);
  }
  ::signal(signal, SIG_DFL);  // the instruction is tried again, and ends the process
}

}  // namespace

GuardedMemory::GuardedMemory(std::string name, size_t size, size_t align, Placement placement)
    : size_(size) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t inner = (std::max<size_t>(size, 1) + page - 1) / page * page;
  pages_.bytes = inner + 2 * page;
  void* memory =
      mmap(nullptr, pages_.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  BYOC_CHECK(memory != MAP_FAILED, "no memory for ", size, " guarded bytes");
  pages_.at = static_cast<std::byte*>(memory);
  std::memset(pages_.at + page, static_cast<int>(kMargin), inner);
  mprotect(pages_.at, page, PROT_NONE);
  mprotect(pages_.at + page + inner, page, PROT_NONE);
  size_t at = placement == Placement::kAtStart ? 0 : (inner - size) / align * align;
  data_ = pages_.at + page + at;
  place_ = free_place();
  if (place_ == kMaxRanges) return;
  GuardedRange& range = ranges[place_];
  range = {pages_.at, pages_.at + pages_.bytes, data_, data_ + size, false, {}};
  std::strncpy(range.name, name.c_str(), sizeof range.name - 1);
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : pages_(std::exchange(other.pages_, {})),
      data_(other.data_),
      size_(other.size_),
      place_(std::exchange(other.place_, kMaxRanges)) {}

GuardedMemory::~GuardedMemory() {
  if (pages_.at) munmap(pages_.at, pages_.bytes);
  if (pages_.at && place_ < kMaxRanges) ranges[place_] = {};
}

void GuardedMemory::make_read_only() {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  mprotect(pages_.at + page, pages_.bytes - 2 * page, PROT_READ);
}

bool GuardedMemory::margins_are_whole() const {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto whole = [](const std::byte* from, const std::byte* to) {
    return std::all_of(from, to, [](std::byte b) { return b == kMargin; });
  };
  return whole(pages_.at + page, data_) && whole(data_ + size_, pages_.at + pages_.bytes - page);
}

void name_faults() {
  static char stack[1 << 14];  // the fault may be an overflow of the normal stack
  stack_t alternate{stack, 0, sizeof stack};
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_sigaction = handle_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace byoc::conform
