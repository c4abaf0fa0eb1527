# SPDX-License-Identifier: MIT
"""Servers and file systems on top of a view pass on what it holds, also after changes."""
import contextlib
import http.client
import json
import shutil
import socket
import subprocess
import urllib.parse
from xml.etree import ElementTree

import pytest
import trees
from disks import sftp_mount
from processes import end_process, until

FILES = {
    "empty": b"", "large file": trees.content("large", 3 << 20), "one": b"one",
    "é/ü 1 (2) #%&+": b"name", "a/b/c/deep": b"deep", "a/copy": b"one", "a/long": b"x" * 70_000,
}
NGINX = """daemon off; pid {0}/pid; user root; worker_processes 1; error_log {0}/errors;
events {{}}
http {{ access_log off; client_body_temp_path {0}/t; proxy_temp_path {0}/t;
fastcgi_temp_path {0}/t; uwsgi_temp_path {0}/t; scgi_temp_path {0}/t;
server {{ listen unix:{0}/socket; root {1}; autoindex on; autoindex_format json; }} }}
"""
LIGHTTPD = """server.modules = ("mod_webdav")
server.document-root = "{1}"
server.bind = "{0}/socket"
server.port = 80
server.stat-cache-engine = "disable"
server.errorlog = "{0}/errors"
$HTTP["url"] =~ "" {{ webdav.activate = "enable" webdav.is-readonly = "enable" }}
"""
SAMBA = """[global]
interfaces = 127.0.0.1
bind interfaces only = yes
private dir = {0}
lock directory = {0}
state directory = {0}
cache directory = {0}
pid directory = {0}
ncalrpc dir = {0}/rpc
log file = {0}/log
map to guest = Bad User
guest account = root
disable spoolss = yes
load printers = no
[view]
path = {1}
guest ok = yes
read only = yes
"""


def read_tree(root):
    """{path: bytes} of the regular files."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*")
            if path.is_file()}


def merged(parts):
    return {path: data for part in parts for path, data in part.items()}


@contextlib.contextmanager
def served(command, is_ready):
    """Runs a server until the end of the block; it must start to serve and must not end."""
    # some servers send the signal that ends them to their process group
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as server:
        try:
            assert until(lambda: server.poll() is not None or is_ready()), command
            assert server.poll() is None, command
            yield
        finally:
            assert end_process(server.pid, 15)


def connected(path):
    connection = http.client.HTTPConnection("view")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(path))
    return connection


def answers(path):
    with contextlib.suppress(OSError):
        connected(path).close()
        return True
    return False


def ask(path, method, url, **headers):
    """The body of the reply of an HTTP server at a socket."""
    with contextlib.closing(connected(path)) as connection:
        connection.request(method, urllib.parse.quote(url), headers=headers)
        reply = connection.getresponse()
        assert reply.status in (200, 207), (url, reply.status)
        return reply.read()


@contextlib.contextmanager
def by_http(folder, root):
    """nginx, with the listings that it makes."""
    (folder / "conf").write_text(NGINX.format(folder, root))

    def tree(part, below=""):
        found = json.loads(ask(folder / "socket", "GET", f"/{part}/{below}"))
        return merged(tree(part, f"{below}{entry['name']}/") if entry["type"] == "directory"
                      else {below + entry["name"]: ask(folder / "socket", "GET",
                                                       f"/{part}/{below}{entry['name']}")}
                      for entry in found)

    with served(["nginx", "-c", folder / "conf", "-e", folder / "errors"],
                lambda: answers(folder / "socket")):
        yield tree


@contextlib.contextmanager
def by_webdav(folder, root):
    """lighttpd, with PROPFIND."""
    (folder / "conf").write_text(LIGHTTPD.format(folder, root))

    def tree(part, below=""):
        root, url = f"/{part}/", f"/{part}/{below}"
        listing = ElementTree.fromstring(ask(folder / "socket", "PROPFIND", url, Depth="1"))
        found = [urllib.parse.unquote(href.text) for href in listing.iter("{DAV:}href")]
        return merged(tree(part, path.removeprefix(root)) if path.endswith("/")
                      else {path.removeprefix(root): ask(folder / "socket", "GET", path)}
                      for path in found if path != url)

    with served(["lighttpd", "-D", "-f", folder / "conf"], lambda: answers(folder / "socket")):
        yield tree


@contextlib.contextmanager
def by_smb(folder, root):
    """Samba, read by its own client."""
    (folder / "conf").write_text(SAMBA.format(folder, root))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])

    def client(commands):
        return subprocess.run(["smbclient", "-s", folder / "conf", "-N", "-p", port,
                               "//127.0.0.1/view", "-c", commands], capture_output=True)

    def tree(part):
        target = folder / "got"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        result = client(f'recurse on; prompt off; cd {part}; lcd "{target}"; mget *')
        assert b"ERR" not in result.stdout and b"NT_STATUS_ACCESS" not in result.stdout, result
        return read_tree(target)

    with served(["smbd", "-s", folder / "conf", "-F", "--no-process-group", "-p", port],
                lambda: client("ls").returncode == 0):
        yield tree


@contextlib.contextmanager
def by_sftp(folder, root):
    """sftp-server, mounted by sshfs."""
    with contextlib.ExitStack() as ending:
        mounted = sftp_mount(folder, root, ending, "follow_symlinks")
        yield lambda part: read_tree(mounted / part)


SERVERS = {"nginx": by_http, "lighttpd": by_webdav, "smbd": by_smb, "sshfs": by_sftp}


@pytest.fixture
def files(source):
    for path, data in FILES.items():
        trees.write(source / path, data)
    return source


@pytest.mark.parametrize("server", SERVERS)
def test_servers_pass_on_the_view_and_its_changes(twinfs, files, tmp_path, root_only, server):
    if not shutil.which(server):
        pytest.skip(f"needs {server}")
    with twinfs.mounted(files) as view, SERVERS[server](tmp_path, view.path) as tree:
        assert tree("uniques") == read_tree(view.uniques)
        assert tree("dups") == read_tree(view.dups) != {}
        assert merged([tree("uniques"), tree("redundant")]) == FILES
        trees.write(files / "a/copy", b"another")
        (files / "large file").rename(files / "a/moved")
        (files / "one").write_bytes(b"longer than before")
        (files / "empty").unlink()
        view.sync()
        assert tree("uniques") == read_tree(files)
        assert tree("dups") == tree("redundant") == {}


def test_an_overlay_of_uniques_and_redundant_is_the_source(twinfs, files, tmp_path, root_only):
    merged_at = tmp_path / "merged"
    merged_at.mkdir()
    (files / "link").symlink_to("one")
    with twinfs.mounted(files) as view:
        layers = f"lowerdir={view.uniques}:{view.path}/redundant"
        subprocess.run(["mount", "-t", "overlay", "-o", layers, "overlay", merged_at], check=True)
        try:
            assert read_tree(merged_at) == read_tree(files)
            assert sorted(path.relative_to(files) for path in files.rglob("*")) == sorted(
                path.relative_to(merged_at) for path in merged_at.rglob("*"))
        finally:
            subprocess.run(["umount", merged_at], check=True)
