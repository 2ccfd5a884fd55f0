#!/usr/bin/env python3
"""Writes a tiny sentence encoder with random weights as a Hugging Face
directory: make_tiny_bert.py [--heads H] [--size E] [--pooling first] DIRECTORY

Standard library only. What is expected of it is worked out in the tests that
use it.
"""

import argparse
import json
import os
import random
import struct

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "dog",
         "chases", "##s", "##ing", "a", "b", "c", ".", ",", "!"]
SPECIAL = 5
LAYERS, POSITIONS, TYPES, LONGEST = 2, 24, 2, 20


def config(heads, size):
    return {
        "architectures": ["BertModel"], "attention_probs_dropout_prob": 0.1,
        "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": size,
        "intermediate_size": 2 * size, "layer_norm_eps": 1e-12,
        "max_position_embeddings": POSITIONS, "model_type": "bert",
        "num_attention_heads": heads, "num_hidden_layers": LAYERS,
        "pad_token_id": 0, "type_vocab_size": TYPES, "use_cache": True,
        "vocab_size": len(WORDS),
    }


def tokenizer():
    def special(token):
        return {"SpecialToken": {"id": token, "type_id": 0}}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [
            {"id": i, "content": word, "special": True, "single_word": False,
             "lstrip": False, "rstrip": False, "normalized": False}
            for i, word in enumerate(WORDS[:SPECIAL])],
        "normalizer": {"type": "BertNormalizer", "clean_text": True,
                       "handle_chinese_chars": True, "strip_accents": None,
                       "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [special("[CLS]"), {"Sequence": {"id": "A",
                                                       "type_id": 0}},
                       special("[SEP]")],
            "pair": [special("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}},
                     special("[SEP]"), {"Sequence": {"id": "B", "type_id": 1}},
                     {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
            "special_tokens": {
                token: {"id": token, "ids": [WORDS.index(token)],
                        "tokens": [token]} for token in ("[CLS]", "[SEP]")}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]",
                  "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100,
                  "vocab": {word: i for i, word in enumerate(WORDS)}},
    }


def shapes(size):
    """Of each tensor, by name."""
    modules = {"embeddings.LayerNorm": [size]}
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}."
        modules.update({
            name + "attention.self.query": [size, size],
            name + "attention.self.key": [size, size],
            name + "attention.self.value": [size, size],
            name + "attention.output.dense": [size, size],
            name + "attention.output.LayerNorm": [size],
            name + "intermediate.dense": [2 * size, size],
            name + "output.dense": [size, 2 * size],
            name + "output.LayerNorm": [size]})
    tensors = {
        "embeddings.word_embeddings.weight": [len(WORDS), size],
        "embeddings.position_embeddings.weight": [POSITIONS, size],
        "embeddings.token_type_embeddings.weight": [TYPES, size]}
    for module, shape in modules.items():
        tensors[module + ".weight"] = shape
        tensors[module + ".bias"] = shape[:1]
    return tensors


def weights(size, numbers):
    """The numbers of each tensor, by name."""
    result = {}
    for name, shape in shapes(size).items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        result[name] = (shape, [numbers.uniform(-0.5, 0.5)
                                for _ in range(count)])
    return result


def safetensors(tensors, dtype="F32"):
    code = {"F32": "f", "F16": "e"}[dtype]
    header, data = {}, b""
    for name, (shape, numbers) in tensors.items():
        begin = len(data)
        data += struct.pack(f"<{len(numbers)}{code}", *numbers)
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def write(directory, heads=2, size=16, pooling="mean", seed=1):
    os.makedirs(os.path.join(directory, "1_Pooling"), exist_ok=True)

    def put(name, value):
        with open(os.path.join(directory, name), "w",
                  encoding="utf-8") as file:
            json.dump(value, file, indent=1)
    put("config.json", config(heads, size))
    put("tokenizer.json", tokenizer())
    kind = "sentence_transformers.models."
    put("modules.json", [
        {"idx": 0, "name": "0", "path": "", "type": kind + "Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": kind + "Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize",
         "type": kind + "Normalize"}])
    put("sentence_bert_config.json",
        {"max_seq_length": LONGEST, "do_lower_case": False})
    put("1_Pooling/config.json", {
        "word_embedding_dimension": size,
        "pooling_mode_cls_token": pooling == "first",
        "pooling_mode_mean_tokens": pooling == "mean",
        "pooling_mode_max_tokens": False,
        "pooling_mode_mean_sqrt_len_tokens": False})
    with open(os.path.join(directory, "model.safetensors"), "wb") as file:
        file.write(safetensors(weights(size, random.Random(seed))))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--size", type=int, default=16)
    parser.add_argument("--pooling", choices=["mean", "first"], default="mean")
    arguments = parser.parse_args()
    write(arguments.directory, arguments.heads, arguments.size,
          arguments.pooling)
