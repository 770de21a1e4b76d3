"""Krippendorff's alpha against published and other implementations' values, and each annotator with the others."""

import numpy as np
import pytest
from scipy import stats

from assay.statistics.annotators import LEVELS, agreements_with_other_annotators, krippendorff_alpha

NONE = np.nan
#: Krippendorff (2011), section C: four observers, twelve units, labels 1 to 5, some missing.
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
        [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
    ]
).T


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_the_published_example(level, alpha):
    assert krippendorff_alpha(PUBLISHED, level) == pytest.approx(alpha, abs=0.0005)


def test_the_values_of_the_krippendorff_package():
    """krippendorff 0.9.0 on labels drawn here: 20 pairs, four annotators, some labels missing."""
    rng = np.random.default_rng(7)
    annotations = rng.integers(0, 4, size=(20, 1)) + rng.integers(0, 2, size=(20, 4)).astype(float)
    annotations[::3, 0] = np.nan
    annotations[5, 1:] = np.nan
    expected = {"nominal": 0.44568491936913, "ordinal": 0.878178912777535, "interval": 0.8751895299656851}
    assert {level: krippendorff_alpha(annotations, level) for level in LEVELS} == pytest.approx(expected, abs=1e-14)


def by_coincidences(annotations, level):
    """Krippendorff (2011), section D: the matrix of coincidences, and the differences of its values."""
    lists = [[label for label in row if not np.isnan(label)] for row in annotations]
    lists = [labels for labels in lists if len(labels) >= 2]
    values = sorted({label for labels in lists for label in labels})
    matrix = np.zeros((len(values), len(values)))
    for labels in lists:
        for i, first in enumerate(labels):
            for j, second in enumerate(labels):
                if i != j:
                    matrix[values.index(first), values.index(second)] += 1 / (len(labels) - 1)
    counts = matrix.sum(axis=1)
    difference = np.zeros_like(matrix)
    for c in range(len(values)):
        for k in range(len(values)):
            low, high = min(c, k), max(c, k)
            between = counts[low : high + 1].sum() - (counts[c] + counts[k]) / 2
            distance = {"nominal": float(c != k), "ordinal": between, "interval": values[c] - values[k]}[level]
            difference[c, k] = distance**2
    expected = np.outer(counts, counts) - np.diag(counts)
    total = counts.sum()
    return 1 - (total - 1) * (matrix * difference).sum() / (expected * difference).sum()


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_is_that_of_the_coincidence_matrix(level):
    rng = np.random.default_rng(1)
    for _ in range(5):
        annotations = np.round(2 * rng.normal(size=(30, 1)) + rng.normal(size=(30, 5)))
        annotations[rng.random((30, 5)) < 0.4] = np.nan
        assert krippendorff_alpha(annotations, level) == pytest.approx(by_coincidences(annotations, level), abs=1e-12)


def test_alpha_where_it_is_undefined():
    assert krippendorff_alpha(np.array([[1.0, NONE], [NONE, 2]]), "nominal") is None
    assert krippendorff_alpha(np.ones((5, 3)), "interval") is None
    assert krippendorff_alpha(np.array([[1.0, 1], [2, 2]]), "ordinal") == 1
    with pytest.raises(ValueError, match="no such level"):
        krippendorff_alpha(np.ones((5, 3)), "ratio")


def test_each_annotator_with_the_mean_of_the_others():
    rng = np.random.default_rng(2)
    truth = rng.normal(size=200)
    # the third is careless, and the last gave few labels
    annotations = truth[:, None] + rng.normal(size=(200, 4)) * [0.5, 0.5, 3, 0.5]
    annotations[rng.random(200) < 0.7, 3] = np.nan
    found = agreements_with_other_annotators(annotations)
    for column, one in enumerate(found):
        rows = ~np.isnan(annotations[:, column])
        others = np.nanmean(np.delete(annotations, column, axis=1)[rows], axis=1)
        assert one.pearson == pytest.approx(stats.pearsonr(annotations[rows, column], others).statistic)
        assert one.spearman == pytest.approx(stats.spearmanr(annotations[rows, column], others).statistic)
        assert one.n == rows.sum()
    assert min(found, key=lambda one: one.pearson) is found[2]


def test_columns_of_sorted_labels_are_nobodys():
    annotations = np.random.default_rng(3).normal(size=(40, 3))
    assert len(agreements_with_other_annotators(annotations)) == 3
    assert agreements_with_other_annotators(np.sort(annotations, axis=1)) == []


@pytest.mark.parametrize("annotators", range(2, 8))
def test_alpha_is_at_most_one(annotators):
    rng = np.random.default_rng(annotators)
    for _ in range(200):
        annotations = np.repeat(rng.normal(size=(12, 1)), annotators, axis=1)
        alpha = krippendorff_alpha(annotations, "interval")
        assert alpha == pytest.approx(1, abs=1e-12)
        assert alpha <= 1
