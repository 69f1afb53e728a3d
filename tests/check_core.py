#!/usr/bin/env python3
"""check_core.py -- what core/ promises and no compiler checks.

  #if       none, but a header's guard
  words     no thread-locals, clocks, host addresses, atomics or locks past the door
  casts     a pointer cast that does not say PM drops the mark
  decay     `s = b->slots` reads through no door and drops the mark, and clang does not see it
  order     at most one door word, or call that leads to one, between two sequence points:
            compilers order operands differently, and the model would see another order. Door
            words are macros, so one inside another counts; an argument of a function does not
  twice     an emulated word evaluates its address twice: no ++, --, assignment or call in it
            that leads to a door word

Reading, not compiling: a call through a pointer is not followed.

    check_core.py ROOT          exit 1 and one line per fault
    check_core.py --self-test   every rule finds its bad samples, and no fault in the good one
"""
import glob
import os
import re
import sys
from collections import namedtuple

from c_source import (OPEN, closing, functions, is_name, split, tokens, without_comments,
                      without_directives)

DOOR = {"pm_" + w for w in
        "load load_relaxed load_acquire store store_relaxed store_release cas fetch_add read write "
        "stream flush fence persist prefetch at use pause work".split()}
DOOR |= {"task_start", "task_join", "task_wait", "task_wake", "task_now"}

# Control words end an expression; their bracket is an expression of its own.
CONTROL = {"if", "else", "do", "while", "for", "switch", "return", "case", "default", "goto"}
SEQUENCE = {";", "&&", "||", "?", ":", "{", "}"}
ASSIGN = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"}
UNEVALUATED = {"sizeof", "offsetof", "static_assert", "_Static_assert", "_Alignof", "__typeof__"}

FORBIDDEN = [
    (r"_Thread_local|__thread|thread_local", "a thread-local is one variable for all fibers"),
    (r"__atomic_\w+|__sync_\w+|_Atomic|atomic_\w+", "an atomic past the door"),
    (r"clock\w*|gettimeofday|time|nanosleep|usleep|\w*rdtscp?", "a clock: use task_now()"),
    (r"u?intptr_t", "a host address differs in every run"),
    (r"volatile|asm|__asm__|__asm|_mm\w*_\w+|__builtin_ia32_\w+", "an access past the door"),
    (r"s?rand\w*|getrandom|getpid|pthread_\w+|sched_\w+", "not the same in every run"),
    (r"PM_(NAKED|OPEN|SHUT|LOAD|STORE|CAS|FETCH)\w*_|PM_KIND\w*|emul_\w+|native_\w+|pmem_\w+",
     "behind the door"),
    (r"PM_TARGET", "core/ does not know its target"),
]

MEMORY = re.compile(r"(?:mem|str)[a-z]+$")


# ---- #if and forbidden words --------------------------------------------------------------------

def check_conditions(path, text):
    guard = path.upper().replace("/", "_").replace(".", "_")
    free = {f"#ifndef {guard}"} if path.endswith(".h") else set()
    for number, line in enumerate(text.split("\n"), 1):
        plain = re.sub(r"^\s*#\s*", "#", line).rstrip()
        if re.match(r"#(if|el)", plain) and plain not in free:
            yield f"{path}:{number}: {plain}: no #if in core/; a difference belongs into the door"


def check_words(path, toks):
    for t in toks:
        for pattern, why in FORBIDDEN:
            if is_name(t.text) and re.fullmatch(pattern, t.text):
                yield f"{path}:{t.line}: {t.text}: {why}"


# ---- the mark -----------------------------------------------------------------------------------

def marked_names(toks):
    """Names declared as pointers with the mark: `struct bucket PM *from, *to`. Not `PM **out`:
    that is ordinary memory which holds such a pointer."""
    names = set()
    for i, t in enumerate(toks):
        if t.text != "PM" or i + 1 >= len(toks) or toks[i + 1].text != "*":
            continue
        k = i + 1
        while k < len(toks) and toks[k].text == "*":
            k += 1
            if k < len(toks) and toks[k].text == "const":
                k += 1
            if k < len(toks) and is_name(toks[k].text):
                names.add(toks[k].text)
                k += 1
            while k < len(toks) and toks[k].text not in (",", ";", ")", "{", "("):
                k = closing(toks, k) + 1 if toks[k].text in OPEN else k + 1
            if k < len(toks) and toks[k].text == ",":
                k += 1
    return names


Marks = namedtuple("Marks", "names members")  # a local name is not a member of the same name


def chain(toks, at, marked):
    """Reads name->a[i].b from at: (its end, does it end as a marked pointer, was one looked
    through)."""
    is_marked, through, i = toks[at].text in marked.names, False, at + 1
    while i < len(toks):
        text = toks[i].text
        if text in ("[", "->") and is_marked:
            through, is_marked = True, False
        if text == "(" or text == "[":
            i = closing(toks, i) + 1
        elif text in ("->", "."):
            if i + 1 < len(toks) and not through:
                is_marked = toks[i + 1].text in marked.members
            i += 2
        else:
            break
    return i, is_marked, through


def check_casts(path, toks):
    for i, t in enumerate(toks):
        if t.text != "(" or (i and (is_name(toks[i - 1].text) or toks[i - 1].text in ")]") and
                             toks[i - 1].text not in CONTROL):
            continue
        end = closing(toks, i)
        inside = [x.text for x in toks[i + 1:end]]
        is_type = inside and all(is_name(x) or x == "*" for x in inside) and inside[-1] == "*"
        if is_type and len(inside) > 1 and "PM" not in inside:
            yield f"{path}:{t.line}: ({' '.join(inside)}): a pointer cast without PM drops the mark"


def check_marks(path, body, marked):
    """Naked looks through the mark, and marked pointers that lose it."""
    skip_to = 0
    for i, t in enumerate(body):
        before = body[i - 1].text if i else ";"
        if t.text in UNEVALUATED and i + 1 < len(body):
            skip_to = closing(body, i + 1) + 1 if body[i + 1].text == "(" else \
                chain(body, i + 1, marked)[0]
        if i < skip_to or not is_name(t.text) or before in ("->", "."):
            continue
        end, is_marked, through = chain(body, i, marked)
        if through and before != "&":
            yield f"{path}:{t.line}: {t.text}: looks through PM without a door word"
        if t.text in marked.names and before == "*" and i > 1 and body[i - 2].text != "PM" and \
                body[i - 2].text not in (",", "*", "const") and \
                not is_name(body[i - 2].text) and body[i - 2].text not in ")]":
            yield f"{path}:{t.line}: *{t.text}: looks through PM without a door word"
        if MEMORY.match(t.text) and i + 1 < len(body) and body[i + 1].text == "(":
            for argument in split(body[i + 2:closing(body, i + 1)], {","}):
                if leads_through(argument, marked):
                    yield f"{path}:{t.line}: {t.text}() of a PM pointer; use pm_read or pm_write"
        if before == "*" and i > 1 and is_name(body[i - 2].text) and \
                body[i + 1:i + 2] and body[i + 1].text == "=" and \
                body[i - 2].text not in CONTROL and not declared_marked(body, i):
            value = split(body[i + 2:], {";", ","})[:1]
            if value and leads_through(value[0], marked):
                yield f"{path}:{t.line}: {t.text} = ...: a plain pointer takes a PM pointer"


def declared_marked(body, at):
    """Does the declaration that leads to at say PM?"""
    while at and body[at].text not in (";", "{", "}", "("):
        if body[at].text == "PM":
            return True
        at -= 1
    return False


def leads_through(expression, marked):
    """Is the whole expression `p`, `&p->x` or `p + n` with a marked p?"""
    at = 1 if expression[0].text == "&" else 0
    if at >= len(expression) or not is_name(expression[at].text):
        return False
    _, is_marked, through = chain(expression, at, marked)
    return (is_marked and not at) or (through and at == 1)


# ---- one door word between sequence points ------------------------------------------------------

class Order:
    """Walks expressions and finds operands with events that no sequence point parts."""

    def __init__(self, path, events):
        self.path, self.events, self.faults = path, events, []

    def fault(self, token, what):
        self.faults.append(f"{self.path}:{token.line}: {what}")

    def block(self, toks):
        """Statements, or an expression in brackets; true if an event is in it."""
        pieces, piece, i = [], [], 0
        while i < len(toks):
            text = toks[i].text
            if text in CONTROL:
                pieces.append(piece)
                piece = []
                if i + 1 < len(toks) and toks[i + 1].text == "(" and text != "return":
                    end = closing(toks, i + 1)
                    pieces.append(toks[i + 1:end + 1])
                    i = end
            elif text in SEQUENCE and not (text == "{" and self.starts_value(toks, i)):
                pieces.append(piece)
                piece = []
            elif text == ",":
                pieces.append(piece)
                piece = []
            elif text in OPEN:
                end = closing(toks, i)
                piece += toks[i:end + 1]
                i = end
            else:
                piece.append(toks[i])
            i += 1
        return any([self.operands(p) for p in pieces + [piece] if p])

    @staticmethod
    def starts_value(toks, at):
        """Is the { at `at` an initialiser or a compound literal, not a block?"""
        if at == 0:
            return False
        before = toks[at - 1].text
        if before != ")":
            return before in ("=", ",", "(", "{", "]")
        depth, i = 0, at - 1
        while i >= 0:
            depth += toks[i].text == ")"
            depth -= toks[i].text == "("
            if depth == 0:
                break
            i -= 1
        return i == 0 or not is_name(toks[i - 1].text) or toks[i - 1].text == "return"

    def siblings(self, groups, token, what):
        """Operands of which at most one may have events."""
        count = sum([self.operands(g) for g in groups])
        if count > 1:
            self.fault(token, what)
        return count > 0

    def operands(self, toks):
        """An expression without sequence points of its own."""
        found, i = 0, 0
        while i < len(toks):
            text = toks[i].text
            if text in UNEVALUATED and i + 1 < len(toks) and toks[i + 1].text == "(":
                i = closing(toks, i + 1)
            elif is_name(text) and i + 1 < len(toks) and toks[i + 1].text == "(":
                end = closing(toks, i + 1)
                found += self.call(toks[i], toks[i + 2:end])
                i = end
            elif text == "{":
                end = closing(toks, i)
                items = split(toks[i + 1:end], {","})
                found += self.siblings(items, toks[i], "an initialiser with two door words: "
                                                       "their order is the compiler's")
                i = end
            elif text in "([":
                end = closing(toks, i)
                found += self.block(toks[i + 1:end])
                i = end
            i += 1
        if found > 1:
            self.fault(toks[0], "two door words between sequence points: "
                                "their order is the compiler's")
        return found > 0

    def call(self, name, inside):
        arguments = split(inside, {","})
        inner = self.siblings([[*a] for a in arguments], name,
                              f"{name.text}(): two arguments with door words")
        if name.text in DOOR and name.text.startswith("pm_"):
            if inner:
                self.fault(name, f"{name.text}(): a door word inside a door word")
            changes = [t.text for t in inside if t.text in ASSIGN]
            if changes:
                self.fault(name, f"{name.text}(): {changes[0]} would happen twice")
        return inner or name.text in self.events


# ---- all of core/ -------------------------------------------------------------------------------

def event_functions(bodies):
    """Door words and every function that leads to one."""
    events, grown = set(DOOR), True
    while grown:
        grown = False
        for name, body in bodies:
            if name not in events and any(
                    a.text in events and b.text == "(" for a, b in zip(body, body[1:])):
                events.add(name)
                grown = True
    return events


def check_sources(sources):
    """Faults of {path: text}."""
    plain = {path: without_comments(text) for path, text in sources.items()}
    toks = {path: tokens(without_directives(text)) for path, text in plain.items()}
    defined = {path: list(functions(t)) for path, t in toks.items()}
    events = event_functions([(n, b) for fs in defined.values() for n, _, b in fs])
    returning, members = set(), set()
    for t in toks.values():
        returning |= marked_functions(t)
        members |= marked_members(t)

    faults = []
    for path in sorted(sources):
        faults += check_conditions(path, plain[path])
        faults += check_words(path, toks[path])
        faults += check_casts(path, toks[path])
        order = Order(path, events)
        for _, head, body in defined[path]:
            local = marked_names(head) | marked_names(body)
            faults += check_marks(path, body, Marks(local | returning, members))
            order.block(body)
        faults += order.faults
    return sorted(set(faults))


def marked_members(toks):
    """Marked pointers in structs."""
    names = set()
    for i, t in enumerate(toks):
        if t.text == "{" and i > 1 and toks[i - 2].text == "struct":
            names |= marked_names(toks[i:closing(toks, i)])
    return names


def marked_functions(toks):
    """Functions that return a marked pointer."""
    return {b.text for mark, star, b, c in zip(toks, toks[1:], toks[2:], toks[3:])
            if mark.text == "PM" and star.text == "*" and c.text == "("}


def check(root):
    sources = {}
    for path in glob.glob(os.path.join(root, "core", "**", "*.[ch]"), recursive=True):
        with open(path, encoding="utf-8") as f:
            sources[os.path.relpath(path, root)] = f.read()
    return check_sources(sources) if sources else [f"{root}: no core/ here"]


# ---- proof that it can fail ---------------------------------------------------------------------

GOOD = """
struct bucket { uint64_t lock; uint64_t slots[4]; };
struct table { struct bucket PM *home; uint64_t plain[4]; };
struct bucket PM *find(struct table *t, pm_off offset);
static uint64_t peek(struct bucket PM *b, int i)
{
    const uint64_t value = pm_load(&b->slots[i]); /* pm_load(x) + pm_load(y): a comment */
    return value ? pm_load(&b->lock) : pm_load_acquire(&b->slots[0]);
}
static void point(struct bucket PM *b, struct bucket PM **out)
{
    if (!*out)
        *out = b;
    else
        *out = &b[1];
}
static uint64_t deep(struct table *t, uint64_t x)
{
    struct bucket PM *b = &t->home[x], *c = find(t, x);
    const char PM *bytes = (const char PM *)(b + 1);
    const uint64_t a = peek(b, 0), d = peek(c, 1);
    uint64_t copy[4] = {a, d, sizeof b->slots};
    memcpy(copy, t->plain, sizeof copy);
    for (uint64_t i = pm_load(&b->lock), n = peek(b, 1); i < n && peek(b, (int)i); i++)
        pm_store(&t->home[i].slots[i & 3], copy[0] * a);
    if (pm_load(&b->lock))
        pm_fence();
    const uint64_t mixed = mix(peek(b, (int)peek(c, 1))); /* a function's argument comes first */
    pm_read(copy, bytes, pm_self() + 1);
    switch (a) {
    case 1: pm_fence(); break;
    default: pm_flush(&b->lock, 8);
    }
    const struct table *home = t;
    copy[0] = home->plain[0];
    return t->plain[x] + mixed + pm_load(&b->lock);
}
"""

HEAD = """
struct bucket { uint64_t lock; uint64_t slots[4]; };
struct table { struct bucket PM *home; };
static uint64_t peek(struct bucket PM *b) { return pm_load(&b->lock); }
static uint64_t peek2(struct bucket PM *b) { return peek(b); }
static void f(struct bucket PM *b, struct bucket PM *c, struct table *t, uint64_t x)
{
"""

BAD = [
    "uint64_t *s = b->slots;", "g(b->slots);", "s = t->home->slots;", "x = b->lock;", "x = *b;",
    "b[1].lock = 0;", "s = (uint64_t *)b;", "memcpy(&x, &b->lock, 8);", "memset(b, 0, 8);",
    "uint64_t *p = &b->lock;", "const uint64_t *p = t->home;", "x = t->home[0].lock;",
    "x = pm_load(&b->lock) + pm_load(&c->lock);", "g(pm_load(&b->lock), pm_load(&c->lock));",
    "x = peek(b) * peek2(c);", "pm_store(&b->lock, pm_load(&c->lock));",
    "pm_store(&b->lock, peek2(c));", "struct pair p = {peek(b), peek(c)};",
    "p = (struct pair){.a = peek(b), .b = pm_load(&c->lock)};",
    "x = peek(b) + (peek(c) && 1);", "if (peek(b) == peek(c)) x = 0;",
    "while (peek(b) < pm_load(&c->lock)) x++;", "return pm_load(&b->lock) - peek(c);",
    "y[peek(b)] = peek(c);", "pm_load(&b->slots[x++]);", "pm_store(&b->lock, x = 2);",
    "__atomic_store_n(&x, 1, 0);", "static _Thread_local int n;", "clock_gettime(0, &ts);",
    "x = (uintptr_t)b;", "volatile int n;", "pmem_drain();", "PM_NAKED_(b);", "emul_fence(0);",
    "x = time(0);", "rand();",
]

BAD_LINES = ["#if PM_EMULATED", "#ifdef __x86_64__", "#ifdef PM_TARGET", "  #  ifndef OTHER",
             "#elif X", "#else"]


def self_test():
    wrong = [f"the good sample: {f}" for f in check_sources({"core/good.c": GOOD})]
    header = "#ifndef CORE_X_H\n#define CORE_X_H\n%sint f(void);\n#endif\n"
    wrong += [f"the good header: {f}" for f in check_sources({"core/x.h": header % ""})]
    if not check_sources({"core/x.h": header % "#ifdef PM_TARGET\n#endif\n"}):
        wrong.append("not found: #ifdef PM_TARGET in a header")
    base = check_sources({"core/bad.c": HEAD + "}\n"})
    wrong += [f"the bad samples' head: {f}" for f in base]
    wrong += [f"not found: {s}" for s in BAD if not check_sources({"core/bad.c": HEAD + s + "\n}\n"})]
    wrong += [f"not found: {s}" for s in BAD_LINES if not check_sources({"core/bad.c": s + "\n"})]
    if not check("/nonexistent"):
        wrong.append("not found: a tree without core/")
    return wrong


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    faults = self_test() if sys.argv[1] == "--self-test" else check(sys.argv[1])
    print("\n".join(faults) if faults else "core: no fault")
    sys.exit(1 if faults else 0)


main()
