"""pandas: frames, series, indexes and their arrays, as shape, dtypes and head, through slices.

pandas is Python code, so all of it runs where it can be interrupted, and a table that fails is shown as any object.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Iterator, List, Optional, Tuple

from . import raw
from .arrays import dtype_text, scalar
from .interrupts import guard
from .lenses import POSITION, Json, Labelled, Lens, loaded

COLUMNS = 50
"""of a frame that a row names, and that the text of one of its rows can show"""
_COUNTED_COLUMNS = 1000
_CHUNK = 64


def lens(obj: Any, deadline: Optional[float]) -> Optional[Lens]:
    make = _maker(obj)
    if make is None:
        return None
    with guard() as running:
        if running.interrupted or (deadline is not None and time.monotonic() >= deadline):
            return None
        found: Optional[Lens] = running.attempt(make, obj)
        return found


def _maker(obj: Any) -> Optional[Callable[[Any], Lens]]:
    if type(obj) is Row:
        return RowLens
    if loaded("pandas", "DataFrame") is None:
        return None
    for name, make in (("DataFrame", FrameLens), ("Series", SeriesLens), ("Index", ListLens)):
        base = loaded("pandas", name)
        if raw.is_a(base, type) and raw.is_a(obj, base):
            return make
    base = loaded("pandas.api.extensions", "ExtensionArray")
    return ListLens if raw.is_a(base, type) and raw.is_a(obj, base) else None


def _attempt(function: Callable[..., Any], *args: Any) -> Any:
    with guard() as running:
        value, error = running.call(function, *args)
        try:
            if error is not None:
                raise RuntimeError("the table cannot be read")
            return value
        finally:
            error = None


class ListLens(Lens):
    """An index, or what pandas calls an array: values by position."""

    __slots__ = ("dtype", "obj")

    def __init__(self, obj: Any) -> None:
        self.obj = obj
        self.dtype = dtype_text(obj.dtype)
        opening = "%s(shape=(%d,), dtype=%s, [" % (raw.type_name(obj), len(obj), self.dtype)
        super().__init__(opening, "])", len(obj))

    def _values(self, start: int, stop: int) -> List[Any]:
        return list(self.obj[start:stop])

    def texts(self) -> Iterator[Any]:
        for start in range(0, self.items, _CHUNK):
            for value in _attempt(self._values, start, start + _CHUNK):
                yield scalar(value)

    def page(self, start: int, stop: int) -> Labelled:
        return [(POSITION, value) for value in _attempt(self._values, start, stop)]

    def facts(self, detailed: bool) -> Json:
        return {"shape": [self.items], "dtype": self.dtype}


class SeriesLens(Lens):
    __slots__ = ("dtype", "index", "obj")

    def __init__(self, obj: Any) -> None:
        self.obj = obj
        self.dtype = dtype_text(obj.dtype)
        self.index = obj.index
        size = len(self.index)
        paired = raw.type_name(self.index) != "RangeIndex"
        opening = "%s(shape=(%d,), dtype=%s, " % (raw.type_name(obj), size, self.dtype)
        super().__init__(opening + ("{" if paired else "["), "})" if paired else "])", size, paired)

    def _pairs(self, start: int, stop: int) -> Labelled:
        return list(zip(self.index[start:stop], self.obj.iloc[start:stop].array))

    def texts(self) -> Iterator[Any]:
        for start in range(0, self.items, _CHUNK):
            for label, value in _attempt(self._pairs, start, start + _CHUNK):
                yield (scalar(label), scalar(value)) if self.paired else scalar(value)

    def page(self, start: int, stop: int) -> Labelled:
        return [(scalar(label), value) for label, value in _attempt(self._pairs, start, stop)]

    def facts(self, detailed: bool) -> Json:
        return {"shape": [self.items], "dtype": self.dtype, "index_type": raw.type_name(self.index)}


class FrameLens(Lens):
    """Columns are its named members, rows its items."""

    __slots__ = ("columns", "index", "obj")

    def __init__(self, obj: Any) -> None:
        self.obj, self.index, self.columns = obj, obj.index, obj.columns
        rows, columns = len(self.index), len(self.columns)
        super().__init__("%s(shape=(%d, %d), [" % (raw.type_name(obj), rows, columns), "])", rows, named=columns)

    def _rows(self, start: int, stop: int, columns: int = COLUMNS) -> List[Row]:
        part = self.obj.iloc[start:stop, :columns]
        labels = [scalar(label) for label in self.columns[:columns]]
        cells = [list(part.iloc[:, place].array) for place in range(len(labels))]
        count = len(part.index)
        return [Row(self.obj, start + row, labels, [column[row] for column in cells]) for row in range(count)]

    def texts(self) -> Iterator[Any]:
        for start in range(0, self.items, _CHUNK // 8):
            yield from _attempt(self._rows, start, start + _CHUNK // 8)

    def named_page(self, start: int, stop: int) -> Labelled:
        def columns() -> Labelled:
            labels = list(self.columns[start:stop])
            return [(scalar(label), self.obj.iloc[:, start + place]) for place, label in enumerate(labels)]

        return list(_attempt(columns))

    def page(self, start: int, stop: int) -> Labelled:
        def rows() -> Labelled:
            return list(zip(map(scalar, self.index[start:stop]), self._rows(start, stop)))

        return list(_attempt(rows))

    def facts(self, detailed: bool) -> Json:
        found: Json = {"shape": [self.items, self.named], "index_type": raw.type_name(self.index)}
        if detailed:
            found.update(_attempt(self._details))
        return found

    def _details(self) -> Json:
        dtypes = list(self.obj.iloc[:0, :COLUMNS].dtypes)
        found: Json = {"columns": list(zip(self.columns[:COLUMNS], map(dtype_text, dtypes)))}
        if self.named <= _COUNTED_COLUMNS:
            found["memory_bytes"] = int(self.obj.memory_usage(index=True, deep=False).sum())
        return found


class Row:
    """One row of a frame; its first cells are there already."""

    __slots__ = ("cells", "frame", "labels", "position")

    def __init__(self, frame: Any, position: int, labels: List[Any], cells: List[Any]) -> None:
        self.frame, self.position, self.labels, self.cells = frame, position, labels, cells


class RowLens(Lens):
    __slots__ = ("row",)

    def __init__(self, row: Row) -> None:
        self.row = row
        super().__init__("{", "}", len(row.frame.columns), True)

    def texts(self) -> Iterator[Tuple[Any, Any]]:
        for label, cell in zip(self.row.labels, self.row.cells):
            yield label, scalar(cell)

    def _cells(self, start: int, stop: int) -> Labelled:
        position, frame = self.row.position, self.row.frame
        part = frame.iloc[position : position + 1, start:stop]
        return [(scalar(label), part.iloc[:, place].array[0]) for place, label in enumerate(frame.columns[start:stop])]

    def page(self, start: int, stop: int) -> Labelled:
        return list(_attempt(self._cells, start, stop))
