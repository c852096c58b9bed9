"""Objects that misbehave when looked at; runs on every Python from 3.8 on."""

import time


class RaisingRepr:
    def __repr__(self):
        raise ValueError("no repr today")


class ExitingRepr:
    def __repr__(self):
        raise SystemExit(3)


class CancellingRepr:
    def __repr__(self):
        raise KeyboardInterrupt


class UnprintableError(Exception):
    def __str__(self):
        raise RuntimeError("nor this")


class RaisingUnprintableRepr:
    def __repr__(self):
        raise UnprintableError


class NumberRepr:
    def __repr__(self):
        return 42


class HugeRepr:
    def __repr__(self):
        return "x" * (64 * 1024 * 1024)


class SurrogateRepr:
    def __repr__(self):
        return "\ud800 alone"


class RecursiveRepr:
    def __repr__(self):
        return repr(self)


class SleepingRepr:
    calls = 0

    def __repr__(self):
        type(self).calls += 1
        time.sleep(30)
        return "awake"


class LyingClass:
    @property
    def __class__(self):
        raise RuntimeError("no class")

    def __init__(self):
        self.x = 1


class Closed:
    def __init__(self):
        object.__setattr__(self, "inner", 7)

    def __getattribute__(self, name):
        raise RuntimeError("closed: " + name)


class Honest:
    def __init__(self):
        self.real = 1


class LyingDict(Honest):
    @property
    def __dict__(self):
        raise RuntimeError("not my dict")


class NegativeList(list):
    def __len__(self):
        return -5

    def __iter__(self):
        raise RuntimeError("no items")

    def __getitem__(self, index):
        raise RuntimeError("no item")


class Incomparable:
    def __eq__(self, other):
        raise RuntimeError("no ==")

    def __bool__(self):
        raise RuntimeError("no bool")

    __hash__ = None


class HashedOnce:
    """Hashable while it is put into a dict, never again."""

    def __init__(self):
        self.hashed = False

    def __hash__(self):
        if self.hashed:
            raise RuntimeError("no hash")
        self.hashed = True
        return 5

    def __repr__(self):
        raise RuntimeError("no repr")


class RudeMeta(type):
    def __repr__(cls):
        raise RuntimeError("no class repr")

    def __hash__(cls):
        raise RuntimeError("no class hash")

    def __eq__(cls, other):
        raise RuntimeError("no class ==")

    def __getattribute__(cls, name):
        raise RuntimeError("no class attribute " + name)


class Rude(metaclass=RudeMeta):
    pass


class StrName(str):
    def __getitem__(self, index):
        raise RuntimeError("no slice")

    def __len__(self):
        raise RuntimeError("no length")


class StrSubclassRepr:
    def __repr__(self):
        return StrName("short enough")


def all_objects():
    exact = [RaisingRepr, ExitingRepr, CancellingRepr, RaisingUnprintableRepr, NumberRepr, HugeRepr, SurrogateRepr]
    more = [RecursiveRepr, LyingClass, Closed, LyingDict, Incomparable, HashedOnce, Rude, StrSubclassRepr]
    found = [cls() for cls in exact + more]
    keyed = {HashedOnce(): 1}
    return [*found, Rude, NegativeList([1, 2, 3]), StrName("abc"), keyed, found]
