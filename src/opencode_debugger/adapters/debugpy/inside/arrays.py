"""numpy arrays, and array.array: shape, dtype and head, through views of the part that is shown."""

from __future__ import annotations

from typing import Any, Iterator, List, Optional, Tuple

from . import raw
from .interrupts import guard
from .lenses import POSITION, Json, Labelled, Lens, loaded, of_c
from .texts import Plain, clip

_PLAIN_KINDS = "biufcSUTO"
"""whose elements numpy itself turns into Python's own values, exactly"""
_WORDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex", "O": "object"}
_CHUNK = 64
_DTYPE_LIMIT = 200


class _Numpy:
    """The real classes and their own accessors: no subclass has a say."""

    __slots__ = ("dtype", "generic", "get", "item", "nbytes", "ndarray", "shape", "type", "view")

    def __init__(self, ndarray: Any, generic: Any) -> None:
        self.ndarray, self.generic = ndarray, generic
        self.shape, self.dtype = of_c(ndarray, "shape"), of_c(ndarray, "dtype")
        self.nbytes, self.view = of_c(ndarray, "nbytes"), of_c(ndarray, "view")
        self.get, self.item, self.type = of_c(ndarray, "__getitem__"), of_c(generic, "item"), of_c(generic, "dtype")


_numpy: Optional[_Numpy] = None


def _find() -> Optional[_Numpy]:
    global _numpy
    ndarray = loaded("numpy", "ndarray")
    if ndarray is None:
        return None
    if _numpy is None or _numpy.ndarray is not ndarray:
        found = _Numpy(ndarray, loaded("numpy", "generic"))
        if any(getattr(found, name) is None for name in found.__slots__):
            return None
        _numpy = found
    return _numpy


def lens(obj: Any) -> Optional[Lens]:
    numpy = _find()
    if numpy is not None and raw.is_a(obj, numpy.ndarray):
        if obj is loaded("numpy.ma", "masked"):
            return None
        return ArrayLens(numpy, obj)
    array = loaded("array", "array")
    if array is not None and raw.is_a(obj, array) and of_c(array, "__getitem__"):
        return PlainArrayLens(array, obj)
    return None


def item(obj: Any, key: Any) -> Any:
    """An element or a part of an array by its position; MISSING if it is none, or has items of its own making."""
    numpy = _find()
    if numpy is None or raw.class_attribute(type(obj), "__getitem__") is not numpy.get:
        return raw.MISSING
    return numpy.get(obj if type(obj) is numpy.ndarray else numpy.view(obj, numpy.ndarray), key)


def scalar(obj: Any) -> Any:
    """Python's own value of a numpy scalar, or its text; the object itself if it is none."""
    numpy = _find()
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
        return Plain(value)
    return obj if type(value) is type(obj) else value


def dtype_text(dtype: Any) -> str:
    with guard() as running:
        text = _dtype_at_hand(dtype) if running.is_quiet else running.attempt(str, dtype)
    return clip(text, _DTYPE_LIMIT)[0] if type(text) is str else raw.type_name(dtype)


def _dtype_at_hand(dtype: Any) -> Any:
    """Without numpy's own code in Python: `float64`, or as it is coded."""
    word = _WORDS.get(dtype.kind)
    return dtype.str if word is None else word if word in ("bool", "object") else "%s%d" % (word, 8 * dtype.itemsize)


class ArrayLens(Lens):
    __slots__ = ("dtype", "kind", "mask", "nbytes", "numpy", "shape", "view")

    shows_attributes = True

    def __init__(self, numpy: _Numpy, obj: Any, inner: bool = False) -> None:
        self.numpy = numpy
        self.view = view = obj if type(obj) is numpy.ndarray else numpy.view(obj, numpy.ndarray)
        self.shape: Tuple[int, ...] = numpy.shape.__get__(view)
        self.dtype = numpy.dtype.__get__(view)
        self.kind: str = self.dtype.kind
        self.nbytes: int = numpy.nbytes.__get__(view)
        self.mask = None if inner else self._mask(obj)
        items = self.shape[0] if self.shape else 1
        if inner:
            super().__init__("[", "]", items)
            return
        name = "array" if type(obj) is numpy.ndarray else raw.type_name(obj)
        opening = "%s(shape=%s, dtype=%s, " % (name, self.shape, dtype_text(self.dtype))
        super().__init__(opening + ("[" if self.shape else ""), "])" if self.shape else ")", items)

    @property
    def length(self) -> bool:  # type: ignore[override]
        return bool(self.shape)

    def _mask(self, obj: Any) -> Any:
        if not raw.is_a(obj, loaded("numpy.ma", "MaskedArray") or type(None)):
            return None
        mask = (raw.instance_dict(obj) or {}).get("_mask")
        return mask if type(mask) is self.numpy.ndarray and self.numpy.shape.__get__(mask) == self.shape else None

    def _at(self, view: Any, place: Any) -> Any:
        return self.numpy.get(view, place)

    def texts(self) -> Iterator[Any]:
        if not self.shape:
            yield scalar(self._at(self.view, ()))
        elif len(self.shape) > 1:
            for place in range(self.shape[0]):
                part = ArrayLens(self.numpy, self._at(self.view, place), True)
                part.mask = None if self.mask is None else self._at(self.mask, place)
                yield part
        else:
            for start in range(0, self.shape[0], _CHUNK):
                yield from self._chunk(slice(start, start + _CHUNK))

    def _chunk(self, part: slice) -> List[Any]:
        cut = self._at(self.view, part)
        if self.kind in _PLAIN_KINDS:
            shown = self.numpy.ndarray.tolist(cut)
        else:
            shown = [scalar(self._at(cut, place)) for place in range(len(cut))]
        if self.mask is not None:
            hidden = self.numpy.ndarray.tolist(self._at(self.mask, part))
            shown = [Plain("--") if is_hidden else value for value, is_hidden in zip(shown, hidden)]
        return list(shown)

    def page(self, start: int, stop: int) -> Labelled:
        if not self.shape:
            return [(POSITION, self._at(self.view, ()))][start:stop]
        return [(POSITION, self._element(place)) for place in range(start, min(stop, self.shape[0]))]

    def _element(self, place: int) -> Any:
        if self.mask is not None and len(self.shape) == 1 and self._at(self.mask, place):
            return loaded("numpy.ma", "masked")
        return self._at(self.view, place)

    def facts(self, detailed: bool) -> Json:
        found: Json = {"shape": list(self.shape), "dtype": dtype_text(self.dtype)}
        if detailed:
            found["memory_bytes"] = self.nbytes
        return found


class PlainArrayLens(Lens):
    """array.array, whose own repr writes all of it."""

    __slots__ = ("base", "obj")
    shows_attributes = True

    def __init__(self, base: Any, obj: Any) -> None:
        self.base, self.obj = base, obj
        code = base.__dict__["typecode"].__get__(obj)
        super().__init__("%s('%s', [" % (raw.type_name(obj), code), "])", base.__len__(obj))

    def texts(self) -> Iterator[Any]:
        for start in range(0, self.items, _CHUNK):
            yield from self.base.__getitem__(self.obj, slice(start, start + _CHUNK))

    def page(self, start: int, stop: int) -> Labelled:
        return [(POSITION, value) for value in self.base.__getitem__(self.obj, slice(start, stop))]

    def facts(self, detailed: bool) -> Json:
        return {"dtype": self.base.__dict__["typecode"].__get__(self.obj)}
