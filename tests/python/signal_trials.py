"""Commands that a signal meets at some moment: started by forking one interpreter that has imported handfast.

Reads a line of JSON a trial from standard input, `{"cwd", "words"}`, and answers with the child's process number.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from pathlib import Path

from handfast.cli import main

HANGS_AFTER_S = 50.0
"""Less than the tests wait."""


def child(cwd: str, words: list[str]) -> None:
    """Become the command line `handfast WORDS` in `cwd`, its output in files there."""
    os.chdir(cwd)
    for name, number in (("stdout", 1), ("stderr", 2)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT, 0o644), number)
    # What hangs says where before it is killed.
    faulthandler.dump_traceback_later(HANGS_AFTER_S, file=Path("where").open("w"))  # noqa: SIM115
    sys.argv = ["handfast", *words]
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    else:
        code = 0
    sys.stdout.flush()
    sys.stderr.flush()
    Path("code").write_text(str(code), encoding="ascii")
    os._exit(code)


def serve() -> None:
    """Fork for each line."""
    for line in sys.stdin:
        asked = json.loads(line)
        pid = os.fork()
        if pid == 0:
            child(asked["cwd"], asked["words"])
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
        os.waitpid(pid, 0)
        sys.stdout.write("ended\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
