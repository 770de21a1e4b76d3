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
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from assay.errors import InputError, MissingExtraError, summary_of, unknown_name
from assay.metrics.judge.verdicts import VerdictScale, scale_of
from assay.paths import user_path

#: What a template may show. ``references`` are all gold answers at once, ``reference`` is one of them.
FIELDS = ("question", "reference", "references", "candidate", "verdicts")
#: Largest file of a prompt, in bytes.
LARGEST = 100_000
#: What people said of a pair must not reach the judge.
_LABELS = ("label", "labels", "score", "human", "annotations", "gold_label")


@dataclass(frozen=True)
class Message:
    """One message of a conversation: ``system`` or ``user``, and its text."""

    role: Literal["system", "user"]
    content: str


class _File(BaseModel):
    """A file of a prompt.

    Attributes:
        summary: one line for listings.
        scale: the verdicts, by name.
        symmetric: whether question and verdict are the same with the two texts exchanged.
        optional: fields that the template does without where the data lack them.
        reply_tokens: most tokens of a reply.
        system, user: the messages, templates of Jinja.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    user: str
    scale: str = "yes-no"
    summary: str = ""
    system: str = ""
    symmetric: bool = False
    optional: list[Literal["question"]] = []
    reply_tokens: int = 16


@dataclass(frozen=True)
class Prompt:
    """A prompt that was read and checked.

    Attributes:
        name: of the shipped prompt or of the file, without folder.
        digest: of the file, SHA-256 in hexadecimal; part of the signature.
        scale: the verdicts that it asks for.
        fields: of :data:`FIELDS`, what its templates show.
        symmetric, optional, reply_tokens: see the file.
    """

    name: str
    digest: str
    scale: VerdictScale
    fields: frozenset[str]
    symmetric: bool
    optional: frozenset[str]
    reply_tokens: int
    _templates: tuple[tuple[Literal["system", "user"], Any], ...]

    @classmethod
    def load(cls, name: str) -> Self:
        """Return a shipped prompt (``correctness``) or one of a file (``./mine.toml``: a name with a dot or a slash).

        Raises:
            InputError: there is none, it is no prompt, or its template has an error or a field that is unknown.
            MissingExtraError: Jinja is not installed.
        """
        if "/" in name or "." in name:
            path = user_path(name)
            return cls._parse(path.name, _content(path))
        shipped = shipped_prompts()
        if name not in shipped:
            lack = "there is no prompt (a file of your own is written with its ending: ./mine.toml)"
            raise InputError(unknown_name(lack, name, shipped))
        return cls._parse(name, files(__package__).joinpath("templates", f"{name}.toml").read_bytes())

    @classmethod
    def _parse(cls, name: str, content: bytes) -> Self:
        try:
            file = _File.model_validate(tomllib.loads(content.decode()))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise InputError(f"prompt {name}, {where}: {first['msg']}; see assay metrics show judge") from None
        except (ValueError, RecursionError) as error:
            raise InputError(f"prompt {name}: is no TOML file ({str(error)[:200]})") from None
        templates: list[tuple[Literal["system", "user"], Any]] = []
        fields: set[str] = set()
        texts: dict[Literal["system", "user"], str] = {"system": file.system, "user": file.user}
        for role, text in texts.items():
            if text.strip():
                template, shown = _compile(name, text)
                templates.append((role, template))
                fields |= shown
        if "candidate" not in fields or not fields & {"reference", "references"}:
            raise InputError(
                f"prompt {name}: shows no {{{{ candidate }}}} or neither {{{{ reference }}}} nor {{{{ references }}}}; "
                "a judge needs both sides of a pair"
            )
        if file.symmetric and "references" in fields:
            raise InputError(f"prompt {name}: shows all `references` at once, so it cannot be `symmetric`")
        return cls(
            name,
            hashlib.sha256(content).hexdigest(),
            scale_of(file.scale),
            frozenset(fields),
            file.symmetric,
            frozenset(file.optional),
            file.reply_tokens,
            tuple(templates),
        )

    def messages(
        self, question: str, references: Sequence[str], candidate: str, scale: VerdictScale
    ) -> tuple[Message, ...]:
        """Return the conversation that asks for a verdict on a pair.

        Args:
            question: empty where the data has none.
            references: all gold answers; a template with ``reference`` shows the first.
            candidate: the answer to judge.
            scale: whose verdicts are shown.

        Raises:
            InputError: the template reaches for something that it may not, or that there is not.
        """
        values = {
            "question": question,
            "reference": references[0],
            "references": list(references),
            "candidate": candidate,
            "verdicts": list(scale.values),
        }
        with _template_errors(self.name, "cannot be filled in"):
            return tuple(Message(role, template.render(values).strip()) for role, template in self._templates)


def shipped_prompts() -> list[str]:
    """Return the names of the prompts that assay has."""
    names = [Path(item.name) for item in files(__package__).joinpath("templates").iterdir()]
    return sorted(name.stem for name in names if name.suffix == ".toml")


def _content(path: Path) -> bytes:
    """Return the bytes of a user's prompt."""
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"prompt {path}: has {path.stat().st_size:,} bytes, a prompt at most {LARGEST:,}")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"prompt {path}: cannot be read ({error.strerror})") from None


@functools.cache
def _environment() -> Any:
    """Return Jinja's sandbox: a template may come from a stranger, and can reach nothing but the texts.

    Raises:
        MissingExtraError: Jinja is not installed.
    """
    try:
        from jinja2 import StrictUndefined
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError:
        raise MissingExtraError("jinja2", "judge") from None
    return ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)


def _compile(name: str, text: str) -> tuple[Any, set[str]]:
    """Return a template and the fields that it shows.

    Raises:
        InputError: it has an error or shows a field that there is not.
    """
    environment = _environment()
    from jinja2 import meta

    with _template_errors(name, "has an error"):
        shown = meta.find_undeclared_variables(environment.parse(text))
        template = environment.from_string(text)
    for field in sorted(shown - set(FIELDS)):
        if field in _LABELS:
            raise InputError(f"prompt {name}: shows {field!r}; what people said of a pair would tell the judge")
        raise InputError(unknown_name(f"prompt {name}: there is no field", field, FIELDS))
    return template, shown


@contextmanager
def _template_errors(name: str, problem: str) -> Iterator[None]:
    """Turn what Jinja raises over a template into one line."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  a template computes: any error of Python may come of it
        raise InputError(f"prompt {name}: the template {problem} ({summary_of(error)})") from None
