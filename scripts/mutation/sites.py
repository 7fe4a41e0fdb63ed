# SPDX-License-Identifier: Apache-2.0
"""Finds the places of C++ sources that can be mutated, with libclang."""

import dataclasses
import re

from clang import cindex
from clang.cindex import CursorKind as Kind

for unknown in (153, 154, 604):  # Concepts: libclang 16 has these kinds of cursors, its Python package does not.
    try:
        Kind.from_id(unknown)
    except ValueError:
        Kind(unknown)

ORDER = {"<": ("Lt", "<=", ">="), "<=": ("Le", "<", ">"), ">": ("Gt", ">=", "<="), ">=": ("Ge", ">", "<")}
EQUALITY = {"==": ("Eq", "!="), "!=": ("Ne", "==")}
ARITHMETIC = {"+": ("Add", "-"), "-": ("Sub", "+"), "*": ("Mul", "/"), "/": ("Div", "*")}
QUANTITIES = {"Duration", "Time", "BitRate", "Bytes"}
# Deleting these changes no result: a vector grows without reserve(), and memory is read without a prefetch.
HARMLESS = re.compile(r"reserve\(|Prefetch|__builtin_prefetch|\(void\)|static_cast<void>")
TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'
                       |[A-Za-z_]\w*|\.?\d(?:'?[\w.])*(?:(?<=[eE])[+-]\d+)?
                       |<=>|->\*|<<=|>>=|->|\+\+|--|<<|<=|>=|==|!=|&&|\|\||[+\-*/%&|^]=|::|\S""",
                   re.VERBOSE | re.DOTALL)
FUNCTIONS = {Kind.FUNCTION_DECL, Kind.CXX_METHOD, Kind.FUNCTION_TEMPLATE, Kind.CONSTRUCTOR, Kind.DESTRUCTOR,
             Kind.CONVERSION_FUNCTION}
LOOPS = {Kind.FOR_STMT, Kind.WHILE_STMT, Kind.CXX_FOR_RANGE_STMT, Kind.DO_STMT}
TRANSPARENT = {Kind.UNEXPOSED_EXPR, Kind.PAREN_EXPR}


@dataclasses.dataclass(frozen=True)
class Edit:
    """Text to put around [start, end) of a file, with {id} for the number of the mutant. If start == end, the text
    goes in between."""
    start: int
    end: int
    before: str
    after: str = ""


@dataclasses.dataclass
class Site:
    """A place in a file and the mutations of it, which have consecutive numbers from `id` on."""
    file: str
    offset: int
    kind: str
    mutations: tuple
    edits: list  # Pairs of a file and an Edit: a constant is edited where it is used.
    id: int = -1


class Source:
    """The text of a file, and its tokens."""

    def __init__(self, text):
        self.text = text
        found = [m for m in TOKEN.finditer(text) if not m.group().startswith(("//", "/*"))]
        self.starts = [m.start() for m in found]
        self.tokens = [m.group() for m in found]
        self.index = {start: i for i, start in enumerate(self.starts)}
        self.macros = [self._call_at(m.start()) for m in re.finditer(r"\b[A-Z][A-Z0-9_]{3,}\(", text)]

    def _call_at(self, offset):
        """The extent of a macro's name and arguments."""
        depth = 0
        for i in range(self.index.get(offset, len(self.tokens)), len(self.tokens)):
            depth += {"(": 1, ")": -1}.get(self.tokens[i], 0)
            if depth == 0 and self.tokens[i] == ")":
                return offset, self.starts[i]
        return offset, offset

    def token_at(self, offset):
        return self.tokens[self.index[offset]] if offset in self.index else ""

    def is_binary(self, offset):
        """Whether the operator at `offset` has an operand on its left."""
        before = self.tokens[self.index[offset] - 1]
        return before in (")", "]", "}", "this") or bool(re.match(r"\w|\.\d|\"|'", before)) and before != "return"

    def operator_between(self, start, end):
        """The offset of the first operator in [start, end), or -1."""
        for match in TOKEN.finditer(self.text, start, end):
            if not match.group().startswith(("//", "/*", ")")):
                return match.start()
        return -1

    def after_semicolon(self, end):
        match = re.compile(r"\s*;").match(self.text, end)
        return match.end() if match else -1


def stripped(cursor):
    while cursor.kind in TRANSPARENT:
        children = list(cursor.get_children())
        if len(children) != 1:
            break
        cursor = children[0]
    return cursor


def is_truth(cursor, source):
    """Whether an expression is made of parts that have mutations of their own which negate it."""
    inner = stripped(cursor)
    if inner.kind == Kind.UNARY_OPERATOR:
        return source.token_at(inner.extent.start.offset) == "!"
    text = source.text[cursor.extent.start.offset:cursor.extent.end.offset]
    return inner.kind == Kind.BINARY_OPERATOR or re.fullmatch(r"operator([<>]=?|[=!]=|<=>)", inner.spelling or "") \
        or bool(re.search(r" ([<>]=?|[=!]=|&&|\|\|) ", text))


class Finder:
    """Collects the sites of one translation unit. `files` maps the names of files to their sources; sites are looked
    for in those named by `own`, the others declare constants that are used there."""

    def __init__(self, files, own):
        self.files = files
        self.own = own
        self.sites = {}
        self.left_out = set()
        self.calls = []  # The calls around the cursor, outermost first.

    def visit_unit(self, unit):
        for cursor in unit.cursor.get_children():
            name = self._name(cursor)
            if name in self.own:
                self._visit(cursor, name, None, False)

    def _name(self, cursor):
        return cursor.location.file.name if cursor.location.file else ""

    def _visit(self, cursor, name, parent, constant):
        source = self.files[name]
        start = cursor.extent.start.offset
        constant = constant or self._starts_constant(cursor, source)
        if any(first <= start < last for first, last in source.macros):
            self._leave_out(name, start, "macro")
            return
        if not constant:
            self._add_sites(cursor, name, source, parent)
        elif cursor.kind in (Kind.INTEGER_LITERAL, Kind.FLOATING_LITERAL, Kind.BINARY_OPERATOR):
            self._leave_out(name, start, "constant expression")
        if cursor.kind == Kind.CALL_EXPR:
            self.calls.append(cursor)
        head = cursor.kind == Kind.CASE_STMT or cursor.kind == Kind.IF_STMT and "constexpr" in source.text[start:start + 14]
        for i, child in enumerate(cursor.get_children()):
            self._visit(child, name, cursor, constant or head and i == 0)
        if cursor.kind == Kind.CALL_EXPR:
            self.calls.pop()

    def _starts_constant(self, cursor, source):
        if cursor.kind in (Kind.STATIC_ASSERT, Kind.ENUM_CONSTANT_DECL):
            return True
        if cursor.kind in FUNCTIONS or cursor.kind == Kind.VAR_DECL:
            head = source.text[cursor.extent.start.offset:cursor.location.offset]
            return bool(re.search(r"\bconstexpr\b", head))
        return False

    def _leave_out(self, name, offset, why):
        self.left_out.add((name, offset, why))

    def _add(self, name, offset, kind, mutations, edit):
        key = (name, offset, kind)
        if key not in self.sites:
            self.sites[key] = Site(name, offset, kind, mutations, [(name, edit)])

    def _add_sites(self, cursor, name, source, parent):
        kind = cursor.kind
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        if kind == Kind.BINARY_OPERATOR:
            self._add_binary(cursor, name, source)
        elif kind == Kind.DECL_REF_EXPR and cursor.spelling.startswith("operator"):
            self._add_operator(name, source, start, self.calls[-1].type.spelling if self.calls else "")
        elif kind == Kind.DECL_REF_EXPR:
            self._add_constant_use(cursor, name, start, end)
        elif kind in (Kind.INTEGER_LITERAL, Kind.FLOATING_LITERAL):
            literal = source.token_at(start)
            if re.match(r"\.?\d", literal):
                edit = Edit(start, start + len(literal), "mutant::Other({id}, ", ")")
                self._add(name, start, "constant", (f"{literal} changed",), edit)
        elif kind == Kind.CXX_BOOL_LITERAL_EXPR and source.token_at(start) in ("true", "false"):
            edit = Edit(start, end, "mutant::Other({id}, ", ")")
            self._add(name, start, "constant", (f"{source.token_at(start)} inverted",), edit)
        elif kind == Kind.UNARY_OPERATOR and source.token_at(start) == "!":
            self._add_negation(name, start, end, "! removed")
        elif kind in (Kind.IF_STMT, Kind.WHILE_STMT, Kind.CONDITIONAL_OPERATOR):
            self._add_condition(cursor, name, source)
        if parent is not None:
            self._add_deletion(cursor, name, source, parent, start, end)

    def _add_binary(self, cursor, name, source):
        children = list(cursor.get_children())
        if len(children) != 2:
            return
        at = source.operator_between(children[0].extent.end.offset, children[1].extent.start.offset)
        if at < 0:
            return
        operator = source.token_at(at)
        if operator in ("&&", "||"):
            self._add_operands(name, source, operator, children)
        else:
            self._add_operator(name, source, at, cursor.type.spelling)

    def _add_operands(self, name, source, operator, children):
        neutral = "mutant::On({id}) ||" if operator == "&&" else "!mutant::On({id}) &&"
        for child in children:
            start, end = child.extent.start.offset, child.extent.end.offset
            if start < end:
                text = " ".join(source.text[start:end].split())
                self._add(name, start, f"operand of {operator}", (f"`{text}` dropped",),
                          Edit(start, end, f"({neutral} (", "))"))

    def _add_operator(self, name, source, at, type_name):
        operator = source.token_at(at)
        shift = source.text[at:at + 2] == ">>"
        if operator == "" or shift or not source.is_binary(at) or "string" in type_name:
            return
        if operator in ORDER:
            name_of, *others = ORDER[operator]
        elif operator in EQUALITY:
            name_of, *others = EQUALITY[operator]
        elif operator in ARITHMETIC:
            name_of, *others = ARITHMETIC[operator]
        else:
            return
        after = at + len(operator)
        mutations = tuple(f"{operator} to {other}" for other in others)
        self._add(name, at, "operator", mutations,
                  Edit(after, after, f" mutant::{name_of}{{{{{{id}}}}}} {operator}"))

    def _add_constant_use(self, cursor, name, start, end):
        declared = cursor.referenced
        if declared is None or declared.kind != Kind.VAR_DECL or self._name(declared) not in self.files:
            return
        home, source = self._name(declared), self.files[self._name(declared)]
        if not self._starts_constant(declared, source) or not is_quantity(declared.type):
            return
        key = (home, declared.location.offset, "named constant")
        mutation = (f"{declared.spelling} changed",)
        site = self.sites.setdefault(key, Site(home, declared.location.offset, "named constant", mutation, []))
        use = (name, Edit(start, end, "mutant::Other({id}, ", ")"))
        if use not in site.edits:
            site.edits.append(use)

    def _add_negation(self, name, start, end, text):
        self._add(name, start, "negation", (text,), Edit(start, end, "(mutant::On({id}) != bool(", "))"))

    def _add_condition(self, cursor, name, source):
        children = list(cursor.get_children())
        place = 0 if cursor.kind != Kind.IF_STMT else condition_place(children)
        condition = children[place] if children else None
        if condition is None or not condition.kind.is_expression() or is_truth(condition, source):
            return
        start, end = condition.extent.start.offset, condition.extent.end.offset
        declares = place > 0 and ";" not in source.text[cursor.extent.start.offset:start]  # if (T* t = ...)
        if start < end and not declares:
            self._add_negation(name, start, end, f"`{source.text[start:end]}` negated")

    def _add_deletion(self, cursor, name, source, parent, start, end):
        if not is_body(cursor, parent):
            return
        after = source.after_semicolon(end)
        text = source.text[start:end]
        if after < 0 or HARMLESS.search(text):
            return
        jump = cursor.kind in (Kind.CONTINUE_STMT, Kind.BREAK_STMT) or text == "return"
        if cursor.kind.is_expression() or (jump and parent.kind != Kind.CASE_STMT):
            what = " ".join(text.split())
            self._add(name, start, "statement", (f"`{what};` deleted",),
                      Edit(start, after, "{{ if (!mutant::On({id})) ", " }}"))
        elif cursor.kind == Kind.RETURN_STMT and parent.kind == Kind.IF_STMT and len(list(parent.get_children())) == 2 \
                and not re.match(r"\s*}", source.text[after:]):
            what = " ".join(text.split())
            self._add(name, start, "early return", (f"`{what};` deleted",),
                      Edit(start, after, "{{ if (!mutant::On({id})) ", " }}"))


def is_quantity(type_of):
    canonical = type_of.get_canonical()
    plain = canonical.spelling.replace("const ", "").split("::")[-1]
    arithmetic = cindex.TypeKind.BOOL.value <= canonical.kind.value <= cindex.TypeKind.LONGDOUBLE.value
    return arithmetic or plain in QUANTITIES


def condition_place(children):
    """Of an if: (init), (variable), condition, then, (else)."""
    place = 0
    while place + 1 < len(children) and not children[place].kind.is_expression():
        place += 1
    return place


def is_body(cursor, parent):
    """Whether `cursor` is a statement of its own, and not a part of one."""
    if parent.kind in (Kind.COMPOUND_STMT, Kind.DEFAULT_STMT):
        return True
    children = list(parent.get_children())
    if parent.kind == Kind.IF_STMT:
        return any(child == cursor for child in children[condition_place(children) + 1:])
    return parent.kind in LOOPS | {Kind.CASE_STMT} and children[-1] == cursor


def parse(path, text, arguments):
    """The translation unit of the file at `path`, or of `text` if given, and what libclang says against it."""
    unsaved = [] if text is None else [(path, text)]
    unit = cindex.Index.create().parse(path, ["-x", "c++", "-std=c++20", "-w", *arguments], unsaved)
    return unit, [d for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
