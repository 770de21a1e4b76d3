"""Metrics of ragas: its own classes and prompts, asked through assay's client, store of replies and budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from assay.common.messages import Setting
from assay.exceptions import InputError, unknown_name
from assay.metrics.base import Batch, Declaration, option
from assay.metrics.judge.judge import DELIVERY_OPTIONS
from assay.metrics.judge.ragas_classes import CLASSES, CONTEXT, QUESTION, REFERENCE
from assay.metrics.judge.server import ServedMetric, check_address

if TYPE_CHECKING:
    from assay.metrics.judge.endpoint import Endpoint


@dataclass(frozen=True)
class RagasMetric(ServedMetric):
    """A metric of ragas, computed by ragas with a language model at an endpoint; it is paid for.

    Prompts, steps and formula are those of ragas. A reply that is not the JSON that ragas asks for counts as ragas
    counts it after its retries: most metrics then have no score.

    Raises:
        InputError: there is no such metric, or an option is invalid.
    """

    subject: str = option(help=", ".join(CLASSES))
    model: str = option("", "the model that is asked, by its name at the endpoint")
    endpoint: str = option(
        "", "address of a server with OpenAI's chat completions, such as http://localhost:8000/v1", reaches_out=True
    )
    key: str | None = option(
        "OPENAI_API_KEY", "environment variable with the key of the endpoint; none for no key", reaches_out=True
    )
    references: Literal["first", "each"] = option(
        "first", "which of several reference answers ragas reads; each asks for every one, and the best score counts"
    )
    temperature: float | None = option(0.0, "of sampling; none for the server's own", minimum=0, maximum=2)
    seed: int | None = option(0, "of sampling; none for the server's own")
    reply_tokens: int = option(1024, "highest number of tokens of a reply; 4096 of a model that thinks", minimum=1)
    concurrency: int = option(16, "calls in flight at a time", minimum=1, maximum=1000)
    timeout: float = option(60.0, "seconds to wait for a reply", minimum=0.01)
    retries: int = option(6, "further tries of a call that failed", minimum=0, maximum=100)
    price_in: float | None = option(None, "price of a million tokens of prompts", minimum=0)
    price_out: float | None = option(None, "price of a million tokens of replies", minimum=0)

    declaration: ClassVar[Declaration] = Declaration(
        name="ragas",
        kind="judge",
        summary="a metric of ragas, by a language model at an endpoint",
        citation="Es et al. 2024, RAGAs: Automated Evaluation of Retrieval Augmented Generation",
        subject="NAME",
        provider=("ragas", "openai"),
        extra="ragas",
    )

    def __post_init__(self) -> None:
        """Check the options, and declare what the class of ragas reads.

        Raises:
            InputError: ragas has no such metric, no model or no endpoint is named, or an option is invalid.
        """
        super().__post_init__()
        if self.subject not in CLASSES:
            raise InputError(unknown_name("there is no metric of ragas", self.subject, CLASSES))
        if not self.model or not self.endpoint:
            raise InputError(
                f"metric ragas:{self.subject} needs a model and its server: write "
                f"ragas:{self.subject},model=MODEL,endpoint=http://localhost:8000/v1"
            )
        check_address("ragas", self.endpoint, self.key)
        reads = CLASSES[self.subject].reads
        self.redeclare(
            reads_question=QUESTION in reads,
            reads_reference=REFERENCE in reads,
            reads_context=CONTEXT in reads,
            reads_all_references=REFERENCE in reads and self.references == "first",
        )

    @property
    def address(self) -> str:
        """The address of the endpoint as the user wrote it."""
        return self.endpoint

    def needs(self) -> Endpoint:
        """Return the engine of the endpoint.

        Raises:
            InputError: only one of the two token prices is set.
        """
        from assay.metrics.judge.ragas_session import RagasEndpoint
        from assay.metrics.judge.spending import Price

        price = Price.of_options(str(self), self.price_in, self.price_out)
        return RagasEndpoint(
            judge=self.name.text,
            url=self.endpoint.rstrip("/"),
            model=self.model,
            key=self.key,
            concurrency=self.concurrency,
            timeout=self.timeout,
            retries=self.retries,
            price=price,
        )

    def changes_score(self, name: str) -> bool:
        """Tell whether an option changes the replies, not only how they are obtained."""
        return name not in DELIVERY_OPTIONS

    def signature(self) -> dict[str, str]:
        """Return everything that changes the score, in a fixed order, without the options that change no reply."""
        return {name: value for name, value in super().signature().items() if self.changes_score(name)}

    def data_signature(self) -> dict[str, str]:
        """Return what the last session learned of the server, and how requests do without what it does not support.

        Raises:
            StoreError: what is known of the server cannot be read.
        """
        from assay.metrics.judge.replies import known_server

        server = known_server(self.endpoint, self.model)
        fallbacks = server.fallbacks()
        # what the server gives concerns verdicts, which ragas does not ask for
        del fallbacks["gives"]
        return {"served": server.served, "fingerprint": server.fingerprint or "none"} | fallbacks

    def texts(self, batch: Batch) -> list[dict[str, Any]]:
        """Return the arguments of the ragas class for each pair, by their names in ragas.

        The reference is the first of several gold answers.

        Raises:
            InputError: the class reads the question or the context, which the data lacks.
        """
        reads = CLASSES[self.subject].reads
        for column, name, values in (
            (QUESTION, "question", batch.questions),
            (CONTEXT, "context", batch.contexts),
        ):
            if column in reads and values is None:
                raise InputError(
                    f"metric {self} reads the {name}, and the data has none: name its column (",
                    Setting("columns", f"{name}=…"),
                    ")",
                )
        arguments: list[dict[str, Any]] = []
        for row, (reference, candidate) in enumerate(batch.pairs()):
            answers = [reference] if batch.gold_answers is None else batch.gold_answers[row]
            of_pair: dict[str, Any] = {"response": candidate, REFERENCE: answers[0]}
            if batch.questions is not None:
                of_pair[QUESTION] = batch.questions[row]
            if batch.contexts is not None:
                of_pair[CONTEXT] = [batch.contexts[row]]
            arguments.append({name: text for name, text in of_pair.items() if name == "response" or name in reads})
        return arguments
