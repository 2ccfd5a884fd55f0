#!/usr/bin/env python3
"""Writes a tiny Llama with random weights as a GGUF file.

Two layers, H = 4, G = 2, D = 16, E = 64, F = 96, V = 320, byte-level BPE with
three control tokens, the 256 bytes and 61 merges. The same options give the
same file, byte for byte. `--help` lists what can be chosen, or got wrong.
"""

import argparse
import random
import struct

LAYERS, F, V = 2, 96, 320
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

# ggml's numbers of tensor types, and GGUF's of value types.
TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q8_0": 8, "bf16": 30}
U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def strings(texts):
    head = struct.pack("<IQ", STRING, len(texts))
    return head + b"".join(map(string, texts))


def value(text):
    """The type and bytes of a value: 5, 0.5, true or a string."""
    if text in ("true", "false"):
        return BOOL, struct.pack("<B", text == "true")
    try:
        return U32, struct.pack("<I", int(text))
    except (ValueError, struct.error):
        pass
    try:
        return F32, struct.pack("<f", float(text))
    except ValueError:
        return STRING, string(text)


def half(x):
    return struct.pack("<e", x)


def rounded_half(x):
    return struct.unpack("<e", half(x))[0]


def encode_block(block, kind):
    """32 numbers, each rounded to the nearest that the block can say."""
    if kind == "q8_0":
        d = max(map(abs, block)) / 127
        scale = rounded_half(d)
        quants = [round(x / scale) if scale else 0 for x in block]
        return half(d) + struct.pack("<32b", *(max(-128, min(127, q))
                                               for q in quants))
    if kind == "q4_0":
        d, m = max(block, key=abs) / -8, 0.0
        head, zero = half(d), 8
    else:
        d, m = (max(block) - min(block)) / 15, min(block)
        head, zero = half(d) + half(m), 0
    scale = rounded_half(d)
    quants = [round((x - m) / scale) + zero if scale else zero for x in block]
    quants = [max(0, min(15, q)) for q in quants]
    return head + bytes(quants[i] | quants[i + 16] << 4 for i in range(16))


def encode(numbers, kind):
    if kind == "f32":
        return struct.pack("<%df" % len(numbers), *numbers)
    if kind == "f16":
        return struct.pack("<%de" % len(numbers), *numbers)
    if kind == "bf16":
        words = struct.unpack("<%dI" % len(numbers), encode(numbers, "f32"))
        return struct.pack("<%dH" % len(words),
                           *((w + 0x7fff + (w >> 16 & 1)) >> 16 for w in words))
    return b"".join(encode_block(numbers[i:i + 32], kind)
                    for i in range(0, len(numbers), 32))


def byte_letters():
    """How GPT-2 writes the 256 bytes as printable letters, by byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = (chr(256 + i) for i in range(256))
    return [chr(b) if b in printable else next(others) for b in range(256)]


def vocabulary():
    """Tokens and merges: pairs of common letters, with and without space."""
    tokens = CONTROL + byte_letters()
    merges = [left + " " + right for left in "Ġtaehn"
              for right in "thaeionsrdlc" if left != right]
    merges = merges[:V - len(tokens) - 2] + ["th e", "Ġ the"]
    return tokens + [merge.replace(" ", "") for merge in merges], merges


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--version", type=int, default=3, help="of GGUF")
    parser.add_argument("--type", choices=TYPES, default="q4_1",
                        help="of matrices (default: %(default)s)")
    parser.add_argument("--embedding-type", choices=TYPES, default="q8_0",
                        help="of token_embd (default: %(default)s)")
    parser.add_argument("--heads", type=int, nargs=3, default=(4, 2, 16),
                        metavar=("H", "G", "D"), help="number of query and of "
                        "key heads, and their size; E = H * D")
    parser.add_argument("--untied", action="store_true",
                        help="add an output matrix of its own")
    parser.add_argument("--set", action="append", default=[],
                        metavar="KEY=VALUE", help="add or replace a key")
    parser.add_argument("--unset", action="append", default=[], metavar="KEY",
                        help="leave out a key")
    parser.add_argument("--add-tensor", action="append", default=[],
                        metavar="NAME", help="add an f32 vector of 64 elements")
    parser.add_argument("--drop-tensor", action="append", default=[],
                        metavar="NAME", help="leave out a tensor")
    parser.add_argument("--relabel-tensor", action="append", default=[],
                        metavar="NAME=N", help="claim that a tensor's type is "
                        "ggml's number N, whatever its bytes are")
    args = parser.parse_args()

    H, G, D = args.heads
    E = H * D
    tokens, merges = vocabulary()
    assert len(tokens) == V
    kinds = [3] * len(CONTROL) + [1] * (V - len(CONTROL))
    keys = {
        "general.architecture": value("llama"),
        "general.name": value("Tiny Llama"),
        "llama.block_count": value(str(LAYERS)),
        "llama.context_length": value("256"),
        "llama.embedding_length": value(str(E)),
        "llama.feed_forward_length": value(str(F)),
        "llama.attention.head_count": value(str(H)),
        "llama.attention.head_count_kv": value(str(G)),
        "llama.rope.freq_base": value("10000.0"),
        "llama.rope.dimension_count": value(str(D)),
        "llama.attention.layer_norm_rms_epsilon": value("1e-5"),
        "llama.vocab_size": value(str(V)),
        "tokenizer.ggml.model": value("gpt2"),
        "tokenizer.ggml.pre": value("smollm"),
        "tokenizer.ggml.tokens": (ARRAY, strings(tokens)),
        "tokenizer.ggml.token_type":
            (ARRAY, struct.pack("<IQ%di" % V, I32, V, *kinds)),
        "tokenizer.ggml.merges": (ARRAY, strings(merges)),
        "tokenizer.ggml.bos_token_id": value("1"),
        "tokenizer.ggml.eos_token_id": value("2"),
        "tokenizer.ggml.add_bos_token": value("false"),
        "tokenizer.chat_template": value(
            "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
            "{{ m['content'] }}<|im_end|>\n{% endfor %}"),
    }
    for setting in args.set:
        key, _, text = setting.partition("=")
        keys[key] = value(text)
    for key in args.unset:
        del keys[key]

    # Dimensions are innermost first. The spread keeps activations near 1.
    shapes = [("token_embd", (E, V), args.embedding_type)]
    for layer in range(LAYERS):
        shapes += [("blk.%d.%s" % (layer, name), dims, args.type)
                   for name, dims in [("attn_norm", (E,)),
                                      ("attn_q", (E, H * D)),
                                      ("attn_k", (E, G * D)),
                                      ("attn_v", (E, G * D)),
                                      ("attn_output", (H * D, E)),
                                      ("ffn_norm", (E,)),
                                      ("ffn_gate", (E, F)),
                                      ("ffn_up", (E, F)),
                                      ("ffn_down", (F, E))]]
    shapes.append(("output_norm", (E,), args.type))
    if args.untied:
        shapes.append(("output", (E, V), args.type))

    rng = random.Random(args.seed)
    tensors = {}
    for name, dims, kind in shapes:
        if len(dims) == 1:
            numbers = [rng.uniform(0.5, 1.5) for _ in range(dims[0])]
            kind = "f32"
        else:
            numbers = [rng.gauss(0, dims[0] ** -0.5)
                       for _ in range(dims[0] * dims[1])]
        tensors[name + ".weight"] = dims, TYPES[kind], encode(numbers, kind)
    for name in args.add_tensor:
        tensors[name] = (64,), TYPES["f32"], encode([1.0] * 64, "f32")
    for name in args.drop_tensor:
        del tensors[name]
    for label in args.relabel_tensor:
        name, _, kind = label.partition("=")
        dims, _, data = tensors[name]
        tensors[name] = dims, int(kind), data

    head = b"GGUF" + struct.pack("<IQQ", args.version, len(tensors), len(keys))
    for key, (kind, data) in keys.items():
        head += string(key) + struct.pack("<I", kind) + data
    body = b""
    for name, (dims, kind, data) in tensors.items():
        body += bytes(-len(body) % 32)
        rank = len(dims)
        head += string(name) + struct.pack("<I%dQ" % rank, rank, *dims)
        head += struct.pack("<IQ", kind, len(body))
        body += data
    with open(args.output, "wb") as file:
        file.write(head + bytes(-len(head) % 32) + body)


if __name__ == "__main__":
    main()
