#!/usr/bin/env python3
"""Writes the SBOM of a release: DIST/cuspan-VERSION.spdx.json, in SPDX 2.3.

    sbom.py --version VERSION --dist DIST

It lists cuspan, each third-party part that is linked in with its license and the checksums of its sources (sources.txt), and
each file of DIST with its SHA-256. The time in it is SOURCE_DATE_EPOCH. Exit status: 1 if a part has no license here.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The parts that are linked in, as SPDX expressions. Each needs no more than a notice, and share/cuspan/licenses has the texts.
LICENSES = {
    "cjson": "MIT",
    "curl": "curl",
    "libiberty": "GPL-2.0-or-later WITH GCC-exception-2.0",  # its one file that is linked in, cp-demangle.c
    "libisal": "BSD-3-Clause",
    "libyaml": "MIT",
    "libzstd": "BSD-3-Clause",
    "ncurses": "X11-distribute-modifications-variant",
    "nghttp2": "MIT",
    "openssl": "Apache-2.0",
    "sqlite3": "blessing",
    "yyjson": "MIT",
    "zlib": "Zlib",
}
SOURCE = "https://snapshot.debian.org/package/{}/"
NOT_LINKED = {"cmocka"}
LINE = re.compile(r"^(\S+)\s+(\S+)\s+([0-9a-f]{64})$")


def sources():
    """{library: [(file, sha256), ...]} of sources.txt."""
    found = {}
    for line in (HERE / "sources.txt").read_text().splitlines():
        if (match := LINE.match(line)) and match[1] not in NOT_LINKED:
            found.setdefault(match[1], []).append((match[2], match[3]))
    return found


def version_of(files):
    """The version in the name of the newest file: with Debian's patches if there are any."""
    return re.sub(r"^[^_]*_|\.(orig|debian)\.tar\.\w+$", "", files[-1][0])


def part(name, version, license_name, location, comment):
    return {
        "SPDXID": f"SPDXRef-Package-{name}",
        "name": name,
        "versionInfo": version,
        "downloadLocation": location,
        "filesAnalyzed": False,
        "licenseConcluded": license_name,
        "licenseDeclared": license_name,
        "copyrightText": "NOASSERTION",
        "comment": comment,
    }


def relation(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--version", required=True)
    parser.add_argument("--dist", required=True, type=Path)
    options = parser.parse_args()
    libraries = sources()
    if unknown := sorted(set(libraries) ^ set(LICENSES)):
        sys.exit(f"sbom: sources.txt and the licenses in tools/release/sbom.py differ in: {' '.join(unknown)}")
    own = part("cuspan", options.version, "Apache-2.0", "NOASSERTION", "The agent, the command line and the Python package")
    parts = [own]
    for name, files in sorted(libraries.items()):
        sums = ", ".join(f"{file} has the SHA-256 {digest}" for file, digest in files)
        parts.append(part(name, version_of(files), LICENSES[name], SOURCE.format(name), f"Linked statically. Source: {sums}"))
    zig = re.search(r"==(\S+)", (HERE / "zig.txt").read_text())[1]
    parts.append(part("zig", zig, "MIT", "https://pypi.org/project/ziglang/", "The compiler's runtime functions, linked statically"))
    output = options.dist / f"cuspan-{options.version}.spdx.json"
    files, relations = [], [relation("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    relations += [relation(own["SPDXID"], "STATIC_LINK", other["SPDXID"]) for other in parts[1:]]
    for path in sorted(options.dist.iterdir()):
        if path.name in (output.name, "SHA256SUMS") or not path.is_file():
            continue
        content = path.read_bytes()
        identifier = "SPDXRef-File-" + re.sub(r"[^A-Za-z0-9.]", "-", path.name)
        files.append(
            {
                "SPDXID": identifier,
                "fileName": f"./{path.name}",
                "checksums": [
                    {"algorithm": kind, "checksumValue": hashlib.new(kind.lower(), content).hexdigest()} for kind in ("SHA1", "SHA256")
                ],
                "licenseConcluded": "NOASSERTION",
                "licenseInfoInFiles": ["NOASSERTION"],
                "copyrightText": "NOASSERTION",
            }
        )
        relations.append(relation(identifier, "GENERATED_FROM", own["SPDXID"]))
    digest = hashlib.sha256(json.dumps([parts, files], sort_keys=True).encode()).hexdigest()
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"cuspan-{options.version}",
        "documentNamespace": f"urn:sha256:{digest}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: tools/release/sbom.py"]},
        "packages": parts,
        "files": files,
        "relationships": relations,
    }
    output.write_text(json.dumps(document, indent=1) + "\n")
    print(f"{output.name}: {len(parts)} parts, {len(files)} files")


if __name__ == "__main__":
    main()
