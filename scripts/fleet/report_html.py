# SPDX-License-Identifier: MIT
"""The report as a page without scripts, in the style of `twinfs report`."""
import html
from pathlib import Path

from fleet.human import first_rows, is_unfit, size_text
from fleet.questions import BYTES, NUMBER
from fleet.rows import exact_path

# The fragments of `twinfs report` are in data/page of the sources, or beside this package.
HERE = Path(__file__).resolve().parent
PAGE = next(path for path in (HERE.parent / "page", HERE.parents[1] / "data/page")
            if path.exists())
ROWS_SHOWN = 100
NAME_MAX = 500  # characters of a name that are shown
HEADER = """<header>
<h1>{title}</h1>
<p class="made">{made}</p>
</header>
<main>
"""
FOOT = """</main>
<footer>
<p>Files of one host were compared byte by byte. Between hosts, equal SHA-256 count as equal
contents. Two copies on one host, or two names of a file, count as one.</p>
<p>twinfs-fleet {version}</p>
</footer>
</body>
</html>
"""


def is_no_character(character):
    code = ord(character)
    return 0xfdd0 <= code <= 0xfdef or code & 0xfffe == 0xfffe


def escaped(character):
    """A character of a name. Bytes that are not UTF-8 are surrogates."""
    code = ord(character)
    if 0xdc80 <= code <= 0xdcff:
        return f"<i>\\x{code - 0xdc00:02x}</i>"
    if character in "\n\t":
        return "<i>\\n</i>" if character == "\n" else "<i>\\t</i>"
    if is_unfit(character) or is_no_character(character):
        form = f"u{code:04x}" if code <= 0xffff else f"U{code:08x}"
        return f"<i>\\x{code:02x}</i>" if code < 0x80 else f"<i>\\{form}</i>"
    return html.escape(character)


def name(path):
    """A name of any bytes; a long one without its middle."""
    text = path.decode("utf-8", "surrogateescape")
    parts = [text]
    if len(text) > NAME_MAX:
        parts = [text[:NAME_MAX // 2], text[-NAME_MAX // 2:]]
    return "<bdi>" + " … ".join("".join(map(escaped, part)) for part in parts) + "</bdi>"


def number(value):
    return f'<data value="{value}">{value:,}</data>'


def size(value):
    shown = size_text(value).replace(" ", "&nbsp;")
    return f'<data value="{value}">{shown}</data>'


def cell(column, kind, value, record):
    if value is None:
        return ""
    if column == "path":
        return name(exact_path(value, record["path_base64"]))
    if kind in (BYTES, NUMBER):
        return size(value) if kind == BYTES else number(value)
    return name(value.encode())


def visible(question):
    return [(column, kind, heading) for column, (kind, heading) in question.columns.items()
            if heading]


def table(question, rows):
    columns = visible(question)
    headings = "".join(f'<th scope="col"{kind_class(kind)}>{html.escape(heading)}</th>'
                       for _, kind, heading in columns)
    yield f'<div class="wide">\n<table>\n<thead><tr>{headings}</tr></thead>\n<tbody>\n'
    for row in rows:
        record = dict(zip(question.columns, row))
        yield "<tr>" + "".join(
            f"<td{kind_class(kind)}>{cell(column, kind, record[column], record)}</td>"
            for column, kind, _ in columns) + "</tr>\n"
    yield "</tbody>\n</table>\n</div>\n"


def kind_class(kind):
    return ' class="number"' if kind in (BYTES, NUMBER) else ""


def figures(question, row):
    yield '<dl class="figures">\n'
    for (column, kind, heading), value in zip(visible(question), row):
        yield (f"<div><dt>{html.escape(heading)}</dt>"
               f"<dd>{cell(column, kind, value, {})}</dd></div>\n")
    yield "</dl>\n"


def section(question, rows):
    shown, more = first_rows(rows, ROWS_SHOWN)
    yield f'<section id="{question.name}">\n<h2>{html.escape(question.title)}</h2>\n'
    if question.note and shown:
        yield f'<p class="lead">{html.escape(question.note)}</p>\n'
    if not shown:
        yield '<p class="lead">none</p>\n'
    elif question.name == "totals":
        yield from figures(question, shown[0])
    else:
        yield from table(question, shown)
    if more:
        yield f'<p class="more">and {number(more)} more; --format=csv has them</p>\n'
    yield "</section>\n"


def caveats(report):
    found = list(report.caveats())
    if found:
        yield '<aside class="caveats">\n'
        yield from (f"<p>Not complete: {html.escape(text)}</p>\n" for text in found)
        yield "</aside>\n"


def time_element(time):
    """2026-11-27T02:20:00Z for people and programs."""
    time = html.escape(time)
    shown = time.replace("T", " ").removesuffix(":00Z").removesuffix("Z")
    return f'<time datetime="{time}">{shown} UTC</time>'


def made(report):
    """The times of the oldest and the newest inventory."""
    times = sorted(host["created"] for host in report.hosts)
    if not times:
        return "no inventories"
    first, last = map(time_element, (times[0], times[-1]))
    return f"exported {first}" if first == last else f"exported from {first} to {last}"


def head(title):
    """The beginning of the page, as that of `twinfs report`, with the style of its own tables."""
    style, own = ((folder / "style.css").read_text(encoding="ascii") for folder in (PAGE, HERE))
    return (PAGE / "head.html").read_text(encoding="ascii").format(
        pictures="data:", title=title, style=style + own)


def write(report, file):
    file.write(head("What the hosts have"))
    file.write(HEADER.format(title="What the hosts have", made=made(report)))
    file.writelines(caveats(report))
    for question, rows in report.tables:
        file.writelines(section(question, rows))
    file.write(FOOT.format(version=report.version))
