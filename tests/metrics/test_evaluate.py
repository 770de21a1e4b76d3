"""Both bridges to Hugging Face's evaluate: its modules here, and assay's metrics there."""

from __future__ import annotations

import sys

import pytest

from assay.exceptions import AssayError, InputError
from assay.metrics import Batch, as_evaluate, check_metric, load_metric

pytest.importorskip("evaluate")

MODULE = """
import datasets
import evaluate


class Overlap(evaluate.Metric):
    def _info(self):
        text = datasets.Value("{dtype}")
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="",
            features=datasets.Features({{"predictions": text, "references": {references}}}),
        )

    def _compute(self, predictions, references):
        first = [r[0] if isinstance(r, list) else r for r in references]
        shared = sum(len(set(p) & set(r)) for p, r in zip(predictions, first))
        return {result}
"""


@pytest.fixture(scope="module", autouse=True)
def module_cache(tmp_path_factory):
    """A folder for the copies that evaluate makes, from which Python imports them whatever it imported before."""
    cache = str(tmp_path_factory.mktemp("evaluate"))
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in sys.modules if name.partition(".")[0] == "evaluate_modules"]:
            patch.delitem(sys.modules, name)
        patch.syspath_prepend(cache)
        patch.setattr("evaluate.config.HF_MODULES_CACHE", cache)
        yield


@pytest.fixture
def write(tmp_path):
    def write(name, result, references="text", dtype="string"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        code = MODULE.format(result=result, references=references, dtype=dtype)
        (folder / f"{name}.py").write_text(code, encoding="utf-8")
        return folder

    return write


def test_a_local_module_scores_each_pair_alone(write):
    folder = write("overlap_sum", '{"shared": shared, "note": "text"}')
    batch = Batch(["abc", "xyz", ""], ["bcd", "abc", ""])
    for subject in (folder, folder / "overlap_sum.py"):
        assert load_metric(f"evaluate:{subject}").score(batch).tolist() == [2.0, 0.0, 0.0]
    findings = check_metric(f"evaluate:{folder}")
    assert [finding for finding in findings if not finding.passed] == []


@pytest.mark.slow
def test_references_in_lists_and_scores_in_lists(write):
    folder = write("overlap_list", '{"scores": [shared]}', references="datasets.Sequence(text)")
    assert load_metric(f"evaluate:{folder}").score(Batch(["abc"], ["bcd"])).tolist() == [2.0]


def test_one_of_several_values(write):
    folder = write("overlap_two", '{"shared": shared, "none": 0.0}')
    batch = Batch(["abc"], ["bcd"])
    assert load_metric(f"evaluate:{folder},key=shared").score(batch).tolist() == [2.0]
    with pytest.raises(InputError, match="choose with key=; it returns none, shared"):
        load_metric(f"evaluate:{folder}").score(batch)
    with pytest.raises(InputError, match="no number 'f1'; it returns none, shared"):
        load_metric(f"evaluate:{folder},key=f1").score(batch)
    without_numbers = write("words_alone", '{"words": "shared"}')
    with pytest.raises(InputError, match="the module returns no number"):
        load_metric(f"evaluate:{without_numbers}").score(batch)


def test_the_code_is_in_the_signature(write):
    folder = write("overlap_signed", '{"shared": shared}')
    before = load_metric(f"evaluate:{folder}").signature()
    write("overlap_signed", '{"shared": 2 * shared}')
    after = load_metric(f"evaluate:{folder}")
    assert after.signature()["code"] != before["code"]
    assert after.score(Batch(["abc"], ["bcd"])).tolist() == [4.0]


def test_what_cannot_be_used_is_named(write, tmp_path):
    with pytest.raises(InputError, match="no evaluate module at"):
        load_metric(f"evaluate:{tmp_path}/nothing").check_available()
    folder = write("overlap_ints", '{"shared": 1}', dtype="int32")
    with pytest.raises(InputError, match="does not compare texts"):
        load_metric(f"evaluate:{folder}").score(Batch(["a"], ["b"]))


def test_a_metric_of_assay_s_as_one_of_evaluate_s():
    import evaluate

    metric = as_evaluate("bleu:paper")
    assert isinstance(metric, evaluate.Metric)
    metric.add_batch(predictions=["a b c d", "x"], references=["a b c d", "y"])
    metric.add(prediction="q", reference="q")
    result = metric.compute()
    assert result == {"bleu:paper": pytest.approx(1 / 3), "scores": [1.0, 0.0, 0.0]}
    # References and predictions are not exchanged on the way.
    again = as_evaluate("ter").compute(predictions=["a b"], references=["a"])
    assert again["ter"] == load_metric("ter").score(Batch(["a"], ["a b"]))[0] == 1.0


def test_both_bridges_in_a_row(write):
    folder = write("overlap_both", '{"shared": shared}')
    result = as_evaluate(f"evaluate:{folder}").compute(predictions=["abc", "a"], references=["bcd", "a"])
    assert result["scores"] == [2.0, 1.0]


def test_nothing_to_score_is_told():
    metric = as_evaluate("f1")
    for given in ({}, {"predictions": [], "references": []}):
        with pytest.raises(InputError, match="metric f1: there is no pair to score"):
            metric.compute(**given)
    with pytest.raises(InputError, match="metric f1: compute takes predictions and references"):
        metric.compute(predictions=["a"])
    assert metric.compute(predictions=["a"], references=["a"]) == {"f1": 1.0, "scores": [1.0]}


def test_several_references_give_the_best_score() -> None:
    bridge = as_evaluate("f1")
    result = bridge.compute(predictions=["a b", "c"], references=[["x", "a b", "a"], ["d"]])
    assert result["scores"] == [1.0, 0.0] and result["f1"] == 0.5
    worse = as_evaluate("ter").compute(predictions=["a b"], references=[["x y", "a b"]])
    assert worse["scores"] == [0.0], "of a metric where a low score is good, the lowest"
    with pytest.raises(InputError, match="the prediction at 1 has no reference"):
        bridge.compute(predictions=["a", "b"], references=[["a"], []])


def test_a_module_in_memory_is_a_metric(tmp_path):
    import evaluate

    import assay

    (tmp_path / "same").mkdir()
    (tmp_path / "same" / "same.py").write_text(
        "import datasets\nimport evaluate\n"
        "class Same(evaluate.Metric):\n"
        "    def _info(self):\n"
        "        text = datasets.Value('string')\n"
        "        return evaluate.MetricInfo(description='', citation='', inputs_description='',\n"
        "            features=datasets.Features({'predictions': text, 'references': text}))\n"
        "    def _compute(self, predictions, references):\n"
        "        both = {'same': float(predictions == references)}\n"
        "        return both | {'length': 1.0} if len(predictions[0]) > 15 else both\n"
    )
    module = evaluate.load(str(tmp_path / "same"), keep_in_memory=True)
    rows = [("a", "a", 1), ("a", "b", 0), ("c", "c", 1), ("d", "e", 0)]
    assert assay.run(rows, [module], resamples=0).pairs["same"].tolist() == [1.0, 0.0, 1.0, 0.0]
    rows = [("a text of more words", "a long text of words", 1), *rows]
    with pytest.raises(AssayError, match="returns several values, wrap it in a function that returns one of them"):
        assay.run(rows, [module], resamples=0)
