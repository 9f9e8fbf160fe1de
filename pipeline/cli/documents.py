"""What the commands on files of documents share: how documents are read, and what is told of it."""

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from pipeline.cli.output import counted
from pipeline.corpus.records import Format, Source, format_by_content, format_of
from pipeline.corpus.sign import Progress, Refused
from pipeline.lines import lines
from pipeline.printed import shown
from pipeline.similarity.curve import bands_for
from pipeline.similarity.shingles import LONG, SHORT, WORDS

C = TypeVar("C", bound=Callable[..., Any])
REFUSED_SHOWN = 20
"""Malformed records that are shown."""
UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


class Bytes(click.ParamType):
    """A size such as 500m or 2g."""

    name = "size"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """In bytes."""
        if isinstance(value, int):
            return value
        number, unit = value.lower().removesuffix("b").removesuffix("i"), 1
        if number[-1:] in UNITS:
            number, unit = number[:-1], UNITS[number[-1]]
        try:
            found = int(float(number) * unit)
        except (ValueError, OverflowError):
            found = 0
        if found < UNITS["m"]:
            self.fail(f"{value!r} is no size of a megabyte or more, such as 500m or 2g.", param, ctx)
        return found


def document_options(command: C) -> C:
    """The options that say how documents are read and cut: words, width, form, text, identity, encoding."""
    options = [
        click.option("--words", is_flag=True, help="Shingles of words, not of characters."),
        click.option("--width", type=click.IntRange(1, 1_000), help=(
            f"Characters of a shingle, or words. Default: {SHORT} for short texts, {LONG} for long ones, {WORDS} words.")),
        click.option("--format", "form", type=click.Choice(["jsonl", "csv", "tsv", "lines"]), help="Default: as the name ends."),
        click.option("--text", multiple=True, help="Field of the text; may be repeated. Default: title and body, or text."),
        click.option("--id", "identity", default="", help="Field of the id. Default: id or url, or the number of the line."),
        click.option("--encoding", default="utf-8", show_default=True, callback=_encoding, help="Encoding of the files."),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def _encoding(_: click.Context, __: click.Parameter, value: str) -> str:
    try:
        newline = "\n".encode(value)
    except LookupError:
        raise click.BadParameter(f"{value!r} is no encoding that Python knows.") from None
    if newline != b"\n":
        raise click.BadParameter(f"Lines do not end with one byte in {value}; save the file as UTF-8.")
    return value


def chosen_bands(similarity: float, recall: float, size: int) -> tuple[int, int]:
    """The bands and rows for this similarity and recall. Raises UsageError if there are none."""
    try:
        return bands_for(similarity, recall, size)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def work_folder(command: str, plan: Mapping[str, Any], own: Path | None) -> Path:
    """The folder of a run, by its plan: in the current folder, or in that for standard input."""
    name = hashlib.blake2b(msgspec.json.encode(plan), digest_size=6).hexdigest()
    return own / "work" if own else Path(f".newsburst-{command}-{name}")


@contextmanager
def sources_of(
    files: tuple[str, ...], form: Format | None, encoding: str
) -> Iterator[tuple[list[Source], Path | None]]:
    """The files. Standard input and pipes, which cannot be read twice, are copied first, into a folder that is then deleted."""
    if files.count("-") > 1:
        raise click.UsageError("Standard input can be read only once.")
    with ExitStack() as stack:
        own = None
        sources: list[Source] = []
        for path in files:
            name = path if len(files) > 1 else ""
            if path == "-" or not Path(path).is_file():
                own = own or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="newsburst-")))
                copy = own / f"input-{len(sources)}"
                with (
                    copy.open("wb") as file,
                    nullcontext(sys.stdin.buffer) if path == "-" else Path(path).open("rb") as pipe,
                ):
                    shutil.copyfileobj(pipe, file)
                _, begin = next(lines(str(copy)), (0, b""))
                sources.append(Source(str(copy), form or format_by_content(begin or b""), encoding, name))
            else:
                sources.append(Source(path, form or format_of(path), encoding, name))
        yield sources, own


@contextmanager
def progress(sources: Sequence[Source], folder: Path, step: str, steps: int) -> Iterator[Progress]:
    """Bars with the time left on a terminal, for reading and for so many steps; malformed records and what goes on as lines."""
    total = sum(Path(source.path).stat().st_size for source in sources)
    refused, wrong_encoding = 0, set[str]()
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        reading = bars.add_task("reading", total=total)
        stepping = bars.add_task(step, total=steps, start=False)

        def say(text: str) -> None:
            console.print(shown(text), soft_wrap=True)

        def refuse(record: Refused) -> None:
            nonlocal refused
            if "--encoding" in record.error:  # which is wrong for the whole file
                if record.path in wrong_encoding:
                    return
                wrong_encoding.add(record.path)
            refused += 1
            if refused <= REFUSED_SHOWN:
                say(f"{record.path}, line {record.line}: {record.error}")
            if refused == REFUSED_SHOWN:
                say("More malformed records are counted, and not shown.")

        def joined() -> None:
            bars.update(reading, completed=total)
            if not bars.tasks[stepping].started:
                bars.start_task(stepping)
            bars.advance(stepping)

        yield Progress(
            refused=refuse,
            resumed=lambda count: say(
                f"Going on with the work in {folder}: {counted(count, 'record', 'records')} done."
            ),
            read=lambda count: bars.update(reading, completed=count),
            joined=joined,
        )
