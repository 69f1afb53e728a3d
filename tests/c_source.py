"""c_source.py -- as much C as the checks of core/ need: tokens, brackets, declared names."""
import re
from collections import namedtuple

Token = namedtuple("Token", "text line")

BLANK = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
TOKEN = re.compile(r"""
    "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*'
  | [A-Za-z_]\w* | \.?\d(?:[eEpP][+-]|[\w.])*
  | ->|\+\+|--|<<=|>>=|<<|>>|&&|\|\||\.\.\.|[-+*/%&|^<>=!]=
  | \S""", re.X)

OPEN = {"(": ")", "[": "]", "{": "}"}


def is_name(text):
    return text[0].isalpha() or text[0] == "_"


def without_comments(text):
    """The text with comments blanked, so that lines keep their numbers."""
    return BLANK.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def without_directives(text):
    """The text with preprocessor lines blanked, continuation lines too."""
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group().count("\n"), text,
                  flags=re.M)


def tokens(text):
    """Tokens of a text without comments."""
    found, line, at = [], 1, 0
    for m in TOKEN.finditer(text):
        line += text.count("\n", at, m.start())
        at = m.start()
        found.append(Token(m.group(), line))
    return found


def closing(toks, at):
    """Index of the bracket that closes the one at `at`; the end if there is none."""
    depth = 0
    for i in range(at, len(toks)):
        if toks[i].text in OPEN:
            depth += 1
        elif toks[i].text in OPEN.values():
            depth -= 1
            if depth == 0:
                return i
    return len(toks)


def split(toks, separators):
    """Pieces of toks between separators that stand outside brackets; empty ones left out."""
    pieces, piece, i = [], [], 0
    while i < len(toks):
        if toks[i].text in separators:
            pieces.append(piece)
            piece = []
            i += 1
            continue
        end = closing(toks, i) + 1 if toks[i].text in OPEN else i + 1
        piece += toks[i:end]
        i = end
    return [p for p in pieces + [piece] if p]


def functions(toks):
    """(name, head, body) of each function defined: head from the last definition on to the body."""
    start = i = 0
    while i < len(toks):
        text = toks[i].text
        if text == ";":
            start = i + 1
        elif text in OPEN:
            end = closing(toks, i)
            if text == "{" and i and toks[i - 1].text == ")":
                head = toks[start:i]
                first = next(k for k, t in enumerate(head) if t.text == "(")
                yield head[first - 1].text, head, toks[i:end + 1]
                start = end + 1
            i = end
        i += 1
