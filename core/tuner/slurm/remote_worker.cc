// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/slurm/remote_worker.h"

#include <fstream>

#include "byoc/base/file.h"

namespace byoc::tune {
namespace {

/// Returns the whole lines of a file from a byte on. The last one may still be written.
std::string lines_from(const std::string& path, size_t begin) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(begin));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t end = text.rfind('\n');
  text.resize(end == text.npos ? 0 : end + 1);
  return text;
}

}  // namespace

std::vector<Record> RemoteWorker::read() {
  // The state is read first: the records of the batches that are done in it are complete then.
  if (auto text = read_file(folder_.state(number_)); text.ok() && *text != state_text_) {
    if (auto state = parse_state(*text); state.ok()) {
      state_ = *std::move(state);
      state_text_ = *std::move(text);
      heard_ = Clock::now();
    }
  }
  std::vector<Record> out;
  const std::string lines = lines_from(folder_.records(number_), read_bytes_);
  read_bytes_ += lines.size();
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = lines.find('\n', begin);
    auto record = parse_record(std::string_view(lines).substr(begin, end - begin));
    if (record.ok()) out.push_back(*std::move(record));
    begin = end + 1;
  }
  return out;
}

Status RemoteWorker::send(const Batch& batch) {
  ++sent_;
  return write_file(folder_.batch(number_, sent_), print(batch));
}

std::string RemoteWorker::difference(const RecordFacts& tuner) const {
  if (state_.versions != tuner.versions && !state_.versions.empty())
    return "it has plugins of other versions than the tuner's machine";
  if (state_.target.empty() || state_.target == tuner.target) return "";
  return cat("its processor differs from that of the tuner, ", tuner.machine, ", it is ",
             state_.machine, "; start byoc tune on such a machine, or give the --target");
}

std::string RemoteWorker::last_words() const {
  auto text = read_file(folder_.printed(number_));
  if (!text.ok()) return "";
  while (text->ends_with('\n')) text->pop_back();
  const size_t begin = text->rfind('\n') + 1;  // npos + 1 is 0
  return text->empty() ? "" : cat(": ", text->substr(begin));
}

bool RemoteWorker::has_drifted(double most) {
  drifts_ = state_.drift > most ? drifts_ + 1 : 0;
  return drifts_ >= kMostDrifts;
}

}  // namespace byoc::tune
