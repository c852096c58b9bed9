"""Views tables of pandas: frames, series, indexes and their arrays, as shape, dtypes and head, through slices.

pandas is Python code, so all of it runs where it can be interrupted, and a table that fails is shown as any object.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Callable, Iterator, List, Optional, Tuple, TypeVar

from ..rpc.interrupts import guard
from . import raw
from .numpy_arrays import dtype_text, plain_scalar
from .sequence_views import POSITION, Labelled, SequenceView, loaded_name

if TYPE_CHECKING:
    from ....rows import ValueRow

Read = TypeVar("Read")

MOST_COLUMNS = 50
"""columns of a frame that its row names, and that the text of one of its rows can show"""
_CHUNK = 64


def table_view(obj: Any, deadline: Optional[float]) -> Optional[SequenceView]:
    make = _view_class(obj)
    if make is None:
        return None
    with guard() as running:
        if running.interrupted or (deadline is not None and time.monotonic() >= deadline):
            return None
        return running.attempt(make, obj)  # type: ignore[no-any-return]


def _view_class(obj: Any) -> Optional[Callable[[Any], SequenceView]]:
    if type(obj) is TableRow:
        return RowView
    if loaded_name("pandas", "DataFrame") is None:
        return None
    known = ((loaded_name(module, name), make) for module, name, make in _VIEW_CLASSES)
    return next((make for base, make in known if raw.is_a(base, type) and raw.is_a(obj, base)), None)


def _contained(read: Callable[..., Read]) -> Callable[..., Read]:
    """Make a function that may be interrupted, and raises RuntimeError if it fails."""

    def read_contained(*args: Any) -> Read:
        with guard() as running:
            value, error = running.call(read, *args)
            is_read, error = error is None, None  # its traceback holds this frame
            if not is_read:
                raise RuntimeError("the table cannot be read")
            return value  # type: ignore[no-any-return]

    return read_contained


class ListView(SequenceView):
    """An index, or what pandas calls an array: values by position."""

    def __init__(self, obj: Any, paired: bool = False) -> None:
        self.obj = obj
        self.dtype = dtype_text(obj.dtype)
        opening = "%s(shape=(%d,), dtype=%s, " % (raw.type_name(obj), len(obj), self.dtype)
        super().__init__(opening + ("{" if paired else "["), "})" if paired else "])", len(obj), paired)

    @_contained
    def labelled_page(self, start: int, stop: int) -> Labelled:
        return [(POSITION, value) for value in self.obj[start:stop]]

    def shown_items(self) -> Iterator[Any]:
        for start in range(0, self.items, _CHUNK):
            for label, value in self.labelled_page(start, start + _CHUNK):
                yield (label, plain_scalar(value)) if self.paired else plain_scalar(value)

    def row_facts(self, detailed: bool) -> ValueRow:
        return {"shape": [self.items], "dtype": self.dtype}


class SeriesView(ListView):
    def __init__(self, obj: Any) -> None:
        self.index = obj.index
        super().__init__(obj, raw.type_name(self.index) != "RangeIndex")

    @_contained
    def labelled_page(self, start: int, stop: int) -> Labelled:
        return list(zip(map(plain_scalar, self.index[start:stop]), self.obj.iloc[start:stop].array))

    def row_facts(self, detailed: bool) -> ValueRow:
        return {"shape": [self.items], "dtype": self.dtype, "index_type": raw.type_name(self.index)}


class TableView(SequenceView):
    """A frame: columns are its named members, rows its items."""

    def __init__(self, obj: Any) -> None:
        self.obj, self.index, self.columns = obj, obj.index, obj.columns
        rows, columns = len(self.index), len(self.columns)
        super().__init__("%s(shape=(%d, %d), [" % (raw.type_name(obj), rows, columns), "])", rows, named=columns)

    @_contained
    def _row_slice(self, start: int, stop: int) -> List[TableRow]:
        part = self.obj.iloc[start:stop, :MOST_COLUMNS]
        labels = [plain_scalar(label) for label in self.columns[:MOST_COLUMNS]]
        cells = [list(part.iloc[:, place].array) for place in range(len(labels))]
        count = len(part.index)
        return [TableRow(self.obj, start + row, labels, [column[row] for column in cells]) for row in range(count)]

    def shown_items(self) -> Iterator[Any]:
        for start in range(0, self.items, _CHUNK // 8):
            yield from self._row_slice(start, start + _CHUNK // 8)

    @_contained
    def named_page(self, start: int, stop: int) -> Labelled:
        labels = list(self.columns[start:stop])
        return [(plain_scalar(label), self.obj.iloc[:, start + place]) for place, label in enumerate(labels)]

    @_contained
    def labelled_page(self, start: int, stop: int) -> Labelled:
        return list(zip(map(plain_scalar, self.index[start:stop]), self._row_slice(start, stop)))

    @_contained
    def row_facts(self, detailed: bool) -> ValueRow:
        found: ValueRow = {"shape": [self.items, self.named], "index_type": raw.type_name(self.index)}
        if detailed and self.named <= 1000:
            found["memory_bytes"] = int(self.obj.memory_usage(index=True, deep=False).sum())
        return found

    @_contained
    def column_types(self) -> Labelled:
        dtypes = list(self.obj.iloc[:0, :MOST_COLUMNS].dtypes)
        return list(zip(self.columns[:MOST_COLUMNS], map(dtype_text, dtypes)))


class TableRow:
    """One row of a frame; its first cells are there already."""

    __slots__ = ("cells", "frame", "labels", "position")

    def __init__(self, frame: Any, position: int, labels: List[Any], cells: List[Any]) -> None:
        self.frame, self.position, self.labels, self.cells = frame, position, labels, cells


class RowView(SequenceView):
    def __init__(self, row: TableRow) -> None:
        self.row = row
        super().__init__("{", "}", len(row.frame.columns), True)

    def shown_items(self) -> Iterator[Tuple[Any, Any]]:
        for label, cell in zip(self.row.labels, self.row.cells):
            yield label, plain_scalar(cell)

    @_contained
    def labelled_page(self, start: int, stop: int) -> Labelled:
        position, frame = self.row.position, self.row.frame
        part = frame.iloc[position : position + 1, start:stop]
        labels = enumerate(frame.columns[start:stop])
        return [(plain_scalar(label), part.iloc[:, place].array[0]) for place, label in labels]


_VIEW_CLASSES: Tuple[Tuple[str, str, Callable[[Any], SequenceView]], ...] = (
    ("pandas", "DataFrame", TableView),
    ("pandas", "Series", SeriesView),
    ("pandas", "Index", ListView),
    ("pandas.api.extensions", "ExtensionArray", ListView),
)
