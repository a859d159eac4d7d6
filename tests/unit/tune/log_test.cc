// SPDX-License-Identifier: Apache-2.0
// Logs with many writers, torn lines, damaged lines and full disks.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "byoc/tune/record.h"
#include "records.h"
#include "support/temp_folder.h"

namespace byoc::tune {
namespace {

using byoc::test::get;
using byoc::test::put;
using byoc::test::TempFolder;
using test::point;
using test::record_of;
using testing::ElementsAre;
using testing::HasSubstr;

struct Log {
  LogReport report;
  std::vector<Record> records;
  Status status;
};
Log read(const std::string& path) {
  Log out;
  auto report = read_log(path, [&](Record record) { out.records.push_back(std::move(record)); });
  if (report.ok()) out.report = *report;
  else out.status = report.status();
  return out;
}

void append(const std::string& path, const Record& record) {
  Result<LogWriter> log = LogWriter::open(path);
  ASSERT_TRUE(log.ok()) << log.status().to_string();
  const Status status = log->append(record);
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(Log, HasOneLinePerRecord) {
  TempFolder folder;
  const std::string path = folder.file("t.jsonl");
  const Record a = record_of("a", point("1"), 1), b = record_of("b", point("2"), 2);
  append(path, a);
  append(path, b);
  EXPECT_EQ(get(path), print(a) + "\n" + print(b) + "\n");
  const Log log = read(path);
  EXPECT_EQ(log.report, (LogReport{2, 0, 0}));
  EXPECT_THAT(log.records, ElementsAre(a, b));
}

TEST(Log, ReadsATornLastLineOfAnyLength) {
  TempFolder folder;
  const std::string path = folder.file("t.jsonl");
  const Record a = record_of("a", point("1"), 1), b = record_of("b", point("2"), 2);
  const std::string first = print(a) + "\n", second = print(b);
  for (size_t size = 0; size <= second.size(); ++size) {
    put(path, first + second.substr(0, size));
    const Log log = read(path);
    ASSERT_TRUE(log.status.ok()) << size << ": " << log.status.to_string();
    const bool is_whole = size == second.size();
    EXPECT_EQ(log.report, (LogReport{is_whole ? 2u : 1u, 0, size > 0 && !is_whole ? 1u : 0u}))
        << size;
  }
}

TEST(Log, IsWholeAgainAfterAppendingToATornOne) {
  TempFolder folder;
  const std::string path = folder.file("t.jsonl");
  const Record a = record_of("a", point("1"), 1), b = record_of("b", point("2"), 2),
               c = record_of("c", point("4"), 3);
  const std::string first = print(a) + "\n", second = print(b);
  for (size_t size = 0; size <= second.size(); ++size) {
    put(path, first + second.substr(0, size));
    append(path, c);
    const std::string kept = size == second.size() ? second + "\n" : "";
    ASSERT_EQ(get(path), first + kept + print(c) + "\n") << size;
  }
}

TEST(Log, RepairsALongTornLineAndOneThatIsAlone) {
  TempFolder folder;
  const std::string path = folder.file("t.jsonl");
  const Record a = record_of("a", point("1"), 1);
  put(path, print(a) + "\n{\"task\":\"" + std::string(100000, 'x'));  // several blocks of reading
  append(path, a);
  EXPECT_EQ(get(path), print(a) + "\n" + print(a) + "\n");
  put(path, "{\"v\":1,");
  append(path, a);
  EXPECT_EQ(get(path), print(a) + "\n");
}

TEST(Log, SkipsLinesOfOtherVersionsAndEmptyOnes) {
  TempFolder folder;
  const std::string path = folder.file("t.jsonl");
  const Record a = record_of("a", point("1"), 1);
  put(path, "{\"v\":2,\"other\":[]}\n\n" + print(a) + "\n{\"v\":3}");
  const Log log = read(path);
  EXPECT_EQ(log.report, (LogReport{1, 2, 0}));
  append(path, a);  // a whole line of another version is no torn one
  EXPECT_EQ(read(path).report, (LogReport{2, 2, 0}));
}

TEST(Log, NamesTheNumberOfABadLine) {
  TempFolder folder;
  const std::string path = folder.file("t.jsonl");
  const std::string good = print(record_of("a", point("1"), 1)) + "\n";
  for (const char* bad : {"{", "hello", "[]", "{}", "{\"v\":1}"}) {
    put(path, good + good + bad + "\n" + good);
    const Log log = read(path);
    EXPECT_EQ(log.status.code(), Code::kDataLoss) << bad;
    EXPECT_EQ(log.status.slug(), "tuning-log");
    EXPECT_THAT(log.status.message(), HasSubstr("line 3 ")) << bad;
    EXPECT_THAT(log.status.where(), HasSubstr(path));
  }
}

TEST(Log, ThatIsMissingIsNotFound) {
  TempFolder folder;
  EXPECT_EQ(read(folder.file("none")).status.code(), Code::kNotFound);
  EXPECT_EQ(LogWriter::open(folder.file("no/t.jsonl")).status().code(), Code::kNotFound);
  EXPECT_EQ(compact_log(folder.file("none")).status().code(), Code::kNotFound);
}

TEST(Log, IsARegularFile) {
  TempFolder folder;
  EXPECT_FALSE(LogWriter::open(folder.path()).ok());
  EXPECT_EQ(LogWriter::open("/dev/null").status().code(), Code::kInvalidArgument);
}

TEST(Log, RefusesTimesThatNoReaderTakes) {
  TempFolder folder;
  const std::string path = folder.file("t.jsonl");
  Result<LogWriter> log = LogWriter::open(path);
  ASSERT_TRUE(log.ok());
  for (double bad : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(log->append(record_of("a", point("1"), bad)).ok());
    Record record = record_of("a", point("1"), 1);
    record.build_ns = bad;
    EXPECT_FALSE(log->append(record).ok());
  }
  EXPECT_EQ(get(path), "");
}

/// Runs `work` in n child processes and waits for them; all must return true.
template <class Work>
void in_children(int n, Work&& work) {
  std::vector<pid_t> children;
  for (int k = 0; k < n; ++k) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(work(k) ? 0 : 1);
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

bool append_all(const std::string& path, int child, int n) {
  Result<LogWriter> log = LogWriter::open(path);
  for (int k = 0; log.ok() && k < n; ++k) {
    // A long task, so that a line needs more than a page.
    const std::string task = cat(child, " ", k, " ", std::string(5000, 'x'));
    if (!log->append(record_of(task, point("1"), 1)).ok()) return false;
  }
  return log.ok();
}

TEST(Log, LosesNoLineOfEightProcesses) {
  TempFolder folder;
  const std::string path = folder.file("t.jsonl");
  constexpr int kEach = 100;
  in_children(8, [&](int child) { return append_all(path, child, kEach); });
  const Log log = read(path);
  ASSERT_TRUE(log.status.ok()) << log.status.to_string();
  EXPECT_EQ(log.report, (LogReport{8 * kEach, 0, 0}));
  std::set<std::string> tasks;
  for (const Record& record : log.records) tasks.insert(record.task);
  EXPECT_EQ(tasks.size(), size_t{8} * kEach);
}

TEST(Log, LosesNoLineWhileItIsCompacted) {
  TempFolder folder;
  const std::string path = folder.file("t.jsonl");
  append(path, record_of("first", point("1"), 1));
  constexpr int kEach = 30;
  in_children(5, [&](int child) {
    if (child > 0) return append_all(path, child, kEach);
    for (int k = 0; k < 15; ++k) {
      if (!compact_log(path).ok()) return false;
    }
    return true;
  });
  EXPECT_EQ(read(path).report, (LogReport{4 * kEach + 1, 0, 0})) << "each task has one record";
}

TEST(Log, KeepsItsLinesWhenTheDiskIsFull) {
  TempFolder folder;
  const std::string path = folder.file("t.jsonl");
  const Record a = record_of("a", point("1"), 1);
  append(path, a);
  const std::string before = get(path);
  in_children(1, [&](int) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{before.size() + 10, before.size() + 10};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    Result<LogWriter> log = LogWriter::open(path);
    return log.ok() && log->append(a).code() == Code::kResourceExhausted;
  });
  EXPECT_EQ(get(path), before);
}

TEST(Log, KeepsTheBestRecordsWhenItIsCompacted) {
  TempFolder folder;
  const std::string path = folder.file("t.jsonl");
  for (int k = 20; k > 0; --k) append(path, record_of("a", {{"tile", cat(k)}}, k));
  Record error = record_of("a", point("1"), 1);
  error.samples_ns.clear(), error.error = "timeout";
  for (int k = 0; k < 200; ++k) append(path, error);
  append(path, record_of("b", point("1"), 50));
  Result<size_t> kept = compact_log(path, 3);
  ASSERT_TRUE(kept.ok()) << kept.status().to_string();
  const Log log = read(path);
  EXPECT_EQ(log.records.size(), *kept);
  std::multiset<double> times;
  for (const Record& record : log.records) {
    if (record.is_ok()) times.insert(record.best_ns());
  }
  EXPECT_TRUE(times.contains(1) && times.contains(2) && times.contains(3) && times.contains(50));
  EXPECT_LE(log.records.size(), 4u + 3u) << "a hundredth of the other 217";
  EXPECT_GE(log.records.size(), 4u + 2u);
  const std::string once = get(path);
  ASSERT_TRUE(compact_log(path, 3).ok());
  EXPECT_LE(get(path).size(), once.size());
}

}  // namespace
}  // namespace byoc::tune
