"""The page of the Python API: every public name, in order, from its docstring."""

from __future__ import annotations

import textwrap

import handfast

INTRODUCTION = """# The Python API

Everything that `import handfast` offers. [Recipes](../how-to/bench.md) show how it is used.
"""


def page() -> str:
    """Markdown in which mkdocstrings fills in each name."""
    names = [name for name in handfast.__all__ if not name.startswith("__")]
    return "\n".join([INTRODUCTION, _example(), *(f"::: handfast.{name}\n" for name in names)])


def _example() -> str:
    lines = textwrap.dedent(handfast.__doc__ or "").splitlines()
    code = [line.removeprefix(">>>").removeprefix("...")[1:] for line in lines if line.startswith((">>>", "..."))]
    return "```python\n" + "\n".join(code) + "\n```\n"
