"""The activity kinds: their fields, and the offsets in the classic records of each version."""

import re
from pathlib import Path

from . import emit, words

KINDS_MAX = 64  # ACTIVITY_KINDS_MAX
FIELDS_MAX = 64  # ACTIVITY_FIELDS_MAX
_LETTERS = {"H": "Host", "D": "Device", "A": "Array", "P": "Peer"}
# Enums of flags, combined with |.
_FLAGS = {"CUpti_ActivityFlag"}



def attribute(key):
    """The complete name of the attribute: OpenTelemetry's own where one exists."""
    return key if key == "cuspan.thread.id" else f"cuda.{key}"


def _copy_words(parts):
    """HTOD → HostToDevice; UNKNOWN → Unknown."""
    short = re.fullmatch(r"([HDAP])TO([HDAP])", parts[-1])
    return f"{_LETTERS[short[1]]}To{_LETTERS[short[2]]}" if short else words.camel(parts)


def _lower_words(parts):
    out = []
    for part in parts:
        short = re.fullmatch(r"([HDAP])TO([HDAP])", part)
        out += [_LETTERS[short[1]], "to", _LETTERS[short[2]]] if short else [part]
    return words.lower(out)


class Field:
    def __init__(self, name, options):
        self.name, self.key, self.detail = name, options[0], options[1].upper()
        extra = dict(option.split("=", 1) for option in options[2:])
        self.role = extra.get("role", "NONE")
        self.type, self.enum, self.member = extra.get("type"), extra.get("enum"), extra.get("member")
        self.size = 0
        if self.key in ("-", ","):
            self.key = ""


class Kind:
    def __init__(self, constant, name, detail, flags):
        self.constant, self.name, self.detail = constant, name, detail.upper()
        self.is_gpu_work = "gpu" in flags
        extra = dict(flag.split("=", 1) for flag in flags if "=" in flag)
        self.prefix, self.same = extra.get("fields", constant), extra.get("same")
        self.spec, self.fields, self.number = {}, [], 0


def _read_spec():
    kinds = []
    text = (Path(__file__).parent / "activity_kinds.txt").read_text()
    for line in text.splitlines():
        part = line.split("#")[0].split()
        if not part:
            continue
        if part[0].startswith("["):
            kinds.append(Kind(part[0].strip("[]"), part[1], part[2], part[3:]))
        else:
            kinds[-1].spec[part[0]] = Field(part[0], part[1:])
    return kinds


def _c_type(declaration):
    """("uint64_t", "processors", 5) of "uint64_t processors[5];"."""
    found = re.match(r"(?:const\s+)?(\w+)\s*(\**)\s*([\w.]+)\s*(?:\[(\d+)\])?;", declaration.replace("union ", "union_ "))
    return found[1] + ("*" if found[2] else ""), found[3], int(found[4] or 0)


class Activities:
    """All kinds of activity_kinds.txt, with `layouts[version][kind number]` = (bytes, [(offset, size)])."""

    def __init__(self, headers):
        self.notes, self.enums = [], []
        self.newest = headers[-1]
        self.numbers = dict(self.newest.types.enum(self.newest.types.enum_named("CUpti_ActivityKind")))
        self.kinds = _read_spec()
        by_constant = {kind.constant: kind for kind in self.kinds}
        for kind in self.kinds:
            kind.number = self.numbers["CUPTI_ACTIVITY_KIND_" + kind.constant]
            if kind.same:
                kind.fields, kind.prefix = by_constant[kind.same].fields, by_constant[kind.same].prefix
            else:
                self._read_fields(kind)
        self._check_ids(headers)
        self.layouts = {version.version: self._layouts(version) for version in headers}
        self._note_missing(headers)

    # --- fields ---

    def _read_fields(self, kind):
        """The field IDs in order, with the C type and the member from the comment before each."""
        text = self.newest.read("cupti_activity.h")
        body = re.search(r"typedef enum\s*\{((?:(?!typedef enum).)*?\b" + kind.prefix + r"_FIELD_MAX\b.*?)\}", text, re.S)
        found = re.findall(r"/\*\*((?:(?!\*/).)*)\*/\s*" + kind.prefix + r"_FIELD_(\w+)", body[1], re.S)
        for comment, name in found:
            if name == "MAX":
                continue
            if name not in kind.spec:
                raise SystemExit(f"activity_kinds.txt: {kind.constant} lacks the field {name}")
            field = kind.spec.pop(name)
            self._type(field, *_c_type([line.strip(" *") for line in comment.splitlines() if line.strip(" *")][0]))
            kind.fields.append(field)
        if kind.spec or len(kind.fields) > FIELDS_MAX:
            raise SystemExit(f"activity_kinds.txt: {kind.constant} has no field {', '.join(kind.spec)}")

    def _type(self, field, c_type, member, count):
        plain = {"uint8_t": ("UINT", 1), "uint16_t": ("UINT", 2), "uint32_t": ("UINT", 4), "uint64_t": ("UINT", 8),
                 "int32_t": ("INT", 4), "int64_t": ("INT", 8), "size_t": ("UINT", 8), "char*": ("STRING", 8),
                 "CUuuid": ("BYTES", 16), "CUpti_CallbackId": ("UINT", 4), "CUpti_MetricValue": ("UINT", 8)}
        field.member = field.member or member
        if c_type in plain:
            type_, field.size = plain[c_type]
        elif c_type.endswith("*"):
            type_, field.size = "POINTER", 8
        elif c_type == "union_" or c_type == "CUpti_ActivityObjectKindId":
            type_, field.size = "BYTES", 0  # the size comes from the classic record
        else:
            type_, field.size = "UINT", 4
            if c_type not in _FLAGS:
                field.enum = field.enum or c_type
        if count:
            type_, field.size = "BYTES", field.size * count
        if field.enum and field.name != "KIND" and field.detail != "NEVER":
            type_ = "ENUM"
            if field.enum not in [name for name, _ in self.enums]:
                self.enums.append((field.enum, self._words(field.enum)))
        else:
            field.enum = None
        field.type = field.type or type_

    def _words(self, enum):
        found = self.newest.types.enum_named(enum)
        if found is None:
            raise SystemExit(f"activity_kinds.txt: no enum {enum}")
        style = _copy_words if enum == "CUpti_ActivityMemcpyKind" else _lower_words
        return words.enum_words(self.newest.types.enum(found), style)

    def _check_ids(self, headers):
        """Since 13.3, records consist of field IDs, which must have the same meaning in all versions."""
        for version in headers:
            if version.first_number < 130300:
                continue
            text = version.read("cupti_activity.h")
            for kind in self.kinds:
                names = re.findall(r"^\s*" + kind.prefix + r"_FIELD_(\w+)", text, re.M)
                names = [n for n in names if n != "MAX"]
                if names != [field.name for field in kind.fields][:len(names)]:
                    raise SystemExit(f"{version.version}: the field IDs of {kind.constant} differ from the newest ones")

    # --- classic layouts ---

    def _layouts(self, version):
        """{kind number: (bytes, [(offset, size) or (-1, 0)])}"""
        text = version.read("cupti_activity.h")
        body = re.search(r"typedef enum\s*\{((?:(?!typedef enum).)*?)\}\s*CUpti_ActivityKind\s*;", text, re.S)[1]
        structs = {}
        for comment, name in re.findall(r"/\*\*(.*?)\*/\s*CUPTI_ACTIVITY_KIND_(\w+)", body, re.S):
            structs[name] = re.findall(r"CUpti_Activity\w+", comment)
        out = {}
        for kind in self.kinds:
            if structs.get(kind.constant):
                struct = version.types.struct(structs[kind.constant][-1])
                out[kind.number] = (struct.size, [self._place(version, struct, field) for field in kind.fields])
        return out

    def _place(self, version, struct, field):
        found = None if field.member == "none" else version.types.find(struct, field.member)
        if found is None or found[2]:
            return -1, 0
        if version is self.newest and field.size == 0:
            field.size = found[0].size
        return found[1], found[0].size

    def _note_missing(self, headers):
        for kind in self.kinds:
            for i, field in enumerate(kind.fields):
                lacking = [v for v in headers if kind.number in self.layouts[v.version]
                           and self.layouts[v.version][kind.number][1][i][0] < 0]
                if lacking and not kind.same:
                    self.notes.append(f"{kind.name}.{field.name.lower()} ({field.detail.lower()}) is missing in the "
                                      f"classic records of {' '.join(v.version for v in lacking)}")


def model_text(activities):
    """src/model/cuda/activities_table.c"""
    enums = {name: i + 1 for i, (name, _) in enumerate(activities.enums)}
    text = emit.header("The kinds and fields of model/cuda/activities.h.") + '#include "model/cuda/activities.h"\n\n'
    text += '#define NO_KEY {0x0a, 0, ""}\n\n'
    text += emit.enum_tables("activity_enum_names", list(enums), [t for _, t in activities.enums]) + "\n"
    rows = {}
    for kind in activities.kinds:
        if not kind.same:
            text += f"static const struct activity_field {kind.name}_fields[] = {{\n"
            for field in kind.fields:
                key = f'ATTR_KEY("{attribute(field.key)}")' if field.key else "NO_KEY"
                text += (f"    {{{key}, FIELD_{field.type}, ACTIVITY_{field.detail}, ROLE_{field.role}, {field.size}, "
                         f"{enums.get(field.enum, 0)}}}, /* {field.name} */\n")
            text += "};\n\n"
        own = next(k.name for k in activities.kinds if k.fields is kind.fields and not k.same)
        roles = {field.role for field in kind.fields}
        rows[kind.number] = (f"    [{kind.number}] = {{{emit.string(kind.name)}, {own}_fields, {len(kind.fields)}, "
                             f"ACTIVITY_{kind.detail}, {int(kind.is_gpu_work)}, {int('END' in roles)}}},\n")
    text += "const struct activity_info activity_table[ACTIVITY_KINDS_MAX] = {\n"
    return text + "".join(rows[number] for number in sorted(rows)) + "};\n"


def capture_text(activities, headers):
    """src/agent/abi/layouts_table.c"""
    unique, comments, versions = [], [], []
    for version in headers:
        indexes = [0] * KINDS_MAX
        for number, (size, places) in sorted(activities.layouts[version.version].items()):
            layout = (size, tuple(places))
            if layout not in unique:
                unique.append(layout)
                name = next(kind.name for kind in activities.kinds if kind.number == number)
                comments.append(f"{name} from {version.version} on")
            indexes[number] = unique.index(layout) + 1
        if not versions or versions[-1][2] != indexes:
            versions.append((version.first_number, version.version, indexes))
    text = emit.header("Where fields lie in CUPTI's classic records, for agent/abi/layouts.c.")
    text += '#include "agent/abi/layouts.h"\n\n#define F(offset, size) {offset, size}\n#define N {-1, 0}\n\n'
    text += "const struct activity_layout layout_records[] = {\n    {0},\n"
    for i, (size, places) in enumerate(unique):
        items = [f"F({offset}, {bytes_})" if offset >= 0 else "N" for offset, bytes_ in places]
        items += ["N"] * (FIELDS_MAX - len(items))
        text += f"    /* {i + 1}: {comments[i]} */\n    {{{size}, {{\n" + emit.wrapped(items, "        ") + "\n    }},\n"
    text += "};\n\nconst struct layout_version layout_versions[] = {\n"
    for number, name, indexes in versions:
        text += f"    {{{number}, {{ /* {name} */\n" + emit.wrapped(map(str, indexes), "        ") + "\n    }},\n"
    newest = re.search(r"#define CUPTI_API_VERSION (\d+)", headers[-1].read("cupti_version.h"))[1]
    text += f"}};\n\nconst uint8_t layout_version_count = {len(versions)};\n"
    return text + f"const uint32_t layout_newest_version = {newest};\n"
