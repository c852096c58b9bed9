"""Expressions that only look: names, members, items and arithmetic, read here before a debugger gets them.

A debugger's own language runs programs, shells and assignments. What is not in this grammar does not reach it from
those who may only look. What it cannot see, a class whose operators call functions, the debugger is forbidden to run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MOST_CHARACTERS = 1000
MOST_NESTED = 40
ADVICE = (
    "A look takes names, members (a.b, p->x), items (a[1]), *, &, arithmetic, comparisons, literals of numbers and "
    "characters, casts to pointers and numbers, sizeof, registers ($pc). {evaluate}, which needs sessions:write, runs "
    "anything"
)
TOKEN = re.compile(
    r"""[ \t]*(?:
      (?P<number> (?: 0[xX][0-9a-fA-F]+ | [0-9]+ ) [uUlL]{0,3} (?![\w.])
                | [0-9]+ \. [0-9]+ (?: [eE][+-]?[0-9]+ )? [fF]? (?![\w.]) )
    | (?P<character> ' (?: [^'\\\x00-\x1f] | \\ (?: [0-7]{1,3} | x[0-9a-fA-F]{1,2} | [abfnrtv\\'"?] ) ) ' )
    | (?P<register> \$ [a-z][a-z0-9_]{0,20} (?!\w) )
    | (?P<word> [^\W0-9]\w* )
    | (?P<sign> \+\+ | -- | // | /\* | :: | -> | << | >> | <= | >= | == | != | && | \|\| | [-+*/%&|^~!<>.()\[\]] )
    | (?P<end> \Z )
    )""",
    re.VERBOSE,
)
LEVELS = {
    sign: level
    for level, signs in enumerate(("||", "&&", "|", "^", "&", "==,!=", "<,>,<=,>=", "<<,>>", "+,-", "*,/,%"))
    for sign in signs.split(",")
}
"""Binding strength of each operator between two operands."""
COMPARING = ("<", ">", "<=", ">=")
UNARY = ("*", "&", "-", "+", "!", "~")
PLAIN = frozenset((
    "void", "bool", "_Bool", "char", "short", "int", "long", "signed", "unsigned", "float", "double", "size_t",
    "ssize_t", "ptrdiff_t", "intptr_t", "uintptr_t", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t",
    "uint32_t", "uint64_t", "wchar_t", "char8_t", "char16_t", "char32_t",
))  # fmt: skip
"""Types that need no look at the program."""
TAGS = frozenset({"struct", "class", "union", "enum"})
QUALIFIERS = frozenset({"const", "volatile"})
RESERVED = frozenset((
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "break", "case", "catch", "co_await",
    "co_return", "co_yield", "compl", "concept", "const_cast", "consteval", "constexpr", "constinit", "continue",
    "decltype", "default", "delete", "do", "dynamic_cast", "else", "explicit", "export", "extern", "for", "friend",
    "goto", "if", "inline", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "operator", "or", "or_eq",
    "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "sizeof", "static",
    "static_assert", "static_cast", "switch", "template", "thread_local", "throw", "try", "typedef", "typeid",
    "typename", "typeof", "using", "virtual", "while", "xor", "xor_eq", "__typeof__", "__typeof", "__alignof__",
    "__asm__", "__asm", "__extension__", "__real__", "__imag__",
))  # fmt: skip
"""Words that do something, or that only a declaration has."""


class NotALook(ValueError):
    """Says what in an expression is more than a look."""


@dataclass(frozen=True)
class Look:
    text: str
    """the expression, written anew from what was understood of it"""
    names: frozenset[str] = field(default_factory=frozenset)
    """the program's own, types of casts included"""
    path: tuple[str | Look, ...] | None = None
    """how one gets there from a name by members and items alone; a Look is the index of an item"""

    @property
    def is_chain(self) -> bool:
        return self.path is not None and self.path[0] not in ("*", "&")


def parse(text: str) -> Look:
    return _Reader(text).read()


def is_look(text: str) -> bool:
    try:
        parse(text)
    except NotALook:
        return False
    return True


class _Reader:
    def __init__(self, text: str) -> None:
        text = text.strip()
        if not text:
            raise NotALook("There is no expression")
        if len(text) > MOST_CHARACTERS:
            raise NotALook(f"It is longer than {MOST_CHARACTERS} characters")
        self._tokens: list[tuple[str, str]] = []
        """kind and text of each"""
        place = 0
        while not self._tokens or self._tokens[-1][0] != "end":
            found = TOKEN.match(text, place)
            if found is None:
                rest = text[place:].lstrip(" \t")
                raise NotALook(f"It has {rest[:20]!r} in it")
            kind = str(found.lastgroup)
            self._tokens.append((kind, found[kind]))
            place = found.end()
        self._at = self._depth = 0

    def read(self) -> Look:
        look = self._binary()
        if self._kind != "end":
            raise self._refusal()
        return look

    # Tokens.

    @property
    def _kind(self) -> str:
        return self._tokens[self._at][0]

    @property
    def _text(self) -> str:
        return self._tokens[self._at][1]

    def _is(self, *signs: str) -> bool:
        return self._kind == "sign" and self._text in signs

    def _take(self) -> str:
        taken = self._text
        self._at += 1
        return taken

    def _expect(self, sign: str) -> None:
        if not self._is(sign):
            raise self._refusal()
        self._at += 1

    def _refusal(self) -> NotALook:
        if self._is("(") and self._at:
            return NotALook("It calls something")
        return NotALook(f"{self._text!r} is not expected there" if self._text else "It ends too early")

    # The grammar.

    def _binary(self, least: int = 0) -> Look:
        left = self._unary()
        while self._kind == "sign" and LEVELS.get(self._text, -1) >= least:
            sign = self._take()
            right = self._binary(LEVELS[sign] + 1)
            if sign in COMPARING and self._is(*COMPARING):
                raise NotALook("Several comparisons in a row could be a template: put brackets around one")
            left = Look(f"{left.text} {sign} {right.text}", left.names | right.names)
        return left

    def _unary(self) -> Look:
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise NotALook(f"It is nested deeper than {MOST_NESTED}")
        try:
            if self._is(*UNARY):
                sign, inner = self._take(), self._unary()
                text = f"({inner.text})" if inner.text.startswith(sign) and sign in "+-&" else inner.text
                is_path = sign in "*&" and inner.is_chain
                return Look(sign + text, inner.names, (sign, *(inner.path or ())) if is_path else None)
            if self._kind == "word" and self._text == "sizeof":
                self._take()
                self._expect("(")
                inner = self._type() or self._binary()
                self._expect(")")
                return Look(f"sizeof({inner.text})", inner.names)
            return self._cast() or self._postfix()
        finally:
            self._depth -= 1

    def _cast(self) -> Look | None:
        begin = self._at
        if self._is("("):
            self._take()
            kind = self._type()
            if kind is not None:
                self._expect(")")
                inner = self._unary()
                return Look(f"({kind.text}) {inner.text}", kind.names | inner.names)
        self._at = begin
        return None

    def _type(self) -> Look | None:
        """A number's, a tagged one, or a pointer: a mere name before a bracket may be a function."""
        begin, words = self._at, []
        names: frozenset[str] = frozenset()
        while self._kind == "word" and self._text in PLAIN | QUALIFIERS:
            words.append(self._take())
        is_type = any(word in PLAIN for word in words)
        if not is_type:
            if self._kind == "word" and self._text in TAGS:
                is_type = True
                words.append(self._take())
            if not self._is("::") and (self._kind != "word" or self._text in RESERVED):
                self._at = begin
                return None
            name = self._name(begins=True)
            words.append(name.text)
            names = name.names
        while self._is("*") or (self._kind == "word" and self._text in QUALIFIERS):
            is_type = is_type or self._is("*")
            words.append(self._take())
        if not (is_type and self._is(")")):
            self._at = begin
            return None
        return Look(" ".join(words), names)

    def _postfix(self) -> Look:
        look = self._primary()
        while self._is(".", "->", "["):
            sign = self._take()
            if sign == "[":
                index = self._binary()
                self._expect("]")
                path = (*look.path, "[", index, "]") if look.path else None
                look = Look(f"{look.text}[{index.text}]", look.names | index.names, path)
            else:
                name = self._name()
                path = (*look.path, sign, name.text) if look.path else None
                look = Look(f"{look.text}{sign}{name.text}", look.names | name.names, path)
        return look

    def _primary(self) -> Look:
        if self._kind in ("number", "character", "register"):
            return Look(self._take())
        if self._is("("):
            self._take()
            inner = self._binary()
            self._expect(")")
            return inner if inner.is_chain else Look(f"({inner.text})", inner.names)
        return self._name(begins=True)

    def _name(self, begins: bool = False) -> Look:
        """With the namespaces and classes that it is in."""
        parts = [self._take()] if begins and self._is("::") else []
        names: set[str] = set()
        while True:
            word = self._text
            if self._kind != "word" or word in RESERVED | PLAIN | TAGS | QUALIFIERS:
                raise self._refusal()
            names.add(word)
            parts.append(self._take())
            if not self._is("::"):
                break
            parts.append(self._take())
        text = "".join(parts)
        return Look(text, frozenset(names), (text,))
