// SPDX-License-Identifier: Apache-2.0
// The kit reads ELF files without trusting their contents.
#include "core/conform/process/elf.h"

#include <random>

#include "support/faults.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::Contains;
using testing::ElementsAre;

TEST(ReadElf, TellsLibrariesPathsAndSymbols) {
  auto elf = conform::read_elf(fault_path("unruly_runpath"));
  ASSERT_TRUE(elf.ok()) << elf.status().to_string();
  EXPECT_THAT(elf->needed, Contains("libc.so.6"));
  EXPECT_THAT(elf->run_paths, ElementsAre("$ORIGIN", "/tmp/vendor/lib"));
  EXPECT_FALSE(elf->has_text_relocations);
  EXPECT_FALSE(elf->has_executable_stack);
  std::vector<std::string> defined;
  for (const conform::ElfSymbol& symbol : elf->symbols) {
    if (symbol.is_defined) defined.push_back(symbol.name);
  }
  EXPECT_THAT(defined, ElementsAre("byoc_plugin_entry_v1"));
}

TEST(ReadElf, SurvivesDamagedFiles) {
  TempFolder folder;
  std::string whole = get(fault_path("unruly_none")), path = folder.file("libdamaged.so");
  std::mt19937 random(7);
  size_t readable = 0;
  for (int k = 0; k < 300; ++k) {
    std::string damaged = whole.substr(0, k % 5 == 0 ? random() % whole.size() : whole.size());
    for (uint32_t flips = 1 + random() % 8; flips > 0 && !damaged.empty(); --flips) {
      size_t headers = std::min<size_t>(damaged.size(), 4096);
      damaged[random() % headers] = static_cast<char>(random());
    }
    put(path, damaged);
    readable += conform::read_elf(path).ok();
  }
  EXPECT_LT(readable, 300u);
  EXPECT_GT(readable, 0u);
}

}  // namespace
}  // namespace byoc::test
