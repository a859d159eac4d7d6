// SPDX-License-Identifier: Apache-2.0
#pragma once
// Records of measurements: a log is a file of JSON lines, each one record, to which several
// processes may append. Concatenated logs are a log.
#include <functional>
#include <optional>

#include "byoc/tune/space.h"

namespace byoc::tune {

/// The result of measuring one point of one task.
struct Record {
  static constexpr int kVersion = 1;   ///< of the format
  ContentKey key;                      ///< of the task, see key_of
  std::string task;                    ///< the text of the task; compared on each hit
  std::string plugin, plugin_version;  ///< the plugin that compiled the point
  std::string kind;                    ///< Space::kind
  std::string target;                  ///< the machine, as te::print(Target) without threads
  uint32_t threads = 1;                ///< workers of a run
  double flops = 0, bytes = 0;         ///< as in the space
  Point point;                         ///< what was compiled
  std::vector<double> samples_ns;      ///< ns per run, in order; empty with an error
  std::string error;                   ///< "": measured; else the reason, such as "timeout"
  double build_ns = 0, ref_ns = 0;     ///< time to compile; time of the reference kernel nearby
  int64_t time = 0;                    ///< seconds since 1970
  std::string worker;                  ///< the process or machine that measured
  /// The processor that measured, in more detail than the target: its name, caches and cores. Times
  /// of different ones do not compare. Empty in old logs.
  std::string machine;
  Point lost_to;  ///< the point that won a duel against this one, see Duels; empty: none
  bool is_ok() const { return error.empty() && !samples_ns.empty(); }  ///< has a time
  double best_ns() const;  ///< mean of the fastest eighth of the samples; infinity without
  friend bool operator==(const Record&, const Record&) = default;
};

/// Returns Record::target for BuildOptions::target_json, in which {} is this machine: the target as
/// te::print writes it, without its member "threads". Errors: those of te::parse_target.
Result<std::string> record_target(const std::string& target_json);

std::string print(const Record& record);  ///< one line of JSON, without the line break
/// Parses one line; unknown members are skipped. Errors: kInvalidArgument, slug "tuning-record",
/// naming the field; kUnimplemented for another version.
Result<Record> parse_record(std::string_view line);

/// Counts of the lines of a log.
struct LogReport {
  size_t records = 0;         ///< lines that were read
  size_t other_versions = 0;  ///< lines of unknown versions, skipped
  size_t torn = 0;            ///< 1: the last line is incomplete, skipped
  friend bool operator==(const LogReport&, const LogReport&) = default;
};
/// Reads a log line by line. Errors: kNotFound; kDataLoss, slug "tuning-log", naming the line of
/// one that is no record, except for an incomplete last line.
Result<LogReport> read_log(const std::string& path, const std::function<void(Record)>& each);

/// Appends records; one write per line under a lock of the file, so that any number of processes
/// may append at once. An incomplete last line, of a process that was killed, is removed before. A
/// log that compact_log replaced is opened again. Thread-compatible.
class LogWriter {
 public:
  /// Opens the file or creates it. Errors: kNotFound for a missing folder, kPermissionDenied,
  /// kInvalidArgument for a path that is no regular file.
  static Result<LogWriter> open(const std::string& path);
  LogWriter(LogWriter&& other) noexcept;
  LogWriter& operator=(LogWriter&& other) noexcept;
  ~LogWriter();
  /// Appends one line, or nothing. Errors: kResourceExhausted when the disk is full;
  /// kInvalidArgument for a time that is no number.
  Status append(const Record& record);

 private:
  LogWriter(int file, std::string path) : file_(file), path_(std::move(path)) {}
  int file_ = -1;
  std::string path_;
};

/// Rewrites a log: per task and target the `keep` best records, and of the others, errors included,
/// every hundredth. Written to a new file that replaces the old one. Returns the number of records.
Result<size_t> compact_log(const std::string& path, size_t keep = 5);

}  // namespace byoc::tune
