#!/usr/bin/env python3
"""Writes pre_tokenizers.json: token ids by the Hugging Face tokenizers library.

    python3 -m venv venv && venv/bin/pip install tokenizers==0.23.3
    venv/bin/python test/data/make_pre_tokenizers.py > test/data/pre_tokenizers.json

One small byte-level BPE vocabulary, trained on the texts below, serves all
pre-tokenizers. Its last tokens are words that merges do not make, so that it
shows which tokenizers keep a word that is a token whole. The "incomplete" cases
lack the tokens of some bytes.
"""

import json
import random
import sys
import unicodedata

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models,
                        normalizers, pre_tokenizers, trainers)

VOCABULARY = 1200
CONTROL = ["<|begin|>", "<|end|>", "<|end|>>"]
USER_DEFINED = ["<user é>"]

# The bytes that SmolLM2's vocabulary has no tokens for, and some that it has.
MISSING = [0x04, 0x06, 0x13, 0x14, 0x16, 0x1d, 0xc0, 0xc1, 0xf1, 0xf2,
           *range(0xf5, 0x100), 0x09, 0x0d, 0x82, 0xc3]
INCOMPLETE = ["\x04", "a\x04", "\x04a", "t\x04he", "th\x13\x14e", " \x06the",
              "  \x1d", "1\x042", "a\tb", "\t\tthe", "x\r\ny", "\r\n\r\n",
              "é", "thé", "/\x04/", "Ü\x16ber", "€5", "あ", "the\x04<|end|>\x06the"]

# As in the tokenizer.json of each model's release.
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
GPT2 = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)


def split(pattern):
    return pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), BYTES])


# By GGUF's name: the pre-tokenizer, the normalizer, and whether a word that is
# a token ignores the merges.
KINDS = {
    "smollm": (pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), GPT2]), None, False),
    "gpt-2": (GPT2, None, False),
    "llama-bpe": (split(LLAMA3), None, True),
    "qwen2": (split(QWEN2), normalizers.NFC(), False),
}

PROSE = """\
The compiler reads a model, and it shows what it does; that's all there is.
Don't you see? We'll go, they've gone, I'm here, you're late, she'd said so.
DON'T SHOUT: WE'LL HEAR, THEY'VE LEFT, I'M DEAF, YOU'RE LOUD, IT'S FINE.
In 1984 there were 365 days, 12 months and 31,536,000 seconds; pi is 3.14159.
Die Übersetzung heißt „schön“, und der Fluß fließt größer als zuvor.
L'été où j'étais élève, le garçon a reçu un œuf et ça m'a plu.
El niño comió piñas mañana; ¿quién lo sabía? ¡Nadie!
Zażółć gęślą jaźń. Příliš žluťoučký kůň úpěl ďábelské ódy.
Съешь же ещё этих мягких французских булок, да выпей чаю.
Ο γρήγορος σκύλος πηδά πάνω από τον τεμπέλη, έτσι λένε.
كان يا ما كان في قديم الزمان ٣ أصدقاء و ١٢ بيتا.
בראשית היה הדבר, והדבר היה בתוך 7 ימים.
नमस्ते दुनिया, यह १२३ परीक्षण है और बहुत अच्छा है।
ภาษาไทยไม่มีช่องว่างระหว่างคำ ๔๕๖
今天天气很好，我们去公园散步吧。一共有２３个人。
吾輩は猫である。名前はまだ無い。カタカナもあります。
안녕하세요 세계, 오늘은 날씨가 좋습니다.
Tiếng Việt có nhiều dấu thanh: ế, ữ, ợ, ậ, ỡ.
👍🏽 👩‍👩‍👧‍👦 🇩🇪 🏳️‍🌈 ☃️ ♥ → ∑ √2 ≤ ½ ² Ⅷ ①
def main(argv):\n    for i, x in enumerate(argv):\n\t\treturn {"a": [i, x]}
int *p = &a[10]; if (p != NULL && *p >= 0x1F) { p->next++; } // comment\r\n
<div class="x">&nbsp;</div> https://example.org/path?q=1&r=%20#top a_b-c.d@e.f
"""

FRAGMENTS = """\
a|b|the| the|The| THE|ing|x1|1x|1|12|123|1234|12345| 1| 12| 1234|3.14|1,000|
٣|٤٥|१२|２|½|²|Ⅷ|①|é|e\u0301|E\u0301|a\u0308\u0323|a\u0323\u0308|\u0301|
q\u0307\u0323|\u1100\u1161\u11a8|각|\u212b|\u2126|ﬁ|ẞ|ß|ſ|İ|ı|ё|е\u0308|й|
और|हिन्दी|ไทย|日本|ｶﾞ|が|か\u3099|한국|👍🏽|👩‍👩‍👧|🇩🇪|☃️|\u200d|\u200b|\ufeff|
's|'S|'t|'T|'re|'RE|'Re|'ve|'VE|'m|'M|'ll|'LL|'lL|'d|'D|'ſ|’s|'x|'|''|don't|
DON'T|it's|IT'S| 's| 'S|!|?|...|--|_|a_b|(|)|[]|{}|#|$|€|+|=|/*|//|\\|"|.|,|;|
!\n|.\r\n|.\n\n|}\n| !| ?| (|<|>|<|end|end|>|\x00|\x01|\x7f|\xad| |  |   |    |
        |\t|\t\t| \t|\t |\n|\n\n|\r\n|\r|\r\r| \n|\n | \r\n |\x0b|\x0c|\x85|\xa0|
 \xa0|\u1680|\u180e|\u2002|\u2003 |\u2028|\u2029|\u202f|\u3000|\x1c|\x1f|
"""


def fragments():
    """Pieces of text, and the separators of the list themselves."""
    pieces = [piece for line in FRAGMENTS.split("|\n")
              for piece in line.split("|")]
    return [piece for piece in pieces if piece] + ["|"]


def texts():
    """Whole lines, then random sequences of fragments and special tokens."""
    yield ""
    yield PROSE
    yield from PROSE.splitlines(keepends=True)
    pieces = fragments()
    yield from pieces
    rng = random.Random(1)
    for _ in range(240):
        count = rng.randint(2, 9)
        yield "".join(rng.choice(pieces) for _ in range(count))
    specials = CONTROL + USER_DEFINED + ["<user e\u0301>"]
    for _ in range(60):
        parts = rng.choices(pieces, k=rng.randint(0, 4))
        for _ in range(rng.randint(1, 3)):
            parts.insert(rng.randint(0, len(parts)), rng.choice(specials))
        yield "".join(parts)


def train():
    """A vocabulary by id and its merges, lowest rank first."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = split(LLAMA3)
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, show_progress=False, min_frequency=1,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(PROSE.splitlines(keepends=True) * 2, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    return tokens, [tuple(merge) for merge in model["merges"]]


def unreachable(tokens):
    """Words that are no tokens yet, as the vocabulary spells them."""
    words = ["Don", "don", " months", "1984", "123", "12345", "१२", "!\n", "()",
             "  ", "   ", "\n\n", "\r\n", "Übersetzung", "日本", "👍🏽", "é",
             "e\u0301", "'LL", " 1", " wörd"]
    spelled = ["".join(piece for piece, _ in BYTES.pre_tokenize_str(word))
               for word in words]
    return [word for word in spelled if word not in tokens]


def letter(byte):
    """How the vocabulary spells a byte."""
    printable = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    others = [other for other in range(0x100) if other not in printable]
    return chr(byte if byte in printable else 0x100 + others.index(byte))


def make(tokens, merges, kind):
    pre_tokenizer, normalizer, ignore_merges = KINDS[kind]
    vocabulary = {token: id for id, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges,
                                     ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [AddedToken(text, special=True, normalized=False) for text in CONTROL])
    tokenizer.add_tokens(
        [AddedToken(text, normalized=False) for text in USER_DEFINED])
    return tokenizer


def encode(tokenizers, text):
    # Not every text's characters are in every version of Unicode.
    assert all(unicodedata.category(c) != "Cn" for c in text)
    return {kind: tokenizer.encode(text, add_special_tokens=False).ids
            for kind, tokenizer in tokenizers.items()}


def main():
    tokens, merges = train()
    tokens += unreachable(tokens)
    tokenizers = {kind: make(tokens, merges, kind) for kind in KINDS}
    cases = []
    for text in dict.fromkeys(texts()):
        ids = encode(tokenizers, text)
        decoded = {kind: tokenizer.decode(ids[kind], skip_special_tokens=True)
                   for kind, tokenizer in tokenizers.items()}
        cases.append({"text": text, "ids": ids, "decoded": {
            kind: back for kind, back in decoded.items() if back != text}})

    missing = [letter(byte) for byte in MISSING]
    tokenizers = {
        kind: make([token for token in tokens if token not in missing],
                   [merge for merge in merges if not {*merge} & {*missing}],
                   kind) for kind in KINDS}
    incomplete = [{"text": text, "ids": encode(tokenizers, text)}
                  for text in INCOMPLETE]
    json.dump({"tokens": tokens, "control": CONTROL,
               "user_defined": USER_DEFINED, "merges": merges, "cases": cases,
               "missing": missing, "incomplete": incomplete},
              sys.stdout, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
