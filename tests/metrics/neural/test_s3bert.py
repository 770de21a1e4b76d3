"""S3BERT as a metric: sub-embedding cosines against plain NumPy, names, signatures, one pass."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from assay.exceptions import InputError, UnavailableError
from assay.language.amr import ASPECTS
from assay.metrics import Batch, load_metric
from assay.metrics.aspects.layout import even_layout, write_layout
from assay.metrics.work import open_session
from tests.metrics.models.tiny import make_bert
from tests.metrics.neural.texts import pairs


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A tiny sentence encoder of 32 dimensions: two aspects of 8 and 12, a residual of 12."""
    folder = make_bert(tmp_path_factory.mktemp("s3bert") / "tiny", layers=2, pooling="mean")
    layout = {"schema": 1, "dimensions": 32, "aspects": {"negation": [0, 8], "quantifiers": [8, 20]}}
    (folder / "s3bert.json").write_text(json.dumps(layout))
    return folder


def by_numpy(folder, batch: Batch, ranges: list[tuple[int, int]]) -> np.ndarray:
    """Return the cosines of ranges of sentence-transformers' embeddings, shape (n, len(ranges))."""
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(str(folder), device="cpu")
    left, right = (
        np.asarray(encoder.encode(list(side)), dtype=np.float64) for side in (batch.references, batch.candidates)
    )
    columns = []
    for first, stop in ranges:
        a, b = left[:, first:stop], right[:, first:stop]
        columns.append((a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1)))
    return np.stack(columns, axis=1)


def scored(metrics, batch: Batch) -> np.ndarray:
    return open_session(metrics[0].needs()).score(metrics, batch).values


def test_sub_embedding_cosines_equal_numpy(model):
    batch = pairs(60)
    metrics = load_metric(f"s3bert:{model}").expand()
    expected = by_numpy(model, batch, [(0, 32), (0, 8), (8, 20), (20, 32)])
    np.testing.assert_allclose(scored(metrics, batch), expected, atol=1e-6)
    # alone, each by itself
    for column, metric in enumerate(metrics):
        np.testing.assert_allclose(metric.score(batch), expected[:, column], atol=1e-6)


def test_real_model_with_an_even_layout(real_models, tmp_path):
    folder = tmp_path / "minilm"
    shutil.copytree(real_models / "minilm", folder)
    write_layout(even_layout(ASPECTS, 16, 384), folder)
    batch = Batch(
        ["two cats are looking at a window", "a man is smoking", "The man isn't singing."],
        ["a white cat looking out of a window", "a baby is sucking on a pacifier", "The man is singing."],
    )
    ranges = [(0, 384), *((16 * i, 16 * i + 16) for i in range(15)), (240, 384)]
    metrics = load_metric(f"s3bert:{folder}").expand()
    np.testing.assert_allclose(scored(metrics, batch), by_numpy(folder, batch, ranges), atol=1e-6)


def test_the_whole_is_the_bi_encoder(model):
    batch = pairs(30)
    metrics = [load_metric(f"{name}:{model},prefix=x ") for name in ("bi-encoder", "s3bert")]
    values = scored(metrics, batch)
    np.testing.assert_array_equal(values[:, 0], values[:, 1])
    assert not np.array_equal(values[:, 1], load_metric(f"s3bert:{model}").score(batch))


def test_names_say_the_aspect(model):
    whole = load_metric(f"s3bert:{model},max_length=32,precision=fp32")
    parts = whole.expand()
    assert [str(part) for part in parts] == [
        f"s3bert:{model}{part},max_length=32,precision=fp32" for part in ("", "#negation", "#quantifiers", "#residual")
    ]
    assert [part.declaration.aspect for part in parts] == ["", "negation", "quantifiers", "residual"]
    assert {part.declaration.whole for part in parts[1:]} == {str(whole)}
    assert whole.declaration.whole == ""
    assert len({part.needs() for part in parts}) == len({part.view() for part in parts}) == 1
    alone = load_metric(f"s3bert:{model}#negation")
    assert alone.expand() == (alone,)
    assert (alone.declaration.aspect, alone.declaration.whole) == ("negation", f"s3bert:{model}")
    assert alone == load_metric(f"s3bert:{model},aspect=negation")
    assert load_metric(f"s3bert:{model}").declaration.aspect == ""


def test_a_signature_holds_layout_and_dimensions(model, tmp_path):
    batch = pairs(20)
    other = tmp_path / "moved.json"
    other.write_text('{"schema": 1, "dimensions": 32, "aspects": {"quantifiers": [0, 12], "negation": [12, 20]}}')
    own, moved = load_metric(f"s3bert:{model}#negation"), load_metric(f"s3bert:{model}#negation,layout={other}")
    assert own.signature()["dimensions"] == "0-8"
    assert moved.signature()["dimensions"] == "12-20"
    assert own.signature()["layout"] != moved.signature()["layout"]
    assert str(tmp_path) not in moved.long_signature()
    np.testing.assert_allclose(moved.score(batch), by_numpy(model, batch, [(12, 20)])[:, 0], atol=1e-6)


def test_a_zero_sub_embedding_has_no_similarity():
    import torch

    from assay.metrics.neural.embeddings import TextEmbeddings, cosine

    rows = TextEmbeddings(torch.tensor([[0.0, 0.0], [1.0, 2.0]]))
    assert cosine(rows, np.array([0, 1]), np.array([1, 1])).tolist() == [0.0, pytest.approx(1.0)]


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ({"negation": [0, 8], "srl": [7, 20]}, "srl begins at dimension 7, inside negation"),
        ({"negation": [0, 33]}, "ends at dimension 33, the embedding has 32"),
    ],
)
def test_a_layout_that_overlaps_or_exceeds_is_refused(model, tmp_path, layout, message):
    path = tmp_path / "layout.json"
    path.write_text(json.dumps({"schema": 1, "dimensions": 32, "aspects": layout}))
    metric = load_metric(f"s3bert:{model},layout={path}")
    for refuse in (metric.expand, metric.check_available, lambda: metric.score(pairs(2))):
        with pytest.raises(InputError, match=message):
            refuse()


def test_bad_names_are_refused(model, encoder):
    with pytest.raises(InputError, match="needs a model: write s3bert:FOLDER"):
        load_metric("s3bert")
    with pytest.raises(InputError, match="given twice"):
        load_metric(f"s3bert:{model}#negation,aspect=negation")
    with pytest.raises(InputError, match=r"no aspect 'negations'\. Did you mean 'negation'.* Valid: negation, "):
        load_metric(f"s3bert:{model}#negations").check_available()
    with pytest.raises(InputError, match=r"there is no s3bert\.json"):
        load_metric(f"s3bert:{encoder}").expand()
    with pytest.raises(UnavailableError, match="is not on this machine"):
        load_metric("s3bert:nobody/nothing#negation").check_available()
    with pytest.raises(InputError, match="the layout says which dimensions count; leave truncate_dim out"):
        load_metric(f"s3bert:{model}#negation,truncate_dim=4").signature()
    # the # of a wheel's path is not an aspect's
    wheel = "pypi:package==1.0#inside/model"
    assert load_metric(f"s3bert:{wheel}").subject == wheel
    assert load_metric(f"s3bert:{wheel}#negation").aspect == "negation"
