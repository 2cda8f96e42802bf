"""C text in the few forms that all tables share."""

import json

WIDTH = 110


def header(what):
    return (f"/* {what}\n"
            " *\n"
            " * Made by tools/gen_cupti_tables.py from the headers of CUDA 12.0 to 13.5; don't edit. */\n"
            "/* clang-format off */\n")


def string(text):
    return json.dumps(text)


def wrapped(items, indent="    ", separator=", "):
    """Items, each followed by a separator (default: a comma), as many per line as fit."""
    lines, line = [], indent
    for item in items:
        if len(line) + len(item) + 2 > WIDTH and line != indent:
            lines.append(line.rstrip())
            line = indent
        line += item + separator
    if line != indent:
        lines.append(line.rstrip())
    return "\n".join(lines)


def enum_tables(prefix, names, tables):
    """The struct enum_names of each table of {value: word}. Entry 0 is empty, for values that are not of an enum."""
    out = []
    for i, table in enumerate(tables):
        rows = wrapped(f"{{{value}, {string(word)}}}" for value, word in sorted(table.items()))
        out.append(f"static const struct enum_name {prefix}_{i + 1}[] = {{ /* {names[i]} */\n{rows}\n}};\n")
    rows = ["    {0, 0},"] + [f"    {{{len(table)}, {prefix}_{i + 1}}}," for i, table in enumerate(tables)]
    out.append(f"const struct enum_names {prefix}[] = {{\n" + "\n".join(rows) + "\n};\n")
    return "\n".join(out)
