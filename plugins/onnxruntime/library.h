// SPDX-License-Identifier: Apache-2.0
#pragma once
// ONNX Runtime as a library that this process opens.
#include <string>

#include "frontends/onnxruntime/api/slots.h"

namespace byoc::ort_plugin {

/// Throws the error that ONNX Runtime answered with, if it is one.
void check(const ort::Calls& calls, ort::OrtStatus* answer);

/// The functions of ONNX Runtime and what all sessions share. Any thread may use it.
class Library {
 public:
  /// Opens the library: `place` is its file, the folder with it, or the folder of the Python
  /// package onnxruntime; "" means the library that the system's loader finds. Throws sdk::Error
  /// with the cure when there is none, or when it is too old.
  explicit Library(const std::string& place);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  const ort::Calls& calls() const { return calls_; }
  const ort::OrtEnv* environment() const { return environment_; }
  const ort::OrtMemoryInfo* memory() const { return memory_; }  // of this process

 private:
  ort::Calls calls_;
  ort::OrtEnv* environment_ = nullptr;
  ort::OrtMemoryInfo* memory_ = nullptr;
};

}  // namespace byoc::ort_plugin
