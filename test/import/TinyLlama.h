//===- TinyLlama.h - The smallest Llama as a GGUF file ----------*- C++ -*-===//
//
// One layer, E = 4, H = 2, G = 1, D = 2, F = 3, V = 6, all weights f32: two
// kilobytes that can be imported, any key or tensor of which can be changed.
//
//===----------------------------------------------------------------------===//

#ifndef TFM_TEST_IMPORT_TINYLLAMA_H
#define TFM_TEST_IMPORT_TINYLLAMA_H

#include "test/import/GgufWriter.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::tfm {

class TinyLlama {
public:
  using W = GgufWriter;

  TinyLlama() {
    set("general.architecture", "llama");
    for (auto [name, number] : {std::pair("llama.block_count", 1),
                                std::pair("llama.context_length", 64),
                                std::pair("llama.embedding_length", 4),
                                std::pair("llama.feed_forward_length", 3),
                                std::pair("llama.attention.head_count", 2),
                                std::pair("llama.attention.head_count_kv", 1),
                                std::pair("tokenizer.ggml.bos_token_id", 0),
                                std::pair("tokenizer.ggml.eos_token_id", 1)})
      set(name, number);
    set("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    set("tokenizer.ggml.model", "gpt2");
    set("tokenizer.ggml.pre", "smollm");
    set("tokenizer.ggml.tokens", W::Array,
        W::strings({"<s>", "</s>", "a", "b", "Ġ", "ab"}));
    std::string types = W::array(W::I32, 6);
    for (int type : {3, 3, 1, 1, 1, 1})
      types += W::number<int32_t>(type);
    set("tokenizer.ggml.token_type", W::Array, types);
    set("tokenizer.ggml.merges", W::Array, W::strings({"a b"}));

    tensors["token_embd.weight"] = {{4, 6}};
    tensors["output_norm.weight"] = {{4}};
    for (const char *norm : {"blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"})
      tensors[norm] = {{4}};
    tensors["blk.0.attn_q.weight"] = {{4, 4}};
    tensors["blk.0.attn_k.weight"] = {{4, 2}};
    tensors["blk.0.attn_v.weight"] = {{4, 2}};
    tensors["blk.0.attn_output.weight"] = {{4, 4}};
    tensors["blk.0.ffn_gate.weight"] = {{4, 3}};
    tensors["blk.0.ffn_up.weight"] = {{4, 3}};
    tensors["blk.0.ffn_down.weight"] = {{3, 4}};
  }

  /// Adds or replaces a key with the bytes of its value.
  void set(llvm::StringRef key, uint32_t type, std::string value) {
    keys[key] = {type, std::move(value)};
  }
  void set(llvm::StringRef key, int value) {
    set(key, W::U32, W::number<uint32_t>(value));
  }
  void set(llvm::StringRef key, float value) {
    set(key, W::F32, W::number(value));
  }
  void set(llvm::StringRef key, bool value) {
    set(key, W::Bool, W::number<uint8_t>(value));
  }
  void set(llvm::StringRef key, const char *value) {
    set(key, W::String, W::string(value));
  }
  void unset(llvm::StringRef key) { keys.erase(key); }

  struct Tensor {
    llvm::SmallVector<uint64_t, 2> dims; ///< innermost first
    uint32_t type = 0;                   ///< in the file; 0 is f32
  };
  /// By name. Each has four zero bytes an element, whatever its type.
  llvm::MapVector<llvm::StringRef, Tensor> tensors;

  std::string str() const {
    GgufWriter writer;
    for (const auto &[name, value] : keys)
      writer.key(name, value.first, value.second);
    for (const auto &[name, tensor] : tensors) {
      uint64_t elements = 1;
      for (uint64_t dim : tensor.dims)
        elements *= dim;
      writer.tensor(name, tensor.dims, tensor.type,
                    std::string(elements * 4, '\0'));
    }
    return writer.str();
  }

private:
  llvm::MapVector<llvm::StringRef, std::pair<uint32_t, std::string>> keys;
};

} // namespace mlir::tfm

#endif // TFM_TEST_IMPORT_TINYLLAMA_H
