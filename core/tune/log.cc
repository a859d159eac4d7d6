// SPDX-License-Identifier: Apache-2.0
// Logs: files of one record a line. Processes that append hold a lock of the file (flock), so that
// an incomplete last line that a lock holder sees is the trace of a process that was killed.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <deque>
#include <map>
#include <set>

#include "byoc/base/file.h"
#include "byoc/tune/record.h"

namespace byoc::tune {
namespace {

// Closes a file.
class OpenFile {
 public:
  explicit OpenFile(int file) : file_(file) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { ::close(file_); }

 private:
  int file_;
};

// Calls f until a signal does not interrupt it.
template <class F>
auto retried(F&& f) {
  auto out = f();
  while (out < 0 && errno == EINTR) out = f();
  return out;
}

Result<int> open_log(const std::string& path, int flags) {
  const int file = retried([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); });
  if (file < 0) return system_error("cannot open", path, errno);
  struct stat facts {};
  if (::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode)) return file;
  ::close(file);
  return invalid(cat(path, " is no regular file")).with_slug("file");
}

Result<int> open_to_append(const std::string& path) {
  return open_log(path, O_RDWR | O_APPEND | O_CREAT);
}

// Holds the lock of a file.
class Lock {
 public:
  explicit Lock(int file) : file_(file) {
    error_ = retried([&] { return ::flock(file, LOCK_EX); }) < 0 ? errno : 0;
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { ::flock(file_, LOCK_UN); }
  Status status(const std::string& path) const {
    return error_ == 0 ? Status() : system_error("cannot lock", path, error_);
  }

 private:
  int file_, error_ = 0;
};

// Returns true when `path` still names the open file: compact_log replaces it by a new one.
bool is_current(int file, const std::string& path) {
  struct stat open {
  }, named{};
  return ::fstat(file, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

// Returns where the last line begins in a file of `size` bytes: after the last line break.
Result<off_t> begin_of_last_line(int file, off_t size, const std::string& path) {
  constexpr off_t kBlock = 1 << 14;
  std::string block;
  for (off_t end = size; end > 0;) {
    const off_t begin = std::max<off_t>(0, end - kBlock);
    block.resize(static_cast<size_t>(end - begin));
    const ssize_t n = retried([&] { return ::pread(file, block.data(), block.size(), begin); });
    if (n != static_cast<ssize_t>(block.size())) return system_error("cannot read", path, errno);
    if (size_t at = block.rfind('\n'); at != block.npos) return begin + static_cast<off_t>(at) + 1;
    end = begin;
  }
  return off_t{0};
}

Result<std::string> read_tail(int file, off_t begin, off_t end, const std::string& path) {
  std::string text(static_cast<size_t>(end - begin), '\0');
  const ssize_t n = retried([&] { return ::pread(file, text.data(), text.size(), begin); });
  if (n != static_cast<ssize_t>(text.size())) return system_error("cannot read", path, errno);
  return text;
}

// Ends a last line without a line break, or removes it when it is incomplete. Returns the size. The
// caller holds the lock.
Result<off_t> repair(int file, const std::string& path) {
  struct stat facts {};
  if (::fstat(file, &facts) != 0) return system_error("cannot read", path, errno);
  const off_t size = facts.st_size;
  char last = '\n';
  if (size > 0 && retried([&] { return ::pread(file, &last, 1, size - 1); }) != 1)
    return system_error("cannot read", path, errno);
  if (last == '\n') return size;
  BYOC_TRY(off_t begin, begin_of_last_line(file, size, path));
  BYOC_TRY(std::string line, read_tail(file, begin, size, path));
  const Result<Record> record = parse_record(line);
  if (record.ok() || record.status().code() == Code::kUnimplemented) {
    if (!write_all(file, "\n")) return system_error("cannot write", path, errno);
    return size + 1;
  }
  if (::ftruncate(file, begin) != 0) return system_error("cannot write", path, errno);
  return begin;
}

// Writes the line with one call. Leaves the file as it was when the disk is full.
Status write_line(int file, off_t size, const std::string& line, const std::string& path) {
  const ssize_t n = retried([&] { return ::write(file, line.data(), line.size()); });
  if (n == static_cast<ssize_t>(line.size())) return {};
  const int error = n < 0 ? errno : ENOSPC;
  if (n > 0 && ::ftruncate(file, size) != 0)
    return system_error("cannot remove an incomplete line of", path, errno);
  return system_error("cannot write", path, error);
}

bool has_numbers(const Record& record) {
  for (double value : {record.flops, record.bytes, record.build_ns, record.ref_ns}) {
    if (!std::isfinite(value) || value < 0) return false;
  }
  return std::ranges::all_of(record.samples_ns,
                             [](double ns) { return std::isfinite(ns) && ns >= 0; });
}

Status damaged(size_t line, const Status& why) {
  return data_loss(cat("line ", line, " is no record: ", why.message()))
      .with_slug("tuning-log")
      .with_help("remove the line; a log has one JSON object a line");
}

// Reads the lines of `text`. The last one may lack its line break.
Result<LogReport> read_lines(std::string_view text, const std::function<void(Record)>& each) {
  LogReport report;
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.empty()) continue;
    Result<Record> record = parse_record(line);
    if (record.ok()) {
      ++report.records;
      each(*std::move(record));
    } else if (record.status().code() == Code::kUnimplemented) {
      ++report.other_versions;
    } else if (end == text.size()) {
      report.torn = 1;
    } else {
      return damaged(number, record.status());
    }
  }
  return report;
}

// A line that compact_log keeps or drops.
struct Line {
  std::string text;
  double best_ns = 0;
  Point point, lost_to;
  bool is_kept = false;
};

// Keeps the duels of points that are kept, and the best record of those that won them: without
// them another point would be chosen. `lines` are sorted.
void keep_duels(std::vector<Line>& lines) {
  std::map<Point, std::vector<Line*>> by_point;
  std::deque<Point> kept;
  for (Line& line : lines) {
    by_point[line.point].push_back(&line);
    if (line.is_kept) kept.push_back(line.point);
  }
  for (std::set<Point> visited; !kept.empty(); kept.pop_front()) {
    if (!visited.insert(kept.front()).second) continue;
    for (Line* line : by_point[kept.front()]) {
      if (line->lost_to.empty()) continue;
      line->is_kept = true;
      auto winner = by_point.find(line->lost_to);
      if (winner == by_point.end()) continue;
      winner->second.front()->is_kept = true;
      kept.push_back(winner->first);
    }
  }
}

// Chooses the records to keep: per task and target the best ones with their duels, and every
// hundredth other one.
std::vector<std::string> compacted(std::map<std::string, std::vector<Line>> groups, size_t keep) {
  constexpr size_t kEvery = 100;
  std::vector<std::string> out;
  size_t others = 0;
  for (auto& [key, lines] : groups) {
    std::ranges::sort(lines, [](const Line& a, const Line& b) {
      return std::tie(a.best_ns, a.text) < std::tie(b.best_ns, b.text);
    });
    for (size_t k = 0; k < lines.size(); ++k)
      lines[k].is_kept = k < keep && std::isfinite(lines[k].best_ns);
    keep_duels(lines);
    for (Line& line : lines) {
      if (line.is_kept || others++ % kEvery == 0) out.push_back(std::move(line.text));
    }
  }
  return out;
}

}  // namespace

Result<LogReport> read_log(const std::string& path, const std::function<void(Record)>& each) {
  BYOC_TRY(std::string text, read_file(path));
  Result<LogReport> report = read_lines(text, each);
  if (!report.ok()) return std::move(report.status()).at(path);
  return report;
}

Result<LogWriter> LogWriter::open(const std::string& path) {
  BYOC_TRY(int file, open_to_append(path));
  return LogWriter(file, path);
}

LogWriter::LogWriter(LogWriter&& other) noexcept
    : file_(std::exchange(other.file_, -1)), path_(std::move(other.path_)) {}

LogWriter& LogWriter::operator=(LogWriter&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(path_, other.path_);
  return *this;
}

LogWriter::~LogWriter() {
  if (file_ >= 0) ::close(file_);
}

Status LogWriter::append(const Record& record) {
  if (!has_numbers(record))
    return invalid("a record with a time or an amount that is no number from 0")
        .with_slug("tuning-record");
  const std::string line = print(record) + '\n';
  for (;;) {
    {
      Lock lock(file_);
      BYOC_TRY_STATUS(lock.status(path_));
      if (is_current(file_, path_)) {
        BYOC_TRY(off_t size, repair(file_, path_));
        return write_line(file_, size, line, path_);
      }
    }
    BYOC_TRY(int file, open_to_append(path_));
    ::close(std::exchange(file_, file));
  }
}

Result<size_t> compact_log(const std::string& path, size_t keep) {
  for (;;) {
    BYOC_TRY(int file, open_log(path, O_RDWR));
    OpenFile closed_at_the_end(file);
    Lock lock(file);
    BYOC_TRY_STATUS(lock.status(path));
    if (!is_current(file, path)) continue;
    std::map<std::string, std::vector<Line>> groups;
    BYOC_TRY_STATUS(
        read_log(path, [&](Record record) {
          const std::string group = cat(record.key, " ", record.threads, " ", record.target);
          groups[group].push_back({print(record), record.best_ns(), record.point, record.lost_to});
        }).status());
    const std::vector<std::string> lines = compacted(std::move(groups), keep);
    std::string text;
    for (const std::string& line : lines) text += line + '\n';
    BYOC_TRY_STATUS(write_file(path, text));
    return lines.size();
  }
}

}  // namespace byoc::tune
