"""The options of the service, declared once."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nolana.errors import OptionError, Remedy, Setting
from nolana.sources.declaration import Options, at_least, option

if TYPE_CHECKING:
    from nolana.runs import Interval

__all__ = ["ServeOptions", "interval", "is_loopback", "size"]

SHORTEST_TOKEN = 16  # characters


def size(name: str, text: str) -> int:
    """The bytes of a size such as 8MB; OptionError if it is none."""
    from nolana.learner.memory import parse_size  # expensive, and options are declared before anything is done

    return parse_size(name, text)


def interval(name: str, text: str) -> "Interval":
    """A number of rows, or a time; OptionError if it is none."""
    from nolana.runs import Interval  # expensive, and options are declared before anything is done

    return Interval.of_text(text, name)


def seconds(name: str, text: str) -> float:
    """The seconds of a time such as 10s; OptionError if it is none."""
    found = interval(name, text).seconds
    if found is None:
        raise OptionError(name, text, "is not a time such as 10s or 1m")
    return found


def _checked(convert: Callable[[str, str], object]) -> Callable[[str, object], str]:
    """The check for texts that can be converted; they are converted when they are used."""

    def check(name: str, value: object) -> str:
        convert(name, str(value))
        return str(value)

    return check


def names(text: str) -> tuple[str, ...]:
    """The names in a text, separated by commas."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _some(name: str, value: tuple[str, ...]) -> tuple[str, ...]:
    if not value:
        raise OptionError(name, "", "has no names; write for example no,yes")
    return value


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    import ipaddress  # options are declared before anything is done

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, kw_only=True)
class ServeOptions(Options):
    """How a model is served."""

    log: Path | None = option(
        help="Directory of the log. Every request to learn is on the disk before it is learned.",
        metavar="DIR",
        parse=Path,
    )
    classes: tuple[str, ...] | None = option(
        help="The classes, separated by commas, such as no,yes. Other labels are new classes from the first row on.",
        metavar="NAMES",
        parse=names,
        check=_some,
    )
    new_classes: str = option(
        "quarantine",
        help="Rows with a label that is no class of the model, when it has learned 1,000 rows: keep them in quarantine "
        "until the class is accepted, refuse the request, or accept every label as a class.",
        choices=("quarantine", "refuse", "accept"),
    )
    host: str = option("127.0.0.1", help="Address to listen on.", metavar="ADDRESS")
    port: int = option(8000, help="Port to listen on; 0 takes a free one.", check=at_least(0), kind=int)
    read_only: bool = option(
        False,
        help="Predict only: there is no log and no lock, and the model file is loaded again when it has changed.",
        kind=bool,
    )
    token_file: Path | None = option(
        help="File with the token that clients send in the header Authorization: Bearer TOKEN.",
        metavar="FILE",
        parse=Path,
    )
    without_token: bool = option(
        False,
        help="Listen without a token on an address that other machines can reach.",
        kind=bool,
    )
    checkpoint_every: str = option(
        "30s",
        help="Save the model after this number of rows, such as 10000, or this time, such as 30s or 5m.",
        check=_checked(interval),
        metavar="ROWS|TIME",
    )
    keep_log: bool = option(False, help="Keep the records that the model file has learned.", kind=bool)
    new_log: bool = option(
        False,
        help="Start a new log where the one in DIR is damaged or belongs to another model; that one is renamed.",
        kind=bool,
    )
    ids: int = option(
        1_000_000,
        help="Number of last records whose ids are remembered: a request that is sent again is not learned again.",
        check=at_least(1),
        kind=int,
    )
    waiting: str = option(
        "256MB",
        help="Bytes of predicted rows that are stored until their labels come; the oldest are deleted.",
        check=_checked(size),
        metavar="SIZE",
    )
    queue: int = option(
        1024, help="Requests that may wait for the log; more are answered with 429.", check=at_least(1), kind=int
    )
    connections: int = option(
        512, help="Connections at a time; more are answered with 503.", check=at_least(1), kind=int
    )
    max_request: str = option("8MB", help="Largest body of a request.", check=_checked(size), metavar="SIZE")
    timeout: str = option(
        "10s",
        help="Time in which a request must have come, and time in which it is answered.",
        check=_checked(seconds),
        metavar="TIME",
    )

    @property
    def timeout_seconds(self) -> float:
        """The limit of time."""
        return seconds("timeout", self.timeout)

    def check_classes(self, task: str | None) -> None:
        """OptionError if the classes are declared, and the other options make no use of them."""
        if self.classes is not None and task == "regression":
            what = "does not fit {other}, which has no classes; leave out one of the two"
            raise OptionError("classes", self.classes, what, facts={"other": Setting("task", task)})
        if self.classes is not None and self.new_classes == "accept":
            what = "does not fit {other}, which makes every label a class; leave out one of the two"
            raise OptionError("classes", self.classes, what, facts={"other": Setting("new_classes", "accept")})

    def check_public(self) -> None:
        """OptionError if other machines could use the service without a token."""
        if is_loopback(self.host) or self.token_file is not None or self.without_token:
            return
        raise OptionError(
            "host",
            self.host,
            "can be reached by other machines, which could read and change the model",
            hint="listen on 127.0.0.1",
            remedies=[Remedy("token_file", ..., "asks for a token"), Remedy("without_token", True, "accepts that")],
        )

    def token(self) -> bytes | None:
        """The token of the file; OptionError if it is too short."""
        if self.token_file is None:
            return None
        token = self.token_file.read_bytes().strip()
        if len(token) < SHORTEST_TOKEN or not all(33 <= byte <= 126 for byte in token):
            raise OptionError(
                "token_file",
                str(self.token_file),
                f"has no token of at least {SHORTEST_TOKEN} printable ASCII characters without blanks",
                hint="write one with: openssl rand -hex 32",
            )
        return token
