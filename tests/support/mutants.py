"""Mutants of a function, each with one small change, like a typo."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add, ast.Mult),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult, ast.Sub),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr, ast.BitXor),
    ast.BitOr: (ast.BitAnd,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.MatMult: (ast.Add, ast.Mult),
}
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
}
NAMES = {
    "amax": "amin", "max": "min", "sum": "mean", "mean": "sum", "exp": "sin", "sqrt": "exp",
    "tril": "triu", "triu": "tril", "sin": "cos", "cos": "sin", "argmax": "argmin", "log": "exp",
    "cat": "stack", "stack": "cat", "ones": "zeros", "zeros": "ones", "any": "all",
}  # fmt: skip
UNORDERED = ("maximum", "swapaxes", "transpose")  # their two arguments can be swapped


def mutants(function: Callable[..., Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield each mutant with its source code."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    parameters = [a.arg for a in tree.body[0].args.args]  # type: ignore[attr-defined]
    nodes = list(ast.walk(tree))
    negated = [n.operand for n in nodes if isinstance(n, ast.UnaryOp) and type(n.op) is ast.USub]
    seen = {ast.unparse(tree)}
    for index, node in enumerate(nodes):
        signed = node in negated
        for option in range(len(list(changes(node, parameters, signed)))):
            changed = ast.parse(ast.unparse(tree))
            target = list(ast.walk(changed))[index]
            apply = list(changes(target, parameters, signed))[option]
            apply()
            text = ast.unparse(ast.fix_missing_locations(changed))
            if text in seen:
                continue
            seen.add(text)
            namespace = dict(function.__globals__)
            try:
                exec(compile(text, "<mutant>", "exec"), namespace)
            except SyntaxError:
                continue
            yield text, namespace[function.__name__]


def changed(function: Callable[..., Any], old: str, new: str) -> str:
    """Return the source code of the mutant in which one string is replaced by another."""
    text = ast.unparse(ast.parse(textwrap.dedent(inspect.getsource(function))))
    assert text.count(old) == 1
    return text.replace(old, new)


def changes(node: ast.AST, parameters: list[str], signed: bool) -> Iterator[Callable[[], None]]:
    """Yield the small changes that are possible in this node, each as an action.

    A signed node has a minus sign in front of it. It is never negated, because no learner types
    --2 for -1.
    """

    def put(field: str, value: object) -> Callable[[], None]:
        return lambda: setattr(node, field, value)

    if isinstance(node, ast.BinOp):
        yield from (put("op", other()) for other in OPERATORS.get(type(node.op), ()))
        if not isinstance(node.op, (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr)):
            left, right = node.left, node.right

            def swap() -> None:
                node.left, node.right = right, left

            yield swap
    if isinstance(node, ast.Compare):
        yield from (put("ops", [o()]) for o in COMPARISONS.get(type(node.ops[0]), ()))
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        values = (node.value + 1,) if signed else (node.value + 1, -node.value - 1)
        yield from (put("value", value) for value in values)
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield put("value", not node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Invert, ast.Not)):
        yield put("op", ast.UAdd() if isinstance(node.op, ast.Invert) else ast.Invert())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield put("op", ast.UAdd())
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield put("attr", NAMES[node.attr])
    if isinstance(node, ast.Call) and len(node.args) >= 2 and called(node) not in UNORDERED:
        yield put("args", [node.args[1], node.args[0], *node.args[2:]])
    if isinstance(node, ast.Call) and node.keywords:
        yield put("keywords", node.keywords[1:])
    if isinstance(node, ast.Name) and node.id in parameters and isinstance(node.ctx, ast.Load):
        yield from (put("id", other) for other in parameters if other != node.id)
    if isinstance(node, (ast.FunctionDef, ast.For, ast.If)) and len(node.body) > 1:
        for i, line in enumerate(node.body):
            if isinstance(line, (ast.Assign, ast.AugAssign, ast.Expr)):
                yield put("body", node.body[:i] + node.body[i + 1 :])


def called(node: ast.Call) -> str:
    """Return the name of the function or method that is called."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))
