// SPDX-License-Identifier: Apache-2.0
#include "core/process/activity.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace byoc::process {
namespace {

Activity own_page;  // used when the process has no parent that reads it
Activity* page_in_use = &own_page;

}  // namespace

Activity& activity() { return *page_in_use; }

void doing(std::string_view what) {
  char(&to)[sizeof Activity::what] = activity().what;
  size_t size = std::min(what.size(), sizeof to - 1);
  std::memcpy(to, what.data(), size);
  to[size] = '\0';
  activity().beats.fetch_add(1);
}

void progress_to(uint64_t item, uint64_t done, uint64_t total) {
  activity().item = item;
  activity().done = done;
  activity().total = total;
}

Activity* new_activity() {
  void* memory =
      mmap(nullptr, sizeof(Activity), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) Activity{};
}

void delete_activity(Activity* page) {
  if (page) munmap(page, sizeof(Activity));
}

void use_activity(Activity* page) { page_in_use = page; }

}  // namespace byoc::process
