"""The calls: IDs, names, groups, parameters, and the names of results."""

import fnmatch
import re
from pathlib import Path

from . import emit, words
from .call_params import Reader

GROUPS = ("other", "launch", "copy", "fill", "alloc", "free", "sync", "stream", "event", "graph", "module", "peer", "ipc")
PARAMS_MAX = 32  # CALL_PARAMS_MAX
KEY_BYTES_MAX = 62  # ATTR_KEY_BYTES_MAX


# The function that nvcc 13 calls for <<<>>>. The headers declare it (crt/device_functions.h) with the parameters of
# cudaLaunchKernel in the same order, but have no struct for them.
ALIASES = {"__cudaLaunchKernel_v13000": "cudaLaunchKernel_v7000",
           "__cudaLaunchKernel_ptsz_v13000": "cudaLaunchKernel_ptsz_v7000"}


def plain_name(name):
    """cudaLaunchKernel_ptsz_v7000 → cudaLaunchKernel_ptsz, cuMemcpyAsync_v2_ptsz → cuMemcpyAsync_ptsz."""
    name = re.sub(r"_v\d{4,}$", "", name)
    return re.sub(r"_v\d+(?=$|_pt[sd][sz]$)", "", name)


def base_name(name):
    return re.sub(r"_pt[sd][sz]$", "", plain_name(name))


class Groups:
    """call_groups.txt."""

    def __init__(self):
        self.rules = []
        text = (Path(__file__).parent / "call_groups.txt").read_text()
        for number, line in enumerate(text.splitlines(), 1):
            fields = line.split("#")[0].split()
            if not fields:
                continue
            group, profile, records = fields[:3]
            if group not in GROUPS or profile not in ("default", "request") or records not in ("gpu", "none"):
                raise SystemExit(f"call_groups.txt:{number}: wrong group, profile or records: {line}")
            self.rules += [(pattern, group, profile == "default", records == "gpu") for pattern in fields[3:]]
        self.used = set()

    def of(self, name):
        """(group, is in the default profile, may have GPU records) of a name without its suffixes."""
        for pattern, *answer in self.rules:
            if fnmatch.fnmatchcase(name, pattern):
                self.used.add(pattern)
                return tuple(answer)
        return "other", False, False

    def unused(self):
        return [rule[0] for rule in self.rules if rule[0] not in self.used]


class Call:
    def __init__(self, cbid, name, group, params):
        self.cbid, self.name, self.params = cbid, plain_name(name), params
        self.group, self.is_default, self.has_activity = group


class Calls:
    """All calls of both domains, and the differences between the versions (`notes`)."""

    def __init__(self, headers):
        self.notes = []
        self.groups = Groups()
        self.domains = {domain: self._domain(headers, domain) for domain in ("runtime", "driver")}
        self.counts = {domain: max(h.callback_count(domain) for h in headers) for domain in self.domains}
        self.enums = self._enums(headers)
        for pattern in self.groups.unused():
            self.notes.append(f"call_groups.txt: no call matches {pattern}")

    def _domain(self, headers, domain):
        names, params, sources, living = {}, {}, {}, set()
        for version in headers:
            reader, removed = Reader(version.types), version.removed()
            for cbid, name in version.callback_ids(domain).items():
                names[cbid] = name
                struct = version.types.struct(ALIASES.get(name, name) + "_params_st")
                if struct is None or name in removed and cbid in living:
                    continue
                if name not in removed:
                    living.add(cbid)
                found = reader.params(base_name(name), self.groups.of(base_name(name))[0], struct)
                if cbid in params and found != params[cbid]:
                    self._note(domain, cbid, name, sources[cbid], params[cbid], version.version, found)
                params[cbid], sources[cbid] = found, version.version
        calls = []
        for cbid in sorted(names):
            call = Call(cbid, names[cbid], self.groups.of(base_name(names[cbid])), params.get(cbid, []))
            self._check(call)
            calls.append(call)
        return calls

    def _note(self, domain, cbid, name, old_version, old, new_version, new):
        def show(params):
            return " ".join(f"{p.key}@{p.offset}+{p.member}:{p.size}" for p in params if p not in old or p not in new)
        self.notes.append(f"{domain} {cbid} {name}: {old_version} has [{show(old)}], {new_version} has [{show(new)}]")

    @staticmethod
    def _check(call):
        if len(call.params) > PARAMS_MAX:
            raise SystemExit(f"{call.name} has {len(call.params)} parameters, more than {PARAMS_MAX}")
        for param in call.params:
            if len(f"cuda.arg.{param.key}") > KEY_BYTES_MAX:
                raise SystemExit(f"{call.name}: key {param.key} is too long")

    def _enums(self, headers):
        """(tag, {value: word}) of each enum that a parameter has, ordered by tag."""
        tags = sorted({p.enum for calls in self.domains.values() for call in calls for p in call.params} - {""})
        out = []
        for tag in tags:
            known = [(h, h.types.enum_named(tag)) for h in reversed(headers)]
            out.append((tag, words.merge([h.types.enum(t) for h, t in known if t], words.camel)))
        return out

    def keys(self):
        return sorted({p.key for calls in self.domains.values() for call in calls for p in call.params})


class _Names:
    """Concatenated strings, addressed by offset. Offset 0 is the empty string."""

    def __init__(self):
        self.offsets, self.order, self.size = {}, [], 1

    def add(self, name):
        if name not in self.offsets:
            self.offsets[name] = self.size
            self.order.append(name)
            self.size += len(name) + 1
        return self.offsets[name]


def _runs(calls):
    """Concatenated parameter lists, equal ones once: {list: index of its first}, [(list, a call that has it)]."""
    index, order, size = {}, [], 0
    for domain in calls.domains.values():
        for call in domain:
            run = tuple(call.params)
            if run and run not in index:
                index[run] = size
                order.append((run, call.name))
                size += len(run)
    return index, order


def model_text(calls):
    """src/model/cuda/calls_table.c"""
    names, keys = _Names(), {key: i for i, key in enumerate(calls.keys())}
    enums = {tag: i + 1 for i, (tag, _) in enumerate(calls.enums)}
    index, runs = _runs(calls)
    tables = ""
    for domain, rows in calls.domains.items():
        lines = []
        for call in rows:
            first = index.get(tuple(call.params), 0)
            is_graph = re.match(r"cu(da)?GraphLaunch", call.name)
            flags = f"{int(call.is_default)}, {int(call.has_activity)}, {int(bool(is_graph))}"
            lines.append(f"    [{call.cbid}] = {{{names.add(call.name)}, {first}, {len(call.params)}, "
                         f"CALL_GROUP_{call.group.upper()}, {flags}}}, /* {call.name} */")
        tables += (f"\nconst struct call_info call_table_{domain}[{calls.counts[domain]}] = {{\n" + "\n".join(lines)
                   + f"\n}};\nconst uint16_t call_count_{domain} = {calls.counts[domain]};\n")
    text = emit.header("The calls of model/cuda/calls.h.") + '#include "model/cuda/calls.h"\n\n'
    text += "const char call_names[] =\n    \"\\0\"\n"
    text += emit.wrapped([f'"{name}\\0"' for name in names.order], separator=" ") + ";\n\n"
    text += "const struct attr_key call_param_keys[] = {\n"
    text += "\n".join(f'    ATTR_KEY("cuda.arg.{key}"), /* {i} */' for key, i in keys.items()) + "\n};\n\n"
    text += emit.enum_tables("call_enum_names", [tag for tag, _ in calls.enums], [t for _, t in calls.enums]) + "\n"
    text += "const struct call_param call_params[] = {\n"
    for run, name in runs:
        items = [f"{{{keys[p.key]}, PARAM_{p.kind}, {enums.get(p.enum, 0)}}}" for p in run]
        text += f"    /* {index[run]}: {name} */\n" + emit.wrapped(items) + "\n"
    return text + "};\n" + tables


def capture_text(calls):
    """src/agent/abi/params_table.c"""
    text = emit.header("Where the parameters of model/cuda/calls_table.c lie, in the same order.")
    text += '#include "agent/abi/params.h"\n\n'
    text += "enum {\n    S = PARAM_SIGNED,\n    D = PARAM_DEREF,\n    O = PARAM_DEREF | PARAM_OUT,\n"
    text += "    T = PARAM_TEXT,\n    X = PARAM_THREE,\n    R = PARAM_REAL\n};\n\n"
    text += "const struct param_source param_sources[] = {\n"
    index, runs = _runs(calls)
    letters = {"SIGNED": "S", "TEXT": "T", "THREE": "X", "REAL": "R"}
    for run, name in runs:
        items = []
        for p in run:
            how = ["O" if "OUT" in p.how else "D"] if "DEREF" in p.how else []
            how += [letters[flag] for flag in sorted(p.how - {"DEREF", "OUT"})]
            items.append(f"{{{p.offset}, {p.member}, {p.size}, {' | '.join(how) or '0'}}}")
        text += f"    /* {index[run]}: {name} */\n" + emit.wrapped(items) + "\n"
    return text + "};\n"


def results_text(headers):
    """src/model/cuda/results_table.c"""
    text = emit.header("Names of what calls return, ordered by value.") + '#include "model/cuda/results.h"\n'
    for domain, tag in (("runtime", "cudaError"), ("driver", "cudaError_enum")):
        names = {}
        for version in reversed(headers):
            for name, value in version.types.enum(version.types.enum_named(tag)):
                names.setdefault(value, name)
        rows = emit.wrapped(f"{{{value}, {emit.string(name)}}}" for value, name in sorted(names.items()))
        text += f"\nstatic const struct enum_name {domain}_results[] = {{\n{rows}\n}};\n"
        text += f"const struct enum_names results_{domain} = {{{len(names)}, {domain}_results}};\n"
    return text
