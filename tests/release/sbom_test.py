#!/usr/bin/env python3
"""The SBOM in dist/ is valid SPDX, by the SPDX project's own tools, and describes the files beside it.

    sbom_test.py DIST

Needs spdx-tools of PyPI. The last line is "N passed, N failed, N skipped".
"""

import hashlib
import json
import sys
import tempfile
import unittest
from pathlib import Path

from spdx_tools.spdx.model import ChecksumAlgorithm
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

DIST = Path(sys.argv.pop(1))
SBOM = next(DIST.glob("cuspan-*.spdx.json"))


def complaints(path):
    return [message.validation_message for message in validate_full_spdx_document(parse_file(str(path)), "SPDX-2.3")]


class Sbom(unittest.TestCase):
    def test_it_is_valid(self):
        self.assertEqual(complaints(SBOM), [])

    def test_the_validator_finds_errors(self):
        """So that the test above can fail."""
        document = json.loads(SBOM.read_text())
        document["packages"][0]["licenseDeclared"] = "Unknown-License"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "wrong.spdx.json"
            path.write_text(json.dumps(document))
            self.assertNotEqual(complaints(path), [])

    def test_files(self):
        files = {file.name.removeprefix("./"): file for file in parse_file(str(SBOM)).files}
        there = {path.name for path in DIST.iterdir()} - {SBOM.name, "SHA256SUMS"}
        self.assertEqual(set(files), there)
        for name, file in files.items():
            told = {checksum.value for checksum in file.checksums if checksum.algorithm == ChecksumAlgorithm.SHA256}
            self.assertEqual(told, {hashlib.sha256((DIST / name).read_bytes()).hexdigest()}, name)


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=2).result
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed, {len(result.skipped)} skipped")
    sys.exit(not result.wasSuccessful())
