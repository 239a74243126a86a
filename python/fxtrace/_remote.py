"""Ranges of files in stores, read through fsspec: what they are, and errors that say what to do."""

from __future__ import annotations

import os
import re
import time
import urllib.parse
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ._errors import InputError, UsageError

TAIL = 128 << 10  # bytes at the end of a file that are read first
_TRIES = 4
_SLOWEST = 50_000  # bytes a second, below which a server is given up
_LATEST_RETRY = 10.0  # seconds that a server may ask to wait
_BUSY = (408, 425, 429, 500, 502, 503, 504)  # answers after which the same request may succeed
_TAGS = ("ETag", "etag", "e_tag", "md5Hash", "Content-MD5", "content_md5", "VersionId", "blob_id", "checksum")
_TIMES = ("Last-Modified", "LastModified", "last_modified", "mtime", "updated", "created")
_WHOLE = "fetch the whole file: python -m fxtrace fetch --whole URL -o FILE"


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
    """Return a URL without what may be secret: user, password and query."""
    parts = [re.sub(r"(://)[^/@]*@", r"\1", part) for part in url.split("::")]
    plain = "::".join(re.sub(r"[?#].*", "", part) if re.match("https?:", part) else part for part in parts)
    return re.sub(r"[^!#-\[\]-~]", lambda found: urllib.parse.quote(found[0], safe=""), plain)


def _secrets(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _secrets(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _secrets(item)
    elif isinstance(value, str) and len(value) > 3 and not is_url(value):
        yield value


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
        try:
            self._files, self._path = fsspec.core.url_to_fs(url, **self._options)
        except ImportError as error:
            raise UsageError(f"{self.url}: {self._told(error)}", ["install what fsspec needs for this kind of URL"]) from None
        except Exception as error:
            raise UsageError(f"{self.url}: {self._told(error)}", ["look at the URL and at storage_options"]) from None
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
            raise self._error(f"the store gave {len(content)} bytes where {end - start} were asked for", [_WHOLE])
        return bytes(content)

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
            raise self._error("the store does not tell the size of the file", [_WHOLE])
        return _state_of(info, info["size"])

    def _http(self, wanted: str, most: int) -> tuple[State, bytes]:
        from fsspec.asyn import sync  # type: ignore[import-untyped, import-not-found, unused-ignore]

        self.requests += 1
        answer: tuple[State, bytes] = sync(self._files.loop, self._answer, wanted, most)
        return answer

    async def _answer(self, wanted: str, most: int) -> tuple[State, bytes]:
        import aiohttp  # type: ignore[import-not-found, unused-ignore]

        session = await self._files.set_session()
        options = {"timeout": aiohttp.ClientTimeout(total=60 + most / _SLOWEST, sock_connect=30), **self._files.kwargs}
        options["headers"] = {**options.get("headers", {}), "Range": wanted, "Accept-Encoding": "identity"}
        async with session.get(self._files.encode_url(self._path), **options) as answer:
            if answer.status in _BUSY:
                raise _Busy(f"the server answered {answer.status} {answer.reason}", answer.headers.get("Retry-After", ""))
            if answer.status in (401, 403):
                raise self._error(f"the server answered {answer.status} {answer.reason}", ["give credentials: storage_options"])
            if answer.status in (404, 410):
                raise self._error("no such file")
            if answer.status >= 400 and answer.status != 416:
                raise self._error(f"the server answered {answer.status} {answer.reason}")
            place = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", answer.headers.get("Content-Range", ""))
            if answer.status == 206 and place is not None:
                first, last, size = map(int, place.groups())
                expected = (max(0, size - most), size - 1) if wanted.startswith("bytes=-") else tuple(map(int, wanted[6:].split("-")))
                if (first, last) != expected:
                    raise self._error(f"the server gave bytes {first} to {last} where {wanted[6:]} were asked for", [_WHOLE])
                most = last - first + 1
            elif answer.status == 200 and int(answer.headers.get("Content-Length") or most + 1) <= most:
                size = most = int(answer.headers["Content-Length"])  # the whole of a small file
                if not wanted.startswith("bytes=-"):
                    raise self._error("the server gave the whole file where a part was asked for", [_WHOLE])
            else:
                raise self._error("the server does not give parts of files (ranges)", [_WHOLE])
            content = bytearray()
            async for chunk in answer.content.iter_any():
                content += chunk
                self.bytes_read += len(chunk)
                if len(content) > most:
                    raise self._error("the server gave more bytes than it said", [_WHOLE])
            if len(content) < most:
                raise _Busy(f"the server gave {len(content)} of {most} bytes")
            return _state_of(answer.headers, size), bytes(content)

    def _tried(self, ask: Any) -> Any:
        for turn in range(_TRIES):
            try:
                return ask()
            except (InputError, UsageError):
                raise
            except FileNotFoundError:
                raise self._error("no such file") from None
            except PermissionError as error:
                raise self._error(self._told(error), ["give credentials: storage_options"]) from None
            except Exception as error:
                is_last = turn == _TRIES - 1 or not (self._is_http or isinstance(error, (OSError, TimeoutError)))
                if is_last:
                    text = f"{self._told(error)}" + (f", {_TRIES} times" if turn else "")
                    raise self._error(text, ["try again later; storage_options has timeouts and credentials"]) from None
                asked = getattr(error, "retry_after", "")
                time.sleep(min(_LATEST_RETRY, float(asked)) if re.fullmatch(r"\d{1,6}", asked) else 0.25 * 4**turn)
        raise AssertionError

    def _told(self, error: BaseException) -> str:
        """Return the error's message in a line, without credentials."""
        text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        text = text.replace(self._given, self.url)
        for secret in sorted(_secrets(self._options), key=len, reverse=True):
            text = text.replace(secret, "...")
        text = re.sub(r"(\w://)[^/@\s]*@", r"\1", text)
        text = re.sub(r"(\w://[^\s'\"?]*)\?[^\s'\"]*", r"\1", text)
        return text or type(error).__name__

    def _error(self, text: str, hints: list[str] | None = None) -> InputError:
        return InputError(f"{self.url}: {text}", [hint.replace("URL", self.url) for hint in hints or ()])


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
        return int(value * 10**9)
    try:
        if isinstance(value, str):
            value = parsedate_to_datetime(value) if "," in value else datetime.fromisoformat(value.replace("Z", "+00:00"))
        seconds: float = value.timestamp()
        return int(seconds) * 10**9
    except (AttributeError, TypeError, ValueError, OverflowError):
        return 0


def identity(url: str, storage_options: Mapping[str, Any] | None = None) -> State:
    """Return the state of a file in a store, by one request."""
    return Store(os.fspath(url), storage_options).state()[0]
