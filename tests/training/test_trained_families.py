"""Training and scoring of one model of each family: the metric on the saved folder gives what the training measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from scipy import stats
from sentence_transformers import CrossEncoder, SentenceTransformer

from assay.exceptions import UnavailableError
from assay.metrics import Batch, load_metric
from tests.metrics.architectures import library_cosines, library_logits, make_model
from tests.metrics.layouts import dense_and_others, parts_of, saved
from tests.metrics.models.tiny import make_bert
from tests.training.pair_run import RECIPES, train_on

FAMILIES = [
    "albert",
    "bart",
    "bert",
    "deberta-v2",
    "distilbert",
    "electra",
    "gemma3_text",
    "gpt2",
    "llama",
    "modernbert",
    "mpnet",
    "qwen3",
    "roberta",
    "t5",
    "xlm-roberta",
    "xlnet",
]


def check(recipe: str, base: Path, files: tuple[str, str, str], out: Path) -> None:
    """Train on two steps, and compare the saved model with the reported agreement and with the library."""
    _, results = train_on(recipe, base, out, *files, epochs=1, batch_size=20, learning_rate=1e-3)
    table = pq.read_table(files[2]).to_pydict()
    batch = Batch(table["reference"], table["candidate"])
    metric = load_metric(f"{recipe}:{out}")
    scores = metric.score(batch)
    library = library_cosines if recipe == "bi-encoder" else library_logits
    assert scores == pytest.approx(library(out, batch), abs=2e-5)
    (pearson,) = [record["after"] for record in results["agreement"] if record["statistic"] == "pearson"]
    assert scores.std() > 0.01
    assert pearson == pytest.approx(stats.pearsonr(scores, table["label"]).statistic, abs=1e-5)
    if recipe == "bi-encoder":
        before = load_metric(f"bi-encoder:{base}").score(batch)
        (pearson,) = [record["before"] for record in results["agreement"] if record["statistic"] == "pearson"]
        assert pearson == pytest.approx(stats.pearsonr(before, table["label"]).statistic, abs=1e-5)
        assert abs(scores - before).max() > 1e-5, "something was learned"
    # saved again by the library, it is the same model
    library_class = SentenceTransformer if recipe == "bi-encoder" else CrossEncoder
    library_class(str(out), device="cpu").save(str(out.parent / "again"))
    again = load_metric(f"{recipe}:{out.parent / 'again'}").score(batch)
    assert again == pytest.approx(scores, abs=1e-6)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_saved_as_it_was_trained(
    name: str, recipe: str, files: tuple[str, str, str], tmp_path: Path
) -> None:
    if (name, recipe) == ("xlnet", "cross-encoder"):
        with pytest.raises(UnavailableError, match="head of xlnet reads the last position"):
            check(recipe, make_model(tmp_path / "base", name, labels=1), files, tmp_path / "out")
        return
    # a new head is nearly constant after two steps, so that rounding would decide the correlation
    labels = 1 if recipe == "cross-encoder" else None
    check(recipe, make_model(tmp_path / "base", name, labels=labels), files, tmp_path / "out")


def prompted(folder: Path) -> Path:
    body, pooling = parts_of(folder / "parts")
    prompts = {"prompts": {"query": "water horse: "}, "default_prompt_name": "query"}
    return saved(folder / "model", body, pooling, **prompts)


def three_classes(folder: Path) -> Path:
    return make_bert(folder / "model", labels=3)


@pytest.mark.parametrize(
    ("recipe", "make"),
    [("bi-encoder", prompted), ("bi-encoder", dense_and_others), ("cross-encoder", three_classes)],
)
def test_a_layout_is_saved_as_it_was_trained(
    recipe: str, make: Callable[[Path], Path], files: tuple[str, str, str], tmp_path: Path
) -> None:
    check(recipe, make(tmp_path / "made"), files, tmp_path / "out")
