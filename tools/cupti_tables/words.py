"""Names: from NVIDIA's many styles to one."""

import re


def split(name):
    """The words of CU_MEMORYTYPE_HOST, cudaMemcpyHostToDevice, registersPerThread, isMIGEnabled, ..."""
    parts = []
    for part in name.split("_"):
        if part.isupper() or part.isdigit() or re.fullmatch(r"[A-Z0-9]+", part):
            parts.append(part)
        else:
            parts += re.findall(r"[A-Z]+\d*(?![a-z])|[A-Z]?[a-z]+\d*|\d+[A-Z]?", part)
    return [part for part in parts if part]


def snake(name):
    return "_".join(word.lower() for word in split(name))


def camel(words):
    return "".join(w.capitalize() if w.isupper() and len(w) > 1 else w[0].upper() + w[1:] for w in words)


def _kept(values):
    """The values that have a meaning: without the end marks of an enum."""
    out = [(name, value) for name, value in values
           if -(1 << 31) <= value < 0x7fffffff and not re.search(r"FORCE_INT|_NUM_|(Reserved|RESERVED)\d*$", name)]
    cupti = out and out[0][0].startswith("CUPTI_")
    if len(out) > 1 and re.search(r"(_MAX|_COUNT|_SIZE|_NUM)$" if cupti else r"(_MAX|_COUNT|Max|Count)$", out[-1][0]):
        out.pop()
    return out


def enum_words(values, style):
    """{value: word} of an enum's (name, value) pairs, without the words that all names start with."""
    lists = [split(name) for name, value in values if value < 0x7fffffff]
    common = 0
    while len(lists) > 1 and all(len(w) > common + 1 and w[common] == lists[0][common] for w in lists):
        common += 1
    out = {}
    for name, value in _kept(values):
        own = split(name)
        first = common if len(lists) > 1 else max(0, len(own) - 2)
        if own[first][0].isdigit() and first:
            first -= 1
        out.setdefault(value, style(own[first:]))
    return out


def lower(words):
    return "_".join(word.lower() for word in words)


def merge(newest_first, style):
    """One {value: word} of an enum that several versions have. The newest name of a value is used."""
    out = {}
    for values in newest_first:
        for value, word in enum_words(values, style).items():
            out.setdefault(value, word)
    return out
