#!/usr/bin/env python3
"""Writes tokenizers/*.json: small tokenizers and what they make of texts.

Needs the Hugging Face tokenizers library (written with version 0.23.3):

    pip install tokenizers==0.23.3
    python3 make_tokenizers.py

Each file holds a tokenizer.json of the kind that a family of models uses,
trained on a page of text, and texts with their ids, special tokens added, and
with the text that the ids decode to, special tokens skipped. That is null where
bytes decode to no character: programs keep the bytes, the library doesn't.
"""

import json
import os
import random
import unicodedata

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models,
                        normalizers, pre_tokenizers, processors, trainers)

from make_pre_tokenizers import LLAMA3, PROSE, QWEN2, fragments

TEXTS = ["", " ", "  ", "\n", "the", " the ", "a" * 130, "the" * 60,
         "supercalifragilistic", "\x00", "a\x00b\x01c\x7f", "\ufffd",
         "soft\xadhyphen", "zero\u200bwidth\u200djoiner", "\ufeffmark",
         "tab\tand\x0bfeed\x0c", "\x85next\u2028line", "①²½ Ⅷ ﬁ ﬂ ｶﾞ ㎏ ﷺ",
         "ŀ ŉ ǆ ſ ẛ̣", "İSTANBUL ıspanak ΣΊΣΥΦΟΣ ẞ", "``quoted'' text",
         "日本語と中文混在text", "가각힣", "e\u0301e\u0323\u0301",
         "\u0301lead", "👩‍👩‍👧‍👦🇩🇪👍🏽", "don't do not we've I'm it's they're",
         "Hello , world ! How are you ? I 'm fine .", "-- a--b - c---",
         "x▁y ▁ ▁▁z", "12345 6 78-90 3.14", "##ing ing## #", "$1,000.00 €5",
         "ⒶWord Word🄰 Word_ aWord Word. .Word WordWord Word"]
TOKENS = ["<s>", "</s>", "[CLS]", "[SEP]", "[MASK]", "<mask>", "<unk>", "[UNK]",
          "<|end|>", "<|endoftext|>", "<Left>", "<right>", "Word", "<NORM é>",
          "<norm e\u0301>", "<0x0A>", "<0xE2>"]


def texts(seed):
    """The fixed ones, then random sequences of fragments and tokens."""
    yield from TEXTS
    yield from PROSE.splitlines()
    rng = random.Random(seed)
    pieces = fragments()
    for i in range(170):
        parts = rng.choices(pieces, k=rng.randint(1, 7))
        for _ in range(rng.randint(0, 2) if i % 2 else 0):
            parts.insert(rng.randint(0, len(parts)), rng.choice(TOKENS))
        yield "".join(parts)


def train(tokenizer, trainer):
    tokenizer.train_from_iterator(PROSE.splitlines() * 2, trainer)
    return tokenizer


def template(single, tokenizer, names):
    return processors.TemplateProcessing(
        single=single, special_tokens=[(name, tokenizer.token_to_id(name))
                                       for name in names])


def flagged():
    """Added tokens of every flag."""
    return [AddedToken("<Left>", lstrip=True, normalized=False),
            AddedToken("<right>", rstrip=True, normalized=False),
            AddedToken("Word", single_word=True, normalized=False),
            AddedToken("<NORM é>", normalized=True)]


def bert(lowercase=True):
    tokenizer = Tokenizer(models.WordPiece(
        unk_token="[UNK]", max_input_chars_per_word=100 if lowercase else 12))
    tokenizer.normalizer = (
        normalizers.BertNormalizer() if lowercase else
        normalizers.BertNormalizer(clean_text=False, lowercase=False,
                                   handle_chinese_chars=False))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    train(tokenizer, trainers.WordPieceTrainer(
        vocab_size=700, show_progress=False, limit_alphabet=300,
        special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    if lowercase:
        tokenizer.post_processor = template("[CLS] $A [SEP]", tokenizer,
                                            ["[CLS]", "[SEP]"])
    else:
        tokenizer.post_processor = processors.BertProcessing(
            ("[SEP]", tokenizer.token_to_id("[SEP]")),
            ("[CLS]", tokenizer.token_to_id("[CLS]")))
    tokenizer.decoder = decoders.WordPiece(cleanup=lowercase)
    tokenizer.add_tokens(flagged())
    return tokenizer


def byte_level(pre_tokenizer, special, normalizer=None, **options):
    """BPE on the bytes of words."""
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    train(tokenizer, trainers.BpeTrainer(
        vocab_size=700, show_progress=False, special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def split(pattern):
    return pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"),
         pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def gpt2():
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True),
                           ["<|endoftext|>"])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def roberta():
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False),
                           ["<s>", "<pad>", "</s>", "<unk>"],
                           unk_token="<unk>")
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2),
                                                            ("<s>", 0))
    return tokenizer


def llama3():
    tokenizer = byte_level(split(LLAMA3), ["<s>", "<|end|>"],
                           ignore_merges=True)
    tokenizer.post_processor = processors.Sequence(
        [processors.ByteLevel(), template("<s> $A", tokenizer, ["<s>"])])
    return tokenizer


def qwen2():
    tokenizer = byte_level(split(QWEN2), ["<|endoftext|>"], normalizers.NFC())
    tokenizer.add_tokens(flagged())
    return tokenizer


def byte_tokens():
    return [f"<0x{byte:02X}>" for byte in range(256)]


def llama2(metaspace):
    """Pieces of SentencePiece, merged; characters without a piece are bytes."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True,
                                     fuse_unk=True))
    if metaspace:
        space = dict(replacement="▁", prepend_scheme="first", split=True)
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(**space)
    else:
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    train(tokenizer, trainers.BpeTrainer(
        vocab_size=700, show_progress=False, limit_alphabet=150,
        max_token_length=12,
        special_tokens=["<unk>", "<s>", "</s>"] + byte_tokens()))
    # The library takes bytes for special tokens when it trains.
    state = json.loads(tokenizer.to_str())
    state["added_tokens"] = state["added_tokens"][:3]
    for token in state["added_tokens"]:
        token["normalized"] = metaspace and token["id"] == 2
    tokenizer = Tokenizer.from_str(json.dumps(state))
    tokenizer.post_processor = template("<s> $A", tokenizer, ["<s>"])
    if metaspace:
        tokenizer.decoder = decoders.Sequence(
            [decoders.ByteFallback(), decoders.Metaspace(**space)])
    else:
        tokenizer.decoder = decoders.Sequence(
            [decoders.Replace("▁", " "), decoders.ByteFallback(),
             decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return tokenizer


def unigram(byte_fallback):
    tokenizer = Tokenizer(models.Unigram())
    if byte_fallback:
        tokenizer.normalizer = normalizers.NFKC()
    else:
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Replace("``", '"'), normalizers.Replace("''", '"'),
             normalizers.NFKD(), normalizers.StripAccents(),
             normalizers.Lowercase(), normalizers.Strip(),
             normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(
        prepend_scheme="never" if byte_fallback else "always",
        split=not byte_fallback)
    train(tokenizer, trainers.UnigramTrainer(
        vocab_size=600, show_progress=False, unk_token="<unk>",
        special_tokens=["<unk>", "<s>", "</s>"]))
    state = json.loads(tokenizer.to_str())
    model = state["model"]
    # Some characters of the page have no piece.
    model["vocab"] = [[text, score] for text, score in model["vocab"]
                      if len(text) > 1 or ord(text) % 7]
    if byte_fallback:
        known = {text for text, _ in model["vocab"]}
        model["vocab"] += [[text, -20.0] for text in byte_tokens()
                           if text not in known]
        model["byte_fallback"] = True
    tokenizer = Tokenizer.from_str(json.dumps(state))
    tokenizer.post_processor = template("$A </s>", tokenizer, ["</s>"])
    tokenizer.decoder = (
        decoders.Sequence([decoders.ByteFallback(),
                           decoders.Metaspace(prepend_scheme="never")])
        if byte_fallback else decoders.Metaspace())
    return tokenizer


def word_level():
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.Lowercase(),
         normalizers.Strip(left=True, right=False)])
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    train(tokenizer, trainers.WordLevelTrainer(
        vocab_size=300, show_progress=False, special_tokens=["<unk>"]))
    tokenizer.add_tokens(flagged())
    return tokenizer


def pieces():
    """Every way to cut, and pieces that say where in a word they are."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=False,
                                     continuing_subword_prefix="##",
                                     end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split("-", "contiguous"),
         pre_tokenizers.Split(Regex(r"[.,;]+"), "merged_with_next"),
         pre_tokenizers.Split(Regex(r"\w+|[^\w\s]"), "removed", invert=True),
         pre_tokenizers.Punctuation("merged_with_previous"),
         pre_tokenizers.Split(Regex(r"^\d|\d$|(?<=e)t"), "isolated"),
         pre_tokenizers.Digits(individual_digits=False),
         pre_tokenizers.WhitespaceSplit()])
    train(tokenizer, trainers.BpeTrainer(
        vocab_size=700, show_progress=False, special_tokens=["<unk>"],
        limit_alphabet=120, continuing_subword_prefix="##",
        end_of_word_suffix="</w>"))
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("</w>", " "), decoders.Strip("#", 2, 0),
         decoders.Replace(Regex("e +$"), "E "), decoders.Strip(" ", 0, 3)])
    return tokenizer


KINDS = {
    "bert": bert, "bert-cased": lambda: bert(lowercase=False), "gpt2": gpt2,
    "roberta": roberta, "llama2": lambda: llama2(metaspace=False),
    "llama3": llama3, "mistral": lambda: llama2(metaspace=True), "qwen2": qwen2,
    "unigram": lambda: unigram(byte_fallback=False),
    "unigram-bytes": lambda: unigram(byte_fallback=True),
    "word-level": word_level, "pieces": pieces,
}


def without_normalized(tokenizer):
    """The same but for added tokens, which decode to their text as it is:
    version 0.23 decodes those that are looked for in normalized text to that."""
    state = json.loads(tokenizer.to_str())
    for token in state["added_tokens"]:
        token["normalized"] = False
    return Tokenizer.from_str(json.dumps(state))


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                          "tokenizers")
    os.makedirs(folder, exist_ok=True)
    for seed, (name, make) in enumerate(KINDS.items()):
        tokenizer = make()
        decoder = without_normalized(tokenizer)
        cases = []
        for text in dict.fromkeys(texts(seed)):
            # Not every text's characters are in every version of Unicode.
            assert all(unicodedata.category(c) != "Cn" for c in text)
            ids = tokenizer.encode(text).ids
            decoded = decoder.decode(ids)
            cases.append([text, ids,
                          None if "\ufffd" in decoded else decoded])
        with open(os.path.join(folder, name + ".json"), "w") as file:
            json.dump({"tokenizer": json.loads(tokenizer.to_str()),
                       "cases": cases}, file, ensure_ascii=False,
                      separators=(",", ":"))
            file.write("\n")


if __name__ == "__main__":
    main()
