// SPDX-License-Identifier: Apache-2.0
// Reads protobuf's wire format, as protobuf's own reader does not keep the places of bytes.
#include "core/tools/weights/model_parts.h"

#include <charconv>
#include <filesystem>
#include <functional>
#include <map>

#include "runtime/cli/command.h"

namespace byoc::driver {
namespace {

using Bytes = std::span<const std::byte>;

// Numbers of fields in onnx.proto.
enum : uint64_t {
  kModelGraph = 7,
  kGraphNode = 1,
  kGraphInitializer = 5,
  kNodeAttribute = 5,
  kAttributeTensor = 5,
  kTensorDims = 1,
  kTensorFloats = 4,
  kTensorRaw = 9,
  kTensorExternal = 13,
  kEntryKey = 1,
  kEntryValue = 2
};

/// Reads the fields of one message. A message that is cut short ends early.
class Fields {
 public:
  explicit Fields(Bytes message) : rest_(message) {}
  struct Field {
    uint64_t number = 0, value = 0;  // value: of a varint
    Bytes bytes = {};                // of a field with a length
    bool has_bytes = false;
  };
  bool next(Field& out) {
    uint64_t tag = 0, size = 0;
    if (!varint(tag)) return false;
    out = {.number = tag >> 3};
    switch (tag & 7) {
      case 0:
        return varint(out.value);
      case 1:
        return skip(8);
      case 5:
        return skip(4);
      case 2:
        if (!varint(size) || size > rest_.size()) return false;
        out.bytes = rest_.first(size);
        out.has_bytes = true;
        return skip(size);
      default:
        return false;
    }
  }

  /// Reads a number without a tag.
  bool varint(uint64_t& out) {
    out = 0;
    for (size_t k = 0; k < rest_.size() && k < 10; ++k) {
      const auto byte = static_cast<uint64_t>(rest_[k]);
      out |= (byte & 127) << (7 * k);
      if ((byte & 128) == 0) return skip(k + 1);
    }
    return false;
  }

 private:
  bool skip(uint64_t n) {
    if (n > rest_.size()) return false;
    rest_ = rest_.subspan(n);
    return true;
  }
  Bytes rest_;
};

/// Adds one dim, or several that are packed.
void add_dims(const Fields::Field& field, std::vector<int64_t>& dims) {
  if (!field.has_bytes) return dims.push_back(static_cast<int64_t>(field.value));
  Fields packed(field.bytes);
  for (uint64_t dim = 0; packed.varint(dim);) dims.push_back(static_cast<int64_t>(dim));
}

std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

uint64_t number_of(const std::string& text) {
  uint64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

class PartFinder {
 public:
  PartFinder(const std::string& path, ModelParts& out)
      : folder_(std::filesystem::path(path).parent_path()), out_(out) {}

  Status run(const std::string& path) {
    name_ = std::filesystem::path(path).filename();
    BYOC_TRY(file_, MappedFile::open(path));
    out_.files.push_back(file_);
    each(file_->bytes(), kModelGraph, [&](Bytes graph) {
      each(graph, kGraphInitializer, [&](Bytes tensor) { add(tensor); });
      each(graph, kGraphNode, [&](Bytes node) {
        each(node, kNodeAttribute, [&](Bytes attribute) {
          each(attribute, kAttributeTensor, [&](Bytes tensor) { add(tensor); });
        });
      });
    });
    return {};
  }

 private:
  static void each(Bytes message, uint64_t number, const std::function<void(Bytes)>& body) {
    Fields fields(message);
    for (Fields::Field field; fields.next(field);)
      if (field.has_bytes && field.number == number) body(field.bytes);
  }
  void add(Bytes tensor);
  void add_external(const std::map<std::string, std::string>& place, std::vector<int64_t> dims);
  void add_part(const std::string& file, uint64_t offset, Bytes bytes, std::vector<int64_t> dims) {
    if (bytes.empty()) return;
    out_.parts.push_back({file, offset, bytes, std::move(dims), content_key(bytes)});
  }

  std::filesystem::path folder_;
  std::string name_;
  std::shared_ptr<const MappedFile> file_;
  std::map<std::string, std::shared_ptr<const MappedFile>> beside_;  // null: cannot be opened
  ModelParts& out_;
};

void PartFinder::add(Bytes tensor) {
  std::vector<int64_t> dims;
  Bytes bytes;
  std::map<std::string, std::string> place;
  Fields fields(tensor);
  for (Fields::Field field; fields.next(field);) {
    if (field.number == kTensorDims) add_dims(field, dims);
    if ((field.number == kTensorRaw || field.number == kTensorFloats) && field.has_bytes)
      bytes = field.bytes;
    if (field.number == kTensorExternal && field.has_bytes) {
      std::string key, value;
      each(field.bytes, kEntryKey, [&](Bytes text) { key = text_of(text); });
      each(field.bytes, kEntryValue, [&](Bytes text) { value = text_of(text); });
      place[key] = value;
    }
  }
  if (place.contains("location")) return add_external(place, std::move(dims));
  const auto offset = static_cast<uint64_t>(bytes.data() - file_->bytes().data());
  if (!bytes.empty()) add_part(name_, offset, bytes, std::move(dims));
}

void PartFinder::add_external(const std::map<std::string, std::string>& place,
                              std::vector<int64_t> dims) {
  auto text = [&](const char* key) { return place.contains(key) ? place.at(key) : ""; };
  const std::string name = text("location");
  if (name.empty() || name.find('/') != name.npos || name == "." || name == "..") return;
  auto [at, is_new] = beside_.try_emplace(name);
  if (is_new) {
    if (auto file = MappedFile::open(folder_ / name); file.ok()) at->second = *std::move(file);
    if (at->second) out_.files.push_back(at->second);
  }
  if (!at->second) return;
  const Bytes file = at->second->bytes();
  const uint64_t offset = number_of(text("offset"));
  const uint64_t size = place.contains("length")
                            ? number_of(text("length"))
                            : file.size() - std::min<uint64_t>(offset, file.size());
  if (offset > file.size() || size > file.size() - offset) return;
  add_part(name, offset, file.subspan(offset, size), std::move(dims));
}

}  // namespace

Result<ModelParts> parts_of_model(const std::string& path) {
  if (!path.ends_with(".onnx"))
    return cli::usage_error(
        cat("--no-weights leaves weights in an .onnx file, and the model is ", path));
  ModelParts out;
  BYOC_TRY_STATUS(PartFinder(path, out).run(path));
  return out;
}

}  // namespace byoc::driver
