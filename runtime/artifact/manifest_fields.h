// SPDX-License-Identifier: Apache-2.0
#pragma once
// The members of a manifest. One table per struct serves both ways: `fields` names every field
// once, a Writer puts them into a JSON object, a Reader takes them out and checks.
#include "byoc/runtime/artifact.h"
#include "runtime/artifact/manifest.h"

namespace byoc {

/// An ExternalModule with the key of its blob.
struct ModuleRecord {
  ExternalModule module;
  ContentKey blob;
};

template <class Io>
void fields(Io& io, NamedTensor& t) {
  io("name", t.name);
  io("type", t.type);
}
template <class Io>
void fields(Io& io, Place& p) {
  io("kind", p.kind);
  io("index", p.index);
  io("offset", p.offset);
}
template <class Io>
void fields(Io& io, ProgramState& s) {
  io("rows", s.rows);
}
template <class Io>
void fields(Io& io, ProgramDevice& d) {
  io("plugin", d.plugin);
  io("type", d.type);
  io("id", d.id);
  io("arena_bytes", d.arena_bytes);
}
template <class Io>
void fields(Io& io, ProgramConstant& c) {
  io("key", c.key);
  io("type", c.type);
}
template <class Io>
void fields(Io& io, Step& s) {
  io("module", s.module);
  io("function", s.function);
  io("symbol", s.symbol);
  io("n_in", s.n_in);
  io("args", s.args);
  io("types", s.types);
  io("locs", s.locs);
}
template <class Io>
void fields(Io& io, Instruction& i) {
  io("kind", i.kind);
  io("index", i.index);
  io("args", i.args);
  io("types", i.types);
}
template <class Io>
void fields(Io& io, Copy& c) {
  io("from", c.from);
  io("output", c.output);
}
template <class Io>
void fields(Io& io, OpenSize& s) {
  io("name", s.name);
  io("least", s.least);
  io("most", s.most);
}
template <class Io>
void fields(Io& io, Program& p) {
  io("inputs", p.inputs);
  io("outputs", p.outputs);
  io("constants", p.constants);
  io("steps", p.steps);
  io("code", p.code);
  io("copies", p.copies);
  io("arena_bytes", p.arena_bytes);
  io("peak_live_bytes", p.peak_live_bytes);
  io.optional("sizes", p.sizes);
  io.optional("packing", p.packing);
  io.optional("states", p.states);
  io.optional("devices", p.devices);
}
template <class Io>
void fields(Io& io, ExternalConstant& c) {
  io("name", c.name);
  io("key", c.key);
  io("type", c.type);
  io("use", c.use);
}
template <class Io>
void fields(Io& io, ExternalFunction& f) {
  io("symbol", f.symbol);
  io("n_in", f.n_in);
  io("n_out", f.n_out);
  io("constants", f.constants);
  io("packed", f.packed);
  io("inplace", f.inplace);
  io("workspace_bytes", f.workspace_bytes);
  io("workspace_align", f.workspace_align);
  io("flags", f.flags);
  io("implementation", f.implementation);
  io("flops", f.flops);
  io("ops", f.ops);
  io("locs", f.locs);
  io.optional("sizes", f.sizes);
  io.optional("device", f.device);
  io.optional("placement", f.placement);
}
template <class Io>
void fields(Io& io, ModuleRecord& r) {
  io("plugin", r.module.plugin);
  io("plugin_version", r.module.plugin_version);
  io("compat", r.module.compat);
  io("options_json", r.module.options_json);
  io("flags", r.module.flags);
  io("blob", r.blob);
  io("packed", r.module.packed);
  io("functions", r.module.functions);
}
template <class Io>
void fields(Io& io, Section& s) {
  io("key", s.key);
  io("size", s.size);
  io.optional("from", s.from);
  io.optional("file", s.file);
  io.optional("place", s.place);
  io.optional("order", s.order.loops);
  io.optional("padding", s.order.padding);
}

}  // namespace byoc
