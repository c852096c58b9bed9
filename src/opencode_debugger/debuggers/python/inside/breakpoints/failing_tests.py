"""Tells of tests that fail, by asking the test framework itself.

An exception that leaves a test is no failure if the test is skipped or expected to fail, and one that a test calls for
(`pytest.raises(E, f)`) never gets to the framework. So the frameworks are listened to where they have decided: pytest
before it would start its own debugger (`--pdb`), unittest where it catches what a test raises. What the framework then
does with a failure waits for whoever is told.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from importlib.machinery import ModuleSpec
from typing import Any, Callable, Dict, Iterator, Optional, Sequence, Tuple

__unittest = True  # unittest leaves modules with this mark out of its tracebacks

Function = Callable[..., object]
Told = Callable[[BaseException], None]

_tell: Optional[Told] = None
_replaced: Dict[Tuple[str, ...], Any] = {}
"""The functions that were there before, by module and names."""


def watch_frameworks(tell: Optional[Told]) -> None:
    """Tell of failures from now on, in frameworks that are loaded later too; with None, no more."""
    global _tell
    _tell = tell
    if tell is not None:
        for module in _WRAPPERS:
            if module in sys.modules:
                _wrap_framework(module)
        if not any(isinstance(finder, _FrameworkFinder) for finder in sys.meta_path):
            sys.meta_path.insert(0, _FrameworkFinder())
        return
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _FrameworkFinder)]
    for (module, *names), original in _replaced.items():
        setattr(_find_owner(module, names), names[-1], original)
    _replaced.clear()


class _FrameworkFinder:
    """Finds nothing itself, but is asked when a framework is imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        if name not in _WRAPPERS:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                return _wrap_after_loading(spec, name)
        return None


def _wrap_after_loading(spec: ModuleSpec, name: str) -> ModuleSpec:
    loader: Any = spec.loader
    execute = loader.exec_module

    def exec_module(module: Any) -> None:
        del loader.exec_module
        execute(module)
        if _tell is not None:
            _wrap_framework(name)

    with contextlib.suppress(AttributeError):  # a loader that takes no attributes is left alone
        loader.exec_module = exec_module
    return spec


def _wrap_framework(module: str) -> None:
    for names, wrapper in _WRAPPERS[module].items():
        owner = _find_owner(module, names)
        original = getattr(owner, names[-1], None)
        if original is not None and (module, *names) not in _replaced:
            _replaced[(module, *names)] = original
            setattr(owner, names[-1], wrapper(original))


def _find_owner(module: str, names: Sequence[str]) -> object:
    return functools.reduce(getattr, names[:-1], sys.modules[module])


def _tell_failure(error: Any) -> None:
    if _tell is not None and isinstance(error, BaseException):
        _tell(error)


def _wrap_pytest(original: Function) -> Function:
    """Wrap what pytest asks about each call that raised something: whether it is one to look into."""

    def check_interactive_exception(call: Any, report: Any) -> object:
        answer = original(call, report)
        if answer:
            _tell_failure(call.excinfo.value)
        return answer

    return check_interactive_exception


def _wrap_unittest(original: Any) -> Function:
    """Wrap that in which each part of a test runs: setup, the test itself, subtests, teardown."""

    @contextlib.contextmanager
    def testPartExecutor(outcome: Any, *args: Any, **kwargs: Any) -> Iterator[None]:
        with original(outcome, *args, **kwargs):
            try:
                yield
            except BaseException as error:
                trace = error.__traceback__
                error.__traceback__ = trace.tb_next if trace is not None else None  # without this function
                if _is_failure(outcome, error):
                    _tell_failure(error)
                raise

    return testPartExecutor


def _is_failure(outcome: Any, error: BaseException) -> bool:
    case = sys.modules["unittest.case"]
    if isinstance(error, (KeyboardInterrupt, case.SkipTest, case._ShouldStop)):
        return False
    # pytest runs such tests too, and knows better which of them may fail.
    is_of_pytest = type(getattr(outcome, "result", None)).__module__.startswith("_pytest.")
    return not (is_of_pytest or getattr(outcome, "expecting_failure", False))


def _wrap_suite(original: Function) -> Function:
    """Wrap what is told of setup and teardown of classes and modules."""

    def _addClassOrModuleLevelException(suite: Any, result: Any, exception: Any, *args: Any, **kwargs: Any) -> object:
        if not isinstance(exception, sys.modules["unittest.case"].SkipTest):
            _tell_failure(exception)
        return original(suite, result, exception, *args, **kwargs)

    return _addClassOrModuleLevelException


_WRAPPERS: Dict[str, Dict[Tuple[str, ...], Callable[[Any], Function]]] = {
    "_pytest.runner": {("check_interactive_exception",): _wrap_pytest},
    "unittest.case": {("_Outcome", "testPartExecutor"): _wrap_unittest},
    "unittest.suite": {("TestSuite", "_addClassOrModuleLevelException"): _wrap_suite},
}
