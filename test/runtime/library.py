"""A compiled model as a library (tfmc --emit=so), through tfm.h.

Logits are given as bytes: what is compared is compared to the bit.
"""

import ctypes
from ctypes import POINTER, byref, c_char_p, c_float, c_int32, c_size_t


class Info(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("architecture", c_char_p),
                ("compiler", c_char_p), ("summary", c_char_p),
                ("isa", c_char_p), ("context", c_int32),
                ("vocabulary", c_int32), ("eos_token", c_int32),
                ("weight_bytes", ctypes.c_uint64)]


class Options(ctypes.Structure):
    _fields_ = [("batch", c_int32), ("context", c_int32), ("threads", c_int32),
                ("prefill_chunk", c_int32)]


class Sampling(ctypes.Structure):
    _fields_ = [("temperature", c_float), ("top_k", c_int32),
                ("top_p", c_float), ("repeat_penalty", c_float),
                ("seed", ctypes.c_uint64)]


class Prompt(ctypes.Structure):
    _fields_ = [("ids", POINTER(c_int32)), ("count", c_size_t)]


class Token(ctypes.Structure):
    _fields_ = [("prompt", c_size_t), ("id", c_int32),
                ("text", POINTER(ctypes.c_char)), ("bytes", c_size_t),
                ("finished", ctypes.c_int), ("stop", ctypes.c_int)]


Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, POINTER(Token))


class Model:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.tfm_error.restype = c_char_p
        for name in "tfm_close", "tfm_get_info", "tfm_session_destroy":
            getattr(self.library, name).restype = None
        self.program = ctypes.c_void_p()
        self.call("tfm_open", byref(self.program))
        self.info = Info()
        self.library.tfm_get_info(self.program, byref(self.info))

    def close(self):
        self.library.tfm_close(self.program)

    def call(self, name, *arguments):
        if getattr(self.library, name)(*arguments) != 0:
            error = self.library.tfm_error().decode()
            raise RuntimeError(f"{name}: {error}")

    def session(self, **options):
        return Session(self, Options(**options))


class Session:
    """To be used as a context."""

    def __init__(self, model, options):
        self.model = model
        self.handle = ctypes.c_void_p()
        model.call("tfm_session_create", model.program, byref(options),
                   byref(self.handle))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.model.library.tfm_session_destroy(self.handle)

    def reset(self, sample):
        self.model.call("tfm_session_reset", self.handle, sample)

    def prefill(self, sample, ids):
        """The logits that follow the last of `ids`."""
        logits = (c_float * self.model.info.vocabulary)()
        self.model.call("tfm_prefill", self.handle, sample, array(ids),
                        c_size_t(len(ids)), logits)
        return bytes(logits)

    def decode(self, ids):
        """The logits of each sample."""
        row = self.model.info.vocabulary
        logits = (c_float * (row * len(ids)))()
        self.model.call("tfm_decode", self.handle, len(ids), array(ids), logits)
        data = bytes(logits)
        return [data[i * 4 * row:(i + 1) * 4 * row] for i in range(len(ids))]

    def score(self, sample, ids):
        """The log-probabilities of the tokens after the first."""
        logprobs = (ctypes.c_double * len(ids))()
        argmax = (c_int32 * len(ids))()
        self.model.call("tfm_score", self.handle, sample, array(ids),
                        c_size_t(len(ids)), logprobs, argmax)
        return list(logprobs)[:-1], list(argmax)

    def generate(self, prompts, max_new_tokens, **sampling):
        """The new ids of each prompt."""
        views = (Prompt * len(prompts))()
        for view, ids in zip(views, prompts):
            view.ids, view.count = array(ids), len(ids)
        results = [[] for _ in prompts]

        def collect(_, token):
            if token.contents.id >= 0:
                results[token.contents.prompt].append(token.contents.id)
            return 0

        self.model.call("tfm_generate", self.handle, views,
                        c_size_t(len(prompts)), max_new_tokens,
                        byref(Sampling(top_p=1, repeat_penalty=1, **sampling)),
                        Callback(collect), None)
        return results


def array(ids):
    return (c_int32 * len(ids))(*ids)
