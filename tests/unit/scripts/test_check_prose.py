# SPDX-License-Identifier: MIT
"""Breaks each rule of scripts/check-prose in a small tree and expects the complaint."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "check-prose"


class CheckProse(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def check(self, *arguments):
        """Returns the exit status, the lines on stdout and those on stderr."""
        command = [sys.executable, "-B", str(SCRIPT), *(arguments or [str(self.root)])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()

    def assert_complaints(self, *complaints):
        status, _, found = self.check()
        self.assertEqual(found, list(complaints))
        self.assertEqual(status, 1 if complaints else 0)

    def test_empty_tree_is_an_error(self):
        self.assertEqual(self.check()[0], 2)

    def test_clean_tree_has_no_complaint(self):
        self.write("include/twinfs/exit.h", "/* Exit statuses. */\n")
        self.write("src/base/log.c", "/* Writes a message. */\nint newsx;\n")
        self.write("README.md", "twinfs reports copies.\n")
        self.assert_complaints()

    def test_word_is_found_in_each_kind_of_file(self):
        self.write("src/base/log.c", "int a;\nint told;\n")
        self.write("src/meson.build", "# Nobody\n")
        self.write("include/twinfs/exit.h", "/* A\n * doubt. */\n")
        self.write("man/twinfs.1", ".Pp\nSomebody\n")
        self.write("HACKING.md", "the viewer\n")
        self.assert_complaints(
            "HACKING.md:1: 'viewer': write 'caller'",
            "include/twinfs/exit.h:2: 'doubt': write 'untrusted, distrust'",
            "man/twinfs.1:2: 'Somebody': write 'name the actor: a process, a user'",
            "src/base/log.c:2: 'told': write 'reported, notified, sent'",
            "src/meson.build:1: 'Nobody': write 'name the actor: no process, no user'",
        )

    def test_word_is_not_searched_in_other_files(self):
        self.write("src/base/log.c", "")
        for name in ("tests/unit/base/test_log.c", "scripts/run", "tests/README.md", "OTHER.md"):
            self.write(name, "nobody told\n")
        self.assert_complaints()

    def test_underscore_and_punctuation_end_a_word(self):
        for text in ("is_told(x)", "told_by", "x->told;", '"told"', "TOLD", "-told-"):
            with self.subTest(text):
                self.write("src/base/log.c", f"{text}\n")
                _, _, found = self.check()
                self.assertEqual(len(found), 1, found)

    def test_letter_and_digit_do_not_end_a_word(self):
        self.write("src/base/log.c", "retold tolds told2 2told teller hearing settler newsy\n")
        self.assert_complaints()

    def test_phrase_is_found_across_lines(self):
        for text in ("came_free", "/* it came\n * free */", '"it came "\n\t"free"', "came  free"):
            with self.subTest(text):
                self.write("src/base/log.c", f"{text}\n")
                self.assert_complaints("src/base/log.c:1: 'came free': write 'freed'")

    def test_comment_without_subject_is_found(self):
        self.write("src/base/log.c", "/* Of a file, its size. */\n")
        self.write("tests/unit/base/test_log.c", "int a;\n\n/*\n * So\n * many files. */\n")
        self.write("tests/fuzz/fuzz.h", "int a; /* Who reads it */\n")
        self.assert_complaints(
            "src/base/log.c:1: 'Of' begins a comment: name the subject first",
            "tests/fuzz/fuzz.h:1: 'Who' begins a comment: name the subject first",
            "tests/unit/base/test_log.c:3: 'So many' begins a comment: name the subject first",
        )

    def test_longer_word_or_string_may_begin_so(self):
        self.write("src/base/log.c", '/* Offset. */\n/* So that. */\nchar *a = "/* Of x */";\n')
        self.assert_complaints()

    def test_wide_comment_is_found(self):
        fits = "\tint a; /* " + "x" * 79 + " */\n"
        self.assertEqual(len(fits.expandtabs(8)), 101)  # with the line feed
        self.write("src/base/log.c", fits + f"/* a\n *\t{'x' * 92}\n *\t{'x' * 93}\n */\n")
        self.assert_complaints("src/base/log.c:4: a comment of 101 columns, more than 100: wrap it")

    def test_wide_code_is_not_a_comment(self):
        self.write("src/base/log.c", f"/* a */\nchar *a = \"{'x' * 120}\";\n/* b */\n")
        self.assert_complaints()

    def test_complaints_are_counted_for_each_folder(self):
        self.write("src/base/log.c", "told told\n")
        self.write("src/base/quote.c", "told\n")
        self.write("README.md", "told\n")
        self.assertEqual(
            self.check()[1],
            [
                "check-prose: README.md: 1",
                "check-prose: src/base: 3",
                "check-prose: 3 files, 4 complaints",
            ],
        )

    def test_words_are_printed_with_the_better_ones(self):
        status, printed, _ = self.check("--words")
        self.assertEqual(status, 0)
        self.assertIn("told: reported, notified, sent", printed)


if __name__ == "__main__":
    unittest.main()
