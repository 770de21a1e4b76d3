"""Objects of other libraries as metrics: each scores as its own library does, and is named by its model."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu

import assay
from assay.exceptions import AssayError, InputError
from assay.metrics.name import MetricName, options_of
from assay.metrics.registry import registry

GOLD = ["7 km", "a red car", "in Paris", "a cat sat there"]
TEXTS = ["seven kilometres", "red car", "Paris", "there sat a dog"]
DATA = {"sentence1": GOLD * 3, "sentence2": TEXTS * 3, "score": [2, 2, 1, 0] * 3}


def scored(*metrics: Any) -> Any:
    return assay.run(DATA, list(metrics), resamples=0).pairs


@pytest.mark.slow
def test_an_encoder_scores_as_itself(real_models: Any) -> None:
    models = pytest.importorskip("sentence_transformers")
    folder = real_models / "minilm"
    encoder = models.SentenceTransformer(str(folder), device="cpu")
    pairs = scored(encoder, f"bi-encoder:{folder}")
    vectors = [encoder.encode(texts, convert_to_tensor=True) for texts in (GOLD, TEXTS)]
    expected = encoder.similarity_pairwise(*vectors).numpy()
    np.testing.assert_allclose(pairs[folder.name][:4], expected, atol=1e-6)
    np.testing.assert_allclose(pairs[folder.name], pairs[f"bi-encoder:{folder}"], atol=1e-5)


@pytest.mark.slow
def test_changed_weights_have_another_signature(real_models: Any) -> None:
    models = pytest.importorskip("sentence_transformers")
    encoder = models.SentenceTransformer(str(real_models / "minilm"), device="cpu")
    before = assay.load_metric(encoder).signature()
    assert assay.load_metric(encoder).signature() == before
    next(iter(encoder.parameters())).data.add_(0.5)
    assert assay.load_metric(encoder).signature()["weights"] != before["weights"]


@pytest.mark.slow
def test_a_cross_encoder_scores_as_itself(real_models: Any) -> None:
    models = pytest.importorskip("sentence_transformers")
    folder = real_models / "cross-encoder"
    scorer = models.CrossEncoder(str(folder), device="cpu")
    pairs = scored(scorer)
    # the name of the folder belongs to a metric of assay
    np.testing.assert_allclose(
        pairs["cross-encoder-object"][:4], scorer.predict(list(zip(GOLD, TEXTS, strict=True))), rtol=1e-5
    )


@pytest.mark.parametrize("options", [{}, {"word_order": 2}, {"lowercase": True}])
def test_a_metric_object_of_sacrebleu(options: dict[str, Any]) -> None:
    metric = sacrebleu.CHRF(**options)
    expected = [metric.sentence_score(text, [gold]).score for gold, text in zip(GOLD, TEXTS, strict=True)]
    pairs = scored(sacrebleu.CHRF(**options), sacrebleu.TER())
    assert pairs["CHRF"][:4].tolist() == expected
    found = assay.load_metric(sacrebleu.TER())
    assert not found.declaration.higher_is_better
    assert assay.load_metric(sacrebleu.CHRF(**options)).signature()["word_order"] == str(metric.word_order)


def test_other_objects_are_refused_by_name() -> None:
    with pytest.raises(
        InputError, match=r"a model of sentence-transformers, or a metric of evaluate or sacrebleu, not"
    ):
        assay.load_metric(3.5)


def broken(reference: str, candidate: str) -> float:
    raise ValueError("out of cheese")


def test_what_fails_is_warned_of_and_what_scores_nothing_raises(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="not scored: .*broken.*out of cheese") as caught:
        result = assay.run(DATA, [broken, "f1"], resamples=0)
    assert caught[0].filename == __file__
    assert len(result.failures) == 1
    with pytest.raises(AssayError, match=r"nothing was scored: .*out of cheese"):
        assay.run(DATA, [broken], resamples=0, out=tmp_path / "run")
    # what is known of the run is kept
    assert (tmp_path / "run" / "run.json").exists()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assay.run(DATA, ["f1"], resamples=0)


def test_compute_as_in_evaluate() -> None:
    metric = assay.load_metric("chrf")
    found = metric.compute(predictions=TEXTS, references=GOLD)
    assert found["scores"] == metric.score(GOLD, TEXTS).tolist()
    assert found["chrf"] == pytest.approx(np.mean(found["scores"]))
    several = metric.compute(predictions=["a b", "c d"], references=[["x", "a b"], "c"])
    assert several["scores"][0] == 1.0
    with pytest.raises(InputError, match="3 predictions and 4 references"):
        metric.compute(predictions=TEXTS[:3], references=GOLD)
    with pytest.raises(InputError, match="3 questions and 2 predictions"):
        metric.compute(predictions=["a", "b"], references=["a", "b"], questions=["x", "y", "z"])


def test_columns_by_position_are_shown_the_call_that_is_meant() -> None:
    with pytest.raises(
        TypeError, match=r'columns in hand are one dataset: run\(\{"reference": …, "candidate": …, "lab'
    ):
        assay.run(GOLD, TEXTS, [1, 1, 0, 0])


def test_a_hint_is_valid_python() -> None:
    data = {"a": GOLD, "b": TEXTS, "score": [1, 1, 0, 0]}
    with pytest.raises(InputError) as raised:
        assay.run(data, ["f1"])
    hint = str(raised.value).partition("`")[2].partition("`")[0]
    columns = eval(hint.partition("=")[2].replace("REFERENCE", "a").replace("CANDIDATE", "b"))
    assert len(assay.run(data, ["f1"], columns=columns, resamples=0).pairs) == 4


def test_the_table_of_names_in_other_libraries_names_metrics() -> None:
    page = (Path(__file__).parents[2] / "docs" / "start" / "from.md").read_text(encoding="utf-8")
    rows = page.partition("| there | here |")[2].partition("\n\n")[0].splitlines()[1:]
    here = [row.split("|")[2] for row in rows if row.startswith("| ")]
    names = [name for cell in here for name in re.findall(r"`([a-z0-9:+-]+(?:MODEL(?:,[a-z=]+)?)?)`", cell)]
    assert len(names) > 12
    for name in names:
        if name not in ("recall", "f", "spearman"):
            parsed = MetricName.parse(name)
            entry = registry().find(parsed.name)
            assert {key for key, _ in parsed.options} <= options_of(entry.load()).keys()
            if parsed.subject != "MODEL":
                assert assay.load_metric(name).name.text == name


@pytest.mark.slow
def test_a_model_is_one_metric_and_two_of_a_name_are_named(real_models: Any) -> None:
    models = pytest.importorskip("sentence_transformers")
    encoder, changed = (models.SentenceTransformer(str(real_models / "minilm"), device="cpu") for _ in range(2))
    changed[0].auto_model.encoder.layer[0].output.dense.weight.data.mul_(-1)
    # a SentenceTransformer is a sequence of modules
    assert set(assay.run(DATA, encoder, resamples=0).scores["metric"]) == {"minilm"}
    with pytest.raises(InputError, match=r'minilm is asked for twice; name each: metrics=\{"minilm-1": '):
        scored(encoder, changed)
    pairs = assay.run(DATA, {"base": encoder, "tuned": changed}, resamples=0).pairs
    assert not np.allclose(pairs["base"], pairs["tuned"], atol=1e-3)


@pytest.mark.slow
def test_a_cross_encoder_with_classes_is_refused(real_models: Any) -> None:
    models = pytest.importorskip("sentence_transformers")
    classes = models.CrossEncoder(str(real_models / "minilm"), num_labels=3, device="cpu")
    with pytest.raises(InputError, match="this CrossEncoder has 3 outputs; a metric needs one number per pair"):
        scored(classes)
