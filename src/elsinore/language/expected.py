"""Messages of syntax errors: the unexpected token, and what was expected, in users' words."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from lark import Token

from elsinore.errors import QuerySyntaxError, Span
from elsinore.language.durations import OTHER_UNITS, UNIT_CHOICES, WITHOUT_LENGTH, not_a_unit
from elsinore.language.keywords import CLAUSES, OPERATOR_WORDS, RESERVED, nearest, strategy_of
from elsinore.model.kinds import Strategy

VALUES = {"INT", "FLOAT", "STRING", "TRUE", "FALSE", "NULL", "PARAMETER"}
COMPARING_WORDS = {"_IS", "_IN", "_LIKE", "_BETWEEN", "ILIKE", "RLIKE"}
COMPARISONS = {"EQ", "NE", "LT", "LE", "GT", "GE"} | COMPARING_WORDS
ARITHMETIC = {"PLUS", "MINUS", "STAR", "SLASH", "PERCENT"}
REPETITIONS = {"PLUS", "STAR", "QMARK", "_LBRACE"}
NAMES = {"NAME", "QUOTED"}
SIGNS = {"_LPAR", "_LSQB", "MINUS", "CASE"}  # other tokens that begin a value
PATTERNS = NAMES | {"SEQ", "PERMUTE", "_LPAR"}

# If all token types of the first set are expected, both sets are described by the word.
GROUPS: tuple[tuple[AbstractSet[str], AbstractSet[str], str], ...] = (
    (PATTERNS | {"_NOT"}, set(), "a pattern"),
    (VALUES | {"_NOT"}, NAMES | SIGNS, "a condition"),
    ({"INT", "STRING", "STAR"}, VALUES | NAMES | SIGNS | {"_NOT"}, "a value"),
    (VALUES | {"NAME"}, NAMES | SIGNS, "a value"),
    (VALUES, {"MINUS"}, "a number or a text"),
    ({"DOTS", "NAME"}, NAMES | {"INT", "MINUS", "_DOT", "DOTS"}, "i, i-1, 1, LEN or 1..i-1"),
    (REPETITIONS, {"_LSQB"}, "a repetition (+, *, ?, {2,5})"),
    (NAMES, set(), "a name"),
    ({"INT", "FLOAT"}, set(), "a number"),
    ({"INT"}, set(), "a whole number"),
    (COMPARISONS - COMPARING_WORDS, COMPARISONS | {"_NOT", "_LSQB"}, "a comparison"),
    (ARITHMETIC, {"_LSQB"}, "an arithmetic operator"),
)
SINGLE = {
    "_COMMA": "','",
    "_LPAR": "'('",
    "_RPAR": "')'",
    "_LSQB": "'['",
    "_RSQB": "']'",
    "_LBRACE": "'{'",
    "_RBRACE": "'}'",
    "_COLON": "':'",
    "_DOT": "'.'",
    "DOTS": "'..'",
    "EQ": "'='",
    "NE": "'!='",
    "LT": "'<'",
    "LE": "'<='",
    "GT": "'>'",
    "GE": "'>='",
    "PLUS": "'+'",
    "MINUS": "'-'",
    "STAR": "'*'",
    "SLASH": "'/'",
    "PERCENT": "'%'",
    "QMARK": "'?'",
    "NAME": "a name",
    "QUOTED": "a name in quotes",
    "INT": "a whole number",
    "FLOAT": "a number",
    "STRING": "a text in quotes",
    "PARAMETER": "a parameter such as :limit",
    "UNIT": "a unit such as minutes",
    "EVENTS": "EVENTS",
    "SEQ": "SEQ",
    "PERMUTE": "PERMUTE",
    "DISTINCT": "DISTINCT",
    "_NOT": "NOT",
    "_AND": "AND",
    "_OR": "OR",
    "_AS": "AS",
    "_IS": "IS",
    "_IN": "IN",
    "_LIKE": "LIKE",
    "ILIKE": "ILIKE",
    "RLIKE": "RLIKE",
    "CASE": "CASE",
    "_WHEN": "WHEN",
    "_THEN": "THEN",
    "_ELSE": "ELSE",
    "_END": "END",
    "_BETWEEN": "BETWEEN",
    "NULL": "NULL",
    "TRUE": "TRUE",
    "FALSE": "FALSE",
}
REVERSED_SIGNS = {("EQ", "GT"): ">=", ("EQ", "LT"): "<=", ("GT", "EQ"): ">=", ("LT", "EQ"): "<="}
FOREIGN = {  # hints for keywords of SQL and of other pattern languages
    "HAVING": "There is no HAVING: filter the result.",
    "CASE": "CASE is followed by WHEN and a condition: CASE WHEN x = 1 THEN 'one' END.",
    "DISTINCT": "DISTINCT stands after RETURN, and in COUNT(DISTINCT b[].x).",
    "FROM": "There is no FROM: a run is given its events.",
    "FOLLOWED": "One event after another is written SEQ(A, B).",
    "FOLLOWEDBY": "One event after another is written SEQ(A, B).",
    "EVERY": "Every way to match counts unless a STRATEGY says otherwise.",
    "MEASURES": "What is wanted is named after RETURN.",
    "DEFINE": "Conditions stand after WHERE.",
    "MATCH_RECOGNIZE": "Write RETURN for MEASURES, WHERE for DEFINE, [key] in it for PARTITION BY.",
    "SKIP": "Write STRATEGY SKIP TILL NEXT MATCH or STRATEGY SKIP TILL ANY MATCH.",
    "CONTIGUOUS": "Write STRATEGY CONTIGUOUS.",
    "PARTITION": "Write WHERE [key]: all events of a match have one value of it.",
}
CURLY = frozenset(
    "\u201c\u201d\u201e\u2018\u2019\u201a\u00ab\u00bb\u00b4"
)  # quotes of word processors
LENGTHS = {"WITHIN", "SLIDE"}
END = "$END"
COLUMN = "a column such as COUNT(*) or T.speed"


def describe(expected: Iterable[str]) -> list[str]:
    """Return users' words for token types; one word may cover several types.

    >>> describe({"NAME", "QUOTED", "SEQ", "PERMUTE", "_LPAR", "_NOT"})
    ['a pattern']
    """
    undescribed = set(expected) - {END}
    words: list[str] = []
    for all_of, with_it, word in GROUPS:
        if all_of <= undescribed:
            undescribed -= all_of | with_it
            words.append(word)
    if "an arithmetic operator" in words and "a comparison" in words:
        words.remove("an arithmetic operator")  # possible, but rarely the missing token
    if len(undescribed) > 1 or words:
        undescribed.discard(
            "_DOT"
        )  # a field of a struct may follow any name, but is rarely missing
    order = list(SINGLE)
    single = sorted(undescribed & set(SINGLE), key=order.index)
    return words + [SINGLE[kind] for kind in single]


def listed(words: list[str]) -> str:
    """Join words as in a sentence.

    >>> listed(["AND", "WITHIN", "';'"])
    "AND, WITHIN or ';'"
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def suggestion(word: str, expected: AbstractSet[str], clauses: Iterable[str]) -> str | None:
    """Return the keyword or unit that `word` probably misspells, or None."""
    choices = [text for text, kind in OPERATOR_WORDS.items() if kind in expected]
    choices += [CLAUSES[kind] for kind in clauses] if END in expected else []
    if "UNIT" in expected and word.lower() in OTHER_UNITS:
        return OTHER_UNITS[word.lower()]
    choices += UNIT_CHOICES if "UNIT" in expected else ()
    return nearest(word, choices)


def unexpected(
    token: Token,
    expected: AbstractSet[str],
    *,
    clauses: list[str],
    follows: str,
    within: str | None = None,
    before: Token | None = None,
    after: Token | None = None,
) -> QuerySyntaxError:
    """Return the error for a token where only the token types `expected` are allowed.

    `clauses` are the clauses that may still follow, `follows` is the end of the query (";"),
    `within` the clause that contains the token, `before` and `after` are adjacent tokens.
    """
    words = describe(expected)
    if within == "RETURN":
        words = [COLUMN if word == "a condition" else word for word in words]
    if END in expected:
        words += [*(CLAUSES[kind] for kind in clauses), follows]
    text = str(token)
    span = Span(token.start_pos or 0, token.end_pos or 0)
    near = suggestion(text, expected, clauses) if token.type in {"NAME", "BY"} else None
    if before is not None and (before.type, token.type) in REVERSED_SIGNS:  # `=>`, or `> =`
        near = REVERSED_SIGNS[before.type, token.type]
    if token.type == "_LPAR" and before is not None and "INT" not in expected:
        near = nearest(
            before, ["SEQ"], near_enough=0.6
        )  # in a pattern, only SEQ precedes a parenthesis
    hint = f" Did you mean '{near}'?" if near else ""
    foreign = _foreign_syntax_hint(token, before, after, within)
    if token.type == "BAD" and text in CURLY:
        message = (
            f"Text goes in single quotes, 'like this', and names in double ones, not in {text}."
        )
    elif token.type == "NAME" and within in LENGTHS and "UNIT" in expected and not foreign:
        message = not_a_unit(_short(text))
    elif token.type == "BAD" and text[:2] in {'""', "``"} and text[2:3] != text[0]:
        message = f"There is no name between these quotes, {text[:2]}: write one."
    elif token.type == "BAD" and text[0] in "\"'`":
        message = f"This quote is never closed: end it with {text[0]}."
    elif token.type == "BAD" and text.startswith("/*"):
        message = "This comment is never closed: end it with */."
    else:
        found_text = "the end of the text" if token.type == "END" else f"'{_short(text)}'"
        message = f"Expected {listed(words)}, found {found_text}.{hint}"
        if token.type == "NAME" and "UNIT" in expected and text.lower() in WITHOUT_LENGTH:
            message = not_a_unit(text)
        message += foreign
        if within == "LIMIT":
            message += " The most rows that are wanted stand here, 1 or more: LIMIT 10."
        if before is not None and "_COMMA" in expected and before.type == "_LBRACE":
            message += " How often stands in braces: {2}, {2,5}, {2,} or {,5}."
        if within == "STRATEGY" and token.type == "STRING":
            choices = ", ".join(strategy.value for strategy in Strategy)
            message = f"Strategies stand without quotes: {choices}."
        if within in LENGTHS and "INT" in expected and END not in expected:
            message += f" A length above 0, without quotes, stands here: {within} 30 minutes."
        begins = token.type in CLAUSES and within != "GROUP_BY"
        is_keyword = not begins and text.upper() in RESERVED
        if is_keyword and not foreign and "NAME" in expected:
            message += keyword_hint(token)
    return QuerySyntaxError(message, span=span, choices=(near,) if near else tuple(words))


def _foreign_syntax_hint(
    token: Token, before: Token | None, after: Token | None, within: str | None
) -> str:
    """Return a hint for syntax of other languages, or ""."""
    for word in (token, before):
        if word is not None and word.type == "NAME" and word.upper() in FOREIGN:
            return f" {FOREIGN[word.upper()]}"
    beside = " ".join(str(word).upper() for word in (before, token, after) if word is not None)
    if beside.startswith("ORDER BY") or beside.endswith("ORDER BY"):
        return " There is no ORDER BY: sort the result."
    kinds = [near.type if near is not None else None for near in (before, token, after)]
    if within == "PATTERN" and kinds[1:] == ["MINUS", "GT"]:
        return " One event after another is written SEQ(A, B)."
    if within == "PATTERN" and kinds[1] in {"_OR", "_AND"} and kinds[2] == "_LPAR":
        return f" {token.upper()} stands between patterns: SEQ(A, B) {token.upper()} SEQ(C, D)."
    if within == "PATTERN" and token.type == "_DOT" and _are_names(before, after):
        return " Conditions stand after WHERE."
    if before is not None and before.upper() == "I" and kinds[1:] == ["PLUS", "INT"]:
        return " Events are compared with those before them: b[i-1].x < b[i].x."
    if within == "RETURN" and token.type == "STAR":
        return " Each column is named: a.x, b[].x, or b[] for whole events."
    if within == "RETURN" and kinds[:2] == ["PLUS", "_RPAR"]:
        return " A + stands in PATTERN only: COUNT(T) counts all events of T."
    return ""


def _are_names(*tokens: Token | None) -> bool:
    return all(token is not None and token.type in {"NAME", "UNIT"} for token in tokens)


def strategy_in_a_condition(name: Token) -> QuerySyntaxError | None:
    """Return the error for a strategy written as a function, as in SASE; None for other names.

    >>> strategy_in_a_condition(Token("NAME", "skip_till_next_match")).message[-36:]
    'write STRATEGY SKIP TILL NEXT MATCH.'
    """
    strategy = strategy_of(str(name))
    if strategy is None:
        return None
    clause = f"STRATEGY {strategy.value}"
    return QuerySyntaxError(
        f"'{name}' is a strategy, which has a clause of its own. Leave the conditions in WHERE, "
        f"without braces, and write {clause}.",
        span=Span(name.start_pos or 0, name.end_pos or 0),
        choices=(clause,),
    )


def keyword_hint(token: Token) -> str:
    """Return a hint for a keyword that is used as a name."""
    return f" '{token}' is a keyword: to use it as a name, write \"{token}\" in quotes."


def _short(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
