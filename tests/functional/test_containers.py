# SPDX-License-Identifier: MIT
"""Machines and containers that give twinfs less than it expects."""
import os
import platform
from pathlib import Path

import pytest

FILTERED_CALLS = Path(__file__).parent.parent / "tools/filtered_calls.py"
# The numbers of x86-64; newer calls have one number on all machines.
NUMBERS = {"statx": 332, "openat2": 437, "faccessat2": 439, "getrandom": 318,
           "copy_file_range": 326}
SUBSTITUTED = sorted(set(NUMBERS) - {"statx"})
SMALL_STACK = 128 << 10  # the stack of a thread in musl

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="needs x86-64")


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    (folder / "below").mkdir(parents=True)
    for name in ("a", "b", "below/c"):
        (folder / name).write_bytes(b"equal")
    (folder / "single").write_bytes(b"single")
    return folder


def filtered(twinfs, *calls):
    other = twinfs.with_index(twinfs.index)
    other.wrapped = ["/usr/bin/python3", str(FILTERED_CALLS),
                     ",".join(str(NUMBERS[call]) for call in calls)]
    return other


def names(folder):
    return sorted(os.path.relpath(os.path.join(root, name), folder)
                  for root, _, files in os.walk(folder) for name in files)


@pytest.mark.parametrize("calls", [*((call,) for call in SUBSTITUTED), tuple(SUBSTITUTED)],
                         ids="+".join)
def test_filter_does_not_know_calls_all_commands_work(twinfs, source, calls):
    program = filtered(twinfs, *calls)
    copies = {os.fsencode(source / name) for name in ("a", "b", "below/c")}
    assert program.groups(source) == {frozenset(copies)}
    before = names(source)
    with program.mounted(source, options=["--wait"]) as view:
        assert names(view.path / "uniques") == ["a", "single"]
    program.ok("remove", "--yes", source)
    assert names(source) == ["a", "single"]
    program.ok("undo", "--yes")
    assert names(source) == before


def test_filter_does_not_know_statx_names_call_and_remedy(twinfs, source):
    result = filtered(twinfs, "statx")("list", source)
    assert result.status == 1
    assert result.error.count(b"\n") == 1
    assert b"a filter for system calls forbids statx(2)" in result.error
    assert b"use a newer container runtime" in result.error


def test_filter_does_not_know_a_call_doctor_names_it(twinfs, source):
    result = filtered(twinfs, "openat2")("doctor", source)
    assert b"a filter forbids openat2(2)" in result.out
    assert b"faccessat2" not in result.out


def test_stack_is_small_view_and_acts_work(twinfs, source):
    if twinfs.is_instrumented():
        pytest.skip("needs a build without instruments")
    twinfs.wrapped = ["prlimit", f"--stack={SMALL_STACK}"]
    with twinfs.mounted(source, options=["--wait"]) as view:
        (source / "d").write_bytes(b"single")
        view.sync()
        assert names(view.path / "redundant") == ["b", "below/c", "d"]
    twinfs.ok("remove", "--yes", source)
    assert names(source) == ["a", "single"]


@pytest.mark.parametrize("blocks", [1, 100])
def test_file_sizes_are_limited_cause_and_remedy_are_named(twinfs, source, blocks):
    for number in range(2000):
        (source / str(number)).write_bytes(b"%d" % number)
    twinfs.wrapped = ["prlimit", f"--fsize={blocks << 10}"]
    result = twinfs("scan", source)
    assert result.status == 1, result
    assert b"File too large; raise the limit with 'ulimit -f unlimited'" in result.error
    twinfs.wrapped = []
    assert len(twinfs.groups(source)) == 1
