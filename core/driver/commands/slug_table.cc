// SPDX-License-Identifier: Apache-2.0
// One row per slug. tests/docs/slugs.py compares the rows with the sources.
#include "core/driver/commands/slug_table.h"

namespace byoc::driver {
namespace {

constexpr SlugRow kRows[] = {
    {"aborted", "The work was given up. The message has the reason."},
    {"allocator",
     "The program's allocator returned memory that is not aligned as its argument requires. "
     "Correct the allocator."},
    {"allocator-size",
     "The struct byoc_allocator that a program passes is shorter than this byoc expects. Set its "
     "size member to sizeof(byoc_allocator)."},
    {"already-exists", "A name is taken. Choose another one."},
    {"annotation",
     "The ops compiler_begin and compiler_end of a function do not fit together. They are made by "
     "passes; correct the pass or the text that has them."},
    {"artifact-corrupt",
     "The bytes of a compiled model are not the ones that were written. Copy the file again, or "
     "compile the model again."},
    {"artifact-entries",
     "The file has several models, and none is named. --entry names one; the help lists them."},
    {"artifact-sizes",
     "The file has several sizes of a model, and the caller reads files of one. Name a size, or "
     "use the functions for several."},
    {"artifact-version",
     "The file was written in a version of the format that this byoc does not read. Compile the "
     "model again."},
    {"attr-kind",
     "An attribute of an op has a value of another kind, such as a number in place of a list. "
     "`byoc ops OP` prints the kinds."},
    {"bad-graph", "The graph JSON cannot be read. docs/graph-json.md has the format."},
    {"bad-groups",
     "A default codegen wrote groups of ops that cannot be used. It is a defect of the plugin; "
     "report it to its author."},
    {"bad-option",
     "An option of a pass has a value that is not valid. The message has the option and what it "
     "expects."},
    {"bad-point",
     "A point of knobs does not fit the function. Measure again with `byoc tune`, or leave the "
     "log out."},
    {"bench-mismatch",
     "Two subjects of `byoc bench` give different outputs, so that their times mean nothing. "
     "`byoc verify` narrows it down."},
    {"bind-syntax",
     "The value of --bind or --shape cannot be read. Write 1x3x224x224 for dims, [0,1] for a "
     "list."},
    {"bind-type", "A bound tensor has another type than the input. The message has both."},
    {"branch-misfit",
     "A run took a branch of an If whose result does not fit the sizes of the model. Compile with "
     "other sizes."},
    {"broken-module",
     "A pass left a module that is not valid. It is a defect of byoc; please report it with the "
     "bundle."},
    {"bug", "An exception reached the end of a command. It is a defect of byoc; please report it."},
    {"builder", "A program built a function from values that do not exist. Correct the program."},
    {"calibration",
     "The kept measurements of this machine cannot be read. `byoc calibrate` measures it again."},
    {"cancelled", "The work was cancelled."},
    {"captures",
     "The attribute `captures` of a composite cannot be read. It is made by merge_composites; "
     "correct the text that has it."},
    {"case-data",
     "The stored inputs of a test case do not fit its model. The case contradicts itself."},
    {"code-place",
     "Machine code of an artifact cannot be put into memory: the system forbids it there. Allow "
     "it, or compile the model again for a plugin."},
    {"context",
     "A Context was used with another Session than the one that made it. Correct the program."},
    {"control-flow",
     "The steps of a program with control flow cannot be run one by one. Measure the whole "
     "program."},
    {"control-types", "The operands of an if or a loop do not fit its body. Correct the module."},
    {"counted-dims",
     "A result has a size that the op cannot have. An input has wrong elements, or the plugin a "
     "defect."},
    {"counted-kernel",
     "A kernel and its program disagree on counted or open dims. Compile the model again."},
    {"data-loss", "A file is damaged or cut short. Copy it again."},
    {"data-set", "The folder of inputs and outputs cannot be read. The message has the file."},
    {"deadline-exceeded", "The work took too long."},
    {"declined",
     "A plugin declined a candidate of placement in compile. It is measured by other plugins."},
    {"demo-data", "The files of `byoc demo` are not there. --data DIR names their folder."},
    {"demo-wrong", "The demo's answers are not the trainer's. `byoc verify` narrows it down."},
    {"device-lost",
     "A device with memory of its own went away while it was used. Other models and plugins go "
     "on; load the model again when the device is there again."},
    {"device-memory",
     "A device has no memory for an arena, a workspace or constants of a model. Use fewer "
     "contexts, or compile more of the model for the host."},
    {"device-sizes",
     "A value with sizes that each run finds out would be on a device. Give the sizes as "
     "numbers, or leave the plugin with the device out."},
    {"device-steps",
     "A measurement of single steps needs values on the host, and the program has some on a "
     "device. Measure whole runs, or use --profile."},
    {"device-timeout",
     "Work of a device did not end in time. BYOC_DEVICE_TIMEOUT_MS sets the limit."},
    {"device-unavailable",
     "The device that a part of the model was compiled for is not there, and the model has "
     "no other form. The message has the command that compiles one, with --fallback."},
    {"dlpack-type", "A tensor of the program has a dtype that byoc does not have. Convert it."},
    {"dump", "A file of BYOC_DUMP cannot be written. Choose another folder."},
    {"entry-called",
     "A function calls the entry, whose parameters are to be bound. Inline it first."},
    {"executable",
     "A compiled program does not fit together. Compile the model again; if that does not help, "
     "report it."},
    {"explanation", "The file is not the JSON of `byoc explain`. Write it with --json=FILE."},
    {"external-data",
     "A weight in a file beside the model cannot be read. Copy the files together."},
    {"failed-precondition", "The state does not allow the work. The message has what is missing."},
    {"family-refused",
     "The llvm plugin refused a schedule of its own. Leave the family out as the help line has "
     "it, and report the model."},
    {"file", "A file cannot be read or written. The message has the system's reason."},
    {"global-symbol",
     "Two functions have one symbol. Give each compiled function a symbol of its own."},
    {"inline-size",
     "Inlining would make a function too large. Leave out the pass, or split the model."},
    {"input-count", "A run got more or fewer inputs than the model has."},
    {"input-data", "An input of a run has no value. Set it."},
    {"input-dtype", "A tensor has another dtype than the input of the model. Convert it."},
    {"input-name",
     "--bind or --shape names no input of the model. The message has the inputs that there are."},
    {"input-shape",
     "A tensor has another shape than the input of the model. The message has both."},
    {"input-size", "A size of a run is outside of the bounds that the model was compiled for."},
    {"input-twice", "One input has two values. Leave one of them out."},
    {"input-value",
     "The value of --input cannot be read. Write x=a.npy, x=f32[1,3]=0.5 or x=random."},
    {"internal", "A defect of byoc or of a plugin. Please report it."},
    {"interrupted", "The user has interrupted the work. Files are complete or unchanged."},
    {"invalid-argument", "A value is not valid. The message has the value and its place."},
    {"ir-constant", "A constant of a text has no bytes. Keep the file x.ir.weights beside x.ir."},
    {"ir-invalid",
     "A module is not valid: a value is read before it is computed, or has another type. Correct "
     "the text, or the pass."},
    {"ir-syntax", "The text of a module cannot be read. The message has line and column."},
    {"ir-weights", "The file of weights does not fit the text. Write both again."},
    {"isolation",
     "The process of an isolated plugin cannot be started, or cannot be talked to. Install "
     "byoc-run beside byoc."},
    {"json-depth", "JSON is nested too deeply. It is not what byoc or a plugin writes."},
    {"json-size", "JSON is larger than what is accepted."},
    {"json-syntax", "Text is not valid JSON. The message has the place."},
    {"kernel-types",
     "A step and its kernel disagree on the types of tensors. Compile the model again."},
    {"knob-space",
     "The knobs of a plugin cannot be read. It is a defect of the plugin; report it to its "
     "author."},
    {"library-fault",
     "A function of a library of --pass-library threw an exception or returned what it must not. "
     "The message names the library and the function; correct it."},
    {"loop-extent",
     "A loop ran more often than its results have rows. Compile with a larger --shape "
     "max_iterations=N."},
    {"loops-entry", "The entry of a module is written as loops. Add a function that calls it."},
    {"loops-name", "A function of loops has a name that is taken, or that is no name."},
    {"loops-signature", "Loops and the parameters of their function disagree. Correct the text."},
    {"loops-syntax", "The text of loops cannot be read. docs/te.md has the form."},
    {"loops-text", "The attribute `loops` is no text. Correct the module."},
    {"loops-type", "A tensor of loops has a type that a module cannot have."},
    {"machine",
     "The description of a machine cannot be read. `byoc doctor --json` prints the form."},
    {"max-memory",
     "The work needs more memory than --max-memory allows. Raise the limit, or compile a smaller "
     "model."},
    {"mismatch",
     "An output differs from the expected one by more than the tolerance. `byoc verify` narrows "
     "it down."},
    {"missing-attr",
     "An op has no value for an attribute that it needs. `byoc ops OP` prints them."},
    {"missing-extern",
     "The model calls a function that the program has to provide. Register it before the first "
     "run."},
    {"missing-plugin",
     "The plugin that compiled a part of the model is not there. Install it, or compile again "
     "without it."},
    {"missing-weights",
     "The artifact was compiled with --no-weights, and the file of the model that has them is not "
     "there. Copy it beside the artifact, or set BYOC_WEIGHTS to its folder."},
    {"model-file", "The model cannot be found or read. The message has what is wrong."},
    {"native-module",
     "Machine code of an artifact cannot be loaded. Compile the model again on this machine."},
    {"native-refused",
     "--no-native refuses files with machine code. Leave it out if you trust the file."},
    {"no-cases", "A folder has no test cases. The message has the folder."},
    {"no-code", "The plugin shows no code of that form for the model."},
    {"no-codegen",
     "No plugin takes an op. Add a plugin with the flag DEFAULT, or name one with --default."},
    {"no-compute", "A function has no tensor expressions: an op is called that has none."},
    {"no-default-codegen",
     "No plugin takes every op, so that there is nothing to compare with. Name one with "
     "--against."},
    {"no-entry", "A module has no entry function. Name it: module {entry=\"...\"}."},
    {"no-loops-codegen",
     "No plugin compiles functions that are written as loops. llvm and json do."},
    {"no-memory",
     "An allocation failed. Raise the limit of memory, end other programs, or use a smaller "
     "model."},
    {"no-ops", "A region with a wrong result has no ops, so that it cannot be made smaller."},
    {"no-results", "A function that is to be compiled returns nothing. Remove its calls."},
    {"no-strategy", "No algorithm of an op fits. The message has the reasons."},
    {"no-task", "No task of tuning matches --task. The message has the tasks that there are."},
    {"not-compiled",
     "A model that is not compiled was given where a compiled one is needed. Compile it first."},
    {"not-found", "Something that is named is not there. The message has the name."},
    {"not-tuned",
     "--require-tuned: a function has no record in the logs. Measure it with `byoc tune`."},
    {"npy", "The NumPy file cannot be read, or cannot hold the dtype. The message has the reason."},
    {"null-argument", "A program passed NULL to a function of the C API that needs a value."},
    {"onnx-export", "A module has no form in ONNX. Export an earlier stage."},
    {"onnx-graph", "The graph of an ONNX file is not valid. Check the file with onnx.checker."},
    {"onnx-parse",
     "The file is no ONNX file, is cut short, or has versions that contradict each other."},
    {"onnx-unsupported",
     "The model has an operator, or a use of one, that byoc does not import. docs/support.md has "
     "the list."},
    {"onnxruntime", "The library of ONNX Runtime cannot be used. BYOC_ONNXRUNTIME names it."},
    {"op-axis", "An axis of an op is outside of its operand."},
    {"op-dtype", "An operand has a dtype that the op does not take. `byoc ops OP` prints them."},
    {"op-inputs", "An op has more or fewer operands than it takes."},
    {"op-shape", "The shapes of an op's operands do not fit together. The message has both."},
    {"open-schedule",
     "A schedule does not fit a function with open sizes. Compile with numbers, and report the "
     "model."},
    {"ops-peer",
     "The process of the peer of `byoc bench --ops` failed. The message has its last words."},
    {"ops-table", "The table of `byoc bench --ops` cannot be read."},
    {"ort-context",
     "A node of a model that ONNX Runtime holds compiled, an EPContext, cannot be written or run. "
     "The message has the reason; compile the model again with ep.context_enable=1."},
    {"ort-graph",
     "ONNX Runtime compiles a group of nodes that byoc has not offered. Report the model."},
    {"ort-table", "ONNX Runtime lacks a function that byoc needs. Use a published build."},
    {"ort-too-old", "ONNX Runtime is too old. Install version 1.23 or a newer one."},
    {"other-weights",
     "The artifact was compiled with --no-weights, and the file of the model has other bytes now. "
     "Use the file that was compiled, or compile the model again."},
    {"out-of-range", "A number or an index is outside of its range. The message has both."},
    {"output", "A result cannot be written to the standard output. Free space there."},
    {"outside-write",
     "A kernel wrote outside of its tensors. It is a defect of the plugin; report it to its "
     "author."},
    {"pass-args", "A pass has arguments that it does not take."},
    {"pass-library",
     "A library of --pass-library cannot be used. Build it with the compiler and the headers of "
     "this byoc; docs/extending.md has the interface."},
    {"pattern-syntax", "A pattern of a plugin cannot be read. docs/patterns.md has the grammar."},
    {"permission-denied",
     "The system or the user's settings forbid it. The message has the reason."},
    {"place", "Timing whole programs failed. The message has the program."},
    {"placement",
     "The file has no costs of candidates. Write it with `byoc explain MODEL --placement "
     "--json=FILE`."},
    {"placement-rule",
     "The rules of --place contradict each other or name nothing. The message has the rule."},
    {"plan", "A plan of placement cannot be read."},
    {"plan-outdated",
     "A plan of placement was made for another model, or other plugins. Make it again with `byoc "
     "place`."},
    {"plugin-crash",
     "A plugin ended its process in a slot, which the message names with the signal. It is a "
     "defect of the plugin; leave it out, or use --isolate to go on without it."},
    {"plugin-defect",
     "A plugin broke a promise of the ABI. Report it to its author; `byoc check-plugin FILE` "
     "finds more."},
    {"plugin-error", "A plugin returned an error from a slot. The message is the plugin's own."},
    {"plugin-folder", "The folder of a new plugin exists. Choose another one with -o."},
    {"plugin-hang",
     "An isolated plugin did not return from a slot within --isolate-time. Raise it, or leave the "
     "plugin out."},
    {"plugin-memory",
     "An isolated plugin used more memory than --isolate-memory. Raise it, or leave the plugin "
     "out."},
    {"plugin-name", "The name of a new plugin is not valid: letters, digits and dashes."},
    {"plugin-refused",
     "A plugin that was named by its file cannot be used. The message has the reason."},
    {"point", "A point of knobs cannot be read."},
    {"provider-loops",
     "A schedule of the program is of another computation than the function. Schedule the Dag "
     "that it is given."},
    {"recursion", "Functions call each other in a circle. A module has no recursion."},
    {"region-operand",
     "A region reads a value that no region computes, so that it cannot be replayed alone."},
    {"replay-declined", "A plugin takes nothing of the replayed function."},
    {"replay-exists", "The folder for a replay exists and is none. Name one that is empty."},
    {"replay-failed", "The process of a replay printed no result. The message has its last words."},
    {"replay-folder", "The folder is no replay. `byoc dump` writes them."},
    {"resource-exhausted", "Memory or another resource is short."},
    {"run-failed", "A step of a run failed. The message has the step and the reason."},
    {"shape-bounds", "A size is outside of the bounds that the model declares."},
    {"shape-conflict", "One size is given two numbers. Leave one of them out."},
    {"shape-syntax", "A size of --shape cannot be read. Write N=1, N=1..64 or x=1x3x224x224."},
    {"signature",
     "A file has no signature by a key of BYOC_TRUSTED_KEYS, or a wrong one, and is not loaded. "
     "Get the file and its .minisig again, or sign it; docs/signatures.md has the commands."},
    {"signature-key",
     "A word of BYOC_TRUSTED_KEYS is neither a public key of minisign nor a file with one. Correct "
     "the variable."},
    {"signature-library",
     "Keys are configured, and libsodium, which checks signatures, is not installed. Install it: "
     "apt install libsodium23."},
    {"signature-mismatch",
     "The arguments of a call and the parameters of its function have different types."},
    {"size-bounds", "An expression of sizes has a divisor or a bound that is not valid."},
    {"size-length",
     "The expression of an open size is too long. Give numbers for the sizes, as in --shape N=1."},
    {"size-overflow", "A size does not fit in 63 bits. The model is not valid, or far too large."},
    {"size-syntax", "An expression of sizes cannot be read."},
    {"slurm",
     "Tuning on a cluster failed. The log has all measurements so far; the same command goes on."},
    {"stale-artifact",
     "The artifact was compiled for another machine or another version of a plugin. Compile the "
     "model again."},
    {"state-broken",
     "A run failed after a step had written this state in place. Set or reset it before the "
     "next run; docs/state.md has the rules."},
    {"state-crossed",
     "The output of a pair is another input with new rows, such as values for keys. Pair it with "
     "that input."},
    {"state-in-use", "Another run, read or write uses the state now. One at a time may."},
    {"state-shape", "A value for a state has another shape. The message has both."},
    {"state-syntax",
     "A pair is written PAST=PRESENT: an input, and the output with its next value. "
     "docs/state.md has examples."},
    {"state-twice", "An input or an output is in two pairs. Each belongs to one state."},
    {"state-type",
     "The two values of a state have other dtypes or shapes, or a size without a number. "
     "docs/state.md has the rules."},
    {"strict",
     "--strict: a plugin declined a function that it had accepted. Leave --strict out, and the "
     "next plugin gets it."},
    {"symbol-clash", "Two functions have one name, of which one is external. Rename one."},
    {"symbolic-shape", "A size has no number and no bounds. Give it with --shape."},
    {"target-json", "The description of a target cannot be read."},
    {"temporary-folder", "No temporary folder can be made. Free space, or set TMPDIR."},
    {"tensor-file", "A file of a tensor cannot be read. The message has what is wrong."},
    {"tensor-size", "A tensor has more bytes than fit in 63 bits."},
    {"time-limit",
     "The work took longer than --time-limit allows. Raise the limit, or compile a smaller model."},
    {"too-large", "A tensor has more than 2^40 bytes. The model is not valid, or far too large."},
    {"tuning-log", "A line of a log of tuning is no record. Remove the line."},
    {"tuning-record", "A record of tuning has a number that is not possible. Remove it."},
    {"type-syntax", "A type cannot be read. Write f32[1,3,224,224] or i64[]."},
    {"unavailable", "A file, a device or a process is not available now."},
    {"unimplemented", "byoc or the plugin does not have this. The message has what it is."},
    {"unknown", "A plugin or a library failed without a reason."},
    {"unknown-attr", "An op has no attribute of that name. `byoc ops OP` prints them."},
    {"unknown-compute",
     "--compute names an algorithm that the op does not have. The message has those that there "
     "are."},
    {"unknown-entry",
     "The file has no model of that name. The message has the names that there are."},
    {"unknown-extern", "No step calls the external function that a program registers."},
    {"unknown-function", "The module has no function of that name."},
    {"unknown-input",
     "The model has no input of that name. The message has the inputs that there are."},
    {"unknown-level", "-O is 0, 1 or 2."},
    {"unknown-node", "No op has that name. `byoc explain MODEL --json` lists the names."},
    {"unknown-op", "No op has that name. `byoc ops` lists them."},
    {"unknown-option", "A pass has no option of that name."},
    {"unknown-pass", "No pass has that name. `byoc opt --list` lists them."},
    {"unknown-plugin",
     "No plugin has that id, or the one that has it was refused. `byoc plugins` lists them with "
     "reasons."},
    {"unknown-region", "The module has no region of that name or number."},
    {"unknown-slug", "No error has that slug. `byoc error --list` lists them."},
    {"unknown-state",
     "No state, input or output has that name, or --state auto finds no pair. The message "
     "has the names."},
    {"unknown-target", "No target has that name. The message has those that there are."},
    {"usage", "The command line is not valid. `byoc COMMAND --help` has the options."},
    {"vs-float", "The float model of a comparison has other inputs or outputs."},
    {"watch-size",
     "The struct byoc_watch that a program passes is shorter than this byoc expects. Set its size "
     "member to sizeof(byoc_watch)."},
};

}  // namespace

std::span<const SlugRow> slug_table() { return kRows; }

}  // namespace byoc::driver
