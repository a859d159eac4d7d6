// The machine code of micro-kernels, disassembled: nothing but loads, broadcasts and multiply-adds
// in the innermost loop.
#include <gmock/gmock.h>

#include <random>
#include <regex>
#include <sstream>

#include "kernel_loops.h"
#include "run_loops.h"

namespace byoc {
namespace {

/// The loops of assembly text: from a label to the jump back to it, innermost ones alone.
std::vector<std::vector<std::string>> innermost_loops(const std::string& assembly) {
  std::vector<std::string> lines;
  std::istringstream text(assembly);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  std::vector<std::vector<std::string>> out;
  std::smatch match;
  for (size_t end = 0; end < lines.size(); ++end) {
    if (!std::regex_search(lines[end], match, std::regex(R"(^\s+j\w+\s+(\.L\w+))"))) continue;
    std::string label = match[1].str() + ":";
    for (size_t begin = end; begin-- > 0;) {
      if (lines[begin].starts_with(".L") && !lines[begin].starts_with(label)) {
        bool is_loop_too = false;  // another label in between: not innermost, or no loop at all
        for (const auto& other : out) is_loop_too |= !other.empty() && other[0] == lines[begin];
        if (is_loop_too) break;
      }
      if (!lines[begin].starts_with(label)) continue;
      out.emplace_back(lines.begin() + static_cast<long>(begin),
                       lines.begin() + static_cast<long>(end) + 1);
      break;
    }
  }
  return out;
}

size_t count(const std::vector<std::string>& lines, const std::string& pattern) {
  std::regex regex(pattern);
  return static_cast<size_t>(
      std::count_if(lines.begin(), lines.end(),
                    [&](const std::string& line) { return std::regex_search(line, regex); }));
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

TEST(MicroKernel, KeepsItsSumsInRegisters) {
  te::Target target = llvm_plugin::host_target();
  target.cpu = "x86-64-v3";
  target.features = {"avx", "avx2", "fma"};
  auto machine = llvm_plugin::machine_of(target);
  ASSERT_TRUE(machine.ok());
  auto listed = llvm_plugin::list_kernel(test::packed_gemm(48, 64, 128, 128), *machine, {});
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  size_t kernels = 0;
  for (const auto& loop : innermost_loops(listed->assembly)) {
    if (count(loop, "vfmadd") == 0) continue;
    ++kernels;
    EXPECT_EQ(count(loop, "vfmadd.*ymm"), 12u) << joined(loop);
    EXPECT_EQ(count(loop, "vbroadcastss"), 6u) << joined(loop);
    EXPECT_EQ(count(loop, "%rsp|%rbp"), 0u) << joined(loop);
    EXPECT_LE(loop.size(), 32u) << joined(loop);
  }
  EXPECT_EQ(kernels, 1u) << listed->assembly;
}

TEST(MicroKernel, MultipliesPackedMatrices) {
  const int64_t m = 50, n = 48, k = 64;
  std::minstd_rand random(7);
  std::vector<float> a(static_cast<size_t>(54 * k)), b(static_cast<size_t>(k * n));
  for (auto* matrix : {&a, &b})
    for (float& x : *matrix) x = static_cast<float>(static_cast<int>(random() % 9) - 4);
  auto c =
      test::run_loops(test::packed_gemm(m, n, k, 32), {test::f32(a), test::f32(b)})[0].as<float>();
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t r = 0; r < k; ++r)
        sum += a[static_cast<size_t>((i / 6 * k + r) * 6 + i % 6)] *
               b[static_cast<size_t>((j / 16 * k + r) * 16 + j % 16)];
      ASSERT_EQ(c[static_cast<size_t>(i * n + j)], sum) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace byoc
