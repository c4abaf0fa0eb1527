# SPDX-License-Identifier: MIT
"""Completions of bash, zsh and fish agree with the options of the program."""
import re
import shutil

import pytest
import shells
from manual import HELP_OPTION
from program import COMMANDS

SHELLS = {"bash": shells.Bash, "zsh": shells.Zsh, "fish": shells.Fish}
RULES = {"source-order", "first-seen", "oldest", "newest", "shortest-path", "longest-path",
         "most-linked", "path:"}


@pytest.fixture(params=SHELLS)
def shell(request, session, tmp_path):
    if not shutil.which(request.param):
        pytest.skip(f"needs {request.param}")
    return SHELLS[request.param](session, tmp_path)


def options_of(twinfs, command):
    return list(HELP_OPTION.finditer(twinfs.ok(command, "--help", index=False).out.decode()))


def with_words(twinfs):
    """(command, name, words) of each option with a fixed set of words."""
    return [(command, option["name"], option["value"].split("|"))
            for command in COMMANDS for option in options_of(twinfs, command)
            if "|" in (option["value"] or "")]


def test_commands_are_offered(shell):
    assert shell.offers("") >= set(COMMANDS)
    assert shell.offers("mo") == {"mount", "move"}
    assert shell.offers("help", "mo") == {"mount", "move"}


@pytest.mark.parametrize("command", COMMANDS)
def test_exactly_the_options_of_a_command_are_offered(twinfs, shell, command):
    wanted = set()
    for option in options_of(twinfs, command):
        wanted |= {f"--{option['name']}"}
        wanted |= {f"-{option['letter']}"} if option["letter"] else set()
    assert shell.offers(command, "--") == {word for word in wanted if word.startswith("--")}
    assert shell.offers(command, "-") == wanted


def test_words_of_each_option_are_offered(twinfs, shell):
    options = with_words(twinfs)
    assert ("list", "format", ["text", "fdupes", "json", "jsonl", "csv", "null"]) in options
    # one command for each option
    different = {(name, *words): (command, name, words) for command, name, words in options}
    for command, name, words in different.values():
        assert shell.offers(command, f"--{name}=") == set(words), (command, name)
    assert shell.offers("list", "-F", "js") == {"json", "jsonl"}


def test_program_accepts_exactly_the_words_in_its_help(twinfs):
    for command, name, words in with_words(twinfs):
        for word in words:
            twinfs.ok(command, f"--{name}={word}", "--help", index=False)
        refused = twinfs(command, f"--{name}=other", "--help", index=False)
        assert refused.status == 2
        expected = f"{', '.join(words[:-1])} or {words[-1]}"
        assert f"'--{name}' needs {expected}, not 'other'" in refused.errors[0]


def test_rules_are_offered_one_after_the_other(twinfs, shell):
    message = twinfs("list", "--keep=other", "--help").errors[0]
    named = re.search(r"rules: (.*), not", message)[1].replace(" or ", ", ").split(", ")
    assert {rule.replace("path:GLOB", "path:") for rule in named} == RULES
    assert {rule.split(",")[-1] for rule in shell.offers("list", "--keep=")} == RULES
    following = shell.offers("list", "--keep", "oldest,s")
    assert {rule.split(",")[-1] for rule in following} == {"source-order", "shortest-path"}


def test_items_of_a_mount_are_offered(twinfs, shell):
    text = twinfs.ok("mount", "--help", index=False).out.decode()
    wanted = {option["name"] for option in HELP_OPTION.finditer(text)} - {"options", "help"}
    of_fuse = {"allow_other", "auto_unmount", "io_uring", "nonempty", "passthrough",
               "trusted_xattrs"}
    assert of_fuse <= set(re.findall(r"\w+", text))
    assert shell.offers("mount", "-o", "") == wanted | of_fuse
    following = shell.offers("mount", "-o", "passthrough,wat")
    assert {item.split(",")[-1] for item in following} == {"watch"}


def test_options_of_mount_are_offered_without_a_command(shell):
    assert shell.offers("--for") == {"--foreground"}


@pytest.fixture
def views(twinfs, source, tmp_path):
    """A view whose path needs quoting, and another view beside it."""
    with twinfs.mounted(source, at=tmp_path / "a view's"), \
         twinfs.with_index(tmp_path / "other").mounted(source, at=tmp_path / "another"):
        yield [str(tmp_path / "a view's"), str(tmp_path / "another")]


def test_mounted_views_are_offered_as_operands(views, shell):
    for command in ("status", "list", "check", "unmount"):
        assert set(views) <= shell.offers(command, "")


@pytest.mark.parametrize("name", ["My Photos", "it's", 'so-"called"', "$HOME", "a;b",
                                  "back\\slash"])
def test_folder_with_an_odd_name_is_completed(shell, name):
    (shell.folder / "sub").mkdir()
    (shell.folder / "sub" / name).mkdir()
    (shell.folder / "sub" / f"no {name}").touch()
    for command in ("scan", "check", "unmount", "list --index"):
        *before, folder = shell.called_after(f"twinfs {command} sub/")
        assert (before, folder.rstrip("/")) == (command.split(), f"sub/{name}")


def test_view_with_an_odd_name_is_completed(views, shell):
    begin = views[0].rpartition("/")[0]
    for typed in (f"{begin}/a\\ v", f'"{begin}/a v'):
        shell.called.unlink(missing_ok=True)
        assert shell.called_after(f"twinfs status {typed}")[-1].rstrip("/") == views[0]


def test_files_are_offered_for_commands_that_take_files(shell):
    (shell.folder / "sub").mkdir()
    (shell.folder / "sub/a file").touch()
    assert shell.called_after("twinfs copies sub/") == ["copies", "sub/a file"]
    assert shell.called_after("twinfs list sub/") == ["list", "sub/a file"]
    assert shell.called_after("twinfs recover sub/") == ["recover", "sub/"]
