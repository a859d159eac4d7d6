# SPDX-License-Identifier: Apache-2.0
"""Small models, one per class of kernels, at odd shapes: (name, text of the function main)."""


def function(inputs, *lines):
    """Returns a module; inputs: "x: f32[3,4], y: f32[4]". The last line is what is returned."""
    params = ", ".join(f"%{one.strip()}" for one in inputs.split(";"))
    body = "\n".join(f"    {line}" for line in lines[:-1])
    return f"module {{\n  fn main({params}) {{\n{body}\n    return {lines[-1]}\n  }}\n}}\n"


def product(dtype, a, b, *more):
    return function(f"x: {dtype}{a}; y: {dtype}{b}", "%0 = matmul(%x, %y)", *(more or ["%0"]))


def attention(dtype, n, heads, queries, keys, size, columns, *score, mask=""):
    """softmax(score(q k)) v; score: lines that begin with %0, the products, and end with their result."""
    last = score[-1]
    return function(f"q: {dtype}[{n},{heads},{queries},{size}]; k: {dtype}[{n},{heads},{keys},{size}]; "
                    f"v: {dtype}[{n},{heads},{keys},{columns}]" + (f"; m: {mask}" if mask else ""),
                    "%t = transpose(%k) {perm=[0,1,3,2]}", "%0 = matmul(%q, %t)", *score[:-1],
                    f"%p = softmax({last}) {{axis=3}}", "%y = matmul(%p, %v)", "%y")


POSITIONS = ",".join(str(k) for k in range(65))
CAUSAL = (f"%r = const([{POSITIONS}]) : i64[65,1]", f"%c = const([{POSITIONS}]) : i64[1,65]",
          "%4 = less_equal(%c, %r)", "%3 = const(-inf) : f16[]")


def grouped(dtype):
    """Four heads of queries, of which two share a head of keys and values; a bias for each query and key."""
    return function(f"q: {dtype}[1,4,20,32]; k: {dtype}[1,2,50,32]; v: {dtype}[1,2,50,32]; b: {dtype}[20,50]",
                    "%t = transpose(%k) {perm=[0,1,3,2]}", "%g = reshape(%q) {shape=[1,2,40,32]}", "%0 = matmul(%g, %t)",
                    "%1 = reshape(%0) {shape=[1,4,20,50]}", "%2 = add(%1, %b)", "%3 = softmax(%2) {axis=3}",
                    "%4 = reshape(%3) {shape=[1,2,40,50]}", "%5 = matmul(%4, %v)", "%6 = reshape(%5) {shape=[1,4,20,32]}", "%6")


MODELS = {
    "chain": function("x: f32[3,50]; y: f32[50]", "%0 = add(%x, %y)", "%1 = tanh(%0)", "%2 = exp(%1)",
                      "%3 = multiply(%2, %x)", "%3"),
    "long": function("x: f32[7,1001]", "%0 = gelu(%x)", "%1 = erf(%0)", "%2 = sigmoid(%1)", "%2"),
    "half": function("x: f16[5,33]; y: f16[33]", "%0 = add(%x, %y)", "%1 = relu(%0)", "%1"),
    "bfloat": function("x: bf16[5,33]; y: bf16[33]", "%0 = multiply(%x, %y)", "%1 = sqrt(%0)", "%1"),
    "double": function("x: f64[5,33]", "%0 = exp(%x)", "%1 = sum(%0) {axes=[1], keepdims=false}", "%1"),
    "integers": function("x: i32[6,35]; y: i32[6,35]", "%0 = add(%x, %y)", "%1 = max(%0) {axes=[0], keepdims=false}",
                         "%1"),
    "rows": function("x: f32[5,777]", "%0 = softmax(%x) {axis=1}", "%0"),
    "columns": function("x: f32[77,130]", "%0 = softmax(%x) {axis=0}", "%0"),
    "short_rows": function("x: f32[9,3,5]", "%0 = mean(%x) {axes=[1,2], keepdims=true}", "%1 = subtract(%x, %0)", "%1"),
    "whole": function("x: f32[3,4,500]", "%0 = sum(%x) {axes=[0,1,2], keepdims=false}", "%0"),
    "norm": function("x: f32[6,300]; s: f32[300]; b: f32[300]", "%0 = layer_norm(%x, %s, %b)", "%0"),
    "half_norm": function("x: f16[6,300]; s: f16[300]; b: f16[300]", "%0 = layer_norm(%x, %s, %b)", "%1 = relu(%0)", "%1"),
    "log_rows": function("x: f32[3,4,100]", "%0 = log_softmax(%x) {axis=2}", "%0"),
    "two_axes": function("x: f32[5,7,40]", "%0 = mean(%x) {axes=[1,2], keepdims=true}", "%1 = subtract(%x, %0)", "%2 = multiply(%1, %1)",
                         "%3 = mean(%2) {axes=[1,2], keepdims=true}", "%4 = divide(%1, %3)", "%4"),
    "read_twice": function("x: f32[6,300]", "%0 = max(%x) {axes=[1], keepdims=true}", "%1 = subtract(%x, %0)", "%2 = exp(%1)", "%2, %0"),
    "argmax": function("x: f32[4,300]", "%0 = argmax(%x) {axis=1, keepdims=false}", "%0"),
    "transpose": function("x: f32[3,4,65]", "%0 = transpose(%x) {perm=[2,0,1]}", "%1 = reshape(%0) {shape=[13,60]}",
                          "%1"),
    "concat": function("x: f32[3,40]; y: f32[3,7]", "%0 = concat(%x, %y) {axis=1}", "%1 = exp(%0)", "%1"),
    "gather": function("x: f32[50,33]; i: i64[7]", "%0 = gather(%x, %i) {axis=0}", "%1 = relu(%0)", "%1"),
    "small_product": product("f32", "[3,50]", "[50,70]", "%1 = relu(%0)", "%1"),
    "row_product": product("f32", "[1,300]", "[300,77]"),
    "product": product("f32", "[45,70]", "[70,83]", "%1 = tanh(%0)", "%1"),
    "batches": product("f32", "[3,2,20,33]", "[2,33,19]"),
    "large_product": product("f32", "[150,37]", "[37,1400]"),
    "doubles": product("f64", "[20,33]", "[33,19]"),
    "half_product": product("f16", "[45,70]", "[70,83]"),
    "half_tiles": product("f16", "[64,64]", "[64,128]"),
    "half_large": product("f16", "[200,40]", "[40,1300]"),
    "half_batches": product("f16", "[3,20,33]", "[3,33,19]"),
    "bfloat_product": product("bf16", "[45,70]", "[70,83]"),
    "conv": function("x: f32[2,5,9,11]; w: f32[12,5,3,3]; b: f32[12,1,1]", "%0 = conv2d(%x, %w) {pads=[1,1,1,1]}",
                     "%1 = add(%0, %b)", "%2 = relu(%1)", "%2"),
    "strided_conv": function("x: f32[1,3,17,15]; w: f32[16,3,5,5]",
                             "%0 = conv2d(%x, %w) {strides=[2,2], pads=[2,1,2,1]}", "%0"),
    "groups": function("x: f32[1,6,9,9]; w: f32[8,3,3,3]", "%0 = conv2d(%x, %w) {group=2}", "%0"),
    "depthwise": function("x: f32[1,6,9,9]; w: f32[6,1,3,3]", "%0 = conv2d(%x, %w) {group=6}", "%0"),
    "half_conv": function("x: f16[1,20,9,11]; w: f16[24,20,3,3]", "%0 = conv2d(%x, %w) {pads=[1,1,1,1]}", "%0"),
    "pool": function("x: f32[2,3,11,9]", "%0 = max_pool(%x) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}",
                     "%1 = average_pool(%0) {kernel_shape=[2,2]}", "%1"),
    "attention": function("q: f32[2,3,20,16]; k: f32[2,3,24,16]; v: f32[2,3,24,16]",
                          "%0 = transpose(%k) {perm=[0,1,3,2]}", "%1 = matmul(%q, %0)", "%2 = softmax(%1) {axis=3}",
                          "%3 = matmul(%2, %v)", "%3"),
    "attention_f16": attention("f16", 2, 3, 70, 45, 64, 64, "%1 = const(0.125) : f16[]", "%2 = multiply(%0, %1)", "%2"),
    "attention_bf16": attention("bf16", 1, 2, 33, 40, 32, 48, "%0"),
    "attention_mask": attention("f32", 2, 2, 40, 70, 32, 32, "%1 = const(0.25) : f32[]", "%2 = multiply(%0, %1)",
                                "%3 = add(%2, %m)", "%3", mask="f32[2,1,1,70]"),
    "attention_causal": attention("f16", 1, 2, 65, 65, 32, 32, "%1 = const(0.25) : f16[]", "%2 = multiply(%0, %1)",
                                  *CAUSAL, "%5 = where(%4, %2, %3)", "%5"),
    "attention_groups": grouped("f32"),
    "attention_f16_groups": grouped("f16"),
    "attention_128": attention("f32", 1, 2, 33, 36, 128, 128, "%0"),
    "attention_f16_128": attention("f16", 1, 2, 64, 64, 128, 128, "%0"),
    "attention_odd": attention("f16", 1, 1, 20, 19, 40, 24, "%0"),
    "two_results": function("x: f32[8,40]", "%0 = exp(%x)", "%1 = sum(%0) {axes=[1], keepdims=false}", "%0, %1"),
}
