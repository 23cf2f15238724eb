"""Opening files on local disks, object stores and HDFS with Arrow's file systems.

Arrow uses Spark's settings of an object store (end point, keys), which are in Hadoop's
configuration, and otherwise the environment, like the stores' own tools.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache, partial
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow.fs as pa_fs
from pyspark.sql import SparkSession

from elsinore.spark.scan.conditions import NotSimpleError

S3 = ("s3", "s3a", "s3n")
AZURE = ("abfs", "abfss")
SCHEMES = ("", "file", *S3, "gs", *AZURE, "hdfs")
_S3_NAMES = (
    "access.key",
    "secret.key",
    "session.token",
    "endpoint",
    "endpoint.region",
    "path.style.access",
    "connection.ssl.enabled",
    "aws.credentials.provider",
)
_AZURE_NAMES = ("fs.azure.account.key", "fs.azure.sas.fixed.token")
_AZURE_ENDPOINT = "fs.azure.abfs.endpoint"  # HOST:PORT instead of the account's hosts
_AZURE_DOMAIN = "core.windows.net"
_GS_ENDPOINT = "fs.gs.storage.root.url"
# Settings of Google's connector for Hadoop, old and new, that say to send no credentials.
_GS_ANONYMOUS = {
    "fs.gs.auth.type": "UNAUTHENTICATED",
    "fs.gs.auth.null.enable": "true",
    "google.cloud.auth.null.enable": "true",
}
_GS_TIMEOUT = timedelta(minutes=1)  # Arrow's default is 15 minutes
_AMAZON = "s3.amazonaws.com"  # the default end point in configurations


@dataclass(frozen=True, slots=True)
class Storage:
    """Opens files; `settings` are the relevant ones of Hadoop, and may be secrets."""

    settings: Mapping[str, str] = field(default_factory=dict, repr=False)

    def located(self, uri: str) -> tuple[pa_fs.FileSystem, str]:
        """Return the file system of a URI and the path in it.

        Raises NotSimpleError if Arrow lacks it, and OSError if it cannot be reached.
        """
        parts = urlsplit(uri)
        path = unquote(parts.path)
        if parts.scheme in {"", "file"}:
            return _system(parts.scheme, "", ()), path
        if parts.scheme not in SCHEMES:
            raise NotSimpleError(f"Arrow has no file system for '{parts.scheme}:'")
        container, at, _ = parts.netloc.rpartition("@")
        bucket = container if at else parts.netloc
        system = _system(parts.scheme, parts.netloc, tuple(sorted(self.settings.items())))
        return system, path if parts.scheme == "hdfs" else bucket + path


def storage_of(spark: SparkSession, uris: list[str]) -> Storage:
    """Return the storage of files, from a session's Hadoop configuration."""
    places = {(parts.scheme, parts.netloc) for parts in map(urlsplit, uris)}
    names: list[str] = []
    for scheme, netloc in sorted(places):
        if scheme in S3:
            names += [f"fs.s3a.{name}" for name in _S3_NAMES]
            names += [f"fs.s3a.bucket.{netloc}.{name}" for name in _S3_NAMES]
        elif scheme in AZURE:
            host = netloc.rpartition("@")[2]
            names += [name + suffix for name in _AZURE_NAMES for suffix in ("", f".{host}")]
            names.append(_AZURE_ENDPOINT)
        elif scheme == "gs":
            names += [_GS_ENDPOINT, *_GS_ANONYMOUS]
    if not names:
        return Storage()
    session: Any = spark
    configuration = session._jsparkSession.sessionState().newHadoopConf()
    settings = {name: configuration.get(name) for name in dict.fromkeys(names)}
    return Storage({name: str(value) for name, value in settings.items() if value})


@lru_cache(maxsize=64)
def _system(scheme: str, netloc: str, settings: tuple[tuple[str, str], ...]) -> pa_fs.FileSystem:
    make_system = _MAKERS.get(scheme)
    if make_system is None:
        return pa_fs.LocalFileSystem()
    return make_system(netloc, dict(settings))


def _s3(bucket: str, settings: Mapping[str, str]) -> pa_fs.FileSystem:
    """Return the file system of an S3 bucket with Hadoop's settings of the S3A connector."""

    def setting(name: str) -> str | None:
        common = settings.get(f"fs.s3a.{name}")
        return settings.get(f"fs.s3a.bucket.{bucket}.{name}", common)

    options: dict[str, Any] = {
        "access_key": setting("access.key"),
        "secret_key": setting("secret.key"),
        "session_token": setting("session.token"),
        "region": setting("endpoint.region"),
    }
    if "Anonymous" in (setting("aws.credentials.provider") or "") and not options["access_key"]:
        options["anonymous"] = True
    endpoint = setting("endpoint")
    if endpoint and endpoint.rstrip("/").rpartition("/")[2] != _AMAZON:
        scheme, _, host = endpoint.rstrip("/").rpartition("://")
        secure = (setting("connection.ssl.enabled") or "true").lower() != "false"
        options["scheme"] = scheme or ("https" if secure else "http")
        options["endpoint_override"] = host
        # With a configured end point, Arrow's default is path.style.access.
        options["force_virtual_addressing"] = setting("path.style.access") == "false"
    return pa_fs.S3FileSystem(**{name: value for name, value in options.items() if value})


def _gs(_: str, settings: Mapping[str, str]) -> pa_fs.FileSystem:
    options: dict[str, Any] = {"retry_time_limit": _GS_TIMEOUT}
    if any(settings.get(name, "").upper() == by.upper() for name, by in _GS_ANONYMOUS.items()):
        options["anonymous"] = True
    scheme, _, host = settings.get(_GS_ENDPOINT, "").rstrip("/").rpartition("://")
    if host and host != "storage.googleapis.com":
        options |= {"scheme": scheme or "https", "endpoint_override": host}
    return pa_fs.GcsFileSystem(**options)


def _azure(secure: bool, netloc: str, settings: Mapping[str, str]) -> pa_fs.FileSystem:
    """Return the file system of an Azure container with Hadoop's settings of ABFS."""
    host = netloc.rpartition("@")[2]
    account, _, domain = host.partition(".")
    options = {}
    for option, name in zip(("account_key", "sas_token"), _AZURE_NAMES, strict=True):
        value = settings.get(f"{name}.{host}", settings.get(name))
        if value:
            options[option] = value
    endpoint, domain = settings.get(_AZURE_ENDPOINT), domain.removeprefix("dfs.")
    for service in ("blob", "dfs"):
        if endpoint:
            options[f"{service}_storage_authority"] = endpoint
            options[f"{service}_storage_scheme"] = "https" if secure else "http"
        elif domain not in {"", _AZURE_DOMAIN}:  # a separate cloud, such as China's
            options[f"{service}_storage_authority"] = f".{service}.{domain}"
    return pa_fs.AzureFileSystem(account_name=account, **options)


def _hdfs(netloc: str, _: Mapping[str, str]) -> pa_fs.FileSystem:
    system, _path = pa_fs.FileSystem.from_uri(f"hdfs://{netloc or 'default'}/")
    return system


_MAKERS: dict[str, Callable[[str, Mapping[str, str]], pa_fs.FileSystem]] = {
    **dict.fromkeys(S3, _s3),
    "abfs": partial(_azure, False),
    "abfss": partial(_azure, True),
    "gs": _gs,
    "hdfs": _hdfs,
}
