"""Judge at an endpoint: a server with OpenAI's chat completions is asked for a verdict on each pair."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from assay.common.messages import Message, Setting
from assay.exceptions import InputError, UnavailableError
from assay.metrics.base import Batch, Metric
from assay.metrics.judge.judge import JUDGE, Judge

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.metrics.judge.endpoint import Endpoint


class ServedMetric(Metric):
    """Base of metrics that ask a model at an endpoint; a subclass has the option ``key`` and the address."""

    #: each reply is stored on its own and read by every run, so that its cost stays known
    is_stored: ClassVar[bool] = False
    #: the budget and the store of replies belong to the process that the user started
    stays_here: ClassVar[bool] = True
    key: str | None

    @property
    @abstractmethod
    def address(self) -> str:
        """The address of the endpoint as the user wrote it; empty without one."""

    def obtain(self, *, offline: bool = False) -> None:
        """Check that the endpoint has a key; the endpoint is not called.

        Raises:
            UnavailableError: there is no API key, or *offline* forbids calls to an endpoint.
        """
        from assay.metrics.judge.client import api_key

        if offline:
            raise UnavailableError(
                f"the endpoint {self.address} is not called", Message("leave ", Setting("offline"), " away")
            )
        api_key(self.address, self.key)

    def check_available(self) -> None:
        """Check that the packages are installed, and that the API key is set; the endpoint is not called.

        Raises:
            UnavailableError: a package or the key is missing.
        """
        super().check_available()
        # nothing is fetched: it looks for the key
        self.obtain()

    def foreign_code(self) -> str:
        """Return the endpoint, which the run of somebody else may name: it is called only if the user trusts it."""
        return f"the endpoint {self.address}"

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return one score per pair, float64, shape (n,); the connection stays open until another engine is used.

        Raises:
            AssayError: the server cannot be used, or sent no usable reply; all open sessions are then closed.
        """
        from assay.metrics.work import score_alone

        return score_alone(self, batch)


@dataclass(frozen=True)
class ServerJudge(ServedMetric, Judge):
    """The verdict of a language model at an endpoint; it is paid for, and each reply is stored."""

    declaration = dataclasses.replace(JUDGE, provider=("openai",), extra="judge")

    def _check_options(self) -> None:
        """Check the options, with the address of the endpoint and the name of the key's variable.

        Raises:
            InputError: the options contradict each other; no model is named; the address is invalid or holds a secret,
                which would be recorded in the name of the metric; or *key* is not a name of a variable.
        """
        check_address("judge", self.address, self.key)
        if self.subject is None:
            raise InputError(f"metric 'judge' needs a model: write judge:MODEL,endpoint={self.endpoint}")
        super()._check_options()

    @property
    def address(self) -> str:
        """The address of the endpoint as the user wrote it; empty without one."""
        return self.endpoint or ""

    def needs(self) -> Endpoint:
        """Return the engine of the endpoint.

        Raises:
            InputError: only one of the two token prices is set.
        """
        from assay.metrics.judge.endpoint import Endpoint
        from assay.metrics.judge.request import address_of
        from assay.metrics.judge.spending import Price

        url, model = address_of(self)
        return Endpoint(
            judge=self.name.text,
            url=url,
            model=model,
            key=self.key,
            concurrency=self.concurrency,
            timeout=self.timeout,
            retries=self.retries,
            price=Price.of_options(str(self), self.price_in, self.price_out),
        )

    def data_signature(self) -> dict[str, str]:
        """Return what changes scores beyond the options, with what the last session learned of the server.

        Raises:
            InputError: the prompt cannot be read.
            StoreError: what is known of the server cannot be read.
        """
        from assay.metrics.judge.replies import known_server

        server = known_server(self.address, str(self.subject))
        learned = {"served": server.served, "fingerprint": server.fingerprint or "none"}
        return super().data_signature() | learned | server.fallbacks()


def check_address(metric: str, endpoint: str, key: str | None) -> None:
    """Check that an endpoint has an address of HTTP without secrets in it, and that its key is named by a variable.

    Args:
        metric: the name of the metric, for messages.
        endpoint: the address.
        key: the name of the environment variable; None for a server that needs no key.

    Raises:
        InputError: the address is invalid or holds a secret, which would be recorded in the name of the metric; or
            *key* is not a name of a variable.
    """
    from urllib.parse import urlsplit

    try:
        url = urlsplit(endpoint)
        host = url.hostname
        # raises if the port is not a number
        _ = url.port
    except ValueError as error:
        raise InputError(f"metric {metric}: endpoint {endpoint!r} is not an address ({error})") from None
    if url.scheme not in ("http", "https") or not host:
        raise InputError(
            f"metric {metric}: endpoint {endpoint!r} is not an address; write it as http://localhost:8000/v1"
        )
    may_hold_secret = any((url.username, url.password, url.query, url.fragment))
    if may_hold_secret:
        raise InputError(
            f"metric {metric}: the endpoint holds a user name, a password or a query, and names of metrics are "
            "recorded; put the key into the environment, and name its variable with key=NAME"
        )
    if key is not None and not key.isidentifier():
        raise InputError(
            f"metric {metric}: key=NAME names an environment variable, such as OPENAI_API_KEY; it is not the key itself"
        )
