// SPDX-License-Identifier: Apache-2.0
#include "core/conform/samples/attr_tests.h"

#include <algorithm>

namespace byoc::conform {

Attrs with_tests(const PatternNode::Op& spec, Attrs attrs,
                 const std::function<uint64_t(uint64_t)>& pick) {
  for (const AttrTest& test : spec.attrs) {
    const AttrValue* have = attrs.find(test.name);
    if (test.kind == AttrTest::kEquals || test.kind == AttrTest::kIn) {
      attrs.set(test.name, test.values[pick(test.values.size())]);
      continue;
    }
    double bound = std::get<double>(test.values[0]);
    auto clamp = [&](double x) {
      return test.kind == AttrTest::kMin ? std::max(x, bound) : std::min(x, bound);
    };
    if (!have) continue;
    if (auto* i = std::get_if<int64_t>(have))
      attrs.set(test.name, static_cast<int64_t>(clamp(static_cast<double>(*i))));
    else if (auto* f = std::get_if<double>(have)) attrs.set(test.name, clamp(*f));
    else if (auto* list = std::get_if<Ints>(have)) {
      Ints values = *list;
      for (int64_t& x : values) x = static_cast<int64_t>(clamp(static_cast<double>(x)));
      attrs.set(test.name, values);
    }
  }
  return attrs;
}

}  // namespace byoc::conform
