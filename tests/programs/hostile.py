"""Objects that write down each time any code of theirs is run; then it stops, and once more on an exception."""

import asyncio
import builtins
import codecs
import collections
import dataclasses
import functools
import io
import os
import sys
import threading
import types
import warnings


def note(what):
    descriptor = os.open(os.environ["TRACE"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, (what + "\n").encode())
    os.close(descriptor)


def hook(label, answer=None):
    def run(*args, **more):
        note(label)
        if isinstance(answer, type):
            return answer()
        return answer(*args) if callable(answer) else answer

    return run


PLAIN = {
    "__repr__": "loud", "__str__": "loud", "__format__": "loud", "__len__": 3, "__bool__": True, "__hash__": 5,
    "__eq__": False, "__ne__": True, "__lt__": False, "__gt__": False, "__contains__": True, "__getitem__": 1,
    "__missing__": 1, "__int__": 1, "__index__": 1, "__float__": 1.0, "__add__": 1, "__radd__": 1, "__mod__": 1,
    "__neg__": 1, "__call__": 1, "__dir__": list, "__iter__": lambda *_: iter(()), "__reversed__": list,
    "__sizeof__": 1, "__length_hint__": 1, "__fspath__": "x", "__bytes__": b"", "__enter__": None, "__exit__": None,
    "items": list, "keys": list, "values": list, "get": None, "copy": dict, "lower": "x", "upper": "x",
}  # fmt: skip


def hooks(label, but=()):
    made = {name: hook(label + "." + name, answer) for name, answer in PLAIN.items() if name not in but}
    made["__getattribute__"] = hook(label + ".__getattribute__", object.__getattribute__)
    made["__getattr__"] = hook(label + ".__getattr__", 1)
    for name in ("secret", "__class__", "__doc__", "__signature__", "__wrapped__", "__name__", "__dict__"):
        made[name] = property(hook(label + "." + name, lambda self: object))
    return {name: value for name, value in made.items() if name not in but}


class Meta(type):
    for name, value in hooks("Meta", ("__doc__", "__dict__", "__call__", "__mod__")).items():
        locals()[name] = value
    __instancecheck__ = hook("Meta.__instancecheck__", False)
    __subclasscheck__ = hook("Meta.__subclasscheck__", False)
    __module__ = property(hook("Meta.__module__", "x"))
    mro_of = property(hook("Meta.mro", ()))
    del name, value


def derived(base, *but):
    return type("Loud" + base.__name__.title(), (base,), {**hooks(base.__name__, ("__dict__", *but)), "own": 1})


Loud = type("Loud", (), hooks("Loud"))
loud = object.__new__(Loud)


class WithProperty:
    def __init__(self):
        self.plain = 1

    @property
    def secret(self):
        note("property")
        return 1

    @functools.cached_property
    def later(self):
        note("cached_property")
        return 1

    def method(self, size=1):
        note("method")

    class Described:
        def __get__(self, *_):
            note("__get__")
            return 1

    described = Described()


class Documented:
    __doc__ = WithProperty.Described()
    __call__ = hook("Documented.__call__")


class Slotted:
    __slots__ = ("empty", "full")

    def __init__(self):
        self.full = 1

    def __repr__(self):
        note("Slotted.__repr__")
        return "slotted"


class Ghost:
    """Its attributes are in a dict that is loud."""

    def __repr__(self):
        note("Ghost.__repr__")
        return "ghost"


class Key:
    def __init__(self, text):
        self.text = text

    def __hash__(self):
        return hash(self.text)

    def __eq__(self, other):
        note("Key.__eq__")
        return False

    def __repr__(self):
        note("Key.__repr__")
        return "key"


class Alike(str):
    """Has the hash of a text, and is asked whether it is that text."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        note("Alike.__eq__")
        return False


def odd_names():
    names = ("__dict__", "__repr__", "__getattribute__", "__getattr__", "__module__", "__name__", "__doc__", "own", "x")
    return {Alike(name): loud for name in names}


class LikeRange:
    __repr__ = range.__repr__
    start = stop = step = property(hook("LikeRange.start", 1))


class Hashed(str):
    def __hash__(self):
        note("Hashed.__hash__")
        return 5


@dataclasses.dataclass
class Record:
    inner: object
    size: int = 1


class Pair(collections.namedtuple("Pair", "first second")):
    __repr__ = hook("Pair.__repr__", "pair")
    first = property(hook("Pair.first", 1))


class Trouble(ValueError):
    __str__ = hook("Trouble.__str__", "trouble")
    __repr__ = hook("Trouble.__repr__", "trouble")
    args = property(hook("Trouble.args", ()))
    __cause__ = property(hook("Trouble.__cause__"))
    __context__ = property(hook("Trouble.__context__"))
    __suppress_context__ = property(hook("Trouble.__suppress_context__"))
    __notes__ = property(hook("Trouble.__notes__"))


class Thread(threading.Thread):
    is_loud = False

    @property
    def name(self):
        if self.is_loud:
            note("Thread.name")
        return "loud"

    @name.setter
    def name(self, value):
        pass


class Task(asyncio.Task):
    get_name = hook("Task.get_name", "loud")
    get_coro = hook("Task.get_coro")
    __repr__ = hook("Task.__repr__", "task")


class Loader:
    def get_source(self, name):
        note("Loader.get_source")
        return "stop()\n"


class Buffer(io.BytesIO):
    closed = property(hook("Buffer.closed", False))


class Wrapper(io.TextIOWrapper):
    """Its namespace is an attribute in C of another name, which asks its buffer."""

    __dict__ = io.TextIOWrapper.__dict__["closed"]
    __repr__ = hook("Wrapper.__repr__", "wrapper")


class LikeTask:
    """What asyncio takes for a task."""

    def __init__(self, loop):
        self._loop, self._state, self._coro, self._name, self._fut_waiter = loop, loud, loud, loud, loud
        self._source_traceback = loud


class Mapping(collections.abc.MutableMapping):
    """What a class body has for its variables."""

    def __init__(self):
        self.inner = {}

    def __getitem__(self, key):
        note("Mapping.__getitem__")
        return self.inner[key]

    def __setitem__(self, key, value):
        self.inner[key] = value

    def __delitem__(self, key):
        del self.inner[key]

    def __iter__(self):
        note("Mapping.__iter__")
        return iter(self.inner)

    def __len__(self):
        note("Mapping.__len__")
        return len(self.inner)


class Prepared(type):
    @classmethod
    def __prepare__(cls, *_):
        return Mapping()

    def __new__(cls, name, bases, namespace):
        return super().__new__(cls, name, bases, dict(namespace.inner))


@functools.wraps(note)
def decorated(first: "int", second=loud, *, third: Loud = None) -> Slotted:
    """Does nothing."""


def computed(name):
    note("module.__getattr__")
    raise AttributeError(name)


module = types.ModuleType("computed")
module.__getattr__ = computed
lazy = type("LazyModule", (types.ModuleType,), {"__getattr__": hook("LazyModule.__getattr__", 1)})("lazy")


def counting():
    held = loud
    yield held


def arrays():
    try:
        import numpy
    except ImportError:
        return None
    base = numpy.ndarray
    but = ("__getattribute__", "__class__", "__dict__", "__hash__", "copy")
    made = type("LoudArray", (base,), {**hooks("array", but), "__array_finalize__": hook("__array_finalize__")})
    number = type("LoudNumber", (numpy.float64,), {**hooks("number", but), "dtype": property(hook("number.dtype"))})
    whole = numpy.arange(6).view(made)
    objects = numpy.empty(2, dtype=object)
    objects.fill(loud)
    return [whole, number(1.5), objects, numpy.array(["2020-01-01"], dtype="M8[D]")]


strange_module = types.ModuleType("strange")
strange_module.__file__ = strange_module.__version__ = strange_module.__name__ = loud
sys.modules["strange"] = strange_module
LoudGlobals = type("LoudGlobals", (dict,), hooks("LoudGlobals", ("__dict__", "__hash__", "__getitem__")))
sys.modules[Alike("pandas")] = loud
sys.modules["pandas"] = types.ModuleType("pandas")
sys.modules["pandas"].DataFrame = sys.modules["pandas"].Series = loud
globals().update(odd_names())
vars(builtins).update(odd_names())
wrapper = Wrapper(Buffer())
ghost = Ghost()
ghost.__dict__ = type("LoudDict", (dict,), hooks("LoudDict", ("__dict__", "__hash__")))(inside=loud)
of_meta = Meta("OfMeta", (), {"own": 1, "method": hook("OfMeta.method")})
instance_of_meta = type.__call__(of_meta)


def stop(where="somewhere"):
    exact = {"a": [1, (2.5, "text")], Key("x"): 1, "x": 2}
    texts = derived(str)("text")
    numbers = [derived(int)(7), derived(float)(1.5), derived(bytes)(b"bytes")]
    listed, paired, packed = derived(list)([1, loud]), derived(dict)({"a": loud}), derived(tuple)((1, loud))
    chosen, queued = derived(set, "__hash__")(), derived(collections.deque, "__hash__")([1])
    defaulted = collections.defaultdict(hook("factory", 1), {"a": 1})
    record, pair, prop, slotted, error = Record(loud), Pair(1, loud), WithProperty(), Slotted(), Trouble("told", loud)
    documented, generator, method = Documented(), counting(), prop.method
    partial, bound, counter = functools.partial(note, loud), loud_method(), collections.Counter({"a": loud})
    namespace, proxy, view = types.SimpleNamespace(inner=loud), types.MappingProxyType(paired), memoryview(b"abc")
    array = arrays()
    unused, deep = (lambda: note("lambda")), [[[[loud]]]]
    ranged = range(derived(int, "__index__", "__eq__", "__ne__")(5))
    ordered = collections.OrderedDict([(Hashed("one"), 1), (Hashed("two"), loud)])
    views = [ordered.keys(), ordered.values(), ordered.items()]
    odd_class, like_range = type("Odd", (), odd_names()), LikeRange()
    odd = odd_class()
    odd.__dict__.update(odd_names(), own=1)
    method_of_c = type("OfC", (), {"own": str.join})()
    next(generator)
    print("ready")  # @stop
    return locals() if where is None else None


class Importer:
    """Whoever imports something new asks it; whoever imports anything at all calls the function below."""

    def find_spec(self, name, path=None, target=None):
        note("find_spec " + name)


def listen(imports=builtins.__import__):
    def imported(name, names=None, *more):
        by = names.get("__name__") if names else None
        note(f"__import__ of {name} by {by}")
        return imports(name, names, *more)

    sys.meta_path.insert(0, Importer())
    builtins.__import__ = imported
    warnings.simplefilter("always")
    warnings.showwarning = hook("showwarning")
    codecs.register(lambda name: note("codec " + name))


def loud_method():
    return types.MethodType(decorated, loud)


async def main():
    loop = asyncio.get_running_loop()
    loop.set_task_factory(lambda loop, coroutine, **more: Task(coroutine, loop=loop, **more))
    waiting = loop.create_task(asyncio.sleep(60))
    await asyncio.sleep(0)
    thread = Thread(target=threading.Event().wait, daemon=True)
    thread.start()
    thread.is_loud = True
    if sys.version_info < (3, 13):
        thread._handle = loud
    listen()
    idle = asyncio.new_event_loop()
    like = LikeTask(idle)
    asyncio.tasks._register_task(like)
    code = compile("class Body(metaclass=Prepared):\n    size = 1\n    stop()\n", "/nowhere/hidden.py", "exec")
    names = {"__name__": loud, "__loader__": Loader(), "stop": stop, "Prepared": Prepared}
    exec(code, LoudGlobals(names))
    try:
        try:
            raise KeyError("inner")
        except KeyError as inner:
            raise Trouble("told", loud) from inner  # @raise
    except Trouble:
        waiting.cancel()


asyncio.run(main())
print("done", flush=True)
os._exit(0)
