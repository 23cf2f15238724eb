"""Converting Java's regular expressions to RE2's.

Spark's RLIKE and regexp functions use Java's syntax, DuckDB's use RE2's. Syntax with the same
meaning in both is kept, syntax that RE2 spells differently is rewritten, the rest is rejected.
"""

from __future__ import annotations

LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
_SPACES = r" \t\n\x0B\f\r"
_CLASSES = {"d": "0-9", "w": "a-zA-Z_0-9", "s": _SPACES}
_CONTROLS = {"t": r"\t", "n": r"\n", "r": r"\r", "f": r"\f"}
_AT_END = rf"(?:\r\n|[{LINE_ENDS}])?\z"


class JavaOnlyError(ValueError):
    """A part of a regular expression that RE2 lacks or interprets differently."""


def to_re2(pattern: str, *, may_consume_line_end: bool = False) -> str:
    r"""Return the RE2 pattern that matches the same text as a pattern of Java.

    `may_consume_line_end` allows a match to contain the line end before `$`. Raises JavaOnlyError
    for parts that RE2 lacks or interprets differently.

    >>> print(to_re2(r"^a.c\s"))
    ^a[^\n\r\x{85}\x{2028}\x{2029}]c[ \t\n\x0B\f\r]
    >>> print(to_re2("(?i)a[b-d]"))
    [aA][b-dB-D]
    """
    return _Reader(pattern, may_consume_line_end).read()


class _Reader:
    """A recursive-descent converter of one regular expression; `_folds` ignores case."""

    def __init__(self, pattern: str, may_consume_line_end: bool) -> None:
        self._pattern = pattern
        self._ends_consumed = may_consume_line_end
        self._at = 0
        self._folds = False

    def read(self) -> str:
        if self._pattern.startswith("(?i)"):
            self._folds, self._at = True, 4
        pieces: list[str] = []
        while self._at < len(self._pattern):
            pieces.append(self._piece())
        return "".join(pieces)

    def _next(self, count: int = 1) -> str:
        piece = self._pattern[self._at : self._at + count]
        self._at += count
        return piece

    def _piece(self) -> str:
        """Convert the next element of the pattern."""
        sign = self._next()
        match sign:
            case "\\":
                return self._escaped()
            case "[":
                return self._class()
            case ".":
                return f"[^{LINE_ENDS}]"
            case "$":
                if not self._ends_consumed:
                    raise JavaOnlyError(r"'$' is also before a line's end at the end: write \z")
                return _AT_END
            case "(":
                return self._group()
            case "*" | "+" | "?" | "}":
                if self._pattern.startswith("+", self._at):
                    raise JavaOnlyError("possessive quantifiers")
                return sign
            case "]" | "#":
                return f"\\{sign}"
            case _:
                return self._letter(sign)

    def _letter(self, sign: str) -> str:
        if not self._folds or not (sign.isascii() and sign.isalpha()):
            return sign
        return f"[{sign.lower()}{sign.upper()}]"

    def _group(self) -> str:
        if not self._pattern.startswith("?", self._at):
            return "("
        if self._pattern.startswith("?:", self._at):
            return "(" + self._next(2)
        raise JavaOnlyError(f"'({self._pattern[self._at : self._at + 3]}'")

    def _escaped(self) -> str:
        sign = self._next()
        if sign in _CLASSES:
            return f"[{_CLASSES[sign]}]"
        if sign.lower() in _CLASSES:
            return f"[^{_CLASSES[sign.lower()]}]"
        if sign in _CONTROLS:
            return _CONTROLS[sign]
        if sign in {"A", "z"}:
            return f"\\{sign}"
        if not sign or (sign.isascii() and sign.isalnum()):
            raise JavaOnlyError(f"'\\{sign}'")
        return f"\\{sign}" if sign.isascii() else sign

    def _class(self) -> str:
        """Convert a character class, whose bracket has been read."""
        start = self._at
        pieces = ["["]
        if self._pattern.startswith("^", self._at):
            pieces.append(self._next())
        first = True
        while True:
            sign = self._next()
            if not sign:
                raise JavaOnlyError(f"'[{self._pattern[start:]}'")
            if sign == "]" and not first:
                break
            if sign in "[]^" or (sign == "&" and self._pattern.startswith("&", self._at)):
                raise JavaOnlyError(f"'{sign}' within [ ]")
            pieces.append(self._member(sign))
            first = False
        return "".join([*pieces, "]"])

    def _member(self, sign: str) -> str:
        """Convert a character, a range or a class within brackets."""
        if sign == "\\":
            letter = self._next()
            if letter in _CLASSES:
                return _CLASSES[letter]
            if letter in _CONTROLS:
                return _CONTROLS[letter]
            if not letter or (letter.isascii() and letter.isalnum()):
                raise JavaOnlyError(f"'\\{letter}' within [ ]")
            return f"\\{letter}" if letter.isascii() else letter
        rest = self._pattern[self._at :]
        if len(rest) > 1 and rest[0] == "-" and rest[1] not in "]\\[":
            end = self._next(2)[1]
            return self._range(sign, end)
        if self._folds and sign.isascii() and sign.isalpha():
            return sign.lower() + sign.upper()
        return "\\-" if sign == "-" else sign

    def _range(self, begin: str, end: str) -> str:
        text = f"{begin}-{end}"
        if not self._folds:
            return text
        for alphabet, case in (("az", str.upper), ("AZ", str.lower)):
            low, high = max(begin, alphabet[0]), min(end, alphabet[1])
            if low <= high:
                text += f"{case(low)}-{case(high)}"
        return text


def to_re2_replacement(text: str) -> str:
    r"""Return RE2's replacement text for Java's, in which `$1` is the first group.

    >>> print(to_re2_replacement("<$1>"))
    <\1>
    """
    pieces: list[str] = []
    signs = iter(text)
    for sign in signs:
        following = next(signs, "") if sign in "$\\" else ""
        if sign == "$":
            if not (following.isascii() and following.isdigit()):
                raise JavaOnlyError("'$' without the number of a group")
            pieces.append(f"\\{following}")
        elif sign == "\\":
            if not following:
                raise JavaOnlyError("a backslash at its end")
            pieces.append("\\\\" if following == "\\" else following)
        else:
            pieces.append(sign)
    return "".join(pieces)
