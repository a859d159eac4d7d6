// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/program/part.h"

#include <algorithm>

#include "byoc/base/file.h"

namespace byoc::ort {
namespace {

std::vector<std::string> names_of(const Graph& graph, const std::vector<int32_t>& values) {
  std::vector<std::string> out;
  for (int32_t value : values) out.push_back(graph.values[static_cast<size_t>(value)].name);
  return out;
}

/// Returns "v0=1x3"; a scalar has no dims and no such option.
std::string shape_option(const std::string& input, const Part::Dims& dims) {
  std::string out = cat(input, "=");
  for (size_t k = 0; k < dims.size(); ++k) out += cat(k ? "x" : "", dims[k]);
  return out;
}

}  // namespace

Result<std::shared_ptr<Part>> Part::make(const Graph& graph, const Group& group,
                                         std::shared_ptr<const Constants> constants,
                                         const Settings& settings) {
  std::shared_ptr<Part> out(new Part);
  out->model_ = write_model(graph, group, *constants);
  out->inputs_ = names_of(graph, group.inputs);
  out->outputs_ = names_of(graph, group.outputs);
  const std::string key = content_key(std::as_bytes(std::span(out->model_.bytes))).hex();
  out->path_ = (constants->folder() / (key + ".onnx")).string();
  BYOC_TRY_STATUS(write_file(out->path_, out->model_.bytes));
  out->constants_ = std::move(constants);
  out->settings_ = settings;
  if (!settings.cache_dir.empty()) out->content_ = key_of(graph, out->model_).hex();
  return out;
}

std::shared_ptr<Part> Part::of_program(std::vector<std::string> inputs,
                                       std::vector<std::string> outputs,
                                       std::shared_ptr<Program> program) {
  std::shared_ptr<Part> out(new Part);
  out->inputs_ = std::move(inputs);
  out->outputs_ = std::move(outputs);
  out->only_ = std::move(program);
  return out;
}

Status Part::read(bool has_bounds) const {
  BYOC_TRY(OptionsHandle options, settings_.options());
  for (const Model::Size& size : model_.sizes) {
    if (!has_bounds) break;
    const std::string range = cat(size.symbol, "=1..", kMostSize);
    BYOC_TRY_STATUS(status_of(byoc_options_set(options.get(), "shape", range.c_str())));
  }
  char* text = nullptr;
  BYOC_TRY_STATUS(status_of(byoc_partition(path_.c_str(), options.get(), nullptr, &text)));
  byoc_text_free(text);
  return {};
}

Status Part::check() {
  if (Status status = read(false); status.ok() || must_be_one()) return status;
  is_one_ = false;
  return read(true);
}

Status Part::compile() {
  if (!is_one_) return {};
  Result<std::shared_ptr<Program>> made = compile_for({});
  if (made.ok()) return only_ = *std::move(made), Status();
  if (must_be_one()) return made.status();
  is_one_ = false;
  return {};
}

Result<std::string> Part::explain() const {
  BYOC_TRY(OptionsHandle options, settings_.options());
  char* text = nullptr;
  BYOC_TRY_STATUS(status_of(byoc_explain(path_.c_str(), options.get(), nullptr, &text)));
  std::string out = text;
  byoc_text_free(text);
  return out;
}

void Part::close() {
  if (is_static()) constants_ = nullptr;
}

Result<std::shared_ptr<Program>> Part::compile_for(const std::vector<Dims>& dims) const {
  CompileRequest request{path_, content_, {}};
  for (size_t k = 0; k < dims.size(); ++k) {
    if (!dims[k].empty()) request.shapes.push_back(shape_option(model_.inputs[k], dims[k]));
  }
  return Program::make(request, settings_);
}

Result<std::shared_ptr<Program>> Part::program_for(const std::vector<Dims>& dims) {
  const auto find = [&]() -> std::shared_ptr<Program> {
    const std::lock_guard lock(mutex_);
    auto found = std::find_if(made_.begin(), made_.end(),
                              [&](const auto& entry) { return entry.first == dims; });
    if (found == made_.end()) return nullptr;
    made_.splice(made_.begin(), made_, found);
    return found->second;
  };
  if (std::shared_ptr<Program> found = find()) return found;
  const std::lock_guard compiling(compiling_);
  if (std::shared_ptr<Program> found = find()) return found;  // by another thread, until now
  BYOC_TRY(std::shared_ptr<Program> program, compile_for(dims));
  const std::lock_guard lock(mutex_);
  made_.emplace_front(dims, program);
  if (made_.size() > kMostPrograms) made_.pop_back();
  return program;
}

}  // namespace byoc::ort
