"""Views numpy arrays, and array.array: shape, dtype and head, through views of the part that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, List, Optional, Tuple

from ..rpc.interrupts import guard
from . import raw
from .atom_texts import PlainText, clip
from .sequence_views import POSITION, Labelled, SequenceView, builtin_attribute, loaded_name

if TYPE_CHECKING:
    from ....rows import ValueRow

_PLAIN_KINDS = "biufcSUTO"
"""Kinds whose elements numpy itself turns into Python's own values, exactly."""
_DTYPE_WORDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex", "O": "object"}
_CHUNK = 64
_numpy: Optional[_Numpy] = None


class _Numpy:
    """The real classes and their own accessors, which no subclass can change; None for one that there is not."""

    def __init__(self, ndarray: Any, generic: Any) -> None:
        self.ndarray, self.generic = ndarray, generic
        names = ("shape", "dtype", "nbytes", "view", "__getitem__")
        self.shape, self.dtype, self.nbytes, self.view, self.get = (builtin_attribute(ndarray, name) for name in names)
        self.item, self.type = builtin_attribute(generic, "item"), builtin_attribute(generic, "dtype")

    def plain_array(self, obj: Any) -> Any:
        return obj if type(obj) is self.ndarray else self.view(obj, self.ndarray)


def _loaded_numpy() -> Optional[_Numpy]:
    global _numpy
    ndarray = loaded_name("numpy", "ndarray")
    if ndarray is None:
        return None
    if _numpy is None or _numpy.ndarray is not ndarray:
        found = _Numpy(ndarray, loaded_name("numpy", "generic"))
        if any(part is None for part in vars(found).values()):
            return None
        _numpy = found
    return _numpy


def array_view(obj: Any) -> Optional[SequenceView]:
    numpy = _loaded_numpy()
    if numpy is not None and raw.is_a(obj, numpy.ndarray):
        return None if obj is loaded_name("numpy.ma", "masked") else ArrayView(numpy, obj)
    array = loaded_name("array", "array")
    if array is not None and raw.is_a(obj, array) and builtin_attribute(array, "__getitem__"):
        return PlainArrayView(array, obj)
    return None


def array_item(obj: object, key: object) -> object:
    """Return an element or a part of an array by its position; MISSING if it is none, or computes its items itself."""
    numpy = _loaded_numpy()
    found: Any = raw.class_attribute(type(obj), "__getitem__")
    return raw.MISSING if numpy is None or found is not numpy.get else found(numpy.plain_array(obj), key)


def plain_scalar(obj: object) -> object:
    """Return Python's own value of a numpy scalar, or its text; the object itself if it is none."""
    numpy = _loaded_numpy()
    if numpy is None or not raw.is_a(obj, numpy.generic):
        return obj
    dtype = numpy.type.__get__(obj)
    kind = dtype.kind
    if kind in _PLAIN_KINDS or dtype.names:
        value = numpy.item(obj)
    else:
        with guard() as running:
            value = running.attempt(str, obj)
        if value is None:
            return obj
    if type(value) is str and kind not in "SUT":
        return PlainText(value)
    return obj if type(value) is type(obj) else value


def dtype_text(dtype: Any) -> str:
    with guard() as running:
        text: object = _dtype_at_hand(dtype) if running.is_quiet else running.attempt(str, dtype)
    return clip(text, 200)[0] if type(text) is str else raw.type_name(dtype)


def _dtype_at_hand(dtype: Any) -> object:
    """Return the name of a dtype without numpy's own code in Python: `float64`, or as it is coded."""
    word = _DTYPE_WORDS.get(dtype.kind)
    return dtype.str if word is None else word if word in ("bool", "object") else "%s%d" % (word, 8 * dtype.itemsize)


class ArrayView(SequenceView):
    shows_attributes = True

    def __init__(self, numpy: _Numpy, obj: Any, inner: bool = False) -> None:
        self.numpy = numpy
        self.array = array = numpy.plain_array(obj)
        self.shape: Tuple[int, ...] = numpy.shape.__get__(array)
        self.dtype = numpy.dtype.__get__(array)
        self.mask: Any = None
        if not inner and raw.is_a(obj, loaded_name("numpy.ma", "MaskedArray") or type(None)):
            mask = (raw.instance_dict(obj) or {}).get("_mask")
            if type(mask) is numpy.ndarray and numpy.shape.__get__(mask) == self.shape:
                self.mask = mask
        opening, closing = ("[", "]") if self.shape else ("", "")
        if not inner:
            name = "array" if type(obj) is numpy.ndarray else raw.type_name(obj)
            opening = "%s(shape=%s, dtype=%s, %s" % (name, self.shape, dtype_text(self.dtype), opening)
            closing += ")"
        super().__init__(opening, closing, self.shape[0] if self.shape else 1)

    @property
    def has_length(self) -> bool:  # type: ignore[override]
        return bool(self.shape)

    def shown_items(self) -> Iterator[Any]:
        if not self.shape:
            yield plain_scalar(self.numpy.get(self.array, ()))
        elif len(self.shape) > 1:
            for place in range(self.shape[0]):
                part = ArrayView(self.numpy, self.numpy.get(self.array, place), True)
                part.mask = None if self.mask is None else self.numpy.get(self.mask, place)
                yield part
        else:
            for start in range(0, self.shape[0], _CHUNK):
                yield from self._chunk_values(slice(start, start + _CHUNK))

    def _chunk_values(self, part: slice) -> List[Any]:
        cut = self.numpy.get(self.array, part)
        if self.dtype.kind in _PLAIN_KINDS:
            shown = self.numpy.ndarray.tolist(cut)
        else:
            shown = [plain_scalar(self.numpy.get(cut, place)) for place in range(len(cut))]
        if self.mask is not None:
            hidden = self.numpy.ndarray.tolist(self.numpy.get(self.mask, part))
            shown = [PlainText("--") if is_hidden else value for value, is_hidden in zip(shown, hidden)]
        return list(shown)

    def labelled_page(self, start: int, stop: int) -> Labelled:
        if not self.shape:
            return [(POSITION, self.numpy.get(self.array, ()))][start:stop]
        return [(POSITION, self._shown_element(place)) for place in range(start, min(stop, self.shape[0]))]

    def _shown_element(self, place: int) -> object:
        if self.mask is not None and len(self.shape) == 1 and self.numpy.get(self.mask, place):
            return loaded_name("numpy.ma", "masked")
        return self.numpy.get(self.array, place)

    def row_facts(self, detailed: bool) -> ValueRow:
        found: ValueRow = {"shape": list(self.shape), "dtype": dtype_text(self.dtype)}
        if detailed:
            found["memory_bytes"] = self.numpy.nbytes.__get__(self.array)
        return found


class PlainArrayView(SequenceView):
    """array.array, whose own repr writes all of it."""

    shows_attributes = True

    def __init__(self, base: Any, obj: Any) -> None:
        self.base, self.obj = base, obj
        code = base.__dict__["typecode"].__get__(obj)
        super().__init__("%s('%s', [" % (raw.type_name(obj), code), "])", base.__len__(obj))

    def shown_items(self) -> Iterator[Any]:
        for start in range(0, self.items, _CHUNK):
            yield from self.base.__getitem__(self.obj, slice(start, start + _CHUNK))

    def labelled_page(self, start: int, stop: int) -> Labelled:
        return [(POSITION, value) for value in self.base.__getitem__(self.obj, slice(start, stop))]

    def row_facts(self, detailed: bool) -> ValueRow:
        return {"dtype": self.base.__dict__["typecode"].__get__(self.obj)}
