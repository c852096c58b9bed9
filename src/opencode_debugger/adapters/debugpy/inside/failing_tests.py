"""Tells of tests that fail, by asking the test framework itself.

An exception that leaves a test is no failure if the test is skipped or expected to fail, and one that a test calls for
(`pytest.raises(E, f)`) never gets to the framework. So the frameworks are listened to where they have decided: pytest
before it would start its own debugger (`--pdb`), unittest where it catches what a test raises. What the framework then
does with a failure waits for whoever is told.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

__unittest = True  # unittest leaves out of its tracebacks what is so marked

Told = Callable[[BaseException], None]

_tell: Optional[Told] = None
_replaced: Dict[Tuple[str, ...], Any] = {}
"""what was there before, by module and names"""


def watch(tell: Optional[Told]) -> None:
    """From now on failures are told, in frameworks that are loaded later too; with None, no more."""
    global _tell
    _tell = tell
    if tell is not None:
        for module in _WRAPPERS:
            if module in sys.modules:
                _wrap(module)
        if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
            sys.meta_path.insert(0, _Finder())
        return
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    for (module, *names), original in _replaced.items():
        setattr(_owner(module, names), names[-1], original)
    _replaced.clear()


class _Finder:
    """Finds nothing itself: it is there to be asked when a framework is imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in _WRAPPERS:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                return _with_wrapping(spec, name)
        return None


def _with_wrapping(spec: Any, name: str) -> Any:
    loader = spec.loader
    execute = loader.exec_module

    def exec_module(module: Any) -> None:
        del loader.exec_module
        execute(module)
        if _tell is not None:
            _wrap(name)

    with contextlib.suppress(AttributeError):  # a loader that takes no attributes is left alone
        loader.exec_module = exec_module
    return spec


def _wrap(module: str) -> None:
    for names, wrapper in _WRAPPERS[module].items():
        owner = _owner(module, names)
        original = getattr(owner, names[-1], None)
        if original is not None and (module, *names) not in _replaced:
            _replaced[(module, *names)] = original
            setattr(owner, names[-1], wrapper(original))


def _owner(module: str, names: Any) -> Any:
    owner: Any = sys.modules[module]
    for name in names[:-1]:
        owner = getattr(owner, name)
    return owner


def _failed(error: Any) -> None:
    if _tell is not None and isinstance(error, BaseException):
        _tell(error)


def _of_pytest(original: Any) -> Any:
    """Asked by pytest of each call that raised something: whether it is one to look into."""

    def check_interactive_exception(call: Any, report: Any) -> Any:
        answer = original(call, report)
        if answer:
            _failed(call.excinfo.value)
        return answer

    return check_interactive_exception


def _of_unittest(original: Any) -> Any:
    """Each part of a test runs inside of this: its setup, the test itself, subtests, its teardown."""

    @contextlib.contextmanager
    def testPartExecutor(outcome: Any, *args: Any, **kwargs: Any) -> Iterator[None]:
        with original(outcome, *args, **kwargs):
            try:
                yield
            except BaseException as error:
                trace = error.__traceback__
                error.__traceback__ = trace.tb_next if trace is not None else None  # without this function
                if _is_failure(outcome, error):
                    _failed(error)
                raise

    return testPartExecutor


def _is_failure(outcome: Any, error: BaseException) -> bool:
    case = sys.modules["unittest.case"]
    if isinstance(error, (KeyboardInterrupt, case.SkipTest, case._ShouldStop)):
        return False
    # pytest runs such tests too, and knows better which of them may fail.
    is_of_pytest = type(getattr(outcome, "result", None)).__module__.startswith("_pytest.")
    return not (is_of_pytest or getattr(outcome, "expecting_failure", False))


def _of_suite(original: Any) -> Any:
    """Setup and teardown of classes and modules."""

    def _addClassOrModuleLevelException(
        suite: Any, result: Any, exception: Any, errorName: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if not isinstance(exception, sys.modules["unittest.case"].SkipTest):
            _failed(exception)
        return original(suite, result, exception, errorName, *args, **kwargs)

    return _addClassOrModuleLevelException


_WRAPPERS: Dict[str, Dict[Tuple[str, ...], Callable[[Any], Any]]] = {
    "_pytest.runner": {("check_interactive_exception",): _of_pytest},
    "unittest.case": {("_Outcome", "testPartExecutor"): _of_unittest},
    "unittest.suite": {("TestSuite", "_addClassOrModuleLevelException"): _of_suite},
}
