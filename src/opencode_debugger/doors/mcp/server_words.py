"""What the server says of itself to models: when to debug, and how."""

INSTRUCTIONS = """\
A debugger for programs and tests in Python, C, C++ and Rust. Use it when reading is not enough: a failing test whose
values you would have to guess, a wrong result that comes from far away, a hang or deadlock, a rare error, code that you
do not know. Begin with debug_run (test=… stops where the test fails) and breakpoints. Every stop tells place, source,
locals and stack: ask only for what is missing. One debug_eval is cheaper than a print and another run. Leave session
out: the current one is meant. End with debug_end."""

WORKFLOW = """\
Find the cause with the debugger before you change code.
1. Say what you expect and what happens instead; choose the place where they must part.
2. Start: debug_run test="tests/test_x.py::test_y" stops in the failing test; or command="python app.py --verbose" with
   breakpoints=["app.py:42", "app.py:57 if total < 0", "app.py~text of a line", "Class.method"].
   Without breakpoints it stops at an uncaught exception.
3. Read the stop: its line, the names on it, what changed, who called. Most bugs are seen here.
4. Ask one question at a time: debug_eval expression="order.items[0].price"; frame=1 asks in the caller.
   debug_look shows a large value page by page. An expression may call functions and change values.
5. Move: debug_step (kind over, into, out), until="i == 7" or to="app.py:80"; debug_continue to the next breakpoint.
   A condition at the breakpoint is cheaper than many stops; " log {x} {y}" writes values and does not stop.
6. Too far? debug_continue action="restart" runs the same again with the same breakpoints.
7. It hangs: debug_continue action="pause", then debug_stack of="threads", "tasks" or "locks" tells who waits for whom.
8. It runs already: debug_attach lists processes; with pid it attaches.
9. It reads input: debug_continue input="…". What it wrote: debug_output.
10. How did it come about? debug_trace test="tests/test_x.py::test_y" records a whole run: calls with arguments and
   results, exceptions; then question="calls" of="price_of" where="result is None", or "origin" of="195.0".
11. Test the fix before you write it: change the value with debug_eval and go on.
12. debug_end when you know the cause; then change the code, and run the test again.
An error names the next call. A wait that ends says that the program runs on: debug_continue action="wait"."""
