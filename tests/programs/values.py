"""Values that are too many, too long, too deep or too odd to be shown as they are. Runs on every Python from 3.8 on."""

import array
import collections
import dataclasses
import enum
import time
import types


class TreeNode:
    def __init__(self, value, parent=None):
        self.value = value
        self.parent = parent or self
        self.children = []


class Raising:
    calls = 0

    def __repr__(self):
        type(self).calls += 1
        raise ValueError("no repr today")


class Hanging:
    def __repr__(self):
        time.sleep(60)


class Flooding:
    def __repr__(self):
        return "x" * 5_000_000


class Liar(list):
    def __len__(self):
        raise RuntimeError("no length")

    def __iter__(self):
        time.sleep(60)

    def __getattr__(self, name):
        time.sleep(60)

    @property
    def __class__(self):
        return dict


class ndarray:
    shape = (3,)
    dtype = "int64"

    def __getitem__(self, index):
        raise AssertionError("a class of that name is no array")


Point = collections.namedtuple("Point", "x y")
Color = enum.Enum("Color", "RED GREEN")


@dataclasses.dataclass
class Record:
    name: str
    items: list
    secret: str = dataclasses.field(default="hidden", repr=False)


class Slotted:
    __slots__ = ("a", "unset")

    def __init__(self):
        self.a = 1

    @property
    def computed(self):
        raise AssertionError("properties are not run")


def numbers(limit):
    each = 0
    while each < limit:
        yield each
        each += 1


def greet(name, /, *names, loud=False, **more):
    return name


def deep(levels):
    found = []
    for _ in range(levels):
        found = [found]
    return found


def plain():
    large_list = list(range(1_000_000))
    large_dict = dict.fromkeys(map("key{}".format, range(300_000)), 1)
    large_set = set(range(300_000))
    nested = deep(100_000)
    node = TreeNode("root")
    node.children = [TreeNode(n, node) for n in range(3)]
    ring = [1]
    ring.append(ring)
    long_text = "ab" * 500_000
    größe = "straße 日本語 שלום 🐍"
    odd_text = "nul\0 lone\ud800 tab\t"
    raising, flooding, liar, fake = Raising(), Flooding(), Liar([1, 2]), ndarray()
    small_bytes, long_bytes = bytes(range(200)), bytes(range(256)) * 400
    mutable, view = bytearray(b"abc"), memoryview(b"abcdef")
    point, color, slotted = Point(1, [2]), Color.RED, Slotted()
    record = Record("r", list(range(1_000_000)))
    generator = numbers(3)
    next(generator)
    packed = array.array("d", [0.5]) * 1_000_000
    proxy = types.MappingProxyType({"a": 1})
    counter = collections.Counter(range(100_000))
    queue = collections.deque(range(100_000), maxlen=200_000)
    chained = collections.ChainMap({"a": 1}, {"b": 2})
    endless = range(10**30)
    function = greet
    return locals() and None  # @plain


def hanging():
    first = 1
    hangs = [Hanging() for _ in range(50)]
    last = 2
    return first, hangs, last  # @hanging


def recursive(depth):
    if depth == 0:
        return 0  # @deep
    return recursive(depth - 1) + 1


plain()
hanging()
recursive(900)
