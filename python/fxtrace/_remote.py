"""Ranges of files in stores, read through fsspec: what they are, and errors that say what to do."""

from __future__ import annotations

import os
import re
import time
import urllib.parse
import zlib
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from typing import IO, Any, NamedTuple, TypeVar

from ._errors import InputError, UsageError

TAIL = 128 << 10  # bytes at the end of a file that are read first
_TRIES = 4
_SLOWEST = 100_000  # bytes a second, below which a server is given up
_PATIENCE = 30  # seconds for the first byte of an answer, and between two of them
_LATEST = 1 << 33  # seconds since 1970 of a time: 2242
_LARGEST = 1 << 62  # bytes of a file
_LATEST_RETRY = 10.0  # seconds that a server may ask to wait
_BUSY = (408, 425, 429, 500, 502, 503, 504)  # answers after which the same request may succeed
_TAGS = ("ETag", "etag", "e_tag", "md5Hash", "Content-MD5", "content_md5", "VersionId", "blob_id", "checksum")
_TIMES = ("Last-Modified", "LastModified", "last_modified", "mtime", "updated")
_PASSING = ("ClientPayloadError", "ServerDisconnectedError", "FSTimeoutError")  # errors that are no OSError, and pass


class State(NamedTuple):
    """What tells whether a file is the one that was read before."""

    size: int  # bytes
    tag: str  # the store's ETag or checksum, else the time of the last change; empty where it tells neither
    modified_ns: int  # nanoseconds since 1970; 0 where the store does not tell

    @property
    def stamp(self) -> int:
        """Return the time of the change in nanoseconds, with a hash of the tag in place of what is less than a second."""
        return self.modified_ns // 10**9 * 10**9 + zlib.crc32(self.tag.encode()) % 10**9


def is_url(value: Any) -> bool:
    """Return true for the URL of a file in a store: "s3://bucket/model.pt2"."""
    return isinstance(value, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]*(::[A-Za-z][A-Za-z0-9+.-]*)*://", value) is not None


def public_url(url: str) -> str:
    """Return a URL without what may be secret: user, password and query. It can stand in JSON and in a list of files."""
    parts = []
    for part in url.split("::"):
        scheme, mark, rest = part.partition("://")
        user, at, place = rest.partition("/")[0].rpartition("@")
        if at and (":" in user or not scheme.lower().startswith(("abfs", "az", "adl"))):  # of Azure, it is the container
            rest = rest[len(user) + 1 :]
        if mark:
            rest = rest.partition("?")[0]
        parts.append(scheme + mark + (rest.partition("#")[0] if scheme.lower() in ("http", "https") else rest))
    return re.sub(r'[\x00-\x1f"\\\x7f-\x9f\u2028\u2029\ud800-\udfff]', lambda found: urllib.parse.quote(found[0], safe="", errors="replace"), "::".join(parts))


def _secrets(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _secrets(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _secrets(item)
    elif isinstance(value, str) and len(value) > 3 and not is_url(value):
        yield value


_T = TypeVar("_T")


class NoRanges(InputError):
    """The server gives whole files only."""


class Store:
    """One file in a store. `requests` and `bytes_read` count what was asked of it; errors have no credentials."""

    def __init__(self, url: str, storage_options: Mapping[str, Any] | None = None):
        try:
            import fsspec  # type: ignore[import-untyped, import-not-found, unused-ignore]
        except ImportError:
            raise UsageError("URLs are read through fsspec, which is not installed", ["pip install 'fxtrace[remote]'"]) from None
        self.url = public_url(url)
        self.requests = self.bytes_read = 0
        self._given = url
        self._options = dict(storage_options or {})
        failed = None
        try:
            self._files, self._path = fsspec.core.url_to_fs(url, **self._options)
        except ImportError as error:
            raise UsageError(f"{self.url}: {self._told(error)}", ["install what fsspec needs for this kind of URL"]) from None
        except Exception as error:
            failed = self._told(error)
        if failed is not None:  # out of the `except`: the error there may have credentials
            raise UsageError(f"{self.url}: {failed}", ["look at the URL and at storage_options"])
        protocol = self._files.protocol
        self._is_http = "http" in ((protocol,) if isinstance(protocol, str) else protocol)
        self._state: State | None = None

    def state(self, tail: int = 1) -> tuple[State, bytes]:
        """Ask for the file's state; return it and, of at most `tail` bytes, the end of the file as far as the same request has it."""
        if self._is_http:
            state, end = self._tried(lambda: self._http(f"bytes=-{tail}", tail))
        else:
            state, end = self._tried(self._info), b""
        if self._state is None:
            self._state = state
        return state, end

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` to `end`, which the file has. Several threads may read."""
        if self._is_http:
            state, content = self._tried(lambda: self._http(f"bytes={start}-{end - 1}", end - start))
            self.check_same(state)
        else:
            self.requests += 1
            content = self._tried(lambda: self._files.cat_file(self._path, start=start, end=end))
            self.bytes_read += len(content)
        if len(content) != end - start:
            raise self._error(f"the store gave {len(content)} bytes where {end - start} were asked for", [self.whole_hint()])
        return bytes(content)

    def whole_hint(self) -> str:
        """Return the advice to fetch the whole file; without a URL that cannot be told."""
        return f"fetch the whole file: python -m fxtrace fetch --whole -o FILE {self.url if self.url == self._given else 'URL'}"

    def copy(self, file: IO[bytes]) -> None:
        """Write the whole file."""
        if self._is_http:
            self._tried(lambda: self._copied(file))
        else:
            self.requests += 1
            self._tried(lambda: self._files.get_file(self._path, file.name))
            self.bytes_read += os.path.getsize(file.name)

    def _copied(self, file: IO[bytes]) -> None:
        file.seek(0)
        file.truncate()
        self._request(self._copy, file)

    def files_below(self, recursive: bool) -> list[str] | None:
        """Return the URLs of the files in a folder; None for a URL that is no folder, and for one of the web."""
        if self._is_http or not self._tried(lambda: self._files.isdir(self._path)):
            return None
        found = self._tried(lambda: self._files.find(self._path, maxdepth=None if recursive else 1))
        return [str(self._files.unstrip_protocol(name)) for name in sorted(found)]

    def check_same(self, state: State | None = None) -> None:
        """Raise InputError if the file is not the one whose state was asked for first; ask again without `state`."""
        if state is None:
            state = self.state()[0]
        if self._state is not None and state[:2] != self._state[:2]:
            raise self._error("the file changed while it was read", ["read it again"])

    def _info(self) -> State:
        self.requests += 1
        self._files.invalidate_cache(self._path)
        info = self._files.info(self._path)
        if info.get("type") == "directory":
            raise self._error("this is a folder; give the model file inside it")
        if not isinstance(info.get("size"), int):
            raise self._error("the store does not tell the size of the file", [self.whole_hint()])
        return _state_of(info, info["size"])

    def _http(self, wanted: str, most: int) -> tuple[State, bytes]:
        return self._request(self._answer, wanted, most)

    def _request(self, ask: Callable[..., Coroutine[Any, Any, _T]], *arguments: Any) -> _T:
        from fsspec.asyn import sync  # type: ignore[import-untyped, import-not-found, unused-ignore]

        self.requests += 1
        answer: _T = sync(self._files.loop, ask, *arguments)
        return answer

    def _options_of_a_request(self, seconds: float, **headers: str) -> dict[str, Any]:
        import aiohttp  # type: ignore[import-not-found, unused-ignore]

        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=_PATIENCE, sock_read=_PATIENCE)
        options = {"timeout": timeout, **self._files.kwargs}
        options["headers"] = {**options.get("headers", {}), "Accept-Encoding": "identity", **headers}
        return options

    def _check_status(self, answer: Any) -> None:
        told = f"the server answered {answer.status} {answer.reason}"
        if answer.status in _BUSY:
            raise _Busy(told, answer.headers.get("Retry-After", ""))
        if answer.status in (401, 403):
            raise self._error(told, ["give credentials: storage_options"])
        if answer.status in (404, 410):
            raise self._error("no such file")
        if answer.status >= 400 and answer.status != 416:
            raise self._error(told)

    async def _copy(self, file: IO[bytes]) -> None:
        session = await self._files.set_session()
        size = self._state.size if self._state is not None else 0
        options = self._options_of_a_request(2 * _PATIENCE + size / _SLOWEST)
        async with session.get(self._files.encode_url(self._path), **options) as answer:
            self._check_status(answer)
            said = answer.headers.get("Content-Length", "")
            written = 0
            async for chunk in answer.content.iter_any():
                file.write(chunk)
                written += len(chunk)
                self.bytes_read += len(chunk)
            if answer.status != 200 or (said.isdecimal() and written != int(said)):
                raise _Busy(f"the server gave {written} of {said} bytes")
            self.check_same(_state_of(answer.headers, written))

    async def _answer(self, wanted: str, most: int) -> tuple[State, bytes]:
        session = await self._files.set_session()
        options = self._options_of_a_request(_PATIENCE + most / _SLOWEST, Range=wanted)
        async with session.get(self._files.encode_url(self._path), **options) as answer:
            self._check_status(answer)
            place = re.fullmatch(r"bytes (\d{1,20})-(\d{1,20})/(\d{1,20})", answer.headers.get("Content-Range", ""))
            said = answer.headers.get("Content-Length", "")
            if answer.status == 206 and place is not None:
                first, last, size = map(int, place.groups())
                expected = (max(0, size - most), size - 1) if wanted.startswith("bytes=-") else tuple(map(int, wanted[6:].split("-")))
                if (first, last) != expected or size > _LARGEST:
                    given = f"bytes {first} to {last} of {size}"
                    raise self._error(f"the server gave {given} where {wanted[6:]} were asked for", [self.whole_hint()])
                most = last - first + 1
            elif answer.status == 200 and said.isdecimal() and int(said[:20]) <= most and wanted.startswith("bytes=-"):
                size = most = int(said)  # the whole of a small file
            else:
                raise NoRanges(f"{self.url}: the server does not give parts of files (ranges)", [self.whole_hint()])
            content = bytearray()
            async for chunk in answer.content.iter_any():
                content += chunk
                self.bytes_read += len(chunk)
                if len(content) > most:
                    raise self._error("the server gave more bytes than it said", [self.whole_hint()])
            if len(content) < most:
                raise _Busy(f"the server gave {len(content)} of {most} bytes")
            return _state_of(answer.headers, size), bytes(content)

    def _tried(self, ask: Callable[[], _T]) -> _T:
        """Return what ask() returns, after some attempts where another one may help."""
        for turn in range(_TRIES):
            try:
                return ask()
            except (InputError, UsageError):
                raise
            except FileNotFoundError:
                failed = self._error("no such file")
            except PermissionError as error:
                failed = self._error(self._told(error), ["give credentials: storage_options"])
            except Exception as error:
                times = f", {turn + 1} times" if turn else ""
                failed = self._error(self._told(error) + times, ["try again later; storage_options has timeouts and credentials"])
                passes = isinstance(error, (OSError, TimeoutError)) or type(error).__name__ in _PASSING
                tries = 2 if isinstance(error, TimeoutError) or type(error).__name__ == "FSTimeoutError" else _TRIES
                if passes and turn + 1 < tries:
                    asked = getattr(error, "retry_after", "")
                    time.sleep(min(_LATEST_RETRY, float(asked)) if re.fullmatch(r"\d{1,6}", asked) else 0.25 * 4**turn)
                    continue
            break
        raise failed  # out of the `except`: the error there may have credentials

    def _told(self, error: BaseException) -> str:
        """Return the error's message in a line, without credentials."""
        text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        text = text.replace(self._given, self.url)
        for secret in sorted(_secrets(self._options), key=len, reverse=True):
            text = text.replace(secret, "...")
        text = re.sub(r"\w+://[^\s'\"]*", lambda found: self.url if found[0].startswith(self.url) else "another URL", text)
        return type(error).__name__ if not text or text.startswith("0, message=''") else text

    def _error(self, text: str, hints: Iterable[str] = ()) -> InputError:
        return InputError(f"{self.url}: {text}", hints)


class _Busy(OSError):
    def __init__(self, text: str, retry_after: str = ""):
        super().__init__(text)
        self.retry_after = retry_after


def _state_of(info: Mapping[str, Any], size: int) -> State:
    tags = (str(info[name]) for name in _TAGS if info.get(name))
    times = [info[name] for name in _TIMES if info.get(name)]
    modified = _nanoseconds(times[0]) if times else 0
    return State(size, next(tags, str(times[0]) if times else ""), modified)


def _nanoseconds(value: Any) -> int:
    """Return a time of a store as nanoseconds since 1970; 0 for one that cannot be read."""
    from datetime import datetime
    from email.utils import parsedate_to_datetime

    if isinstance(value, (int, float)):
        return int(value * 10**9) if 0 <= value < _LATEST else 0
    try:
        if isinstance(value, str):
            value = parsedate_to_datetime(value) if "," in value else datetime.fromisoformat(value.replace("Z", "+00:00"))
        seconds: float = value.timestamp()
        return int(seconds) * 10**9 if 0 <= seconds < _LATEST else 0
    except (AttributeError, TypeError, ValueError, OverflowError):
        return 0


def identity(url: str, storage_options: Mapping[str, Any] | None = None) -> State:
    """Return the state of a file in a store, by one request."""
    return Store(os.fspath(url), storage_options).state()[0]
