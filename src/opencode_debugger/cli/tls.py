"""The certificate for HTTPS, checked before anything starts."""

from __future__ import annotations

import ssl

from ..config import ConfigError, Settings


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """What the server speaks TLS with, or nothing if it is not asked to."""
    if not settings.certfile:
        if settings.keyfile:
            raise ConfigError("--keyfile is of no use without --certfile: give the certificate as well")
        return None
    if settings.uds:
        raise ConfigError("a unix socket is for this machine alone, and needs no --certfile: leave one of them out")
    for option, path in (("certfile", settings.certfile), ("keyfile", settings.keyfile)):
        check_readable(option, path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(settings.certfile, settings.keyfile or None, password=no_password)
    except (PasswordNeeded, ssl.SSLError, OSError, ValueError) as error:
        raise ConfigError(explained(settings, error)) from error
    return context


class PasswordNeeded(Exception):
    """It would be asked for on the terminal, where nobody may be."""


def no_password() -> bytes:
    raise PasswordNeeded


def check_readable(option: str, path: str) -> None:
    try:
        if path:
            open(path, "rb").close()
    except OSError as error:
        raise ConfigError(f"--{option} {path}: {error.strerror}. Give a PEM file that you may read") from None


def explained(settings: Settings, error: Exception) -> str:
    key = settings.keyfile or settings.certfile
    reason = getattr(error, "reason", None)
    if reason == "KEY_VALUES_MISMATCH":
        return f"--keyfile {key} is not the key of the certificate {settings.certfile}: give the one that is"
    if isinstance(error, PasswordNeeded):
        return f"--keyfile {key} has a password: give one without, such as: openssl pkey -in {key} -out key.pem"
    if reason in ("EE_KEY_TOO_SMALL", "CA_MD_TOO_WEAK"):
        return f"--certfile {settings.certfile} is too weak ({reason.lower().replace('_', ' ')}): make a new one"
    if not settings.keyfile:
        return f"--certfile {settings.certfile} has no usable certificate and key: give --keyfile, or PEM files"
    return f"--certfile {settings.certfile} and --keyfile {key} are not a certificate and its key in PEM format"
