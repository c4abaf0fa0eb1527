#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sets the format of an index to 999, as if a newer twinfs had written it.

The format is the only record that every version can read: "format" in table "meta" has the text
"twinfs N".  liblmdb is called directly, without code of twinfs.

As a module, it can also hold the lock or a snapshot of an index, and count snapshots of killed
processes.

usage: newer_index.py FOLDER
"""
import contextlib
import ctypes
import fcntl
import os
import signal
import sys

MAP_BYTES = 1 << 32
READ_ONLY = 0x20000  # MDB_RDONLY


class Value(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("data", ctypes.c_char_p)]

    def __init__(self, data):
        super().__init__(len(data), data)


def check(result, what):
    if result != 0:
        raise OSError(f"{what}: LMDB error {result}")


def library():
    lmdb = ctypes.CDLL("liblmdb.so.0")
    pointer = ctypes.c_void_p
    lmdb.mdb_env_set_mapsize.argtypes = [pointer, ctypes.c_size_t]
    lmdb.mdb_env_set_maxdbs.argtypes = [pointer, ctypes.c_uint]
    lmdb.mdb_env_open.argtypes = [pointer, ctypes.c_char_p, ctypes.c_uint, ctypes.c_uint]
    lmdb.mdb_txn_begin.argtypes = [pointer, pointer, ctypes.c_uint, ctypes.POINTER(pointer)]
    lmdb.mdb_dbi_open.argtypes = [pointer, ctypes.c_char_p, ctypes.c_uint,
                                  ctypes.POINTER(ctypes.c_uint)]
    lmdb.mdb_put.argtypes = [pointer, ctypes.c_uint, ctypes.POINTER(Value),
                             ctypes.POINTER(Value), ctypes.c_uint]
    lmdb.mdb_txn_commit.argtypes = [pointer]
    lmdb.mdb_env_close.argtypes = [pointer]
    lmdb.mdb_reader_check.argtypes = [pointer, ctypes.POINTER(ctypes.c_int)]
    return lmdb


@contextlib.contextmanager
def environment(lmdb, folder, flags=0):
    env = ctypes.c_void_p()
    check(lmdb.mdb_env_create(ctypes.byref(env)), "create")
    try:
        check(lmdb.mdb_env_set_mapsize(env, MAP_BYTES), "map size")
        check(lmdb.mdb_env_set_maxdbs(env, 32), "tables")
        check(lmdb.mdb_env_open(env, os.fsencode(folder), flags, 0o600), "open")
        yield env
    finally:
        lmdb.mdb_env_close(env)


def put_format(folder, text):
    lmdb, txn, table = library(), ctypes.c_void_p(), ctypes.c_uint()
    with environment(lmdb, folder) as env:
        check(lmdb.mdb_txn_begin(env, None, 0, ctypes.byref(txn)), "begin")
        check(lmdb.mdb_dbi_open(txn, b"meta", 0, ctypes.byref(table)), "table")
        check(lmdb.mdb_put(txn, table, Value(b"format"), Value(text), 0), "put")
        check(lmdb.mdb_txn_commit(txn), "commit")


@contextlib.contextmanager
def lock_held(folder):
    """This process holds the lock of the index, as a daemon does until it has ended."""
    with open(os.path.join(folder, "owner"), "a+b") as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        yield owner


def hold_snapshot(folder):
    """Begins a snapshot, prints "begun", and keeps it until this process is killed."""
    lmdb, txn = library(), ctypes.c_void_p()
    with environment(lmdb, folder, READ_ONLY) as env:
        check(lmdb.mdb_txn_begin(env, None, READ_ONLY, ctypes.byref(txn)), "begin")
        print("begun", flush=True)
        signal.pause()


def dead_snapshots(folder):
    """Removes the snapshots of killed processes and returns their number."""
    lmdb, dead = library(), ctypes.c_int()
    with environment(lmdb, folder, READ_ONLY) as env:
        check(lmdb.mdb_reader_check(env, ctypes.byref(dead)), "readers")
    return dead.value


def make_newer(folder):
    put_format(folder, b"twinfs 999")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.rsplit("\n\n", 1)[1].strip())
    make_newer(sys.argv[1])
