// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>

#include "byoc/base/buffer.h"
#include "byoc/base/json.h"
#include "mutants/mutate.h"

namespace byoc::test {
namespace {

/// Returns a value that a place in a JSON text rarely expects.
Json odd_value(Draw& draw) {
  const Json values[] = {nullptr,
                         true,
                         -1,
                         0,
                         1,
                         1e308,
                         0.5,
                         "",
                         "%",
                         std::string(300, 'x'),
                         Json::array(),
                         Json::object(),
                         INT64_MAX,
                         INT64_MIN,
                         UINT64_MAX,
                         "\x01\n",
                         Json::array({Json::array({Json::array()})})};
  return draw.of(values);
}

void collect(Json& value, std::vector<Json*>& out) {
  out.push_back(&value);
  for (Json& child : value) {
    if (child.is_structured()) collect(child, out);
    else out.push_back(&child);
  }
}

Json::iterator child_of(Json& value, Draw& draw) {
  return std::next(value.begin(), static_cast<std::ptrdiff_t>(draw.below(value.size())));
}

void change_value(Json& value, Draw& draw) {
  const bool has_children = value.is_structured() && !value.empty();
  switch (draw.below(has_children ? 4 : 1)) {
    case 0:
      value = odd_value(draw);
      break;
    case 1:
      if (value.is_array()) value.erase(draw.below(value.size()));
      else value.erase(child_of(value, draw).key());
      break;
    case 2:
      if (value.is_array()) value.push_back(value[draw.below(value.size())]);
      else value["x" + std::to_string(draw.below(9))] = odd_value(draw);
      break;
    default: {
      *child_of(value, draw) = odd_value(draw);
    }
  }
}

}  // namespace

void change_json(Bytes& text, Draw& draw) {
  // one of the lines, as logs have one value in each
  const size_t at = text.find('\n') == text.npos ? 0 : draw.below(text.size());
  const size_t before = at == 0 ? text.npos : text.rfind('\n', at - 1);
  const size_t begin = text.find('\n') + 1 >= text.size() || before == text.npos ? 0 : before + 1;
  const size_t end = std::min(text.find('\n', std::max(begin, at)), text.size());
  auto json = parse_json(std::string_view(text).substr(begin, end - begin));
  if (!json.ok()) return change_bytes(text, text, draw);
  std::vector<Json*> values;
  collect(*json, values);
  change_value(*draw.of(values), draw);
  text.replace(begin, end - begin, json->dump(-1, ' ', false, Json::error_handler_t::replace));
}

namespace {

/// A field of a protobuf message: its tag, and where its value is.
struct Field {
  uint64_t tag = 0;
  size_t begin = 0, value = 0, end = 0;
};

bool read_varint(std::string_view bytes, size_t& at, uint64_t& out) {
  out = 0;
  for (int shift = 0; at < bytes.size() && shift < 64; shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes[at++]);
    out |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

Bytes varint(uint64_t value) {
  Bytes out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

/// Returns the fields; none when the bytes are no message.
std::vector<Field> fields_of(std::string_view message) {
  std::vector<Field> out;
  for (size_t at = 0; at < message.size();) {
    Field field;
    field.begin = at;
    uint64_t length = 0;
    if (!read_varint(message, at, field.tag) || field.tag >> 3 == 0) return {};
    field.value = at;
    switch (field.tag & 7) {
      case 0:
        if (!read_varint(message, at, length)) return {};
        break;
      case 1:
        at += 8;
        break;
      case 5:
        at += 4;
        break;
      case 2:
        if (!read_varint(message, at, length)) return {};
        field.value = at;
        if (length > message.size() - at) return {};
        at += length;
        break;
      default:
        return {};
    }
    if (at > message.size()) return {};
    field.end = at;
    out.push_back(field);
  }
  return out;
}

Bytes with_value(const Field& field, const Bytes& value) {
  return varint(field.tag) + ((field.tag & 7) == 2 ? varint(value.size()) : Bytes()) + value;
}

}  // namespace

void change_protobuf(Bytes& message, Draw& draw) {
  static constexpr uint64_t kOdd[] = {0,          1,          2,     7,         255,       1u << 31,
                                      1ull << 32, 1ull << 62, ~0ull, INT64_MAX, 1ull << 40};
  const std::vector<Field> fields = fields_of(message);
  if (fields.empty()) return change_bytes(message, message, draw);
  const Field& field = draw.of(fields);
  const Bytes value = message.substr(field.value, field.end - field.value);
  Bytes changed;
  const bool is_message = (field.tag & 7) == 2 && !fields_of(value).empty();
  if (is_message && draw.below(8) != 0) {
    changed = value;
    change_protobuf(changed, draw);
    changed = with_value(field, changed);
  } else {
    const Bytes whole = message.substr(field.begin, field.end - field.begin);
    switch (draw.below(5)) {
      case 0:
        break;  // removed
      case 1:
        changed = whole + whole;
        break;
      case 2: {
        const Field& from = draw.of(fields);
        changed = message.substr(from.begin, from.end - from.begin);
        break;
      }
      case 3:
        changed = varint((field.tag & 7) | (1 + draw.below(30)) << 3) +
                  whole.substr(varint(field.tag).size());
        break;
      default:
        if ((field.tag & 7) == 0) changed = varint(field.tag) + varint(draw.of(kOdd));
        else if ((field.tag & 7) == 2) {
          Bytes bytes = value.empty() ? "x" : value;
          change_bytes(bytes, message, draw);
          changed = with_value(field, bytes);
        } else {
          changed = varint(field.tag) + Bytes(value.size(), static_cast<char>(draw.below(256)));
        }
    }
  }
  message.replace(field.begin, field.end - field.begin, changed);
}

namespace {

constexpr size_t kHeader = 64, kAlign = 64;

uint64_t number_at(const Bytes& bytes, size_t at) {
  uint64_t out;
  std::memcpy(&out, bytes.data() + at, sizeof out);
  return out;
}
void put_number(Bytes& bytes, size_t at, uint64_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}
ContentKey hash_of(std::string_view bytes) {
  return content_key(std::as_bytes(std::span(bytes.data(), bytes.size())));
}
void put_hash(Bytes& bytes, size_t at, const ContentKey& key) {
  std::memcpy(bytes.data() + at, key.bytes.data(), key.bytes.size());
}

/// Writes header, manifest and what is after it, with right sizes and hashes.
Bytes assembled(const Bytes& before, const Bytes& manifest, const Bytes& sections) {
  Bytes out = before.substr(0, kHeader) + manifest;
  out.resize((out.size() + kAlign - 1) / kAlign * kAlign);
  out += sections;
  put_number(out, 16, out.size());
  put_number(out, 24, manifest.size());
  put_hash(out, 32, hash_of(manifest));
  put_hash(out, 48, hash_of(std::string_view(out).substr(0, 48)));
  return out;
}

/// Changes a byte of a section that the manifest lists, and the section's hash wherever it is.
void change_section(Bytes& manifest, Bytes& sections, Draw& draw) {
  auto json = parse_json(manifest);
  if (!json.ok() || !json->is_object() || sections.empty()) return;
  const size_t at = draw.below(sections.size());
  // The sections are one after another, each at a multiple of 64, in the order of the manifest.
  size_t begin = 0;
  const Json list = json->value("sections", Json::array());
  if (!list.is_array()) return;
  for (const Json& section : list) {
    if (!section.is_object() || !section.contains("key") || !section.contains("size")) return;
    if (!section["key"].is_string() || !section["size"].is_number_unsigned()) return;
    const auto size = section["size"].get<uint64_t>();
    if (size > sections.size() || begin + size > sections.size()) return;
    if (at >= begin && at < begin + size) {
      sections[at] = static_cast<char>(sections[at] ^ (1 << draw.below(8)));
      const std::string before = section["key"].get<std::string>();
      const std::string after = hash_of(std::string_view(sections).substr(begin, size)).hex();
      if (before.empty()) return;
      for (size_t k = manifest.find(before); k != manifest.npos;
           k = manifest.find(before, k + after.size()))
        manifest.replace(k, before.size(), after);
      return;
    }
    begin = (begin + size + kAlign - 1) / kAlign * kAlign;
  }
}

/// The parts of an artifact that change on their own.
struct Parts {
  Bytes manifest, sections;
};

/// Splits by the size of the manifest in the header; nothing when that is beyond the end.
std::optional<Parts> parts_of(const Bytes& artifact) {
  if (artifact.size() < kHeader) return std::nullopt;
  const uint64_t size = number_at(artifact, 24);
  if (size > artifact.size() - kHeader) return std::nullopt;
  const size_t begin = std::min((kHeader + size + kAlign - 1) / kAlign * kAlign, artifact.size());
  return Parts{artifact.substr(kHeader, size), artifact.substr(begin)};
}

}  // namespace

void make_hashes_right(Bytes& artifact) {
  const std::optional<Parts> parts = parts_of(artifact);
  if (parts) artifact = assembled(artifact, parts->manifest, parts->sections);
}

void change_artifact(Bytes& artifact, const Bytes& other, Draw& draw) {
  std::optional<Parts> parts = parts_of(artifact);
  if (!parts) return change_bytes(artifact, other, draw);
  auto& [manifest, sections] = *parts;
  switch (draw.below(8)) {
    case 0:
      change_bytes(manifest, other, draw);
      break;
    case 1:
    case 2:
      change_section(manifest, sections, draw);
      break;
    default:
      change_json(manifest, draw);
  }
  artifact = assembled(artifact, manifest, sections);
}

}  // namespace byoc::test
