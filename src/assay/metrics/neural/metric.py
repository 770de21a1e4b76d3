"""Base classes of the metrics that read a model: they locate it, and make its signature and engine."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, TypeVar

from assay.common.messages import Message, Setting
from assay.common.packages import ABSENT, version_of
from assay.exceptions import InputError, MissingExtraError, UnavailableError, unknown_name
from assay.metrics.base import Batch, Context, Metric, option
from assay.metrics.models import LocatedModel, ModelDescription, ModelReference, describe, locate
from assay.metrics.models.reference import ModelOfflineError
from assay.metrics.name import options_of
from assay.metrics.neural.runtime import Runtime, current_runtime, devices_of, precision_of, use_runtime
from assay.metrics.presets import preset_for, preset_languages

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.metrics.neural.session import ModelEngine

E = TypeVar("E", bound="ModelEngine")


@dataclass(frozen=True)
class ModelMetric(Metric):
    """A metric that reads a model.

    Raises:
        InputError: the subject is missing or has none of the forms of a model, or the options contradict each other.
    """

    subject: str | None = option(None, "the model: a folder, owner/name[@revision], a short name, or pypi:…")
    precision: Literal["auto", "fp32", "bf16", "fp16", "int8"] = option(
        "auto", "auto is fp32 on a CPU and bf16 (else fp16) on a GPU"
    )
    backend: Literal["torch", "onnxruntime", "openvino"] = option(
        "torch", "what computes the model; others are converted once into the cache"
    )
    max_length: int | None = option(None, "tokens at which a text is cut; none for the model's own limit", minimum=3)
    question: bool = option(False, "put the question before both texts, where the data has one")

    def __post_init__(self) -> None:
        """Check the subject and the options, and declare that the question is read if it is."""
        super().__post_init__()
        if self.subject is None and not preset_languages(self.declaration.name):
            raise InputError(
                f"metric {self.declaration.name!r} needs a model: write {self.declaration.name}:MODEL, such as "
                f"{self.declaration.name}:all-MiniLM-L6-v2"
            )
        if self.subject is not None:
            ModelReference.parse(self.subject)
        if self.precision == "int8" and self.backend == "torch":
            raise InputError(f"metric {self.declaration.name!r}: precision int8 needs backend=onnxruntime")
        if self.question:
            self.redeclare(reads_question=True)

    def for_language(self, language: str | None) -> None:
        """Check that texts in *language* can be scored; an unknown language (None) always passes.

        Raises:
            UnavailableError: the metric does not support the language, or is a preset that has no model for it.
        """
        super().for_language(language)
        if self.subject is not None or language is None:
            return
        languages = preset_languages(self.declaration.name)
        # "*" stands for every language
        if "*" in languages or _primary_language(language) in languages:
            return
        raise UnavailableError(
            f"the preset {self.declaration.name} has no model for {language}",
            f"name one: {self.declaration.name}:MODEL; it has one for {', '.join(sorted(languages))}",
        )

    def bind(self, context: Context) -> Self:
        """Return the metric with a model: for a preset, the one for the language, or for English if that is unknown.

        Options that are not at their default take precedence over those of the preset.

        Raises:
            UnavailableError: the preset has no model for the language.
        """
        if self.subject is not None:
            return self
        self.for_language(context.language)
        preset = preset_for(self.declaration.name, _primary_language(context.language))
        # an option that the user has set overrides that of the preset
        preset_options = {}
        for key, value in preset.items():
            if key == "subject" or getattr(self, key) == options_of(type(self))[key].default:
                preset_options[key] = value
        return dataclasses.replace(self, **preset_options)

    @property
    def picks_by_language(self) -> bool:
        """Whether the metric is a preset whose model is not chosen yet."""
        return self.subject is None

    def says(self) -> str:
        """Return a note that names the model, such as ``model owner/name@commit``.

        Raises:
            UnavailableError: the model is not on this machine.
        """
        model = self.located()
        if model.reference.kind == "folder":
            # a folder takes precedence over a hub model of the same name, so say which of them it is
            return f"model in the folder {model.folder}"
        revision = f"@{model.revision[:12]}" if model.revision else ""
        return f"model {str(model.reference).partition('@')[0]}{revision}"

    def located(self) -> LocatedModel:
        """Return the checked model on this machine; nothing is downloaded.

        For a preset without a model it is the one for English.

        Raises:
            UnavailableError: the model is not on this machine (the remedy is the command that downloads it), or it is
                refused as unsafe.
            InputError: a file of the model is missing or invalid.
        """
        if self.subject is None:
            return self.bind(Context(language=None, references=tuple)).located()
        try:
            return locate(self.subject, offline=True)
        except ModelOfflineError as error:
            raise UnavailableError(error.problem, error.remedy) from error

    def description(self) -> ModelDescription:
        """Return what the files of the model declare about it.

        Raises:
            UnavailableError, InputError: as for :meth:`located`.
        """
        return describe(self.located().folder)

    def obtain(self, *, offline: bool = False) -> None:
        """Download the model unless it is on this machine; a preset without a model has nothing to download.

        Raises:
            UnavailableError: the model is not on this machine and the network is forbidden, or the model could not be
                downloaded or is refused as unsafe.
            InputError: a file of the model is missing or invalid.
        """
        if self.subject is None:
            return
        try:
            locate(self.subject, offline=offline)
        except ModelOfflineError as error:
            reason = Message(Setting("offline"), " is set") if offline else "HF_HUB_OFFLINE forbids the network"
            raise UnavailableError(Message(f"{error.problem} and ", reason), error.remedy) from error

    def check_available(self) -> None:
        """Check that the packages are installed and the model is on this machine; nothing is downloaded.

        Raises:
            MissingExtraError: a package is not installed.
            UnavailableError, InputError: as for :meth:`located`.
        """
        super().check_available()
        if self.backend != "torch" and version_of(self.backend) == ABSENT:
            raise MissingExtraError(self.backend, self.backend)
        self.located()

    def limit(self) -> int:
        """Return the number of tokens at which a text is cut, special ones included; see :func:`text_limit`.

        Raises:
            UnavailableError, InputError: as for :meth:`located`.
        """
        from assay.metrics.neural.limits import text_limit

        return text_limit(self.located().folder, saved_by=self.library_class, max_length=self.max_length)

    @property
    def library_class(self) -> str | None:
        """The class of sentence-transformers that loads the model, whose length limit applies; by default none."""
        return None

    def text_before(self, prompt: str | None, prefix: str | None, further_prompts: Mapping[str, str]) -> str:
        """Return the text that is put before an input; empty for none.

        It is *prefix* if given, else the prompt of the name *prompt*, else the default prompt of the model's files,
        which applies only if sentence-transformers saved the model and loads it, with the same class.

        Args:
            prompt: the name of a prompt; None for the default one.
            prefix: the text itself; None to use a prompt.
            further_prompts: further prompts by name; those of the model's files take precedence.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: there is no prompt of that name, or a file of the model is invalid.
        """
        if prefix is not None:
            return prefix
        description = self.description()
        prompts = {**further_prompts, **dict(description.prompts or ())}
        saving_class = description.library_class or "SentenceTransformer"
        library_files_apply = bool(description.modules) and self.library_class == saving_class
        name = prompt
        if prompt is None and library_files_apply:
            name = description.default_prompt
        if name is None:
            return ""
        if name not in prompts:
            problem = unknown_name(f"metric {self}: the model has no prompt", name, sorted(prompts))
            raise InputError(f"{problem} Or give prefix=TEXT.")
        return prompts[name]

    def signature(self) -> dict[str, str]:
        """Return everything that changes the score, in a fixed order.

        ``question`` is left out if it is off, so that signatures from before the option existed stay valid.
        """
        signature = super().signature()
        if not self.question:
            del signature["question"]
        return signature

    def data_signature(self) -> dict[str, str]:
        """Return what the options leave open: the model, the precision and the length limit in effect, the backend.

        It has the name, commit and digest of the model, and the version of a backend other than torch. What ``auto``
        stands for depends on the machine that scores.

        Raises:
            UnavailableError: the model is not on this machine, or torch is not installed and the precision is ``auto``.
            InputError: this machine has no such device and the precision is ``auto``, or a file of the model is
                invalid.
        """
        model = self.located()
        # a precision that the user chose is the same on every device, so none is looked for
        precision = self._precision_on(self._devices()[0]) if self.precision == "auto" else self.precision
        signature = {
            # only the name of a folder, not its path: the digest identifies the content
            "subject": model.folder.name if model.reference.kind == "folder" else model.reference.full_name,
        }
        if model.revision:
            signature["revision"] = model.revision
        signature |= {
            "digest": model.digest[:16],
            "precision": precision,
            "max_length": str(self.limit()),
        }
        if self.backend != "torch":
            signature[self.backend] = version_of(self.backend)
        return signature

    @property
    def _runtime(self) -> Runtime:
        """The settings of the machine that scores the metric: this one, or one of the cluster."""
        return current_runtime().for_this_process() if self.stays_here else current_runtime()

    def _devices(self) -> tuple[str, ...]:
        """Return the devices that compute the model: those of the settings in torch, the CPU in any other backend.

        Raises:
            InputError: this machine has no such device.
            MissingExtraError: torch is not installed.
        """
        return devices_of(self._runtime) if self.backend == "torch" else ("cpu",)

    def _precision_on(self, device: str) -> str:
        """Return the precision that the model is computed in on a device.

        Raises:
            InputError: the device does not support the precision.
        """
        with use_runtime(self._runtime):
            return precision_of(self.precision, device, self.backend)

    def engine_of(self, engine_class: type[E]) -> E:
        """Return an engine of a class for the model, under the current settings.

        Raises:
            UnavailableError: the model is not on this machine, or torch is not installed.
            InputError: this machine has no such device, the device does not support the precision, or a file of the
                model is invalid.
        """
        runtime = self._runtime
        model = self.located()
        devices = self._devices()
        return engine_class(
            folder=str(model.folder),
            digest=model.digest,
            backend=self.backend,
            precision=self._precision_on(devices[0]),
            devices=devices,
            threads=runtime.threads,
            tokens=runtime.batch_tokens(devices[0]),
        )

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return one score per pair, float64, shape (n,); the model stays in memory until another one is used.

        A preset without a model uses the one for English. The model is downloaded if need be.

        Raises:
            AssayError: the model cannot be loaded, or the scores cannot be computed; all open sessions are then closed.
        """
        from assay.metrics.work import score_alone

        return score_alone(
            self if self.subject is not None else self.bind(Context(language=None, references=tuple)), batch
        )


def _primary_language(language: str | None) -> str:
    """Return the first part of a language tag in lower case, such as ``de`` of ``de-CH``; ``en`` if it is unknown."""
    return "en" if language is None else language.split("-")[0].lower()
