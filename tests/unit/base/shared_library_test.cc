// SPDX-License-Identifier: Apache-2.0
// Shared objects opened from memory. NATIVE_GOOD is the path of one that defines the symbol below.
#include "byoc/base/shared_library.h"

#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <set>

#include "support/temp_folder.h"

namespace byoc {
namespace {

using testing::HasSubstr;

constexpr const char* kSymbol = "byoc_native_entry_v1";

Result<SharedLibrary> open_bytes(const std::string& bytes) {
  return SharedLibrary::open_bytes(std::as_bytes(std::span(bytes)), "test");
}

class Folder : public test::TempFolder {
 public:
  Folder() { ::setenv("TMPDIR", path().c_str(), 1); }
  ~Folder() { ::unsetenv("TMPDIR"); }
};

// A server compiles models again and again, and each time the plugins are opened and kept.
TEST(SharedLibrary, KeepsALibraryOnce) {
  auto open_and_keep = [] {
    auto library = SharedLibrary::open(NATIVE_GOOD);
    ASSERT_TRUE(library.ok()) << library.status().to_string();
    library->keep();
    EXPECT_EQ(library->symbol(kSymbol), nullptr) << "it is empty then";
  };
  open_and_keep();
  const size_t before = ::mallinfo2().uordblks;
  for (int k = 0; k < 1000; ++k) open_and_keep();
  EXPECT_LT(::mallinfo2().uordblks, before + 1000);
  EXPECT_TRUE(SharedLibrary::is_loaded(NATIVE_GOOD));
}

TEST(OpenBytes, OpensALibraryOfItsOwnEachTime) {
  std::string object = test::get(NATIVE_GOOD);
  auto first = open_bytes(object), second = open_bytes(object);
  ASSERT_TRUE(first.ok()) << first.status().to_string();
  ASSERT_TRUE(second.ok()) << second.status().to_string();
  EXPECT_NE(first->symbol(kSymbol), nullptr);
  EXPECT_NE(second->symbol(kSymbol), nullptr);
  EXPECT_NE(first->symbol(kSymbol), second->symbol(kSymbol));
}

TEST(OpenBytes, LeavesNoFileWhetherItSucceedsOrNot) {
  Folder folder;
  std::string object = test::get(NATIVE_GOOD);
  EXPECT_TRUE(open_bytes(object).ok());
  EXPECT_FALSE(open_bytes(object.substr(0, 200)).ok());
  EXPECT_EQ(folder.count(), 0u);
}

/// Refuses memfd_create in this process from now on, as a policy of a machine may.
void refuse_memory_files() {
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_memfd_create, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program{std::size(code), code};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/// Runs the test in a child process, which ends with 0 when it passes.
template <class Test>
void in_child(Test test) {
  const pid_t child = ::fork();
  if (child == 0) {
    test();
    ::_exit(testing::Test::HasFailure());
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(OpenBytes, NeedsNoFolder) {
  Folder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::none);
  auto library = open_bytes(test::get(NATIVE_GOOD));
  EXPECT_TRUE(library.ok()) << library.status().to_string();
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
}

// The loader returns an earlier library for an equal name, and numbers of files are used again.
TEST(OpenBytes, OpensALibraryOfItsOwnWhenFilesGetTheSameNumbers) {
  std::string object = test::get(NATIVE_GOOD);
  std::vector<SharedLibrary> libraries;
  std::set<void*> symbols;
  for (int k = 0; k < 20; ++k) {
    auto library = open_bytes(object);
    ASSERT_TRUE(library.ok()) << library.status().to_string();
    symbols.insert(library->symbol(kSymbol));
    libraries.push_back(*std::move(library));
  }
  EXPECT_EQ(symbols.size(), 20u);
}

TEST(OpenBytes, LeavesNoFileOpen) {
  auto count = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = count();
  auto good = open_bytes(test::get(NATIVE_GOOD)), bad = open_bytes("no object");
  EXPECT_TRUE(good.ok());
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(count(), before);
}

TEST(OpenBytes, HasTheReasonOfTheLoader) {
  Status status = open_bytes(test::get(NATIVE_GOOD).substr(0, 32)).status();
  EXPECT_THAT(status.message(), HasSubstr("cannot be loaded: "));
  EXPECT_THAT(status.message(), HasSubstr("file too short"));  // the message of glibc
}

TEST(OpenBytes, TriesFoldersWhereThereIsNoFileInMemory) {
  in_child([] {
    refuse_memory_files();
    {
      Folder folder;
      EXPECT_TRUE(open_bytes(test::get(NATIVE_GOOD)).ok());
      EXPECT_FALSE(open_bytes("no object").ok());
      EXPECT_EQ(folder.count(), 0u);
    }
    ::setenv("TMPDIR", "/nowhere", 1);
    auto library = open_bytes(test::get(NATIVE_GOOD));
    EXPECT_TRUE(library.ok()) << library.status().to_string();
  });
}

TEST(OpenBytes, NamesThePlacesThatWereTried) {
  in_child([] {
    refuse_memory_files();
    const rlimit none{0, 0};
    ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &none);  // files may be made, and nothing written
    Status status = open_bytes(test::get(NATIVE_GOOD)).status();
    EXPECT_EQ(status.slug(), "code-place");
    EXPECT_THAT(status.message(),
                HasSubstr("memory: Function not implemented; /tmp: File too large; /dev/shm: "));
    EXPECT_THAT(status.help(), HasSubstr("mount /proc, or set TMPDIR"));
  });
}

TEST(Open, NamesTheCureWhenMemoryIsShort) {
  in_child([] {
    const rlimit none{1 << 20, 1 << 20};
    ::setrlimit(RLIMIT_AS, &none);  // less than this process has
    Status status = SharedLibrary::open(NATIVE_GOOD).status();
    EXPECT_THAT(status.message(), HasSubstr("there is too little memory to load it: "));
    EXPECT_THAT(status.help(), HasSubstr("ulimit -v"));
  });
}

}  // namespace
}  // namespace byoc
