"""Runs through every kind of statement, for assembly_proof.py: what a trace function is told of it is the measure."""
# ruff: noqa

import contextlib


def loop(n):
    t = 0
    for i in range(n):
        if i % 2: continue
        t += i
        while t > 5: t -= 3
    else:
        t += 1
    return t


def begins_with_loop(n):
    while n:
        n -= 1


def gen(n):
    for i in range(n):
        try:
            x = yield i
        except ValueError as e:
            yield -1
        finally:
            y = 2
    return 5


def delegating(n):
    a = yield from gen(n)
    b = (yield from
         gen(n))
    return a, b


def outer(a, *b, c=3, **d):
    def inner(q):
        nonlocal a
        a += q
        return [a * z for z in b if z]
    return inner(1) + inner(2)


def tries(k):
    for _ in range(2):
        try:
            try:
                if k == 1: raise KeyError(k)
                if k == 2: return "two"
                if k == 3: break
                with contextlib.suppress(ZeroDivisionError):
                    1 / (k - 4)
            except KeyError:
                z = 1
                raise RuntimeError("x") from None
            finally:
                w = 2
        except RuntimeError:
            pass
    return k


def one_line_tries(k):
    try: k = 1 / k
    except ZeroDivisionError: k = 0
    try: k += 1
    finally: k += 2
    with contextlib.suppress(KeyError): {}[k]
    with contextlib.suppress(KeyError): k += 1
    return k


def nested_finally(k):
    while True:
        try:
            try:
                if k: break
                return 1
            finally:
                k += 1
        finally:
            k += 1
    try:
        try:
            raise ValueError(k)
        finally:
            k += 1
    except ValueError as error:
        try:
            raise KeyError(k) from error
        except KeyError:
            k += 1
    return k


def two_contexts(k):
    with contextlib.suppress(KeyError), \
            contextlib.suppress(ValueError):
        if k:
            raise ValueError(k)
        k = 5
    with contextlib.ExitStack() as stack:
        stack.callback(
            print,
            end="",
        )
        return k


def raises_in_exit():
    class Bad:
        def __enter__(self): return self
        def __exit__(self, *a): raise LookupError("exit")
    try:
        with Bad():
            x = 1
            raise ValueError(x)
    except LookupError:
        return "bad exit"


async def co(n):
    async def sub(i): return i
    r = 0
    async with Ctx() as c:
        async for v in Agen(n):
            r += await sub(v)
    return r, [x async for x in Agen(3) if x], {k: v for k, v in zip("ab", range(2))}


async def agen(n):
    for i in range(n):
        yield i
        await nothing()


async def nothing():
    pass


async def uses_agen():
    found = []
    async for each in agen(3):
        found.append(each)
        if each == 1: break
    return found


class Ctx:
    async def __aenter__(self): return self
    async def __aexit__(self, *a): return False


class Agen:
    def __init__(self, n): self.n = n; self.i = 0
    def __aiter__(self): return self
    async def __anext__(self):
        self.i += 1
        if self.i > self.n: raise StopAsyncIteration
        return self.i


def lam():
    return sorted([3, 1, 2], key=lambda v: -v), (lambda: (yield))().send(None)


def long(x):
    a = (x +
         1)
    b = [i
         for i in range(3)
         if i]
    return (a,
            b, f"{x!r:>{a}}",
            dict(k=x,
                 m=a))


def choices(x):
    a = (1 if x else
         2, x)
    b = (x and
         x or
         a)
    c = len(a if x else
            b) + (0 if b
                  else 1)
    if (x and
            b): c += 1
    assert (x or
            True), "no"
    return [a, b,
            c] if x else (
        a, b)


def cond(x):
    return 1 if x else 2 if x is None else 3


def oneline(n):
    s = 0
    while s < n: s += 1
    for q in range(n): s -= 1
    a = [i for i in range(n)]; b = {j for j in range(n)}; c = sum(k for k in range(n))
    return s, a, b, c


def deep(n):
    if n == 0: return 0
    return 1 + deep(n - 1)


def dele():
    x = 1
    del x
    try:
        x
    except NameError: return "ok"


def endless():
    n = 0
    while 1:
        n += 1
        if n > 3: break
    while True:
        if n > 6:
            return n
        n += 1


def made():
    @staticmethod
    def f(a=1,
          b=2):
        return a
    class Local(
        dict,
    ):
        x = 1
        def m(self):
            return super().get("k")
        y = [x for x in range(2)]
    return Local().m(), Local.y


def unpacking(items):
    first, *rest = items
    (a, b), c = (1,
                 2), 3
    global _stored
    _stored = {**{"a": a},
               "b": b}
    for first, in ([1], [2]):
        pass
    return rest, c, _stored


def drive(coroutine):
    try:
        while True: coroutine.send(None)
    except StopIteration as s: return s.value


def main():
    out = []
    out.append(loop(7)); g = gen(3); out.append(next(g)); out.append(g.throw(ValueError)); out.append(list(g))
    out.append(list(delegating(2))); out.append(begins_with_loop(3))
    out.append(outer(1, 2, 0, 3)); out.append([tries(k) for k in range(6)])
    out.append([one_line_tries(k) for k in range(2)]); out.append([nested_finally(k) for k in range(2)])
    out.append([two_contexts(k) for k in range(2)]); out.append(raises_in_exit())
    out.append([drive(co(3)), drive(uses_agen())])
    out.append(lam()[0]); out.append(long(2)); out.append([cond(v) for v in (1, None, 0)])
    out.append([choices(v) for v in (0, 1)]); out.append(oneline(3)); out.append(deep(5)); out.append(dele())
    out.append(endless()); out.append(made()); out.append(unpacking([1, 2, 3]))
    return out
