// SPDX-License-Identifier: Apache-2.0
#include "mutants/targets.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "byoc/base/file.h"
#include "byoc/import.h"
#include "byoc/pass/pattern.h"
#include "byoc/runtime/session.h"
#include "byoc/runtime/sizes.h"
#include "byoc/text/graph_json.h"
#include "byoc/text/text.h"
#include "byoc/tune/record.h"

namespace byoc::test {
namespace {

constexpr int64_t kMostElements = 1 << 20;  // of a tensor of a run
std::shared_ptr<const PluginSet> plugins;

void require(const Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what, status.to_string().c_str());
  std::abort();
}

/// Requires what a reader promises of a module, and that its text reads back.
void check_module(const IRModule& module) {
  require(verify(module), "a reader accepted a module that is not valid");
  std::map<std::string, std::shared_ptr<const Buffer>> pool;
  for (const auto& [key, buffer] : module.constants) pool[key.hex()] = buffer;
  auto again = parse_module(print(module), all_ops(), [&](const ContentKey& key) {
    auto found = pool.find(key.hex());
    return found == pool.end() ? nullptr : found->second;
  });
  require(again.status(), "the text of a module does not read back");
}

bool read_onnx(std::string_view bytes) {
  const int fd = ::memfd_create("mutant.onnx", MFD_CLOEXEC);
  const bool is_written = fd >= 0 && write_all(fd, bytes);
  auto module = import_onnx(cat("/proc/self/fd/", fd), all_ops());
  ::close(fd);
  if (!is_written || !module.ok()) return false;
  check_module(*module);
  return true;
}

bool read_ir(std::string_view text) {
  auto module = parse_module(text, all_ops());
  if (!module.ok()) return false;
  if (!verify(*module).ok()) return false;  // parsing promises less
  check_module(*module);
  return true;
}

bool read_graph(std::string_view text) {
  auto module = read_graph_json(text, all_ops(), nullptr);
  if (module.ok()) check_module(*module);
  return module.ok();
}

bool read_pattern(std::string_view text) {
  auto pattern = Pattern::parse(text);
  if (!pattern.ok()) return false;
  if (pattern->min_ops() > pattern->max_ops()) std::abort();
  static const IRModule chain = *parse_module(
      "fn main(%x: f32[2]) {\n%0 = relu(%x)\n%1 = add(%0, %x)\n%2 = tanh(%1)\nreturn %2\n}",
      all_ops());
  const Function& function = chain.function("main");
  const UseCounts uses(function);
  for (uint32_t root = 0; root < function.nodes.size(); ++root)
    (void)matches_at(*pattern, function, uses, root, 4);
  return true;
}

bool read_log(std::string_view text) {
  bool is_accepted = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    auto record = tune::parse_record(text.substr(0, end));
    if (record.ok()) {
      require(tune::parse_record(tune::print(*record)).status(), "a record does not read back");
      is_accepted = true;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return is_accepted;
}

/// Memory of a tensor of a run; null shape: its elements are too many to run.
struct Value {
  std::vector<int64_t> shape;
  std::vector<std::byte> data;
  DLTensor view{};
};
bool make_value(const NamedTensor& tensor, Value& out) {
  int64_t elements = 1;
  for (const int64_t dim : tensor.type.dims) {
    out.shape.push_back(dim);
    if (dim < 0 || (dim != 0 && elements > kMostElements / dim)) return false;
    elements *= dim;
  }
  out.data.resize(static_cast<size_t>(elements) * dtype_size(tensor.type.dtype) + 64);
  out.view = {out.data.data(),
              {kDLCPU, 0},
              static_cast<int32_t>(out.shape.size()),
              to_dlpack(tensor.type.dtype),
              out.shape.data(),
              nullptr,
              0};
  return true;
}

void run(Executable executable) {
  if (plugins == nullptr) return;
  auto session = Session::load(std::move(executable), plugins, {.allow_native = false});
  if (!session.ok()) return;
  auto context = (*session)->make_context();
  if (!context.ok()) return;
  const Program& program = (*session)->program();
  std::vector<Value> in(program.run_inputs()), out(program.run_outputs());
  std::vector<DLTensor> inputs, outputs;
  for (size_t k = 0; k < in.size(); ++k) {
    if (!make_value(program.inputs[k], in[k])) return;
    inputs.push_back(in[k].view);
  }
  for (size_t k = 0; k < out.size(); ++k) {
    if (!make_value(program.outputs[k], out[k])) return;
    outputs.push_back(out[k].view);
  }
  (void)(*session)->run(**context, inputs, outputs);
}

bool read_artifact(std::string_view bytes) {
  auto sizes = load_artifact_bytes(std::as_bytes(std::span(bytes.data(), bytes.size())));
  if (!sizes.ok()) return false;
  for (SizedExecutable& size : *sizes) run(std::move(size.executable));
  return true;
}

}  // namespace

const std::vector<Target>& targets() {
  static const std::vector<Target> all{
      {"onnx", Target::kOnnx, read_onnx},   {"artifact", Target::kArtifact, read_artifact},
      {"graph", Target::kJson, read_graph}, {"pattern", Target::kJson, read_pattern},
      {"log", Target::kJson, read_log},     {"ir", Target::kText, read_ir},
      {"calls", Target::kText, read_calls}};
  return all;
}

const Target* find_target(std::string_view name) {
  for (const Target& target : targets())
    if (target.name == name) return &target;
  return nullptr;
}

void use_plugin(const std::string& path) { plugins = PluginSet::load({.files = {path}}); }

}  // namespace byoc::test
