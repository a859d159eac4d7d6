// SPDX-License-Identifier: Apache-2.0
// Reads and writes x.ir and x.ir.weights. The side file has magic, count, then count x {key,
// offset, size}, then the bytes, each section at a multiple of 64. All numbers are little-endian;
// sections are in the order of their keys.
#include <cstring>
#include <filesystem>

#include "byoc/base/check.h"
#include "byoc/base/file.h"
#include "byoc/ir/visit.h"
#include "byoc/text/text.h"
#include "core/text/printer.h"

namespace byoc {
namespace {

using Buffers = std::map<ContentKey, std::shared_ptr<const Buffer>>;

constexpr char kMagic[8] = {'b', 'y', 'o', 'c', 'w', 't', 's', '1'};
struct Section {
  ContentKey key;
  uint64_t offset, size;
};
struct Header {
  char magic[8];
  uint64_t count;
};
static_assert(sizeof(Section) == 32 && sizeof(Header) == 16, "the file has the layout of memory");

uint64_t align_up(uint64_t offset) {
  return (offset + Buffer::kAlignment - 1) / Buffer::kAlignment * Buffer::kAlignment;
}

// Collects the bytes that the text names by key alone.
class Collector {
 public:
  explicit Collector(const IRModule& module) : module_(module) {}
  Buffers collect() {
    take(module_.attrs);
    for (const auto& [name, function] : module_.functions) take(function);
    for (const ExternalModule& external : module_.external_mods) take(external);
    return std::move(out_);
  }

 private:
  void take(const ContentKey& key) {
    auto found = module_.constants.find(key);
    if (found != module_.constants.end()) out_.insert(*found);
  }
  void take(const Attrs& attrs) {
    for (const auto& [name, value] : attrs) {
      if (auto* constant = std::get_if<ConstantRef>(&value)) take(constant->key);
    }
  }
  void take(const Function& function) {
    take(function.attrs);
    for (const Node& node : function.nodes) {
      if (auto* call = std::get_if<Call>(&node.kind)) take(*call->attrs);
      auto* constant = std::get_if<Constant>(&node.kind);
      if (constant && !is_inline_constant(*constant->data, *node.types[0]) &&
          !is_one_element(*constant->data, *node.types[0]))
        take(constant->data->key());
    }
  }
  void take(const ExternalModule& external) {
    if (external.blob) out_.emplace(external.blob->key(), external.blob);
    for (const ExternalFunction& function : external.functions) {
      for (const ExternalConstant& constant : function.constants) take(constant.key);
      for (const auto& [key, align] : function.packed) take(key);
    }
    for (const auto& [name, key] : external.packed) take(key);
  }

  const IRModule& module_;
  Buffers out_;
};

Status write_weights(const Buffers& buffers, const std::string& path) {
  Header header{{}, buffers.size()};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  std::vector<Section> table;
  uint64_t offset = align_up(sizeof header + buffers.size() * sizeof(Section));
  for (const auto& [key, buffer] : buffers) {
    table.push_back({key, offset, buffer->size()});
    offset = align_up(offset + buffer->size());
  }
  static constexpr std::byte kZeros[Buffer::kAlignment] = {};
  std::vector<std::span<const std::byte>> pieces{std::as_bytes(std::span(&header, 1)),
                                                 std::as_bytes(std::span(table))};
  uint64_t at = sizeof header + table.size() * sizeof(Section);
  for (size_t k = 0; const auto& [key, buffer] : buffers) {
    BYOC_CHECK(table[k].offset == align_up(at), "section ", key, " is at ", align_up(at));
    ++k;
    pieces.emplace_back(kZeros, align_up(at) - at);
    pieces.push_back(buffer->bytes());
    at = align_up(at) + buffer->size();
  }
  return write_file(path, pieces);
}

Status corrupt(const std::string& path, std::string_view what) {
  return data_loss(cat(path, " ", what))
      .with_slug("ir-weights")
      .with_help("write it again together with its .ir");
}

Result<Buffers> read_weights(const std::string& path) {
  BYOC_TRY(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  std::span<const std::byte> bytes = file->bytes();
  Header header;
  if (bytes.size() < sizeof header) return corrupt(path, "is too short");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0)
    return corrupt(path, "is no file of weights");
  if (header.count > (bytes.size() - sizeof header) / sizeof(Section))
    return corrupt(path, "is truncated");
  Buffers out;
  for (uint64_t k = 0; k < header.count; ++k) {
    Section section;
    std::memcpy(&section, bytes.data() + sizeof header + k * sizeof section, sizeof section);
    if (section.offset > bytes.size() || section.size > bytes.size() - section.offset) {
      return corrupt(path, "is truncated");
    }
    auto content = bytes.subspan(section.offset, section.size);
    if (content_key(content) != section.key) {
      return corrupt(path, cat("has other bytes than written for const<", section.key, ">"));
    }
    bool aligned = section.offset % Buffer::kAlignment == 0;
    out[section.key] =
        aligned ? Buffer::adopt_keyed(content, file, section.key) : Buffer::copy(content);
  }
  return out;
}

}  // namespace

Status write_module(const IRModule& module, const std::string& path) {
  Buffers buffers = Collector(module).collect();
  if (!buffers.empty()) BYOC_TRY_STATUS(write_weights(buffers, path + ".weights"));
  return write_file(path, print(module));  // last: a text is never without its weights
}

Result<IRModule> read_module(const std::string& path, const OpRegistry& ops) {
  BYOC_TRY(std::string text, read_file(path));
  Buffers buffers;
  std::error_code ignored;
  if (std::filesystem::exists(path + ".weights", ignored)) {
    BYOC_TRY(buffers, read_weights(path + ".weights"));
  }
  auto module = parse_module(text, ops, [&](const ContentKey& key) {
    auto found = buffers.find(key);
    return found == buffers.end() ? nullptr : found->second;
  });
  if (!module.ok()) return std::move(module.status()).at(path);
  return module;
}

}  // namespace byoc
