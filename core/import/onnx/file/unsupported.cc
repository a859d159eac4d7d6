// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/file/unsupported.h"

#include "byoc/base/status.h"

namespace byoc::onnx_import {
namespace {

struct Row {
  std::string_view op_type;
  const char *what, *cure;
};

constexpr const char* kRandom = "it draws random numbers";
constexpr const char* kRandomCure =
    "export the model for inference, or make the random numbers an input of the model";
constexpr const char* kStrings = "it reads strings";
constexpr const char* kStringsCure =
    "do this step before the model runs, and export the rest of the model with its result as input";

constexpr Row kRows[] = {
    {"Bernoulli", kRandom, kRandomCure},
    {"ImageDecoder", "it decodes image files",
     "decode the image before the model runs, and export the rest of the model with its pixels as "
     "input"},
    {"MaxRoiPool", "of the operators with regions RoiAlign is supported",
     "use RoiAlign with mode max in place of it"},
    {"Multinomial", kRandom, kRandomCure},
    {"Optional", "it makes an optional value", "use the tensor in its place"},
    {"RandomNormal", kRandom, kRandomCure},
    {"RandomNormalLike", kRandom, kRandomCure},
    {"RandomUniform", kRandom, kRandomCure},
    {"RandomUniformLike", kRandom, kRandomCure},
    {"RegexFullMatch", kStrings, kStringsCure},
    {"SequenceMap", "it runs a graph per element of a sequence",
     "export the model without sequences: trace it with example inputs"},
    {"StringConcat", kStrings, kStringsCure},
    {"StringNormalizer", kStrings, kStringsCure},
    {"StringSplit", kStrings, kStringsCure},
    {"TfIdfVectorizer", "it counts n-grams of text", kStringsCure},
};

}  // namespace

std::optional<Refusal> known_refusal(std::string_view op_type) {
  for (const Row& row : kRows) {
    if (row.op_type == op_type)
      return Refusal{cat("byoc does not support this operator of ONNX: ", row.what), row.cure};
  }
  return std::nullopt;
}

}  // namespace byoc::onnx_import
