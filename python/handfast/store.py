"""Files that are whole or absent: everything is written beside its place and moved there when it is complete."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from handfast import _handfast
from handfast.errors import InputError
from handfast.results import SIM, Result
from handfast.signals import deferred

STAGING = ".staging-"


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that a reader sees either the old content or all of the new."""
    data = content.encode() if isinstance(content, str) else content
    with _as_input_error(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            try:
                file.write(data)
                file.flush()
                Path(file.name).chmod(0o644)
                Path(file.name).replace(path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise


@contextmanager
def staged(directory: Path, owned: Iterable[str] = ()) -> Iterator[Path]:
    """A scratch directory whose entries move into `directory` at the end, each replacing what had its name.

    What is called as one of `owned` goes where nothing replaces it: it would be taken for a part of what is new.
    An exception or an interruption leaves `directory` as it was.
    """
    existed = directory.is_dir()
    stage = directory / f"{STAGING}{os.getpid()}-{secrets.token_hex(4)}"
    try:
        with _as_input_error(directory):
            directory.mkdir(parents=True, exist_ok=True)
            _clear_abandoned(directory)
            stage.mkdir(mode=0o700)
        yield stage
        # An interruption half-way would leave a mixture of old and new.
        with deferred(), _as_input_error(directory):
            for name in sorted(set(owned) - {entry.name for entry in stage.iterdir()}):
                _remove(directory / name)
            for entry in sorted(stage.iterdir()):
                _replace(entry, directory / entry.name)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        if not existed:
            with suppress(OSError):
                directory.rmdir()  # only succeeds while nothing was put there


def _replace(source: Path, target: Path) -> None:
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    source.replace(target)


def _remove(target: Path) -> None:
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)


def _clear_abandoned(directory: Path) -> None:
    """Remove what a process that was killed has left: its number stands in the name."""
    for stage in directory.glob(f"{STAGING}*-*"):
        owner = stage.name.removeprefix(STAGING).partition("-")[0]
        if owner.isdigit() and not _is_alive(int(owner)):
            shutil.rmtree(stage, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # Somebody else's.
        return True
    return True


@contextmanager
def _as_input_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{error.filename or path}: {error.strerror or error}") from error


@cache
def build_id() -> str:
    """Digest of the extension's bytes: a result of another build is not this build's result."""
    return sha256(Path(_handfast.__file__).read_bytes()).hexdigest()[:16]


class RunStore:
    """Finished runs on disk, one file each, found again by what determined them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def load(self, scenario_hash: str, scheme: str, seed: int, backend: str = SIM) -> Result | None:
        """The stored run, or None where there is none that can be read."""
        try:
            return Result.from_json(self._path(scenario_hash, scheme, seed, backend).read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, TypeError):
            # Truncated by a full disk or edited: running again is always right.
            return None

    def save(self, result: Result) -> None:
        """Keep a finished run, if it counts: one that does not is to be done again."""
        if result.valid:
            write_whole(self._path(result.scenario_hash, result.scheme, result.seed, result.backend), result.raw + "\n")

    def _path(self, scenario_hash: str, scheme: str, seed: int, backend: str) -> Path:
        key = "\0".join([scenario_hash, scheme, str(seed), _handfast.__version__, build_id()])
        if backend != SIM:
            key += f"\0{backend}"
        return self._directory / f"{sha256(key.encode()).hexdigest()[:32]}.json"
