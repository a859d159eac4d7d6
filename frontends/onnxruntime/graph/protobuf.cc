// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/graph/protobuf.h"

#include <cstring>

namespace byoc::ort {
namespace {

constexpr uint32_t kVarint = 0, kDelimited = 2, kFixed32 = 5;  // wire types

}  // namespace

void Message::varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) text_.push_back(static_cast<char>(value | 0x80));
  text_.push_back(static_cast<char>(value));
}

void Message::key(uint32_t field, uint32_t wire_type) { varint(field << 3 | wire_type); }

void Message::number(uint32_t field, int64_t value) {
  key(field, kVarint);
  varint(static_cast<uint64_t>(value));
}

void Message::real(uint32_t field, float value) {
  key(field, kFixed32);
  char raw[sizeof value];  // little-endian, as on all machines that byoc runs on
  std::memcpy(raw, &value, sizeof value);
  text_.append(raw, sizeof raw);
}

void Message::begin_bytes(uint32_t field, uint64_t size) {
  key(field, kDelimited);
  varint(size);
}

void Message::bytes(uint32_t field, std::string_view text) {
  begin_bytes(field, text.size());
  text_.append(text);
}

}  // namespace byoc::ort
