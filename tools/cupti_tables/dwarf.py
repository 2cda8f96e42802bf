"""Types in the compiler's layout: reads the debug information that gcc writes for CUDA's headers.

readelf prints it as text, which is the same on every architecture. Only the parts that the tables need are kept."""

import re
import subprocess

_HEAD = re.compile(r" <([0-9a-f]+)><([0-9a-f]+)>: Abbrev Number: \d+ \(DW_TAG_(\w+)\)")
_ATTR = re.compile(r"    <[0-9a-f]+>   DW_AT_(\w+)\s*: (.*)$")
_NUMBERS = {"byte_size", "data_member_location", "const_value", "upper_bound", "bit_size", "encoding"}
_TRANSPARENT = {"typedef", "const_type", "volatile_type"}


class Type:
    """A type without its qualifiers. `kind`: int, uint, bool, real, enum, pointer, struct, union, array, function, void.
    `name` is the outermost typedef's or else the tag's, `tag` that of the struct or enum itself."""

    def __init__(self, kind, size=0, name="", tag="", const=False, die=None):
        self.kind, self.size, self.name, self.tag, self.const, self.die = kind, size, name, tag, const, die


class Types:
    def __init__(self, object_file, readelf="readelf"):
        self._dies = {}
        self._named = {}
        text = subprocess.run([readelf, "--debug-dump=info", object_file], check=True,
                              env={"LC_ALL": "C", "PATH": "/usr/local/bin:/usr/bin:/bin"},
                              stdout=subprocess.PIPE, universal_newlines=True).stdout
        self._parse(text)

    def _parse(self, text):
        stack, die = [], None
        for line in text.splitlines():
            head = _HEAD.match(line)
            if head:
                die = {"tag": head[3], "kids": []}
                self._dies[int(head[2], 16)] = die
                del stack[int(head[1], 16):]
                if stack:
                    stack[-1]["kids"].append(die)
                stack.append(die)
                continue
            attr = _ATTR.match(line)
            if attr and die is not None:
                self._set(die, attr[1], attr[2])
        for die in self._dies.values():
            if "name" in die and ("kids" in die) and not die.get("declaration"):
                self._named.setdefault((die["tag"], die["name"]), die)

    @staticmethod
    def _set(die, key, value):
        if key == "name":
            die[key] = value.split("): ", 1)[1].strip() if value.startswith("(") else value.strip()
        elif key == "type":
            die[key] = int(re.search(r"<0x([0-9a-f]+)>", value)[1], 16)
        elif key == "declaration":
            die[key] = True
        elif key in _NUMBERS:
            die[key] = int(value.split()[0], 0)

    def of(self, ref):
        """The type at a reference (None: void)."""
        name, const = "", False
        while ref is not None and self._dies[ref]["tag"] in _TRANSPARENT:
            die = self._dies[ref]
            if die["tag"] == "typedef":
                name = name or die["name"]
            else:
                const = const or die["tag"] == "const_type"
            ref = die.get("type")
        if ref is None:
            return Type("void", name=name, const=const)
        die = self._dies[ref]
        tag = die.get("name", "")
        kind = {"structure_type": "struct", "union_type": "union", "enumeration_type": "enum",
                "pointer_type": "pointer", "array_type": "array", "subroutine_type": "function"}.get(die["tag"])
        if kind is None:  # base_type: 2 boolean, 4 float, 5 and 6 signed, 7 and 8 unsigned
            kind = {2: "bool", 4: "real", 5: "int", 6: "int", 7: "uint", 8: "uint"}[die["encoding"]]
        size = die.get("byte_size", 0)
        if kind == "array":
            bound = [kid for kid in die["kids"] if kid["tag"] == "subrange_type"][0]
            size = self.of(die["type"]).size * (bound.get("upper_bound", -1) + 1)
        return Type(kind, size, name or tag, tag, const, die)

    def target(self, pointer):
        """The type that a pointer points to, or an array's element type."""
        return self.of(pointer.die.get("type"))

    def struct(self, name):
        """The struct with that tag or typedef, or None."""
        die = self._named.get(("structure_type", name))
        if die is None:
            die = self._named.get(("typedef", name))
            return self.of(die["type"]) if die and "type" in die else None
        return Type("struct", die.get("byte_size", 0), name, name, False, die)

    def members(self, struct):
        """(name, type, offset, is a bit field) of each member, including those of unnamed structs and unions."""
        for kid in struct.die["kids"]:
            if kid["tag"] != "member":
                continue
            member, offset = self.of(kid["type"]), kid.get("data_member_location", 0)
            if "name" in kid:
                yield kid["name"], member, offset, "bit_size" in kid
            else:
                for name, inner, inner_offset, bits in self.members(member):
                    yield name, inner, offset + inner_offset, bits

    def find(self, struct, path):
        """(type, offset, is a bit field) of a member such as `location.id`, or None."""
        offset, bits = 0, False
        for part in path.split("."):
            found = [m for m in self.members(struct) if m[0] == part] if struct.kind in ("struct", "union") else []
            if not found:
                return None
            _, struct, at, bits = found[0]
            offset += at
        return struct, offset, bits

    def is_opaque(self, type_):
        return type_.kind in ("struct", "union") and (type_.die.get("declaration") or not type_.die["kids"])

    def enum(self, type_):
        """(name, value) of an enum's values, in order."""
        return [(kid["name"], kid["const_value"]) for kid in type_.die["kids"] if kid["tag"] == "enumerator"]

    def enum_named(self, name):
        die = self._named.get(("enumeration_type", name))
        if die is None:
            die = self._named.get(("typedef", name))
            return self.of(die["type"]) if die else None
        return Type("enum", die.get("byte_size", 4), name, name, False, die)
