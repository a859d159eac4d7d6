// SPDX-License-Identifier: Apache-2.0
// byoc_mutants: reads mutants of files, many in a child process each.
//
//   byoc_mutants TARGET COUNT SEED PLUGIN|- FOLDER FILES...
//
// A mutant that ends its process, or takes more than 10 s, is written to FOLDER and counted. Prints
// the counts; the exit code is 1 when there is such a mutant.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "byoc/base/file.h"
#include "mutants/mutate.h"

namespace byoc::test {
namespace {

constexpr unsigned kSeconds = 10;  // of one mutant
constexpr size_t kMostFaults = 10;
#ifdef BYOC_IS_SANITIZED
constexpr bool kLimitsMemory = false;
constexpr unsigned kSlower = 6;
#else
constexpr bool kLimitsMemory = true;
constexpr unsigned kSlower = 1;
#endif

/// Shared with the children.
struct Progress {
  uint64_t next, accepted;
};

struct Work {
  const Target& target;
  uint64_t count, seed;
  std::vector<Bytes> seeds;

  Bytes make(uint64_t k) const {
    Draw draw(seed + k);
    const Bytes& one = draw.of(seeds);
    const Bytes& other = draw.of(seeds);
    return mutant(target.form, one, other, draw);
  }
};

/// Reads the mutants from `progress.next` on.
[[noreturn]] void run_child(const Work& work, Progress& progress) {
  std::signal(SIGALRM, SIG_DFL);
  const rlimit none{0, 0}, memory{size_t{4} << 30, size_t{4} << 30};
  ::setrlimit(RLIMIT_CORE, &none);
  if (kLimitsMemory) ::setrlimit(RLIMIT_AS, &memory);
  while (progress.next < work.count) {
    ::alarm(kSeconds * kSlower);
    progress.accepted += work.target.read(work.make(progress.next));
    ++progress.next;
  }
  std::exit(0);  // leaks are reported
}

int run(const Work& work, const std::string& folder) {
  void* shared =
      ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  auto& progress = *static_cast<Progress*>(shared);
  size_t faults = 0;
  while (progress.next < work.count && faults < kMostFaults) {
    const pid_t child = ::fork();
    if (child == 0) run_child(work, progress);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    const uint64_t k = progress.next++;
    const std::string file = cat(folder, "/", work.target.name, "-", work.seed + k);
    const Bytes bytes = work.make(k < work.count ? k : k - 1);
    const Status written = write_file(file, bytes);
    std::printf("%s: %s %d%s\n", file.c_str(), WIFSIGNALED(status) ? "signal" : "exit code",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
                written.ok() ? "" : ", not written");
    ++faults;
  }
  std::printf("%-9s %llu mutants of %zu files, %llu accepted, %zu faults\n",
              work.target.name.c_str(), static_cast<unsigned long long>(progress.next),
              work.seeds.size(), static_cast<unsigned long long>(progress.accepted), faults);
  return faults != 0;
}

int main_of(int argc, char** argv) {
  const Target* target = argc > 6 ? find_target(argv[1]) : nullptr;
  if (target == nullptr) {
    std::fprintf(stderr, "byoc_mutants TARGET COUNT SEED PLUGIN|- FOLDER FILES...\n");
    return 2;
  }
  if (std::string_view(argv[4]) != "-") use_plugin(argv[4]);
  std::filesystem::create_directories(argv[5]);
  Work work{*target, std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[3], nullptr, 10), {}};
  for (int k = 6; k < argc; ++k) {
    auto bytes = read_file(argv[k]);
    if (bytes.ok()) work.seeds.push_back(*std::move(bytes));
  }
  if (work.seeds.empty()) return 2;
  for (const Bytes& seed : work.seeds) {
    if (target->read(seed)) continue;
    std::fprintf(stderr, "a seed of %s is refused: %.60s\n", argv[1], seed.c_str());
    return 2;
  }
  return run(work, argv[5]);
}

}  // namespace
}  // namespace byoc::test

int main(int argc, char** argv) { return byoc::test::main_of(argc, argv); }
