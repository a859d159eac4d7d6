// SPDX-License-Identifier: Apache-2.0
#include "core/tools/ops_bench/peer.h"

#include <poll.h>

#include "byoc/base/clock.h"

namespace byoc::driver {
namespace {

constexpr double kLongestReply = 120;  // seconds
constexpr int kPollMs = 1000;

Status peer_error(std::string message) { return failed(std::move(message)).with_slug("ops-peer"); }

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Result<std::unique_ptr<Peer>> Peer::start(const std::string& python, const std::string& script) {
  auto out = std::unique_ptr<Peer>(new Peer(python, script));
  BYOC_TRY_STATUS(out->begin());
  return out;
}

Status Peer::begin() {
  auto program = process::PipedProgram::start({python_, script_}, false);
  if (!program.ok()) return peer_error(cat("cannot start ", python_));
  program_ = *std::move(program);
  auto hello = read_reply();
  if (!hello.ok()) {
    program_.reset();
    return std::move(hello.status()).at(python_);
  }
  version_ = hello->value("version", "");
  return {};
}

Result<Json> Peer::read_reply() {
  const uint64_t begin_ns = now_ns();
  while (ns_since(begin_ns) < kLongestReply * 1e9) {
    for (const std::string& line : program_->receive()) {
      auto reply = parse_json(line);
      if (!reply.ok() || !reply->is_object()) continue;  // what a library printed
      if (!reply->contains("error")) return reply;
      return peer_error(first_line(reply->at("error").get<std::string>()));
    }
    if (program_->is_closed()) {
      const process::End end = program_->stop();
      program_.reset();
      return peer_error(cat("it ended with ",
                            end.kind == process::End::kSignal ? "signal " : "exit code ",
                            end.code));
    }
    pollfd ready{program_->fd(), POLLIN, 0};
    poll(&ready, 1, kPollMs);
  }
  program_.reset();
  return peer_error(cat("no reply in ", kLongestReply, " s"));
}

Result<Json> Peer::request(const Json& line) {
  if (!program_) BYOC_TRY_STATUS(begin());
  program_->send(line.dump());
  return read_reply();
}

Status Peer::load(const CaseFiles& files, uint32_t threads) {
  Json inputs = Json::object();
  for (const std::string& text : files.inputs) {
    const size_t equals = text.find('=');
    inputs[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return request({{"load", files.model}, {"threads", threads}, {"inputs", std::move(inputs)}})
      .status();
}

Result<std::vector<double>> Peer::run(double seconds) {
  BYOC_TRY(const Json reply, request({{"run", seconds}}));
  return reply.at("ns").get<std::vector<double>>();
}

Result<std::vector<Tensor>> Peer::outputs(const std::string& folder) {
  BYOC_TRY(const Json reply, request({{"outputs", folder}}));
  std::vector<Tensor> out;
  for (size_t k = 0; k < reply.at("outputs").get<size_t>(); ++k) {
    BYOC_TRY(Tensor tensor, read_npy(cat(folder, "/", k, ".npy")));
    out.push_back(std::move(tensor));
  }
  return out;
}

}  // namespace byoc::driver
