"""Cubins with line tables, and the programs around them, as nvcc -lineinfo makes them, for tests."""

import struct

from otlp_encode import varint, zstd

PROGBITS, SYMTAB, STRTAB, RELA, REL = 1, 2, 3, 4, 9
ELF_KIND, PTX_KIND = 2, 1


def elf(machine, sections):
    """`sections`: (name, type, content, link, info), from number 1 on."""
    sections = [*sections, (".shstrtab", STRTAB, b"\0" + b"".join(name.encode() + b"\0" for name, *_ in sections) + b".shstrtab\0", 0, 0)]
    names = sections[-1][2]
    body, headers = b"", [bytes(64)]
    for name, kind, content, link, info in sections:
        body += bytes(-(64 + len(body)) % 8)
        at = 64 + len(body)
        body += content
        headers.append(struct.pack("<IIQQQQIIQQ", names.index(name.encode() + b"\0"), kind, 0, 0, at, len(content), link, info, 1, 0))
    body += bytes(-(64 + len(body)) % 8)
    ident = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    return ident + struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64, len(headers), len(sections)) + body + b"".join(headers)


def sleb(number):
    out = bytearray()
    while True:
        byte = number & 0x7f
        number >>= 7
        if (number == 0 and not byte & 0x40) or (number == -1 and byte & 0x40):
            return bytes([*out, byte])
        out.append(byte | 0x80)


def lines(functions, version=2):
    """(the section .debug_line, the offsets of the functions' addresses). `functions`: (folder, file, its lines)."""
    folders = list(dict.fromkeys(folder for folder, *_ in functions if folder))
    files = list(dict.fromkeys((folder, file) for folder, file, _ in functions))
    tables = b"".join(folder.encode() + b"\0" for folder in folders) + b"\0"
    for folder, file in files:
        tables += file.encode() + b"\0" + varint(folders.index(folder) + 1 if folder else 0) + varint(7) + varint(8)
    tables += b"\0"
    # Lengths of instructions, is_stmt, the smallest step of lines, the number of steps, the first special opcode.
    head = bytes([1] * (2 if version == 4 else 1) + [1]) + struct.pack("<bBB", -5, 14, 10) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1]) + tables
    program, offsets = b"", []
    for folder, file, numbers in functions:
        offsets.append(4 + 2 + 4 + len(head) + len(program) + 3)
        program += b"\0" + varint(9) + b"\2" + bytes(8)
        program += b"\4" + varint(files.index((folder, file)) + 1)
        last = 1
        for i, number in enumerate(numbers):
            if i == 1 and -5 <= number - last < 9:  # a special opcode
                program += bytes([10 + number - last + 5 + 14])
            else:
                program += b"\3" + sleb(number - last + 200) + b"\3" + sleb(-200) + b"\2" + varint(96) + b"\1"
            last = number
            program += b"\0" + varint(3) + b"\x90\1\2"  # as ptxas says which function is inlined
        program += b"\0\1\1"
    unit = struct.pack("<HI", version, len(head)) + head + program
    return struct.pack("<I", len(unit)) + unit, offsets


def cubin(functions, version=2, kind=RELA):
    """`functions`: (symbol, folder, file, its lines)."""
    names = b"\0" + b"".join(symbol.encode() + b"\0" for symbol, *_ in functions)
    symbols = bytes(24) + b"".join(struct.pack("<IBBHQQ", names.index(b"\0" + symbol.encode() + b"\0") + 1, 0x12, 0, 1, 0, 128) for symbol, *_ in functions)
    section, offsets = lines([function[1:] for function in functions], version)
    relocations = b"".join(struct.pack("<QQ", offset, (i + 1) << 32 | 2) + (bytes(8) if kind == RELA else b"")
                           for i, offset in reversed(list(enumerate(offsets))))
    return elf(190, [(".strtab", STRTAB, names, 0, 0), (".symtab", SYMTAB, symbols, 1, 0), (".debug_line", PROGBITS, section, 0, 0),
                     (".rela.debug_line" if kind == RELA else ".rel.debug_line", kind, relocations, 2, 3)])


def ends(count):
    """`count` functions, whose symbols are the ends of one text."""
    symbols = bytes(24) + b"".join(struct.pack("<IBBHQQ", i + 1, 0x12, 0, 1, 0, 128) for i in range(count))
    section, offsets = lines([("", "k.cu", [5])] * count)
    relocations = b"".join(struct.pack("<QQ", offset, (i + 1) << 32 | 2) for i, offset in enumerate(offsets))
    return elf(190, [(".strtab", STRTAB, b"\0" + b"k" * count + b"\0", 0, 0), (".symtab", SYMTAB, symbols, 1, 0),
                     (".debug_line", PROGBITS, section, 0, 0), (".rel.debug_line", REL, relocations, 2, 3)])


def lz4(content):
    """A block with matches of equal bytes only."""
    out, at = b"", 0

    def length(number):
        return b"" if number < 15 else bytes([255] * ((number - 15) // 255) + [(number - 15) % 255])
    while at < len(content):
        end = at + 1
        while end < len(content) and not content[end - 1:end + 7] == content[end - 1:end] * 8:
            end += 1
        run = end
        while run < len(content) and content[run] == content[end - 1]:
            run += 1
        if len(content) - run < 12 or run - end < 4:
            end = run = len(content)
        match = run - end - 4
        out += bytes([min(end - at, 15) << 4 | (min(match, 15) if run > end else 0)]) + length(end - at) + content[at:end]
        if run > end:
            out += struct.pack("<H", 1) + length(match)
        at = run
    return out


def entry(content, kind=ELF_KIND, packing=None):
    packed = {None: content, "lz4": lz4(content), "zstd": zstd(content)}[packing]
    flags = {None: 0, "lz4": 0x2000, "zstd": 0x8000}[packing] | 0x11
    padded = packed + bytes(-len(packed) % 8)
    return struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 72, len(padded), len(packed) if packing else 0, 0, 8, 1, 90, 64, 4, flags, 0,
                       len(content) if packing else 0) + b"k.cu\0\0\0\0" + padded


def fatbin(*entries):
    content = b"".join(entries)
    return struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(content)) + content


def program(*fatbins):
    """An executable of the host."""
    return elf(62, [(".text", PROGBITS, b"\x90" * 99, 0, 0), (".nv_fatbin", PROGBITS, bytes(8).join(fatbins), 0, 0)])
