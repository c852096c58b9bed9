"""Proves code_assembly.py on one Python from 3.8 to 3.11: `python assembly_proof.py FOLDER_OF_THE_CODE`."""

import dis
import pathlib
import sys
import types

for name, folder in (("_ocdb", sys.argv[1]), ("_ocdb.full_speed", sys.argv[1] + "/full_speed")):
    package = types.ModuleType(name)  # without what it loads for programs
    package.__path__ = [folder]
    sys.modules[name] = package

from _ocdb.full_speed import code_assembly  # noqa: E402

PROGRAM = pathlib.Path(__file__).with_name("traced_program.py")
getframe = sys._getframe


def rewritten(code, make_test):
    """Return the code, and all that it has inside, with a test in front of every line."""
    consts = tuple(rewritten(each, make_test) if isinstance(each, types.CodeType) else each for each in code.co_consts)
    tests = {line: make_test(code, line) for line in code_assembly.lines_of(code)}
    return code_assembly.put_tests(code.replace(co_consts=consts), tests)


def compiled(source, name=str(PROGRAM)):
    return compile(source, name, "exec", dont_inherit=True)


def line_tracer(events, filename):
    def on_line(frame, event, arg):
        if event == "line":
            events.append((frame.f_code.co_name, frame.f_lineno))
        return on_line

    return lambda frame, event, arg: on_line if frame.f_code.co_filename == filename else None


def run_program(code, tracer):
    """Return what the module and its main do, as events of `tracer`."""
    namespace = {"__name__": "program"}
    sys.settrace(tracer)
    try:
        exec(code, namespace)
        return namespace["main"]()
    finally:
        sys.settrace(None)


def recording_test(calls):
    def make_test(code, line):
        def test():
            frame = getframe(1)
            assert frame.f_lineno == line, (frame.f_lineno, line)
            calls.append((code.co_name, line))
            return False

        def after_error():
            if code_assembly.begins_after_error(getframe(1), line):
                calls.append((code.co_name, line))
            return False

        return code_assembly.LineTest((), lambda names: test, after_error)

    return make_test


def check_events(source, name):
    plain, calls, traced_calls, traced = [], [], [], []
    result = run_program(compiled(source, name), line_tracer(plain, name))
    again = run_program(rewritten(compiled(source, name), recording_test(calls)), None)
    third = run_program(rewritten(compiled(source, name), recording_test(traced_calls)), line_tracer(traced, name))
    assert repr(result) == repr(again) == repr(third)
    for what, found in (("calls", calls), ("traced", traced), ("calls while traced", traced_calls)):
        if found != plain:
            report(what, plain, found)
    return len(plain)


def report(what, plain, found):
    import difflib

    for tag, a, b, c, d in difflib.SequenceMatcher(None, plain, found, autojunk=False).get_opcodes():
        if tag != "equal":
            print(what, tag, "expected", plain[a:b], "found", found[c:d], "after", plain[max(a - 2, 0) : a])
    raise AssertionError(f"{what} are not what a trace function is told")


def check_jump_back(source):
    """A test that answers True and switches tracing on is followed by the event of its line."""
    expected, events, calls = [], [], []
    told = line_tracer(events, str(PROGRAM))

    def make_test(code, line):
        def decide(frame):
            if calls and calls[-1] == (frame, line):
                calls.pop()
                return False
            calls.append((frame, line))
            expected.append((code.co_name, line))
            frame.f_trace = None  # so that up to 3.9 the line is looked up when it is set
            frame.f_trace = told(frame, "call", None)
            sys.settrace(told)
            return True

        def test():
            sys.settrace(None)
            return decide(getframe(1))

        def after_error():
            sys.settrace(None)
            return code_assembly.begins_after_error(getframe(1), line) and decide(getframe(1))

        return code_assembly.LineTest((), lambda names: test, after_error)

    code = rewritten(compiled(source), make_test)
    run_program(code, None)
    assert calls == []
    missing = [each for each in expected if each not in events]
    assert not missing, missing


NAMES = """
def f(a, b, *c, d, **e):
    x = 1  # 3
    for y in range(2):
        z = x + y  # 5
    if a:
        w = 1
    del b
    g = lambda: x
    v = 2
    return z  # 11
"""


def check_names():
    given = {}

    def make_test(code, line):
        wanted = list(code.co_varnames) if code.co_name == "f" else []

        def test_for(name):
            def bind(names):
                given.setdefault(line, set()).update(names)
                return lambda *values: given.setdefault("values", []).append((line, name, values)) or False

            return bind

        if not wanted or line not in (3, 5, 11):
            return code_assembly.LineTest((), test_for(""), lambda: False)
        return code_assembly.LineTest((wanted[NUMBER],), test_for(wanted[NUMBER]), lambda: False)

    variables = ("a", "b", "d", "c", "e", "y", "z", "w", "g", "v")
    for NUMBER in range(len(variables)):
        make_test.__globals__["NUMBER"] = NUMBER
        scope = {}
        exec(rewritten(compiled(NAMES), make_test), scope)
        assert scope["f"](0, 1, d=2) == 2
    assert given[3] == {"a", "d", "c", "e"}, given[3]  # not b, which is deleted somewhere
    assert given[5] == {"a", "d", "c", "e", "y"}, given[5]
    assert given[11] == {"a", "d", "c", "e", "g", "v"}, given[11]  # not y and z, which a loop may leave unbound
    assert (5, "y", (1,)) in given["values"] and (3, "a", (0,)) in given["values"]


def check_sizes():
    """25,000 lines with 4,000 tests, jumps over all of them, and more constants than fit into a byte."""
    lines = ["def main():", " n = 0", " for i in range(2):", "  if i < 0: continue"]
    lines += [f"  n = {number}" for number in range(25000)]
    source = "\n".join([*lines, " return n"])
    seen = []

    def make_test(line):
        return code_assembly.LineTest((), lambda names: lambda: seen.append(line) or False, lambda: False)

    code = compiled(source)
    inner = next(each for each in code.co_consts if isinstance(each, types.CodeType))
    wanted = range(5, 25000, 6)
    new = code_assembly.put_tests(inner, {line: make_test(line) for line in wanted})
    assert types.FunctionType(new, {"range": range})() == 24999
    assert seen == [*wanted, *wanted]


def check_positions():
    """The instructions that were there before have the lines and columns that they had."""
    if not hasattr(types.CodeType, "co_positions"):
        return
    code = compiled(PROGRAM.read_text())
    new = rewritten(code, lambda code, line: code_assembly.LineTest((), lambda names: len, len))

    def places(code):
        found = [(dis.opname[each.opcode], each.positions) for each in dis.get_instructions(code)]
        return [each for each in found if each[1].col_offset is not None and each[0] != "EXTENDED_ARG"]

    assert places(new) == places(code)
    for index, old in enumerate(code.co_consts):
        if isinstance(old, types.CodeType):
            assert places(new.co_consts[index]) == places(old), old


def check_bad_code():
    code = compiled("x = 1")
    assert code_assembly.put_tests(code, {}) is code
    assert code_assembly.put_tests(code, {99: code_assembly.LineTest((), lambda names: len, len)}) is code


if __name__ == "__main__":
    text = PROGRAM.read_text()
    assert check_events(text, str(PROGRAM)) > 500
    check_jump_back(text)
    check_names()
    check_positions()
    check_bad_code()
    check_sizes()
