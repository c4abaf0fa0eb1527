# SPDX-License-Identifier: MIT
"""A small strict parser of the Prometheus text format 0.0.4.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
KINDS = ("counter", "gauge", "histogram", "summary", "untyped")
HELP = re.compile(rf"# HELP ({NAME}) (\S.*)")
TYPE = re.compile(rf"# TYPE ({NAME}) (\w+)")
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)(?: (-?\d+))?")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("_sum", "_count", "")}


def label(value):
    """The value of a label as parse() returns it, with its escapes."""
    text = value.decode(errors="replace")
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def parse(text):
    """{(name, frozenset of (label, value)): number}; raises ValueError for a wrong line."""
    if text and not text.endswith("\n"):
        raise ValueError("the last line has no end")
    helped, kinds, samples = set(), {}, {}
    for line in text.split("\n")[:-1]:
        if line.startswith("# HELP "):
            _help(line, helped, kinds)
        elif line.startswith("# TYPE "):
            _type(line, helped, kinds)
        elif line and not line.startswith("#"):
            key, value = _sample(line, kinds)
            if key in samples:
                raise ValueError(f"twice: {line}")
            samples[key] = value
    empty = [name for name in kinds if not _has_samples(name, kinds[name], samples)]
    if empty:
        raise ValueError(f"no samples of {empty}")
    return samples


def _has_samples(name, kind, samples):
    names = {name + suffix for suffix in SUFFIXES.get(kind, ("",))}
    return any(sample in names for sample, _ in samples)


def _help(line, helped, kinds):
    match = HELP.fullmatch(line)
    if not match or match[1] in helped or match[1] in kinds:
        raise ValueError(f"wrong, twice or late: {line}")
    helped.add(match[1])


def _type(line, helped, kinds):
    match = TYPE.fullmatch(line)
    if not match or match[2] not in KINDS or match[1] in kinds:
        raise ValueError(f"wrong or twice: {line}")
    if match[1] not in helped:
        raise ValueError(f"TYPE without HELP before it: {line}")
    # The lines of a metric must be together, so the TYPE of the next one ends it.
    kinds[match[1]] = match[2]


def _sample(line, kinds):
    match = SAMPLE.fullmatch(line)
    if not match:
        raise ValueError(f"no sample: {line}")
    name, labels = match[1], _labels(match[2], line)
    if not kinds:
        raise ValueError(f"no TYPE before it: {line}")
    metric, kind = list(kinds.items())[-1]
    if name not in {metric + suffix for suffix in SUFFIXES.get(kind, ("",))}:
        raise ValueError(f"not beside its TYPE: {line}")
    value = float(match[3])
    if kind == "counter" and not value >= 0:
        raise ValueError(f"a counter below zero: {line}")
    return (name, frozenset(labels.items())), value


def _labels(text, line):
    labels, at = {}, 0
    while text and at < len(text):
        match = LABEL.match(text, at)
        if not match or match[1] in labels:
            raise ValueError(f"wrong label: {line}")
        labels[match[1]] = match[2]
        at = match.end()
    return labels
