// SPDX-License-Identifier: Apache-2.0
// Files in a folder of plugins that are no plugins, damaged, or end the process that loads them:
// each is refused with its path and a reason, and the others work.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "runtime/host/plugin_collector.h"
#include "support/faults.h"
#include "support/temp_folder.h"

namespace byoc {
namespace {

namespace fs = std::filesystem;
using test::fault_path;
using test::TempFolder;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

class DamagedPlugins : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1);
    ::chmod(folder_.path().c_str(), 0755);
    good_ = test::get(fault_path("faulty_none"));
  }
  void TearDown() override { ::unsetenv("XDG_CACHE_HOME"); }

  std::string write(const std::string& name, const std::string& bytes) {
    test::put(folder_.file(name), bytes);
    ::chmod(folder_.file(name).c_str(), 0644);
    return folder_.file(name);
  }
  void copy(const std::string& fault, const std::string& name) {
    fs::remove(folder_.file(name));  // this process may have loaded it: no library changes then
    write(name, test::get(fault_path(fault)));
  }
  std::shared_ptr<const PluginSet> load() const {
    PluginSearch search;
    search.folders = {folder_.path()};
    return PluginSet::load(search);
  }
  std::string reason(const PluginSet& set, const std::string& name) const {
    for (const RefusedPlugin& refused : set.refused()) {
      if (fs::path(refused.path).filename() == name) return refused.reason;
    }
    return "not refused";
  }
  /// Returns the reason for which a file of these bytes is refused, without a trial.
  std::string refusal(const std::string& bytes) {
    write("one.so", bytes);
    const WithoutTrials checks_alone;
    return reason(*load(), "one.so");
  }

  TempFolder folder_, cache_;
  std::string good_;
};

TEST_F(DamagedPlugins, ATruncationAtEveryPlaceIsRefusedBeforeItIsLoaded) {
  for (size_t size = 0; size < good_.size(); size += size < 4096 ? 64 : 1024) {
    EXPECT_THAT(refusal(good_.substr(0, size)), AnyOf("not an ELF file", HasSubstr("cut short")))
        << size << " of " << good_.size() << " bytes";
  }
  EXPECT_THAT(refusal(good_.substr(0, good_.size() - 1)),
              HasSubstr(cat("it has ", good_.size() - 1)));
  EXPECT_EQ(refusal(good_), "not refused");
}

TEST_F(DamagedPlugins, ATableOfSectionsThatIsNoneIsRefused) {
  std::string zeroed = good_, garbage = good_;
  uint64_t table = 0;
  std::memcpy(&table, good_.data() + 40, sizeof table);  // e_shoff
  for (size_t k = table; k < good_.size(); ++k)
    zeroed[k] = 0, garbage[k] = static_cast<char>(k * 37);
  EXPECT_EQ(refusal(zeroed), "damaged: its table of sections is not valid");
  EXPECT_THAT(refusal(garbage), HasSubstr("damaged"));
}

TEST_F(DamagedPlugins, CodeThatEndsTheProcessIsRefusedWithTheStep) {
  for (const char* where : {"constructor", "entry"}) {
    for (const char* how : {"crashes", "exits"})
      copy(cat(where, "_", how), cat(where, "_", how, ".so"));
  }
  copy("faulty_none", "good.so");
  auto set = load();
  EXPECT_NE(set->find("faulty"), nullptr);
  EXPECT_EQ(reason(*set, "constructor_crashes.so"),
            "it crashed (Segmentation fault) while it was loaded");
  EXPECT_EQ(reason(*set, "entry_crashes.so"), "it crashed (Segmentation fault) in its entry");
  EXPECT_EQ(reason(*set, "constructor_exits.so"),
            "it ended the process (exit code 0) while it was loaded");
  EXPECT_EQ(reason(*set, "entry_exits.so"), "it ended the process (exit code 0) in its entry");
  EXPECT_THAT(set->refused()[0].help,
              AllOf(HasSubstr("check-plugin " + set->refused()[0].path), HasSubstr("`touch`")));
}

TEST_F(DamagedPlugins, CodeThatDoesNotReturnIsWaitedForOnce) {
  copy("constructor_hangs", "a.so");
  copy("entry_hangs", "b.so");
  copy("faulty_none", "good.so");
  auto set = load();
  EXPECT_NE(set->find("faulty"), nullptr);
  EXPECT_EQ(reason(*set, "a.so"), "it did not return within 5 s while it was loaded");
  EXPECT_EQ(reason(*set, "b.so"), "it did not return within 5 s in its entry");
  const auto begin = std::chrono::steady_clock::now();
  set = load();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_EQ(reason(*set, "a.so"), "it did not return within 5 s while it was loaded");
}

TEST_F(DamagedPlugins, AFileThatIsReplacedIsTriedAgain) {
  copy("entry_crashes", "a.so");
  EXPECT_EQ(reason(*load(), "a.so"), "it crashed (Segmentation fault) in its entry");
  copy("faulty_none", "a.so");
  EXPECT_NE(load()->find("faulty"), nullptr);
}

TEST_F(DamagedPlugins, AFileOfALibraryThatIsLoadedIsNotTried) {
  copy("faulty_none", "a.so");
  auto loaded = load();
  EXPECT_NE(loaded->find("faulty"), nullptr);
  const std::string kept = cache_.file("byoc/plugins");
  fs::remove_all(kept);
  copy("faulty_none", "a.so");  // another file, of which the loader gives the library that it has
  EXPECT_NE(load()->find("faulty"), nullptr);
  EXPECT_TRUE(fs::is_empty(kept));
}

TEST_F(DamagedPlugins, ASoundFileIsTriedOnce) {
  copy("faulty_none", "good.so");
  load();
  const fs::path remembered = fs::path(cache_.path()) / "byoc/plugins";
  ASSERT_EQ(std::distance(fs::directory_iterator(remembered), fs::directory_iterator()), 1);
  const auto written = fs::last_write_time(*fs::directory_iterator(remembered));
  EXPECT_NE(load()->find("faulty"), nullptr);
  EXPECT_EQ(fs::last_write_time(*fs::directory_iterator(remembered)), written);
}

TEST_F(DamagedPlugins, NothingIsTriedWhereTheUserTurnsTrialsOff) {
  ::setenv("BYOC_TRY_PLUGINS", "0", 1);
  copy("faulty_none", "good.so");
  EXPECT_NE(load()->find("faulty"), nullptr);
  ::unsetenv("BYOC_TRY_PLUGINS");
  EXPECT_FALSE(fs::exists(cache_.file("byoc/plugins")) &&
               !fs::is_empty(cache_.file("byoc/plugins")));
}

TEST_F(DamagedPlugins, AreRefusedWithoutACacheAsWell) {
  ::setenv("XDG_CACHE_HOME", "/proc/self", 1);
  copy("entry_crashes", "a.so");
  copy("faulty_none", "good.so");
  for (int k = 0; k < 2; ++k) {
    auto set = load();
    EXPECT_NE(set->find("faulty"), nullptr);
    EXPECT_EQ(reason(*set, "a.so"), "it crashed (Segmentation fault) in its entry");
  }
}

TEST_F(DamagedPlugins, AFileThatIsOpenForWritingIsRefused) {
  write("a.so", good_);
  int fd = ::open(folder_.file("a.so").c_str(), O_WRONLY);
  const bool has_leases = ::fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
  ::fcntl(fd, F_SETLEASE, F_UNLCK);
  if (!has_leases) GTEST_SKIP() << "the file system has no leases";
  auto set = load();
  EXPECT_EQ(reason(*set, "a.so"), "it is being written");
  EXPECT_EQ(set->refused()[0].help, "wait until that is done");
  ::close(fd);
  EXPECT_NE(load()->find("faulty"), nullptr);
}

TEST_F(DamagedPlugins, AFileThatIsRewrittenAllTheTimeEndsNoProcess) {
  const pid_t writer = ::fork();
  if (writer == 0) {
    for (int k = 0; k < 2000; ++k) {
      int fd = ::open(folder_.file("a.so").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      for (size_t at = 0; at < good_.size(); at += 4096) {
        (void)!::write(fd, good_.data() + at, std::min<size_t>(4096, good_.size() - at));
        ::usleep(500);
      }
      ::close(fd);
    }
    ::_exit(0);
  }
  copy("thrower", "good.so");
  for (int k = 0; k < 10; ++k) EXPECT_NE(load()->find("thrower"), nullptr);
  ::kill(writer, SIGKILL);
  ::waitpid(writer, nullptr, 0);
}

TEST_F(DamagedPlugins, WhatIsNoFileIsRefused) {
  fs::create_directory(folder_.file("folder.so"));
  ::mkfifo(folder_.file("fifo.so").c_str(), 0644);
  fs::create_symlink("/nonexistent/x", folder_.file("dangling.so"));
  fs::create_symlink("loop.so", folder_.file("loop.so"));
  copy("faulty_none", "good.so");
  auto set = load();
  EXPECT_NE(set->find("faulty"), nullptr);
  EXPECT_EQ(reason(*set, "folder.so"), "not a regular file");
  EXPECT_EQ(reason(*set, "fifo.so"), "not a regular file");
  EXPECT_EQ(reason(*set, "dangling.so"), "cannot be read: No such file or directory");
  EXPECT_EQ(reason(*set, "loop.so"), "cannot be read: Too many levels of symbolic links");
}

TEST_F(DamagedPlugins, AProgramWithThreadsChecksFilesAndForksNothing) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  write("cut.so", good_.substr(0, good_.size() / 2));
  copy("faulty_none", "good.so");
  auto set = load();
  stop = true;
  other.join();
  EXPECT_THAT(reason(*set, "cut.so"), HasSubstr("cut short"));
  EXPECT_NE(set->find("faulty"), nullptr);
  EXPECT_FALSE(fs::exists(fs::path(cache_.path()) / "byoc/plugins") &&
               !fs::is_empty(fs::path(cache_.path()) / "byoc/plugins"))
      << "a trial was made";
}

TEST_F(DamagedPlugins, APriorityBelowZeroIsReadFromTheFile) {
  ::unsetenv("BYOC_TEST_LATER_RAN");
  copy("later", "later.so");
  copy("later_crashes", "later_crashes.so");
  auto set = load();
  EXPECT_TRUE(set->all().empty());
  EXPECT_TRUE(set->refused().empty());
  auto unopened = set->unopened();
  ASSERT_EQ(unopened.size(), 2u);
  EXPECT_EQ(unopened[0].id, "later");
  EXPECT_EQ(unopened[0].version, "1.0.0");
  EXPECT_EQ(unopened[0].priority, -5);
  EXPECT_EQ(unopened[1].priority, -7);
  EXPECT_EQ(std::getenv("BYOC_TEST_LATER_RAN"), nullptr) << "it was opened";
  const Plugin* later = set->find("later");
  ASSERT_NE(later, nullptr);
  EXPECT_NE(std::getenv("BYOC_TEST_LATER_RAN"), nullptr);
  EXPECT_EQ(later->priority(), -5);
  EXPECT_EQ(set->find("later"), later) << "it is opened once";
  Status status = set->get("later_crashes").status();
  EXPECT_EQ(status.slug(), "unknown-plugin");
  EXPECT_EQ(
      status.message(),
      "plugin \"later_crashes\" cannot be used: it crashed (Segmentation fault) in its entry");
  EXPECT_EQ(set->find("later_crashes"), nullptr);
}

TEST_F(DamagedPlugins, APluginThatIsNamedIsOpenedWhateverItsPriority) {
  PluginSearch search;
  search.files = {fault_path("later")};
  EXPECT_EQ(PluginSet::load(search)->all().size(), 1u);
  copy("later", "later.so");
  search = {.folders = {folder_.path()}, .ids = {{"later"}}};
  EXPECT_EQ(PluginSet::load(search)->all().size(), 1u);
}

}  // namespace
}  // namespace byoc
