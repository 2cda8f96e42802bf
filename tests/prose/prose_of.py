#!/usr/bin/env python3
"""Copies files to a folder, keeping only what a person reads: comments, strings, and the text of Markdown.

    prose_of.py FOLDER FILE...

Everything else becomes spaces, so lines and columns stay. A chunk starts with a period where it is not preceded by
text of the same sentence. FOLDER gets FILE.txt for each FILE."""

import io
import re
import sys
import tokenize
from pathlib import Path

# A string is prose if it has three words in a row.
PROSE = re.compile(r"[A-Za-z',]+ [A-Za-z']+,? [A-Za-z']+")
C_TOKEN = re.compile(r"""(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<string>"(?:\\.|[^"\\\n])*")|'(?:\\.|[^'\\\n])+'""", re.S)
SHELL_COMMENT = re.compile(r"(?:^|(?<=\s))#+[ !].*")
SHELL_MESSAGE = re.compile(r"\b(?:say|fail|note|echo|step|run_part [\w-]+) (\"(?:\\.|[^\"\\])*\"|'[^']*')")
ESCAPE = re.compile(r"\\[nrt\"'\\]")


def blank(text):
    return re.sub(r"[^\n]", " ", text)


class Copy:
    """A text whose characters are blank until they are kept."""

    def __init__(self, text):
        self.text = text
        self.kept = list(blank(text))

    def keep(self, start, end, hide=r"(?!)"):
        """Keeps text[start:end], less what matches hide, `code` and escapes of strings."""
        part = self.text[start:end]
        for pattern in (hide, r"`[^`\n]*`"):
            part = re.sub(pattern, lambda found: blank(found[0]), part, flags=re.M)
        self.kept[start:end] = ESCAPE.sub("  ", part)

    def stop(self, at):
        """Ends the sentence before this position."""
        if self.kept[at] == " ":
            self.kept[at] = "."

    def result(self):
        return "".join(self.kept)


def of_c(text, with_strings):
    copy, string_end, comment_end = Copy(text), -1, -1
    for token in C_TOKEN.finditer(text):
        start, end = token.span()
        if token["comment"]:
            copy.keep(start + 2, end - 2 if token[0].startswith("/*") else end, r"^\s*\*+ |^\W+$")
            # Lines of // below each other are one text.
            if not (token[0].startswith("//") and text[comment_end:start].strip() == "" and comment_end > 0
                    and text.count("\n", comment_end, start) == 1):
                copy.stop(start)
            comment_end = end
        elif token["string"] and with_strings:
            follows = string_end > 0 and text[string_end:start].strip() == ""
            if PROSE.search(token[0]) or follows:
                copy.keep(start + 1, end - 1)
                if not follows:
                    copy.stop(start)
            string_end = end
    return copy.result()


def of_python(text, with_strings):
    copy = Copy(text)
    starts = [0]
    for line in text.splitlines(True):
        starts.append(starts[-1] + len(line))
    at = lambda place: starts[place[0] - 1] + place[1]
    fresh, comment_line = True, -1
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        start, end = at(token.start), at(token.end)
        if token.type == tokenize.COMMENT:
            copy.keep(start, end, r"^#+!?|-{3,}")
            if token.start[0] != comment_line + 1:
                copy.stop(start)
            comment_line = token.start[0]
        elif token.type == tokenize.STRING and (fresh or with_strings) and PROSE.search(token.string):
            quotes = re.match(r"\w*(\"{3}|'{3}|.)", token.string)
            copy.keep(start + quotes.end(), end - len(quotes[1]))
            copy.stop(start)
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            fresh = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)  # then a string is a docstring
    return copy.result()


def of_shell(text, with_strings):
    copy, last = Copy(text), -1
    offset = 0
    for number, line in enumerate(text.splitlines(True)):
        comment = SHELL_COMMENT.search(line.rstrip("\n"))
        if comment:
            copy.keep(offset + comment.start(), offset + comment.end(), r"^#+!?|-{3,}")
            if number != last + 1:
                copy.stop(offset + comment.start())
            last = number
        offset += len(line)
    for found in SHELL_MESSAGE.finditer(text) if with_strings else ():
        if PROSE.search(found[1]):
            copy.keep(found.start(1) + 1, found.end(1) - 1)
            copy.stop(found.start(1))
    return copy.result()


MARKDOWN_HIDDEN = (
    r"^( *)(```+)[^`]*?^\1\2$",  # code
    r"<!--(?:.|\n)*?-->",
    r"`[^`]*`",
    r"(?<=\])\([^)\s]*\)",  # where links lead
    r"</?[a-z][^>\n]*>",
    r"\*\*|(?<!\w)[*_](?=\w)",
)


def of_markdown(text, _with_strings):
    for pattern in MARKDOWN_HIDDEN:
        text = re.sub(pattern, lambda found: blank(found[0]), text, flags=re.M)
    # An item, a heading and a cell of a table are texts of their own.
    text = re.sub(r"^( *)([-*+>]|\d+\.|#+)(?= )", lambda found: found[1] + "." + " " * (len(found[2]) - 1), text, flags=re.M)
    return re.sub(r"^\|.*$", lambda found: found[0].replace("|", "."), text, flags=re.M)


def of_text(text, _with_strings):
    return text


KINDS = {".c": of_c, ".h": of_c, ".cu": of_c, ".cc": of_c, ".cpp": of_c, ".py": of_python, ".md": of_markdown,
         ".txt": of_text}


def prose_of(path, text):
    kind = KINDS.get(path.suffix)
    if path.name.endswith(".md.in"):
        kind = of_markdown
    elif path.name == "CMakeLists.txt":
        kind = of_shell
    # The strings of tests are mostly data.
    return (kind or of_shell)(text, "tests" not in path.parts)


def main():
    folder = Path(sys.argv[1])
    for name in sys.argv[2:]:
        path = Path(name)
        copy = folder / f"{name.lstrip('/')}.txt"
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(prose_of(path, path.read_text(encoding="utf-8", errors="replace")), encoding="utf-8")


if __name__ == "__main__":
    main()
