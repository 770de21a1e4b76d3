"""Prompts of a judge: short TOML files with a template, shipped ones by name and a user's own by path."""

from __future__ import annotations

import functools
import hashlib
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assay.exceptions import InputError, summary_of, unknown_name
from assay.metrics.judge.rendering import PromptTemplate, template_environment
from assay.metrics.judge.verdicts import VerdictScale, scale_of
from assay.paths import read_settings_file, user_path

#: Fields that a template may show. ``references`` are all gold answers, ``reference`` is one of them.
FIELDS = ("question", "context", "reference", "references", "candidate", "verdicts")
#: Largest file of a prompt, in bytes.
MAX_PROMPT_BYTES = 100_000
#: Names of human judgements, which a template must not show: they would tell the judge the right verdict.
_LABELS = ("label", "labels", "score", "human", "annotations", "gold_label")


@dataclass(frozen=True)
class Message:
    """One message of a conversation with a model: the role of its sender, and its text."""

    role: Literal["system", "user"]
    content: str


class _PromptFile(BaseModel):
    """The contents of a prompt file.

    Attributes:
        summary: a description of one line for listings.
        scale: the name of the scale of verdicts.
        symmetric: whether the prompt asks the same if the two texts are exchanged.
        optional: fields that the template can do without if the data lacks them.
        reply_tokens: the highest number of tokens of a reply, at least 1.
        system, user: the messages, as Jinja templates.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    user: str
    scale: str = "yes-no"
    summary: str = ""
    system: str = ""
    symmetric: bool = False
    optional: list[Literal["question", "context"]] = []
    reply_tokens: int = Field(default=16, ge=1)


@dataclass(frozen=True)
class Prompt:
    """A prompt that was read and checked.

    Attributes:
        name: the name of the shipped prompt or of the file, without folder.
        digest: the SHA-256 digest of the file in hexadecimal; part of the signature.
        scale: the verdicts that the prompt asks for.
        fields: those of :data:`FIELDS` that its templates show.
        symmetric: whether it asks the same if the two texts are exchanged.
        optional: the fields that it can do without if the data lacks them.
        reply_tokens: the highest number of tokens of a reply.
    """

    name: str
    digest: str
    scale: VerdictScale
    fields: frozenset[str]
    symmetric: bool
    optional: frozenset[str]
    reply_tokens: int
    _templates: tuple[tuple[Literal["system", "user"], PromptTemplate], ...]

    @classmethod
    def load(cls, name: str) -> Self:
        """Return a prompt: a shipped one (``correctness``), or that of a file if the name has a dot or a slash.

        Raises:
            InputError: there is no such prompt, it is invalid, or its template has an error or an unknown field.
            MissingExtraError: Jinja is not installed.
        """
        if "/" in name or "." in name:
            path = user_path(name)
            return cls._parse(path.name, _read_prompt(path))
        shipped = shipped_prompts()
        if name not in shipped:
            problem = "there is no prompt (a file of your own is written with its ending: ./mine.toml)"
            raise InputError(unknown_name(problem, name, shipped))
        return cls._parse(name, files(__package__).joinpath("templates", f"{name}.toml").read_bytes())

    @classmethod
    def _parse(cls, name: str, content: bytes) -> Self:
        """Return the prompt in the content of a file.

        Args:
            name: the name of the prompt.
            content: the bytes of the file.

        Raises:
            InputError: the prompt is invalid, or a template has an error or an unknown field.
            MissingExtraError: Jinja is not installed.
        """
        file = _parse_toml(name, content)
        templates: list[tuple[Literal["system", "user"], PromptTemplate]] = []
        fields: set[str] = set()
        texts: dict[Literal["system", "user"], str] = {"system": file.system, "user": file.user}
        for role, text in texts.items():
            if text.strip():
                template = _read_template(name, text)
                templates.append((role, template))
                fields |= template.fields
        if "candidate" not in fields:
            raise InputError(f"prompt {name}: shows no {{{{ candidate }}}}, the text to judge")
        if file.symmetric and ("reference" not in fields or "references" in fields):
            raise InputError(
                f"prompt {name}: does not show one {{{{ reference }}}}, so it cannot have symmetric = true"
            )
        try:
            scale = scale_of(file.scale)
        except InputError as error:
            raise InputError(f"prompt {name}: ", error.message) from None
        return cls(
            name=name,
            digest=hashlib.sha256(content).hexdigest(),
            scale=scale,
            fields=frozenset(fields),
            symmetric=file.symmetric,
            optional=frozenset(file.optional),
            reply_tokens=file.reply_tokens,
            _templates=tuple(templates),
        )

    def messages(
        self, question: str, references: Sequence[str], candidate: str, scale: VerdictScale, context: str = ""
    ) -> tuple[Message, ...]:
        """Return the conversation that asks for a verdict on a pair.

        Args:
            question: the question, empty if the data has none.
            references: all gold answers; a template with ``reference`` shows the first.
            candidate: the answer to judge.
            scale: the scale whose verdicts the template may show.
            context: the context, empty if the data has none.

        Raises:
            InputError: the template reads something forbidden or undefined, or fails otherwise.
        """
        values = {
            "question": question,
            "context": context,
            "reference": references[0],
            "references": list(references),
            "candidate": candidate,
            "verdicts": list(scale.values),
        }
        with _template_errors(self.name, "cannot be filled in"):
            return tuple(Message(role, template.render(values).strip()) for role, template in self._templates)


@functools.lru_cache(maxsize=32)
def _load_prompt(name: str, stamp: tuple[int, int] | None) -> Prompt:
    """Return the prompt with a name, from the cache or else from its file.

    *stamp*, the size and the time of the file, is only a part of the cache's key, so that a changed file is read again.
    """
    return Prompt.load(name)


def cached_prompt(name: str) -> Prompt:
    """Return the prompt with a name, from the cache unless its file has changed.

    Raises:
        InputError, MissingExtraError: as for :meth:`Prompt.load`.
    """
    stamp = None
    if "/" in name or "." in name:
        path = user_path(name)
        if path.is_file():
            stamp = path.stat().st_size, path.stat().st_mtime_ns
    return _load_prompt(name, stamp)


def shipped_prompts() -> list[str]:
    """Return the names of the prompts that come with assay, sorted."""
    names = [Path(item.name) for item in files(__package__).joinpath("templates").iterdir()]
    return sorted(name.stem for name in names if name.suffix == ".toml")


def _read_prompt(path: Path) -> bytes:
    """Return the bytes of a user's prompt file.

    Raises:
        InputError: it is unreadable, or larger than :data:`MAX_PROMPT_BYTES`.
    """
    try:
        if path.is_file() and path.stat().st_size > MAX_PROMPT_BYTES:
            raise InputError(f"prompt {path}: has {path.stat().st_size:,} bytes, a prompt at most {MAX_PROMPT_BYTES:,}")
        return read_settings_file(path, MAX_PROMPT_BYTES)
    except OSError as error:
        raise InputError(f"prompt {path}: cannot be read ({error.strerror})") from None


def _parse_toml(name: str, content: bytes) -> _PromptFile:
    """Return the checked fields of a prompt file; the templates in it are not yet parsed.

    Args:
        name: the name of the prompt, for messages.
        content: the bytes of the file.

    Raises:
        InputError: it is not a TOML file, or a field is missing, unknown or of another type.
    """
    try:
        return _PromptFile.model_validate(tomllib.loads(content.decode("utf-8-sig")))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"prompt {name}, {where}: {first['msg']}; see assay metrics show judge") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"prompt {name}: is not a TOML file ({str(error)[:200]})") from None


def _read_template(name: str, text: str) -> PromptTemplate:
    """Return a template whose fields are those that there are.

    Args:
        name: the name of the prompt, for messages.
        text: the source of the template.

    Raises:
        InputError: the template has an error or shows an unknown field.
        MissingExtraError: Jinja is not installed.
    """
    environment = template_environment()
    with _template_errors(name, "has an error"):
        template = PromptTemplate(environment, text)
    for field in sorted(template.fields - set(FIELDS)):
        if field in _LABELS:
            raise InputError(f"prompt {name}: shows {field!r}; what people said of a pair would tell the judge")
        raise InputError(unknown_name(f"prompt {name}: there is no field", field, FIELDS))
    return template


@contextmanager
def _template_errors(name: str, problem: str) -> Iterator[None]:
    """Turn any exception within the block into an InputError of one line.

    Args:
        name: the name of the prompt.
        problem: what went wrong, as it follows "the template" in the message.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001  a template runs code, which may raise any exception
        raise InputError(f"prompt {name}: the template {problem} ({summary_of(error)})") from None
