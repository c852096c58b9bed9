"""Joins the modules of the page: it has about ninety, and a browser takes some milliseconds for each file.

A module becomes a function that is called once, after those whose exports it takes; what it exports, it returns.
A file that is loaded after another takes that one only in the edition with which it was joined: a browser may have the
first from a relay that has been upgraded since, and refuses the second then.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from dataclasses import dataclass, field
from pathlib import Path

BEGIN = r"(?<=[\n;}])"
"""of a statement: by hand that is on a line of its own, in vendored files behind another one"""
IMPORT = re.compile(BEGIN + r'import\s*(?:(?:(\w+)|\{([^}]*)\})\s*from\s*)?"([^"]+)";')
PASSED_ON = re.compile(BEGIN + r'export\s*\{([^}]*)\}\s*from\s*"([^"]+)";?')
LISTED = re.compile(BEGIN + r"export\s*\{([^}]*)\};?")
STANDARD = re.compile(BEGIN + "export default ")
DECLARED = re.compile(BEGIN + r"export ((?:async function|function|class|const) (\w+))")
LEFT = re.compile(BEGIN + r"(?:import\b(?! *[(.])|export\b).*")


@dataclass
class Module:
    """A file of the page, named by its path, with its imports made into constants."""

    name: str
    text: str
    needs: dict[str, set[str]] = field(default_factory=dict)
    """what it takes from others, by their names"""
    exports: dict[str, str] = field(default_factory=dict)
    """what each name that others see is here"""

    @property
    def constant(self) -> str:
        return constant_of(self.name)

    def take_imports(self) -> None:
        def taken(found: re.Match[str]) -> str:
            standard, names, target = found.groups()
            if standard:
                return f"const {standard} = {self._need(target, ['default'])}.default;"
            source = self._need(target, [there for there, _ in pairs_of(names or "")])
            if names is None:
                return ""
            return f"const {{ {', '.join(f'{name}: {here}' for name, here in pairs_of(names))} }} = {source};"

        self.text = IMPORT.sub(taken, self.text)

    def take_exports(self) -> None:
        for names, target in PASSED_ON.findall(self.text):
            source = self._need(target, [there for there, _ in pairs_of(names)])
            self.exports |= {seen: f"{source}.{there}" for there, seen in pairs_of(names)}
        self.text = PASSED_ON.sub("", self.text)
        for names in LISTED.findall(self.text):
            self.exports |= {seen: here for here, seen in pairs_of(names)}
        self.exports |= {name: name for _, name in DECLARED.findall(self.text)}
        if STANDARD.search(self.text):
            self.exports["default"] = "standard"
        self.text = DECLARED.sub(r"\1", LISTED.sub("", STANDARD.sub("const standard = ", self.text)))
        if left := LEFT.search(self.text):
            raise ValueError(f"{self.name} cannot be joined with others: {left.group()}")

    def _need(self, target: str, names: list[str]) -> str:
        name = posixpath.normpath(posixpath.join(posixpath.dirname(self.name), target))
        self.needs.setdefault(name, set()).update(names)
        return constant_of(name)

    def as_function(self) -> str:
        exports = ", ".join(f"{seen}: {here}" for seen, here in self.exports.items())
        return f"const {self.constant} = (() => {{\n{self.text}\nreturn {{ {exports} }};\n}})();\n"


def join_modules(root: Path, entry: str, after: str | None = None) -> str:
    """Return a module with all that it needs, but for what comes with the one after which it is loaded."""
    modules = modules_of(root, entry)
    first = modules_of(root, after) if after else {}
    own = [module for name, module in modules.items() if name not in first and name != entry]
    given = [module.constant for name, module in modules.items() if name in first]
    parts = [module.as_function() for module in own]
    if after:
        parts.insert(0, f'import {{ {", ".join([edition_of(first), *given])} }} from "/page/{after}";\n')
    edition = edition_of(modules)
    exports = ", ".join([edition, *(module.constant for module in own)])
    return "".join(parts) + modules[entry].text + f"\nconst {edition} = true;\nexport {{ {exports} }};\n"


def edition_of(modules: dict[str, Module]) -> str:
    """Return a name that only these modules have, as they are."""
    text = "".join(module.text for module in modules.values())
    return f"edition_{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def modules_of(root: Path, entry: str) -> dict[str, Module]:
    """Return a module, whose exports stay as they are, behind all that it needs."""
    ready: dict[str, Module] = {}
    begun: list[str] = []

    def add(name: str) -> None:
        if name in begun:
            raise ValueError(f"modules that need each other cannot be joined: {' → '.join([*begun, name])}")
        module = Module(name, "\n" + (root / name).read_text(encoding="utf-8"))
        module.take_imports()
        if name != entry:
            module.take_exports()
        begun.append(name)
        for needed, names in module.needs.items():
            if needed not in ready:
                add(needed)
            if missing := names - ready[needed].exports.keys():
                raise ValueError(f"{name} takes from {needed} what that does not export: {', '.join(sorted(missing))}")
        begun.remove(name)
        ready[name] = module

    add(entry)
    return ready


def constant_of(name: str) -> str:
    return re.sub(r"\W", "_", name.removesuffix(".js"))


def pairs_of(names: str) -> list[tuple[str, str]]:
    """Return both names of each in `one, another as something`."""
    words = [each.split() for each in names.split(",") if each.strip()]
    return [(each[0], each[-1]) for each in words]
