"""Native programs through REST alone, with gdb and lldb, here and by their debug servers: all tell the same."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import breadth
import psutil
import pytest
from native import WAYS, Builder, Native, core_of
from relays import Api, ApiError, Session, refusal
from strangers import needs_root
from targets import Target, attach
from waiting import wait_until

from opencode_debugger.debuggers.native import elf_files


@pytest.fixture(params=WAYS if breadth.ALL else ["gdb", "lldb-server"])
def way(request: pytest.FixtureRequest) -> dict[str, str]:
    return WAYS[request.param]


@pytest.fixture
def session(api: Api) -> Iterator[Session]:
    with api.session() as session:
        yield session


def launch(session: Session, native: Native, way: dict[str, str], **options: Any) -> Any:
    return session.launch(program=str(native.program), **way, **options)


def own(frames: list[dict[str, Any]], native: Native) -> list[tuple[str, int]]:
    """Function and line of those frames that are in the program's own source."""
    return [(frame["name"], frame["line"]) for frame in frames if frame["source"]["path"] == str(native.source)]


def row_of(session: Session, name: str, frame_id: int = 0) -> dict[str, Any]:
    rows = session.get(f"/frames/{frame_id}/variables")["variables"]
    return next(row for row in rows if row["name"] == name)


def children(session: Session, row: dict[str, Any]) -> dict[str, str]:
    listed = session.get(f"/variables/{row['variables_reference']}")["variables"]
    return {child["name"]: child["value"] for child in listed}


def is_null(text: str) -> bool:
    return re.match(r"0x0+\b", text) is not None


def here(stop: dict[str, Any]) -> tuple[str, int]:
    return stop["current_location"]["function"], stop["current_location"]["line"]


def test_a_crash_is_debugged_to_the_faulting_line_and_variable(
    session: Session, build: Builder, way: dict[str, str]
) -> None:
    crash = build("crash")
    stop = launch(session, crash, way)

    assert (stop["status"], stop["stop_reason"]) == ("paused", "exception")
    assert stop["exception"]["type"] == "SIGSEGV"
    assert stop["exception"]["message"] == "Segmentation fault at address 0x8"
    assert here(stop) == ("weigh", crash.line("crash"))
    frames = session.get("/stacktrace")["frames"]
    chain = [("weigh", crash.line("crash")), ("total", crash.line("caller")), ("main", crash.line("main"))]
    assert own(frames, crash) == chain

    values = session.locals(0)
    assert is_null(values["item"])
    assert "expandable" not in row_of(session, "item")
    assert (values["rounds"], values["twice"]) == ("1", "2")
    assert is_null(session.locals(1)["item"])
    order = row_of(session, "order", 1)
    assert is_null(children(session, order)["items"])
    assert session.evaluate("order->id", frame_id=1)["result"] == "8"
    assert session.evaluate("item->weight")["error"]
    assert session.get()["debugger"]["adapter"] == way.get("debugger", way.get("adapter"))

    end = session.resume()
    assert (end["status"], end["exit_code"], end["signal"]) == ("terminated", -11, "SIGSEGV")
    assert session.output() == "order 7\norder 7 weighs 22\norder 8\n"


@pytest.mark.parametrize("adapter", ["gdb", "lldb"])
def test_traps_and_wild_pointers_are_told_as_what_they_are(session: Session, build: Builder, adapter: str) -> None:
    trouble = build("trouble")
    stop = launch(session, trouble, WAYS[adapter], args=["wild"])
    assert (stop["stop_reason"], stop["exception"]["type"]) == ("exception", "SIGTRAP")
    stop = session.resume()
    assert here(stop) == ("main", trouble.line("wild"))
    assert stop["exception"]["message"] == "Segmentation fault at an address that no memory can have"  # not at 0x0


@pytest.mark.parametrize("adapter", ["gdb", "lldb"])
def test_a_stack_that_overflowed_is_walked_as_far_as_asked_for(session: Session, build: Builder, adapter: str) -> None:
    stop = launch(session, build("trouble"), WAYS[adapter], args=["deeper"])
    assert (stop["exception"]["type"], stop["current_location"]["function"]) == ("SIGSEGV", "deeper")
    page = session.get("/stacktrace", levels=3)
    assert (page["total_frames"], page["has_more"], len(page["frames"])) == (500, True, 3)
    depth = int(session.evaluate("depth", frame_id=1)["result"])
    assert int(session.evaluate("depth", frame_id=1001)["result"]) == depth - 1000
    (near, far) = (session.get("/stacktrace", start_frame=at, levels=1)["frames"][0] for at in (1, 1001))
    assert {**far, "id": 1} == near  # those that are fetched at the stop, and those that are asked for later
    across = session.get("/stacktrace", start_frame=498, levels=4)
    assert [frame["id"] for frame in across["frames"]] == [498, 499, 500, 501] and across["has_more"]
    end = session.get("/stacktrace", start_frame=depth - 1)
    assert end["frames"][-1]["name"] in ("main", "_start") and "has_more" not in end
    beyond = session.get("/stacktrace", start_frame=10**6)
    assert (beyond["frames"], beyond["total_frames"]) == ([], end["total_frames"]) and "has_more" not in beyond
    refused = refusal(404, "FRAME_NOT_FOUND", session.evaluate, "depth", frame_id=end["total_frames"])
    assert refused.details["total_frames"] == end["total_frames"]


@pytest.mark.parametrize("adapter", ["gdb", "lldb"])
def test_any_page_of_a_large_container_is_shown_and_its_elements_are_set(
    session: Session, build: Builder, adapter: str
) -> None:
    large = build("large")
    session.break_at(large.source, "stop")
    launch(session, large, WAYS[adapter])

    def last(name: str) -> tuple[int, int, dict[str, Any]]:
        row = row_of(session, name)
        reference, total = row["variables_reference"], row["indexed_variables"] or row["named_variables"]
        page = wait_until(lambda: reached(f"/variables/{reference}", total - 2))
        assert len(page) == 2
        return reference, total, page[1]

    def reached(path: str, start: int) -> Any:
        """A page, unless a slow machine has to be asked for it again."""
        try:
            return session.get(path, start=start, count=2)["variables"]
        except ApiError as error:
            assert error.details["reached"] < start
            return None

    for name, size, value in [("numbers", 3000000, "0"), ("queue", 1000000, "999999"), ("chain", 3000, "2999")]:
        reference, total, row = last(name)
        assert (total, row["name"], row["value"]) == (size, f"[{size - 1}]", value)
        session.post(f"/variables/{reference}/set", {"name": row["name"], "value": "7"})
        assert last(name)[2]["value"] == "7"
    _, size, row = last("bits")
    assert (size, row["value"]) == (1000000, "true")
    for name, value in (("unique", "2999"), ("squares", "5998"), ("hashed", "")):
        _, size, row = last(name)
        assert size == 3000 and value in row["value"]
    assert row_of(session, "text")["truncated"]
    assert session.evaluate("two.value")["result"] == "2"


@pytest.mark.parametrize("adapter", ["gdb", "lldb"])
def test_containers_without_a_value_yet_are_shown_as_they_are_in_memory(
    session: Session, build: Builder, adapter: str
) -> None:
    wild = build("wild")
    session.break_at(wild.source, "stop")
    launch(session, wild, WAYS[adapter])
    rows = {row["name"]: row for row in session.get("/frames/0/variables")["variables"]}

    def page(name: str, start: int) -> list[dict[str, Any]]:
        reference = rows[name]["variables_reference"]
        return list(session.get(f"/variables/{reference}", start=start, count=3)["variables"]) if reference else []

    for name in ("list", "map", "set", "hashed", "queue", "vector", "pointer"):
        assert rows[name]["named_variables"] + rows[name]["indexed_variables"] < 10
        assert len(page(name, 0)) < 10
    for name in ("list", "map", "set", "hashed"):
        assert page(name, 0)[0]["name"] != "[0]"
    assert [row["value"] for row in page("broken", 0)][:2] == ["1", "2"]
    (beyond,) = page("broken", 2)[:1]
    assert (beyond["name"], beyond["value"].startswith("<error: ")) == ("[2]", True)
    assert page("broken", 3)[0]["value"].startswith("<error: ")
    assert page("chain", 10**12) == []
    assert page("chain", 1)[0]["value"] == "7"


def test_breakpoints_steps_and_values(session: Session, build: Builder, way: dict[str, str]) -> None:
    tour = build("tour")
    path = str(tour.source)
    wanted = [
        {"source": {"path": path}, "line": tour.line("loop"), "condition": "i == 2"},
        {"source": {"path": path}, "line": tour.line("add"), "hit_condition": "5"},
        {"source": {"path": path}, "line": tour.line("end"), "log_message": "total is {total}, {colour}"},
        {"function": "factorial"},
    ]
    stop = launch(session, tour, way, stop_on_entry=True)
    assert (stop["stop_reason"], stop["current_location"]["function"]) == ("entry", "main")
    placed = session.post("/breakpoints", {"breakpoints": wanted})["breakpoints"]
    assert [bp["verified"] for bp in placed] == [True] * 4

    stop = session.resume()
    assert (stop["stop_reason"], here(stop)) == ("breakpoint", ("main", tour.line("loop")))
    assert stop["hit_breakpoint_ids"] == [placed[0]["id"]]
    assert session.evaluate("i")["result"] == "2"
    assert children(session, row_of(session, "corner")) == {"x": "3", "y": "2.5"}
    assert list(children(session, row_of(session, "squares")).values()) == ["0", "1", "4", "9", "16", "25"]
    page = session.get(f"/variables/{row_of(session, 'big')['variables_reference']}", start=500, count=3)
    assert [row["value"] for row in page["variables"]] == ["500", "501", "502"]
    assert (page["total"], page["has_more"]) == (1000, True)
    assert "hello, world" in session.evaluate("greeting")["result"]
    assert session.evaluate("first.next->next->value + squares[3]")["result"] == "39"
    assert session.evaluate("factorial(5)")["result"] == "120"
    for text, names in (("total + s", ["second", "squares"]), ("first.n", ["next"])):  # before what the libraries have
        offered = [item["label"] for item in session.post("/completions", {"text": text})["items"]]
        assert sorted(offered[: len(names)]) == names and len(set(offered)) == len(offered)
    assert session.evaluate("no_such_name")["error"]
    refusal(400, "EVALUATE_ERROR", session.evaluate, "total +")
    refusal(400, "NOT_SUPPORTED", session.evaluate, "> next", context="repl")  # nobody would know where it is
    refused = refusal(400, "BREAKPOINT_INVALID_LINE", session.post, "/run-to", {"line": 5})  # not run to its end
    assert re.match(r"Line \d+ is the nearest", refused.details["suggestion"])

    assert here(session.step("into")) == ("add", tour.line("add") - 1)
    stop = session.step("over")
    assert (stop["stop_reason"], here(stop)) == ("step", ("add", tour.line("add")))
    stop = session.step("out")
    assert (stop["stop_reason"], here(stop)) == ("step", ("main", tour.line("loop")))
    assert (stop["return_value"]["function"], stop["return_value"]["value"]) == ("add", "5")
    assert here(session.step("over")) == ("main", tour.line("loop") - 1)
    scope = session.get("/scopes", frame_id=0)["scopes"][0]["variables_reference"]
    done = session.post(f"/variables/{scope}/set", {"name": "total", "value": "total + 1000"})
    assert done["value"] == session.evaluate("total")["result"]
    assert session.post("/set-expression", {"expression": "squares[5]", "value": "5 * 5 + i"})["value"] == "27"

    stop = session.resume()
    assert (stop["hit_breakpoint_ids"], here(stop)) == ([placed[1]["id"]], ("add", tour.line("add")))
    assert session.evaluate("i", frame_id=1)["result"] == "4"
    stop = session.resume()
    assert (stop["hit_breakpoint_ids"], stop["current_location"]["function"]) == ([placed[3]["id"]], "factorial")
    end = session.resume()
    assert (end["status"], end["exit_code"], end.get("signal")) == ("terminated", 3, None)
    assert session.output("console") == "total is 1057, BLUE\n"
    assert session.output().startswith("hello, world: total 1057, 1! = 1, list of 3\n")


def test_the_program_has_its_own_input_output_arguments_and_environment(
    session: Session, build: Builder, way: dict[str, str], tmp_path: Path
) -> None:
    echo, raw = build("echo"), build("raw")
    launch(session, echo, way, wait=False, stdin_inputs=["Ann"])
    session.wait_for_output("hello Ann\nname? ")
    assert session.get("/status")["status"] == "waiting_for_input"
    session.post("/stdin", {"input": "Bob\n", "eof": True})
    end = session.get("/report", wait=20)
    assert (end["status"], end["exit_code"]) == ("terminated", 2)
    assert session.output() == "name? hello Ann\nname? hello Bob\nname? "
    assert session.output("stderr") == "2 lines\n"

    with session.api.session() as other:
        given = {"ODD": "a 'b' \"c\" $d \\e;*", "EMPTY": ""}
        end = launch(other, raw, way, args=["a b", "", '"$HOME" `x`'], cwd=str(tmp_path), env=given)
        assert (end["status"], end["exit_code"]) == ("terminated", 0)
        said = other.output()
        assert said.startswith(f'argument [a b]\nargument []\nargument ["$HOME" `x`]\nfolder [{tmp_path}]\n')
        assert said.endswith("tab\tcr\r\nno end")
        for name, value in given.items():
            assert f"environment [{name}={value}]\n" in said
        foreign = {"LD_LIBRARY_PATH", "LINES", "COLUMNS", "PYTHONHOME", "OPENCODE_DEBUG_PORT"} - set(os.environ)
        assert not foreign.intersection(re.findall(r"environment \[(\w+)=", said))


def test_what_is_printed_before_a_crash_is_not_lost(session: Session, tmp_path: Path, build: Builder) -> None:
    source = tmp_path / "last_words.c"
    source.write_text('#include <stdio.h>\nint main(void) {\n    printf("last words\\n");\n    return *(int *)0;\n}\n')
    program = build("last_words", source=source)
    stop = session.launch(program=str(program.program))
    assert stop["exception"]["type"] == "SIGSEGV"
    assert stop["output"] == [{"category": "stdout", "output": "last words\n"}]
    with session.api.session() as other:
        assert "output" not in other.launch(program=str(program.program), line_buffered=False)


def test_classes_containers_and_exceptions_of_cpp(session: Session, build: Builder, way: dict[str, str]) -> None:
    shapes = build("shapes")
    session.break_at(shapes.source, "print")
    session.post("/breakpoints", {"breakpoints": [{"function": "geometry::total"}]})
    session.post("/exception-breakpoints", {"filters": ["raised"]})
    stop = launch(session, shapes, way)

    assert stop["stop_reason"] == "exception"
    assert (stop["exception"]["type"], stop["exception"]["message"]) == ("std::invalid_argument", "negative side")
    chain = own(session.get("/stacktrace")["frames"], shapes)
    assert chain == [("Square::Square", shapes.line("throw")), ("main", shapes.line("make"))]
    stop = session.step("over")  # to where it is caught
    assert (stop["stop_reason"], here(stop)) == ("step", ("main", shapes.line("again")))
    stop = session.resume()
    assert stop["current_location"]["function"].startswith("geometry::total")
    assert not [name for name in session.locals() if not re.match(r"\w", name)]  # one parameter has no name
    stop = session.resume()
    assert here(stop) == ("main", shapes.line("print"))
    values = session.locals(0)
    assert re.search(r"2, 3, -1", values["sides"])
    assert '"shapes"' in values["title"]
    assert re.search(r'"bad".*1.*"good".*2', values["seen"])
    assert values["area"] == "13"
    assert list(children(session, row_of(session, "sides")).values()) == ["2", "3", "-1"]
    assert re.search(r'7.*"seven"', values["words"])
    assert (values["second"], session.evaluate("second")["result"]) == ("3", "3")  # not where it is
    assert children(session, row_of(session, "first"))["side"] == "2"  # a Square, behind a pointer to a Shape

    assert session.post("/set-expression", {"expression": "title", "value": '"new"'})["value"] == '"new"'
    assert session.evaluate('title.compare("new")')["result"] == "0"
    session.post("/set-expression", {"expression": "title", "value": "(area += 1, first->name)"})
    assert session.evaluate("area")["result"] == "14"  # the value was asked for once
    assert session.evaluate("title")["result"] == '"square"'
    session.evaluate("times(2)")  # which neither can, and gdb crashes when it tries
    end = session.resume()
    assert (end["exit_code"], session.output()) == (0, "shapes: negative side\n2 of area 14, 1 bad\n")


@pytest.mark.parametrize("adapter", ["gdb", "lldb"])
def test_breakpoints_in_a_library_bind_when_it_is_loaded(session: Session, build: Builder, adapter: str) -> None:
    library = build("plugin", "-shared", "-fPIC", "-DLIBRARY")
    (line,) = session.break_at(library.source, "triple")
    placed = session.post("/breakpoints", {"function": "triple"})
    stop = launch(session, build("plugin"), WAYS[adapter], args=[str(library.program)])
    assert here(stop) == ("triple", library.line("triple"))
    assert stop["hit_breakpoint_ids"] == [line["id"], placed["breakpoint_id"]]
    assert session.locals() == {"n": "14"}
    told = [event["body"]["breakpoint"] for event in session.events("breakpoint")]
    bound = {bp["id"]: bp["verified"] for bp in told if bp["verified"]}
    assert bound == {line["id"]: True, placed["breakpoint_id"]: True}
    assert session.resume()["exit_code"] == 0


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Callable[[Native], Native]]:
    """Makes a stripped copy of a program, whose debug information is where distributions install it."""
    made: list[Path] = []

    def install(native: Native) -> Native:
        number = elf_files.build_id(str(native.program))
        assert number is not None
        folder, stripped = Path(elf_files.DEBUG_FILES) / number[:2], tmp_path / native.program.name
        made.extend(each for each in (folder, folder.parent, folder.parent.parent) if not each.exists())
        folder.mkdir(parents=True, exist_ok=True)
        made.insert(0, folder / f"{number[2:]}.debug")
        subprocess.run(["objcopy", "--only-keep-debug", native.program, made[0]], check=True)
        subprocess.run(["strip", "-o", stripped, native.program], check=True)
        return Native(native.source, stripped)

    yield install
    for each in made:
        each.rmdir() if each.is_dir() else each.unlink(missing_ok=True)


@needs_root
@pytest.mark.parametrize("adapter", ["gdb", "lldb"])
def test_debug_information_that_is_installed_separately_is_used(
    session: Session, build: Builder, installed: Callable[[Native], Native], adapter: str
) -> None:
    library = installed(build("plugin", "-shared", "-fPIC", "-DLIBRARY"))
    session.break_at(library.source, "triple")
    stop = launch(session, build("plugin"), WAYS[adapter], args=[str(library.program)])
    assert here(stop) == ("triple", library.line("triple"))
    assert session.locals() == {"n": "14"}

    if adapter == "lldb":  # of the C library, whose source is not here, it may be installed too
        session.step("out")
        assert here(session.step("into")) == ("main", library.line("end"))
    program = installed(build("plugin"))
    with session.api.session() as other:
        stop = launch(other, program, WAYS[adapter], stop_on_entry=True)
        assert here(stop)[0] == "main" and stop["current_location"]["path"] == str(program.source)
        assert "warnings" not in stop


def test_threads_stop_together_and_each_stop_is_told(session: Session, build: Builder, way: dict[str, str]) -> None:
    threads = build("threads")
    session.break_at(threads.source, "square")
    stop = launch(session, threads, way)

    seen = set()
    for _ in range(3):
        assert (stop["stop_reason"], here(stop)) == ("breakpoint", ("square", threads.line("square")))
        number = int(session.evaluate("number")["result"])
        assert session.evaluate("result")["result"] == str(number * number)
        seen.add(number)
        listed = session.get("/threads")["threads"]
        assert len(listed) == 4
        assert all(thread["status"] == "paused" for thread in listed)
        stacks = {thread["id"]: session.get(f"/threads/{thread['id']}/stacktrace")["frames"] for thread in listed}
        starts = [own(frames, threads)[-1][0] for frames in stacks.values()]
        assert sorted(starts) == ["main", "worker", "worker", "worker"]
        main = min(stacks)
        assert session.evaluate("sum", thread_id=main, frame_id=depth(stacks[main], "main"))["result"] == "0"
        stop = session.resume()
    assert seen == {1, 2, 3}
    assert (stop["status"], stop["exit_code"], session.output()) == ("terminated", 0, "3 finished, sum 14\n")
    assert session.get("/breakpoints")["breakpoints"][0]["hit_count"] == 3


def depth(frames: list[dict[str, Any]], function: str) -> int:
    return next(frame["id"] for frame in frames if frame["name"] == function)


def test_a_program_that_is_let_go_runs_on_and_keeps_its_output(
    session: Session, build: Builder, way: dict[str, str]
) -> None:
    slow = build("slow")
    session.break_at(slow.source, "count")
    assert launch(session, slow, way)["stop_reason"] == "breakpoint"
    process = psutil.Process(session.get()["pid"])
    try:
        assert session.post("/detach")["detached"]
        with pytest.raises(psutil.TimeoutExpired):
            process.wait(0.7)  # nobody ends it when the debugger and its server are gone
        session.delete()
        assert process.is_running()
        assert process.status() in (psutil.STATUS_SLEEPING, psutil.STATUS_RUNNING)
    finally:
        process.kill()


@pytest.mark.parametrize("adapter", ["gdb", "lldb"])
def test_a_running_process_is_attached_to_and_let_go(api: Api, build: Builder, adapter: str) -> None:
    slow = build("slow")
    target = Target([str(slow.program)])
    try:
        assert target.says().startswith("ready")
        with api.session() as session:
            attach(session, target, adapter=adapter)
            session.break_at(slow.source, "count")
            stop = session.get("/report", wait=20)
            assert (stop["stop_reason"], here(stop)) == ("breakpoint", ("main", slow.line("count")))
            assert int(session.locals()["count"]) > 0
            session.post("/detach")
            assert target.is_alive
        with api.session() as session:
            attach(session, target, adapter=adapter)
            stop = session.post("/pause", {"wait": 20})
            assert (stop["status"], stop["stop_reason"]) == ("paused", "pause")
            session.post("/set-expression", {"expression": "enough", "value": "7"})
            end = session.resume()
            assert (end["status"], end["exit_code"]) == ("terminated", 7)
        assert target.finish() == (7, "done\n", "")
    finally:
        target.end()


@pytest.mark.parametrize("adapter", ["gdb", "lldb"])
def test_a_core_file_shows_where_it_crashed(session: Session, build: Builder, adapter: str) -> None:
    crash = build("crash")
    stop = session.launch(program=str(crash.program), core=str(core_of(crash)), adapter=adapter)

    assert (stop["stop_reason"], stop["exception"]["type"]) == ("exception", "SIGSEGV")
    assert stop["exception"]["message"] == "Segmentation fault at address 0x8"
    assert session.get()["pid"] is None
    (bp,) = session.break_at(crash.source, "main")
    assert not bp["verified"] and "core file" in bp["message"]
    refusal(400, "BREAKPOINT_INVALID_CONDITION", session.post, "/data-breakpoints", {"expression": "item"})
    chain = [("weigh", crash.line("crash")), ("total", crash.line("caller")), ("main", crash.line("main"))]
    assert own(session.get("/stacktrace")["frames"], crash) == chain
    assert is_null(session.locals(0)["item"])
    assert session.evaluate("order->id * 2", frame_id=1)["result"] == "16"
    refusal(400, "NOT_SUPPORTED", session.resume)
    refusal(400, "NOT_SUPPORTED", session.step)
    assert session.get("/status")["status"] == "paused"
    assert "warnings" not in stop

    tour = build("tour")
    with session.api.session() as other:
        options = {"program": str(tour.program), "adapter": adapter}
        refusal(400, "LAUNCH_FAILED", other.launch, core=str(crash.program), **options)
        stop = other.launch(core=str(core_of(crash)), **options)
        assert "is of crash, not of tour" in stop["warnings"][0]


@pytest.mark.parametrize("adapter", ["gdb", pytest.param("lldb", marks=pytest.mark.wide)])
def test_a_core_file_of_another_build_or_without_its_end_is_shown_with_a_warning(
    api: Api, build: Builder, tmp_path: Path, adapter: str
) -> None:
    crash = build("crash")
    renamed, cut = tmp_path / "renamed", tmp_path / "cut.core"
    shutil.copy(crash.program, renamed)
    whole = core_of(crash).read_bytes()
    cut.write_bytes(with_notes_first(whole)[: len(whole) * 3 // 4])
    rebuilt = tmp_path / "crash"
    shutil.copy(build("crash", "-O1").program, rebuilt)
    for program, core, said in (
        (renamed, core_of(crash), []),
        (rebuilt, core_of(crash), ["another build of crash"]),
        (crash.program, cut, ["is cut off"]),
    ):
        with api.session() as session:
            warnings = session.launch(program=str(program), core=str(core), adapter=adapter).get("warnings", [])
        assert len(warnings) == len(said) and all(text in each for text, each in zip(said, warnings, strict=True))
    cut.write_bytes(whole[: len(whole) * 3 // 4])
    if adapter == "gdb":  # without notes it knows no threads
        with api.session() as session:
            options = {"program": str(crash.program), "core": str(cut), "adapter": adapter}
            assert "is cut off" in refusal(400, "LAUNCH_FAILED", session.launch, **options).message


def with_notes_first(core: bytes) -> bytes:
    """As systems write a core file, and without sections: gdb writes the notes behind all memory."""
    head = bytearray(core[: 64 + 56 * int.from_bytes(core[56:58], "little")])
    head[40:48], head[58:64] = bytes(8), bytes(6)
    offset, size = (int.from_bytes(head[64 + at : 72 + at], "little") for at in (8, 32))
    for at in range(64, len(head), 56):
        moved = int.from_bytes(head[at + 8 : at + 16], "little") + size
        head[at + 8 : at + 16] = (len(head) if at == 64 else moved).to_bytes(8, "little")
    return bytes(head) + core[offset : offset + size] + core[len(head) : offset]


@pytest.mark.parametrize("adapter", ["gdb", "lldb"])
def test_pointers_that_lead_back_are_circular(session: Session, build: Builder, adapter: str) -> None:
    ring = build("ring")
    session.break_at(ring.source, "known")
    launch(session, ring, WAYS[adapter])

    def inside(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
        listed = session.get(f"/variables/{row['variables_reference']}")["variables"]
        return {child["name"]: child for child in listed}

    def circular(rows: dict[str, dict[str, Any]]) -> dict[str, int]:
        return {name: row["variables_reference"] for name, row in rows.items() if row.get("circular")}

    for whole in (row_of(session, "ann"), row_of(session, "who"), session.evaluate("*who")):
        back = whole["variables_reference"]
        first = inside(whole)
        assert circular(first) == {"self": back}
        assert circular(inside(first["next"])) == {"next": back, "self": first["next"]["variables_reference"]}
        assert list(inside({"variables_reference": back})) == list(first)
    ann = row_of(session, "ann")
    child = inside(ann)["first_child"]
    bob = inside(child)["self"]
    assert circular(inside(child)) == {"next": ann["variables_reference"]}
    assert circular(inside(bob)) == {"next": ann["variables_reference"], "self": bob["variables_reference"]}


@pytest.mark.parametrize("adapter", ["gdb", pytest.param("lldb", marks=pytest.mark.wide)])
def test_long_texts_are_shown_as_far_as_asked_for_and_marked_where_they_are_cut(
    session: Session, build: Builder, adapter: str
) -> None:
    story = build("story")
    session.break_at(story.source, "told")
    stop = session.launch(program=str(story.program), adapter=adapter)
    assert [row["name"] for row in stop["locals"] if row.get("truncated")] == ["story", "tale"]
    for name in ("story", "tale"):
        whole = session.evaluate(name)
        assert whole["result"].endswith('page9"') and len(whole["result"]) > 3500 and not whole.get("truncated")
