//===- fuzz-seeds.cpp - Files for the fuzzers to start from ---------------===//
//
// fuzz-seeds FOLDER writes small GGUF files: models that can be imported, each
// followed by a prompt, and one with a value of every kind.
//
//===----------------------------------------------------------------------===//

#include "test/import/TinyLlama.h"

#include "llvm/Support/Path.h"

using namespace mlir::tfm;
using W = GgufWriter;

static std::string everyKind() {
  GgufWriter writer;
  writer.key("i8", W::I8, W::number<int8_t>(-1));
  writer.key("u16", W::U16, W::number<uint16_t>(1));
  writer.key("i16", W::I16, W::number<int16_t>(-1));
  writer.key("u64", W::U64, W::number<uint64_t>(1));
  writer.key("i64", W::I64, W::number<int64_t>(-1));
  writer.key("f64", W::F64, W::number(1.5));
  writer.key("nested", W::Array,
             W::array(W::Array, 2) + W::strings({"x"}) + W::array(W::Bool, 1) +
                 W::number<uint8_t>(1));
  writer.key("general.alignment", W::U32, W::number<uint32_t>(32));
  writer.tensor("f16", {3, 2}, 1, std::string(12, 'x'));
  writer.tensor("q4_1", {32, 3}, 3, std::string(60, 'x'));
  return writer.str();
}

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: fuzz-seeds FOLDER\n";
    return 2;
  }
  constexpr llvm::StringLiteral prompt =
      "ab  ba<s>b\r\n\n12345 b's DON'T e\u0301 \uAC01 \u3042 \U0001F44D\u200D "
      "\xFF";
  std::vector<std::string> files = {everyKind(),
                                    TinyLlama().str() + prompt.str()};
  for (const char *pre : {"gpt-2", "llama-bpe", "qwen2"}) {
    TinyLlama model;
    model.set("tokenizer.ggml.pre", pre);
    model.set("tokenizer.ggml.add_bos_token", true);
    model.set("tokenizer.chat_template", "{{ messages }}");
    model.set("llama.rope.freq_base", 1e4f);
    model.set("llama.rope.dimension_count", 2);
    model.set("llama.rope.scaling.type", "none");
    model.tensors["output.weight"] = {{4, 6}};
    files.push_back(model.str() + prompt.str());
  }
  for (size_t i = 0; i != files.size(); ++i) {
    llvm::SmallString<128> path(argv[1]);
    llvm::sys::path::append(path, "seed" + std::to_string(i) + ".gguf");
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << files[i];
    if (error) {
      llvm::errs() << path << ": " << error.message() << '\n';
      return 1;
    }
  }
  return 0;
}
