// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/slurm/here_builder.h"

#include <filesystem>

namespace byoc::tune {
namespace {

WorkerCommand command_of(const MeasureOptions& measure) {
  WorkerCommand out{{measure.program, "tune-worker", "--role", "builder"}, measure.shows_errors};
  out.argv.insert(out.argv.end(), measure.plugin_flags.begin(), measure.plugin_flags.end());
  return out;
}

void remove_file(const std::string& file) {
  std::error_code ignored;
  if (!file.empty()) std::filesystem::remove(file, ignored);
}

}  // namespace

HereBuilder::HereBuilder(ExchangeFolder folder, const MeasureOptions& measure, uint32_t flags)
    : folder_(std::move(folder)),
      flags_(flags),
      limit_(measure.build_limit),
      pool_(command_of(measure), measure.builders, command_of(measure)) {}

Status HereBuilder::build(Batch& batch, const KeepGoing& keep_going,
                          const std::function<void(size_t, const std::string&)>& failed) {
  auto add = [&](const Point& point, std::string& artifact, std::function<void(Answer)> done) {
    Request request{.kind = Request::kBuild, .folder = folder_.task(batch.task)};
    request.point = point;
    request.flags = flags_;
    request.artifact = artifact = cat(folder_.path(), "/point-", artifacts_++, ".byoc");
    pool_.add_build({[request] { return request; }, std::move(done), {limit_, limit_}});
  };
  for (size_t k = 0; k < batch.items.size(); ++k) {
    add(batch.items[k].point, batch.items[k].artifact, [&failed, k](const Answer& answer) {
      if (!answer.error.empty()) failed(k, answer.error);
    });
  }
  Batch::Item& known = champions_[batch.task];
  const bool is_new = !batch.champion.point.empty() && known.point != batch.champion.point;
  if (is_new) {
    remove_file(known.artifact);
    known.point = batch.champion.point;
    add(known.point, known.artifact, [&known](const Answer& answer) {
      if (!answer.error.empty()) known.artifact.clear();
    });
  }
  BYOC_TRY_STATUS(pool_.finish(keep_going));
  if (!batch.champion.point.empty()) batch.champion = known;
  if (batch.champion.artifact.empty()) batch.champion = {};
  return {};
}

void HereBuilder::remove(const Batch& batch) {
  for (const Batch::Item& item : batch.items) remove_file(item.artifact);
}

}  // namespace byoc::tune
