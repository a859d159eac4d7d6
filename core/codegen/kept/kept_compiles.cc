// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/kept/kept_compiles.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "byoc/base/env.h"
#include "byoc/base/file.h"
#include "byoc/base/version.h"
#include "core/codegen/kept/interrupted.h"
#include "runtime/artifact/manifest.h"

namespace byoc {
namespace {

// The format of the files, a part of their names.
constexpr const char* kFormat = "1";
constexpr uint64_t kMaxBytes = uint64_t{2} << 30;
// The results do not depend on these flags: the plugin promises it with `kept_compiles`.
constexpr uint32_t kFlagsWithoutEffect = BYOC_COMPILE_ONLY;
// A file begins with one of these words and a number, up to the end of the line. The number is the
// size of the manifest, which the bytes of its sections follow, or the node of the decline, which
// the reason follows.
constexpr std::string_view kMade = "made", kDeclined = "declined";

// Returns the name and the features of the processor.
const std::string& processor() {
  static const std::string& text = *new std::string([] {
    const auto info = read_file("/proc/cpuinfo");
    std::string out;
    for (std::string_view rest = info.ok() ? *info : std::string_view(); !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      if (line.empty()) break;  // those of the first core only
      for (const char* name : {"model name", "cpu family", "model\t", "flags", "Features", "isa"})
        if (line.starts_with(name)) out += cat(line, "\n");
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    }
    return out;
  }());
  return text;
}

std::string name_of(const Plugin& plugin, const CompileFunction& function,
                    const CompileOptions& options) {
  std::string text =
      cat(version(), "\n", BYOC_ABI_MINOR, "\n", plugin.version(), "\n", plugin.kept_as(), "\n",
          plugin.options_json(), "\n", options.target_json, "\n", options.threads, "\n",
          options.flags & ~kFlagsWithoutEffect, "\n", processor(), function.point_json, "\n");
  for (const ExternalConstant& constant : function.constants) text += cat(constant.key, "\n");
  return cat(plugin.id(), "-", name_in_store('k', text + function.graph_json));
}

// Returns the buffers that the module has beside the plain constants, each once.
std::vector<std::shared_ptr<const Buffer>> kept_sections(const CompileResult& result) {
  std::map<ContentKey, std::shared_ptr<const Buffer>> all;
  all.emplace(result.module.blob->key(), result.module.blob);
  for (const auto& packed : result.packed) all.emplace(packed->key(), packed);
  std::vector<std::shared_ptr<const Buffer>> out;
  for (auto& [key, buffer] : all) out.push_back(std::move(buffer));
  return out;
}

std::string text_of(const CompileResult& result) {
  Executable executable;
  executable.modules = {result.module};
  const auto sections = kept_sections(result);
  const std::string manifest = write_manifest(executable, table_of(sections));
  std::string out = cat(kMade, " ", manifest.size(), "\n", manifest);
  for (const auto& section : sections)
    out.append(reinterpret_cast<const char*>(section->data()), section->size());
  return out;
}

bool fits(const ExternalFunction& kept, const CompileFunction& function) {
  return kept.symbol == function.symbol && kept.n_in == function.n_in &&
         kept.n_out == function.n_out &&
         std::ranges::equal(kept.constants, function.constants, {}, &ExternalConstant::key,
                            &ExternalConstant::key);
}

std::set<ContentKey> packed_keys(const ExternalModule& module) {
  std::set<ContentKey> out;
  for (const auto& [key, align] : module.functions[0].packed) out.insert(key);
  for (const auto& [name, key] : module.packed) out.insert(key);
  return out;
}

// Reads a manifest and the bytes after it; nullopt when it is not of this function.
std::optional<CompileResult> made_of(std::string_view text, size_t manifest_bytes,
                                     const CompileFunction& function) {
  auto manifest = read_manifest(text.substr(0, manifest_bytes));
  if (!manifest.ok() || manifest->executable.modules.size() != 1) return std::nullopt;
  text.remove_prefix(std::min(text.size(), manifest_bytes));
  CompileResult out;
  out.module = std::move(manifest->executable.modules[0]);
  if (out.module.functions.size() != 1 || !fits(out.module.functions[0], function))
    return std::nullopt;
  const std::set<ContentKey> packed = packed_keys(out.module);
  for (const Section& section : manifest->sections) {
    if (section.size > text.size()) return std::nullopt;
    auto buffer = Buffer::copy(std::as_bytes(std::span(text.substr(0, section.size))));
    if (buffer->key() != section.key) return std::nullopt;
    if (section.key == manifest->blobs[0]) out.module.blob = buffer;
    if (packed.contains(section.key)) out.packed.push_back(std::move(buffer));
    text.remove_prefix(section.size);
  }
  return out.module.blob ? std::optional(std::move(out)) : std::nullopt;
}

CompileResult declined(int64_t node, std::string_view reason) {
  CompileResult out;
  out.status = Status(Code::kDeclined, std::string(reason)).with_slug("plugin-error");
  out.function = 0;
  out.node = node;
  return out;
}

std::optional<CompileResult> find_kept(const FileStore& files, const std::string& name,
                                       const CompileFunction& function) {
  const auto file = files.find(name);
  if (!file) return std::nullopt;
  const std::string_view text = *file;
  const size_t space = text.find(' '), line = text.find('\n');
  if (space == text.npos || line == text.npos || space > line) return std::nullopt;
  const std::string_view word = text.substr(0, space);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + space + 1, text.data() + line, number);
  if (error != std::errc() || end != text.data() + line) return std::nullopt;
  if (word == kDeclined) return declined(number, text.substr(line + 1));
  if (word != kMade || number < 0) return std::nullopt;
  return made_of(text.substr(line + 1), static_cast<size_t>(number), function);
}

void put_kept(const FileStore& files, const std::string& name, const CompileResult& result) {
  const bool is_declined = result.status.code() == Code::kDeclined && result.function == 0;
  if (result.status.ok()) files.put(name, text_of(result));
  else if (is_declined)
    files.put(name, cat(kDeclined, " ", result.node, "\n", result.status.message()));
  files.trim();
}

}  // namespace

std::string KeptCompiles::default_folder() {
  const std::string root = user_cache_folder();
  return root.empty() || env_value("BYOC_KEEP_COMPILES") == "0" ? "" : root + "/compiled";
}

CompileResult KeptCompiles::compile(const Plugin& plugin, const CompileFunction& function,
                                    const CompileOptions& options) const {
  const FileStore files(folder_, kFormat, kMaxBytes);
  const std::string name = name_of(plugin, function, options);
  if (auto kept = find_kept(files, name, function)) return *std::move(kept);
  const auto lock = files.lock(name, [&] { return is_interrupted(options); });
  if (is_interrupted(options)) return interrupted(plugin);
  if (auto kept = find_kept(files, name, function))
    return *std::move(kept);  // made by the one before
  CompileResult made = plugin.compile({&function, 1}, options);
  put_kept(files, name, made);
  return made;
}

}  // namespace byoc
