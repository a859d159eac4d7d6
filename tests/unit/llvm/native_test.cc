// SPDX-License-Identifier: Apache-2.0
// Object files, linking, build IDs and the cache of kernels.
#include "plugins/llvm/native.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <filesystem>
#include <fstream>

#include <thread>

#include "plugins/llvm/compile.h"
#include "plugins/llvm/machine/link.h"
#include "plugins/llvm/store/build_id.h"
#include "run_loops.h"
#include "support/temp_folder.h"

namespace byoc::llvm_plugin {
namespace {

using ::testing::HasSubstr;

te::LoopFunction scale(int64_t n, double by, const std::string& name = "x") {
  te::Tensor x(name, DType::kF32, {n}), y("y", DType::kF32, {n});
  auto body = te::loop(name, n, [&](te::Expr i) {
    return te::make_store(y, {i}, x(i) * te::constant(DType::kF32, by));
  });
  return {"scale", {x}, {y}, body};
}

te::LoopFunction sine() {
  te::Tensor x("x", DType::kF32, {4}), y("y", DType::kF32, {4});
  auto body = te::loop("i", 4, [&](te::Expr i) {
    return te::make_store(y, {i}, te::unary(te::UnaryOp::kSin, x(i)));
  });
  return {"sine", {x}, {y}, body};
}

Kernel compiled(const te::LoopFunction& function, const Machine& machine) {
  auto kernel = compile_kernel(function, kernel_symbol(function, machine, {}), machine, {});
  EXPECT_TRUE(kernel.ok()) << kernel.status().message();
  return *kernel;
}

TEST(KernelSymbol, IsOfWhatIsComputedAndNotOfNames) {
  Machine machine = test::this_machine();
  std::string symbol = kernel_symbol(scale(8, 2), machine, {});
  EXPECT_EQ(kernel_symbol(scale(8, 2, "other"), machine, {}), symbol);
  EXPECT_NE(kernel_symbol(scale(9, 2), machine, {}), symbol);
  EXPECT_NE(kernel_symbol(scale(8, 3), machine, {}), symbol);
  EXPECT_NE(kernel_symbol(scale(8, 2), machine, {.contract = false}), symbol);
  EXPECT_NE(kernel_symbol(scale(8, 2), test::this_machine({"fma"}), {}), symbol);
}

TEST(NativeLink, GivesEqualBytesAndOneExportedSymbol) {
  Machine machine = test::this_machine();
  Kernel a = compiled(scale(8, 2), machine), b = compiled(sine(), machine);
  const Kernel* kernels[] = {&a, &b, &a};
  auto first = link_native(kernels, machine), second = link_native(kernels, machine);
  ASSERT_TRUE(first.ok() && second.ok()) << first.status().message();
  EXPECT_EQ(*first, *second);
  EXPECT_THAT(*first, HasSubstr("byoc_native_entry_v1"));
  EXPECT_THAT(*first, HasSubstr("libm.so.6"));
  EXPECT_EQ(first->find(a.symbol), std::string::npos) << "expected no symbol, it is stripped";
}

TEST(NativeLink, NamesOnlyLibrariesThatAreNeeded) {
  Machine machine = test::this_machine();
  Kernel kernel = compiled(scale(8, 2), machine);
  const Kernel* kernels[] = {&kernel};
  auto object = link_native(kernels, machine);
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(object->find("libm.so.6"), std::string::npos);
}

TEST(NativeLink, SaysWhatIsNoObject) {
  std::string objects[] = {"no object"};
  auto linked = link_shared(objects, "f", test::this_machine());
  EXPECT_EQ(linked.status().code(), Code::kDataLoss);
}

TEST(OtherMachines, GetObjectsOfTheirOwn) {
  te::Target arm{.arch = "aarch64", .cpu = "generic", .features = {"neon"}};
  auto machine = machine_of(arm);
  ASSERT_TRUE(machine.ok()) << machine.status().message();
  Kernel a = compiled(scale(8, 2), *machine), b = compiled(sine(), *machine);
  EXPECT_EQ(a.object[18], '\xb7');  // e_machine: EM_AARCH64
  const Kernel* kernels[] = {&a, &b};
  auto object = link_native(kernels, *machine);
  ASSERT_TRUE(object.ok()) << object.status().message();
  EXPECT_EQ((*object)[18], '\xb7');
  EXPECT_EQ(compat_of(*machine, false), "cpu=");
  arm.arch = "vax";
  EXPECT_THAT(machine_of(arm).status().message(), HasSubstr("no code for architecture \"vax\""));
}

TEST(Listing, ShowsLlvmAndAssembly) {
  Machine machine = test::this_machine();
  auto listed = list_kernel(scale(8, 2), machine, {});
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  EXPECT_THAT(listed->llvm, HasSubstr("define"));
  EXPECT_THAT(listed->assembly, HasSubstr("ret"));
}

TEST(BuildId, IsThatOfTheLoadedImage) {
  static const int in_this_program = 0;
  std::string id = build_id_at(&in_this_program);
  ASSERT_FALSE(id.empty()) << "the test is linked without --build-id";
  FILE* readelf = ::popen("readelf -n /proc/$PPID/exe", "r");
  ASSERT_NE(readelf, nullptr);
  std::string notes(4096, '\0');
  notes.resize(std::fread(notes.data(), 1, notes.size(), readelf));
  ::pclose(readelf);
  EXPECT_THAT(notes, HasSubstr("Build ID: " + id + "\n"));
}

TEST(BuildId, DiffersFromLibraryToLibraryAndIsEmptyWhereNothingIsLoaded) {
  std::string libc = build_id_at(reinterpret_cast<const void*>(&std::fread));
  static const int in_this_program = 0;
  EXPECT_NE(libc, build_id_at(&in_this_program));
  auto memory = std::make_unique<int>(0);
  EXPECT_EQ(build_id_at(memory.get()), "");
  EXPECT_EQ(build_id_at(nullptr), "");
}

TEST(KernelCache, FindsWhatWasPutForTheSameCompiler) {
  test::TempFolder folder;
  KernelCache cache(folder.file("kernels"), "one");
  cache.put({"k1", "bytes", 64});
  auto kernel = cache.find("k1");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->object, "bytes");
  EXPECT_EQ(kernel->workspace.bytes, 64u);
  EXPECT_FALSE(cache.find("k2"));
  EXPECT_FALSE(KernelCache(folder.file("kernels"), "two").find("k1"));
}

TEST(KernelCache, DoesNotBelieveAChangedOrForeignFile) {
  test::TempFolder folder;
  KernelCache cache(folder.file("kernels"), "one");
  cache.put({"k1", "bytes", 64});
  std::string path = folder.file("kernels/k1-one"), bytes = test::get(path);
  bytes.back() ^= 1;
  test::put(path, bytes);
  EXPECT_FALSE(cache.find("k1"));
  bytes.back() ^= 1;
  test::put(path, bytes);
  EXPECT_TRUE(cache.find("k1"));
  test::put(folder.file("kernels/k2-one"), bytes);  // the kernel of another key
  EXPECT_FALSE(cache.find("k2"));
  ::chmod(path.c_str(), 0666);
  EXPECT_FALSE(cache.find("k1")) << "the file is writable for all users";
}

TEST(KernelCache, DoesNotUseAFolderThatOthersMayWriteTo) {
  test::TempFolder folder;
  ::chmod(folder.path().c_str(), 0777);
  EXPECT_FALSE(KernelCache(folder.path(), "one").is_usable());
  EXPECT_FALSE(KernelCache("", "one").is_usable());
}

TEST(KernelCache, DeletesWhatHasNotBeenUsedForLongest) {
  test::TempFolder folder;
  KernelCache cache(folder.file("kernels"), "one", 4000);
  for (int k = 0; k < 6; ++k) {
    cache.put({cat("k", k), std::string(1000, 'x'), 0});
    struct timespec times[] = {{1000 + k, 0}, {1000 + k, 0}};
    ::utimensat(AT_FDCWD, folder.file(cat("kernels/k", k, "-one")).c_str(), times, 0);
  }
  EXPECT_TRUE(cache.find("k0"));  // makes k0 the last one used
  cache.trim();
  EXPECT_TRUE(cache.find("k0"));
  EXPECT_TRUE(cache.find("k5"));
  EXPECT_FALSE(cache.find("k1"));
}

TEST(KernelCache, ReadsTheSizesOfFilesOnlyAfterAKernelWasPut) {
  test::TempFolder folder;
  KernelCache(folder.file("kernels"), "one").put({"k1", std::string(1000, 'x'), 0});
  KernelCache small(folder.file("kernels"), "one", 500);
  small.trim();
  EXPECT_TRUE(small.find("k1"));
  small.put({"k2", "x", 0});
  small.trim();
  EXPECT_FALSE(small.find("k1"));
}

TEST(KernelCache, ReadsTheSizesOfFilesOnlyAfterASixteenthOfTheRoomWasPut) {
  test::TempFolder folder;
  KernelCache cache(folder.file("kernels"), "one", 1 << 20);
  const std::string large = folder.file("kernels/large-one");
  std::ofstream(large) << std::string(2 << 20, 'x');
  struct timespec long_ago[] = {{1000, 0}, {1000, 0}};
  ::utimensat(AT_FDCWD, large.c_str(), long_ago, 0);
  for (int k = 0; k < 16; ++k) cache.put({cat("k", k), "x", 0});  // of 4 KiB on disk each
  cache.trim();
  EXPECT_TRUE(std::filesystem::exists(large));
  cache.put({"one more", "x", 0});
  cache.trim();
  EXPECT_FALSE(std::filesystem::exists(large));
  EXPECT_TRUE(cache.find("k0"));
}

TEST(CompileKernels, CompilesEqualFunctionsOnceAndFindsThemInTheCache) {
  test::TempFolder folder;
  KernelCache cache(folder.file("kernels"), "one");
  te::LoopFunction functions[] = {scale(8, 2), sine(), scale(8, 2, "again")};
  std::vector<uint32_t> progress;
  CompileOptions options{.cache = &cache};
  options.set_progress = [&](uint32_t permille) { progress.push_back(permille); };
  const Machine machine = test::this_machine();
  const KernelJob jobs[] = {
      {&functions[0], &machine, {}}, {&functions[1], &machine, {}}, {&functions[2], &machine, {}}};
  Compiled first = compile_kernels(jobs, options);
  ASSERT_TRUE(first.kernels[0] && first.kernels[1]);
  EXPECT_EQ(first.kernels[0], first.kernels[2]);
  EXPECT_THAT(progress, ::testing::ElementsAre(500, 1000));
  Compiled second = compile_kernels(jobs, options);
  EXPECT_EQ(second.kernels[1]->object, first.kernels[1]->object);
}

TEST(CompileKernels, StopsWhenCancelledAndSaysSoPerFunction) {
  te::LoopFunction functions[] = {scale(8, 2), sine()};
  CompileOptions options;
  options.for_each = [](size_t n, const std::function<void(size_t)>& work) {
    std::vector<std::jthread> threads;
    for (size_t k = 0; k < n; ++k) threads.emplace_back([&work, k] { work(k); });
  };
  options.is_cancelled = [] { return true; };
  const Machine machine = test::this_machine();
  const KernelJob jobs[] = {{&functions[0], &machine, {}}, {&functions[1], &machine, {}}};
  Compiled out = compile_kernels(jobs, options);
  EXPECT_EQ(out.errors[0].code(), Code::kCancelled);
  EXPECT_EQ(out.errors[1].code(), Code::kCancelled);
}

}  // namespace
}  // namespace byoc::llvm_plugin
