# SPDX-License-Identifier: MIT
"""Plants each kind of violation that scripts/check-layers must find."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "check-layers"


class CheckLayers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, source):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")

    def check(self):
        """The exit status and the complaints."""
        command = [sys.executable, "-B", str(SCRIPT), str(self.root)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    def assert_found(self, complaint):
        status, complaints = self.check()
        self.assertEqual(status, 1)
        self.assertIn(complaint, complaints)

    def test_clean_tree_passes(self):
        self.write("include/twinfs/exit.h", "")
        self.write("src/base/log.h", "")
        self.write("src/act/act.c", '#include "index/query.h"\n#include <stdio.h>\n')
        self.write("src/index/store/store.c", '#include <lmdb.h>\n#include "base/log.h"\n')
        self.write("src/cli/main.c", '#include "twinfs/exit.h"\n#include "index/query.h"\n')
        self.assertEqual(self.check(), (0, ""))

    def test_tree_without_files_fails(self):
        self.assertEqual(self.check()[0], 1)

    def test_layer_below_may_not_include_one_above(self):
        self.write("src/base/log.c", '#include "index/store/store.h"\n')
        self.assert_found("src/base/log.c: base may not include index/store/store.h")

    def test_one_allowed_header_does_not_open_its_layer(self):
        self.write("src/act/act.c", '#include "scan/walk.h"\n')
        self.assert_found("src/act/act.c: act may not include scan/walk.h")

    def test_header_of_library_is_for_its_layer_only(self):
        self.write("src/view/tree/view.c", "#include <lmdb.h>\n")
        self.assert_found("src/view/tree/view.c: view/tree may not include <lmdb.h>")

    def test_header_without_layer_is_found(self):
        self.write("src/base/log.c", '#include "log.h"\n')
        self.assert_found('include "log.h" by its layer')

    def test_folder_in_a_folder_is_a_layer_of_its_own(self):
        self.write("src/index/query.c", "#include <lmdb.h>\n")
        self.assert_found("src/index/query.c: index may not include <lmdb.h>")
        self.write("src/index/store/store.c", '#include "index/query.h"\n')
        self.assert_found("src/index/store/store.c: index/store may not include index/query.h")

    def test_header_for_one_file_is_found(self):
        self.write("src/scan/walk.h", "")
        self.assert_found("src/scan/walk.h: nothing includes it")
        self.write("src/scan/walk.c", '#include "scan/walk.h"\n')
        self.assert_found("src/scan/walk.h: nothing includes it")
        self.write("src/scan/batch.c", '#include "scan/walk.h"\n')
        self.assert_found("src/scan/walk.h: only src/scan/batch.c includes it")
        self.write("tests/unit/scan/test_walk.c", '#include "scan/walk.h"\n')
        self.assertEqual(self.check(), (0, ""))

    def test_header_for_one_file_of_another_layer_passes(self):
        self.write("src/scan/walk.h", "")
        self.write("src/cli/main.c", '#include "scan/walk.h"\n')
        self.assertEqual(self.check(), (0, ""))

    def test_unknown_layer_is_found(self):
        self.write("src/util/misc.c", "")
        self.assert_found("util is no layer")

    def test_test_that_includes_source_file_is_found(self):
        self.write("tests/unit/base/test_log.c", '#include "base/log.c"\n')
        self.assert_found("includes base/log.c")

    def test_cycle_of_includes_is_found(self):
        self.write("src/base/a.h", '#include "base/b.h"\n')
        self.write("src/base/b.h", '#include "base/c.h"\n')
        self.write("src/base/c.h", '#include "base/a.h"\n')
        self.assert_found("base/a.h -> base/b.h -> base/c.h -> base/a.h")

    def test_one_header_of_a_layer_may_be_allowed(self):
        self.write("src/act/act.c", '#include "index/store/index_files.h"\n')
        self.assertEqual(self.check(), (0, ""))
        self.write("src/act/act.c", '#include "index/store/store.h"\n')
        self.assert_found("src/act/act.c: act may not include index/store/store.h")

    def test_cycle_of_calls_is_found(self):
        self.write("src/view/tree/a.c", "int a(void)\n{\n\treturn b();\n}\n")
        self.write("src/view/tree/b.c", "int b(void)\n{\n\treturn 1;\n}\n")
        self.write("src/view/tree/c.c", "int c(void)\n{\n\treturn a();\n}\n")
        self.assertEqual(self.check(), (0, ""))
        self.write("src/view/tree/b.c", "int b(void)\n{\n\treturn c();\n}\n")
        self.assert_found("src/view/tree: calls form a cycle: a.c calls b() of b.c; b.c calls c()")

    def test_member_and_static_function_of_the_same_name_are_no_call(self):
        self.write("src/view/tree/a.c", "int a(struct s *s)\n{\n\treturn b() + s->c + s->t.c;\n}\n")
        self.write("src/view/tree/b.c", "int b(void)\n{\n\treturn 1;\n}\n")
        self.write(
            "src/view/tree/c.c",
            "static int b(void)\n{\n\treturn 2;\n}\n\nint c(void)\n{\n\treturn a(0);\n}\n",
        )
        self.assertEqual(self.check(), (0, ""))

    def test_layer_with_too_many_lines_is_found(self):
        self.write("src/row/one.c", "\n" * 1000)
        self.write("src/row/two.c", "\n" * 700)
        self.assertEqual(self.check(), (0, ""))
        self.write("src/row/two.h", "\n")
        self.assert_found("src/row: 1701 lines, more than 1700")

    def test_other_dialect_is_found_and_its_definition_is_not(self):
        self.write("src/base/thread.c", "void f(void)\n{\n\tpthread_create(a, 0, b, c);\n}\n")
        self.assertEqual(self.check(), (0, ""))
        self.write("src/base/log.c", "bool f(void)\n{\n\treturn log != NULL; /* a == NULL */\n}\n")
        self.assert_found("src/base/log.c:3: '!= NULL': write !pointer, or the pointer alone")
        for source in (
            "\t(void)pthread_mutex_lock(lock);\n",
            "\tchar *name AUTO_FREE = 0;\n",
            "\tstruct bytes path CLEANUP_BYTES = {0};\n",
            "\tp = reallocarray(p, 1, 1);\n",
            "\tend_ns = timeout_ms * UINT64_C(1000000);\n",
            "\tpause_s = pause_ns / 1000000000;\n",
        ):
            self.write("src/base/log.c", f"void f(void)\n{{\n{source}}}\n")
            self.assert_found("src/base/log.c:3: '")
        self.write("src/base/log.c", "void f(void)\n{\n\tAUTO_FREE char *name = 0;\n}\n")
        self.assertEqual(self.check(), (0, ""))

    def test_two_structs_of_one_name_are_found(self):
        self.write("src/base/log.c", "struct one {\n\tint a;\n};\n/* struct two { */\n")
        self.write("src/view/tree/view.c", "struct two {\n\tstruct one *a;\n};\nstruct one;\n")
        self.assertEqual(self.check(), (0, ""))
        self.write("src/view/tree/view.c", "struct one {\n\tint a;\n};\n")
        self.assert_found("src/view/tree/view.c: struct one is also defined in src/base/log.c")

    def test_page_that_names_a_missing_file_is_found(self):
        self.write("src/base/log.c", "")
        self.write("PAGE.md", "`base/log.c` and linux/fuse.h\n")
        self.assertEqual(self.check(), (0, ""))
        self.write("PAGE.md", "\n`base/log.c` and `base/lost.h`\n")
        self.assert_found("PAGE.md:2: src/base/lost.h does not exist")

    def test_long_test_is_found_and_long_source_is_not(self):
        self.write("src/base/log.c", "\n" * 601)
        self.write("tests/log.py", "\n" * 600)
        self.assertEqual(self.check()[0], 0)
        self.write("tests/log.py", "\n" * 601)
        self.assert_found("tests/log.py: 601 lines")

    def test_long_function_is_found_whatever_its_braces_stand_in(self):
        body = "\tputs(\"}\"); /* } */\n\tputchar('}');\n" + "\tgo();\n" * 55
        short = f"static int\nshort_one(int a)\n{{\n{body}}}\n"
        self.write("src/base/log.c", "enum e { A };\n" + short)
        self.assertEqual(self.check(), (0, ""))
        longer = short.replace("go();\n", "go();\n\n", 1)
        self.write("src/base/log.c", "\n#define X {\n" + longer)
        self.assert_found("src/base/log.c:4: short_one() has 61 lines")

    def test_deep_nesting_is_found_and_initializers_are_none(self):
        inner = "call((struct s){1}, (int[]){2});\nint a[] = {1};\n"
        for block in ("if (x) {\n", "for (;;) {\n", "do {\n"):
            inner = block + inner + "}\n"
        self.write("src/base/log.c", f"void f(void)\n{{\n{inner}}}\n")
        self.assertEqual(self.check(), (0, ""))
        self.write("src/base/log.c", f"void f(void)\n{{\nif (x) {{\n}} else {{\n{inner}}}\n}}\n")
        self.assert_found("src/base/log.c:1: f() nests 4 blocks")

    def test_braces_that_do_not_match_are_found(self):
        self.write("src/base/log.c", "void f(void)\n{\n")
        self.assert_found("src/base/log.c: braces do not match")


if __name__ == "__main__":
    unittest.main()
