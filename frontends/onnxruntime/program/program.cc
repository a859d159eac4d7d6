// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/program/program.h"

#include <filesystem>
#include <span>

#include "byoc/base/buffer.h"

namespace byoc::ort {
namespace {

namespace fs = std::filesystem;

// Options of compiling that loading has, too. Source: byoc_session_new.
constexpr std::string_view kOfLoading[] = {"threads", "plugin", "plugin-option"};

Result<OptionsHandle> loading_options(const Settings& settings) {
  Settings own;
  for (std::string_view name : kOfLoading) {
    if (auto found = settings.compiling.find(std::string(name)); found != settings.compiling.end())
      own.compiling.insert(*found);
  }
  return own.options();
}

/// Returns the path of the artifact; "" without a folder.
std::string kept_path(const CompileRequest& request, const Settings& settings) {
  if (settings.cache_dir.empty()) return "";
  std::string all = cat(byoc_version(), "\n", request.content, "\n", settings.to_text());
  for (const std::string& shape : request.shapes) all += cat(shape, "\n");
  const std::string name = content_key(std::as_bytes(std::span(all))).hex();
  return (fs::path(settings.cache_dir) / (name + ".byoc")).string();
}

Result<ProgramHandle> compile(const CompileRequest& request, const Settings& settings) {
  BYOC_TRY(OptionsHandle options, settings.options());
  for (const std::string& shape : request.shapes)
    BYOC_TRY_STATUS(status_of(byoc_options_set(options.get(), "shape", shape.c_str())));
  byoc_program* out = nullptr;
  BYOC_TRY_STATUS(
      status_of(byoc_compile_model(request.path.c_str(), options.get(), nullptr, &out)));
  return ProgramHandle(out);
}

}  // namespace

Program::Lease::~Lease() {
  if (context_ == nullptr) return;
  const std::lock_guard lock(program_.mutex_);
  program_.free_.push_back(std::move(context_));
}

Status Program::load(ProgramHandle program, const Settings& settings) {
  BYOC_TRY(OptionsHandle options, loading_options(settings));
  byoc_session* session = nullptr;
  BYOC_TRY_STATUS(status_of(byoc_session_new(program.get(), 0, options.get(), nullptr, &session)));
  session_.reset(session);
  if (settings.contexts.is_enabled) program_ = std::move(program);
  return {};
}

Result<std::shared_ptr<Program>> Program::make(const CompileRequest& request,
                                               const Settings& settings) {
  auto out = std::make_shared<Program>();
  const std::string kept = kept_path(request, settings);
  if (byoc_program* found = nullptr; !kept.empty() && fs::exists(kept)) {
    // An artifact that is damaged, or of another machine or plugin, is made again.
    Status status = status_of(byoc_program_load(kept.c_str(), &found));
    if (status.ok()) status = out->load(ProgramHandle(found), settings);
    if (status.ok()) return out->was_kept_ = true, out;
  }
  BYOC_TRY(ProgramHandle program, compile(request, settings));
  if (!kept.empty()) BYOC_TRY_STATUS(status_of(byoc_program_save(program.get(), kept.c_str())));
  BYOC_TRY_STATUS(out->load(std::move(program), settings));
  return out;
}

Result<std::shared_ptr<Program>> Program::of_file(const std::string& path,
                                                  const Settings& settings) {
  byoc_program* found = nullptr;
  BYOC_TRY_STATUS(status_of(byoc_program_load(path.c_str(), &found)));
  auto out = std::make_shared<Program>();
  BYOC_TRY_STATUS(out->load(ProgramHandle(found), settings));
  return out;
}

Result<std::shared_ptr<Program>> Program::of_bytes(std::string_view bytes,
                                                   const Settings& settings) {
  byoc_program* found = nullptr;
  BYOC_TRY_STATUS(status_of(byoc_program_load_memory(bytes.data(), bytes.size(), &found)));
  auto out = std::make_shared<Program>();
  BYOC_TRY_STATUS(out->load(ProgramHandle(found), settings));
  return out;
}

Status Program::save(const std::string& path) const {
  return status_of(byoc_program_save(program_.get(), path.c_str()));
}

Result<Program::Lease> Program::lease() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      ContextHandle context = std::move(free_.back());
      free_.pop_back();
      return Lease(*this, std::move(context));
    }
  }
  byoc_context* made = nullptr;
  BYOC_TRY_STATUS(status_of(byoc_context_new(session_.get(), &made)));
  return Lease(*this, ContextHandle(made));
}

}  // namespace byoc::ort
