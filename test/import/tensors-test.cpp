//===- tensors-test.cpp - Every tensor is used or refused -----------------===//

#include "test/import/Importer.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::tfm;
using W = GgufWriter;

namespace {
using Tensor = TinyLlama::Tensor;

/// A tensor that is added or replaced, and what the message says of it.
struct RefusedTensor {
  const char *name;
  Tensor tensor;
  std::string message;
};

const std::string kMatrix = "expects elements of f32, f16, bf16, q4_0, q4_1 or "
                            "q8_0, but got ";
const std::string kVector = "expects elements of f32, f16 or bf16, but got ";
const char *const kUnknown =
    "expects no such tensor in a \"llama\" model, since "
    "it is not supported";

const RefusedTensor kRefused[] = {
    {"blk.0.ffn_gate.weight", {{4, 2}}, "expects shape 3x4, but got 2x4"},
    {"blk.0.ffn_gate.weight", {{3, 4}}, "expects shape 3x4, but got 4x3"},
    {"blk.0.ffn_gate.weight", {{12}}, "expects shape 3x4, but got 12"},
    {"blk.0.ffn_gate.weight", {{4, 3, 1}}, "expects shape 3x4, but got 1x3x4"},
    {"blk.0.attn_k.weight", {{4, 4}}, "expects shape 2x4, but got 4x4"},
    {"token_embd.weight", {{4, 7}}, "expects shape 6x4, but got 7x4"},
    {"output.weight", {{4, 5}}, "expects shape 6x4, but got 5x4"},
    {"output_norm.weight", {{6}}, "expects shape 4, but got 6"},
    {"blk.0.attn_q.weight", {{4, 4}, 25}, kMatrix + "i16"},
    {"blk.0.attn_q.weight", {{4, 4}, 99}, kMatrix + "type 99"},
    {"blk.0.attn_norm.weight", {{4}, 26}, kVector + "i32"},
    {"blk.0.attn_q.bias", {{4}}, kUnknown},
    {"blk.0.attn_q_norm.weight", {{2}}, kUnknown},
    {"blk.0.ffn_gate_inp.weight", {{4, 8}}, kUnknown},
    {"blk.1.attn_q.weight", {{4, 4}}, kUnknown},
    {"output_norm.bias", {{4}}, kUnknown},
    {"rope_freqs.weight", {{1}}, kUnknown},
};

/// The start of a message about a tensor that a file has.
std::string placeOf(StringRef name, StringRef bytes) {
  return "file: error: offset " + std::to_string(bytes.find(W::string(name))) +
         ": tensor \"" + name.str() + "\": ";
}
} // namespace

TEST(Tensors, RefusedOnesAreNamed) {
  for (const auto &[name, tensor, message] : kRefused) {
    SCOPED_TRACE(name);
    TinyLlama file;
    file.tensors[name] = tensor;
    Importer importer(file);
    EXPECT_FALSE(importer.module);
    EXPECT_EQ(importer.messages, placeOf(name, file.str()) + message + "\n");
  }
}

TEST(Tensors, NoneMayBeMissing) {
  for (const auto &[name, tensor] : TinyLlama().tensors) {
    TinyLlama file;
    file.tensors.erase(name);
    std::string shape;
    for (uint64_t dim : llvm::reverse(tensor.dims))
      shape += (shape.empty() ? "" : "x") + std::to_string(dim);
    EXPECT_EQ(Importer(file).messages, "file: error: tensor \"" + name.str() +
                                           "\": expects a tensor of shape " +
                                           shape +
                                           ", but got no such tensor\n");
  }
}

TEST(Tensors, KeysAndShapesMustAgree) {
  TinyLlama file;
  file.set("llama.feed_forward_length", 5);
  EXPECT_EQ(Importer(file).messages,
            placeOf("blk.0.ffn_gate.weight", file.str()) +
                "expects shape 5x4, but got 3x4\n");
}
