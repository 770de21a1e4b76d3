"""Layouts of sentence-transformers: what its files say is computed as the library does, or refused in one line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.exceptions import InputError, UnavailableError
from assay.metrics import Batch, load_metric
from assay.metrics.scores import Flag
from assay.metrics.work import open_session
from tests.metrics.architectures import library_cosines, library_logits, make_model
from tests.metrics.layouts import (
    CROSS_LAYOUTS,
    LAYOUTS,
    OTHER_KINDS,
    PROMPTS,
    calls_without_special_tokens,
    change,
    parts_of,
    pooling_without_prompt,
    router,
    saved,
    static_and_normalize,
)
from tests.metrics.models.tiny import make_bert
from tests.metrics.neural.texts import pairs

LONG = "water fire stone book " * 20
BATCH = Batch([*pairs(10).references, LONG, f"{LONG} tree"], [*pairs(10).candidates, "tree " * 50, f"{LONG} house"])


def in_subfolder(folder: Path, limit: int) -> None:
    """Move the transformer into a folder of its own, as old versions save it."""
    inner = folder / "0_Transformer"
    inner.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        shutil.move(folder / name, inner / name)
    modules = json.loads((folder / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "sentence_bert_config.json").unlink()
    change(inner / "sentence_distilbert_config.json", max_seq_length=limit)


def renamed(family: str) -> Callable[[Path, int], None]:
    def rename(folder: Path, limit: int) -> None:
        (folder / "sentence_bert_config.json").unlink()
        change(folder / f"sentence_{family}_config.json", max_seq_length=limit, do_lower_case=False)

    return rename


def by_call(folder: Path, limit: int) -> None:
    change(folder / "sentence_bert_config.json", max_seq_length=None, processing_kwargs={"text": {"max_length": limit}})


def by_call_of_all(folder: Path, limit: int) -> None:
    change(folder / "sentence_bert_config.json", processing_kwargs={"common": {"max_length": limit}})


def by_tokenizer(folder: Path, limit: int) -> None:
    change(folder / "sentence_bert_config.json", max_seq_length=None)
    change(folder / "tokenizer_config.json", model_max_length=limit)


def by_loading(folder: Path, limit: int) -> None:
    change(folder / "sentence_bert_config.json", max_seq_length=None, processor_kwargs={"model_max_length": limit})


def by_old_loading(folder: Path, limit: int) -> None:
    change(folder / "sentence_bert_config.json", max_seq_length=None, tokenizer_args={"model_max_length": limit})


_FAMILIES = ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")


@pytest.mark.parametrize(
    "limit_by",
    [*map(renamed, _FAMILIES), in_subfolder, by_call, by_call_of_all, by_tokenizer, by_loading, by_old_loading],
)
def test_the_length_limit_is_that_of_the_library(limit_by: Callable[[Path, int], None], tmp_path: Path) -> None:
    folder = make_bert(tmp_path / "model", pooling="mean")
    uncut = load_metric(f"bi-encoder:{folder}").score(BATCH)
    limit_by(folder, 12)
    expected = library_cosines(folder, BATCH)
    assert abs(expected - uncut).max() > 0.01, "the limit matters"
    metric = load_metric(f"bi-encoder:{folder}")
    assert (metric.limit(), metric.signature()["max_length"]) == (12, "12")
    scores = open_session(metric.needs()).score([metric], BATCH)
    assert scores.values[:, 0] == pytest.approx(expected, abs=2e-5)
    assert scores.flags[-1, 0] == Flag.REFERENCE_CUT | Flag.CANDIDATE_CUT
    shorter = load_metric(f"bi-encoder:{folder},max_length=6").score(BATCH)
    assert abs(shorter - expected).max() > 0.01


def test_files_of_the_library_count_only_for_the_class_that_saved_them(tmp_path: Path) -> None:
    """Without modules.json the library ignores the file, and so does every metric of transformers alone."""
    folder = make_bert(tmp_path / "model", pooling="mean")
    change(folder / "sentence_bert_config.json", max_seq_length=12)
    assert load_metric(f"bertscore:{folder}").limit() == 64
    (folder / "modules.json").unlink()
    assert load_metric(f"bi-encoder:{folder}").limit() == 64
    assert load_metric(f"bi-encoder:{folder}").score(BATCH) == pytest.approx(library_cosines(folder, BATCH), abs=2e-5)


@pytest.mark.parametrize("name", ["bertscore", "pooled"])
def test_a_transformer_in_a_subfolder_is_read_by_every_metric(name: str, tmp_path: Path) -> None:
    folder = make_bert(tmp_path / "model", pooling="mean")
    expected = load_metric(f"{name}:{folder}").score(BATCH)
    in_subfolder(folder, 12)
    assert load_metric(f"{name}:{folder}").score(BATCH) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", ["xlnet", "t5", "bloom"])
def test_a_model_without_a_limit_reads_the_whole_text(name: str, tmp_path: Path) -> None:
    folder = make_model(tmp_path / name, name, max_length=None)
    batch = Batch(["water " * 700, "fire"], ["water " * 600 + "tree " * 200, "stone"])
    assert load_metric(f"bi-encoder:{folder}").score(batch) == pytest.approx(library_cosines(folder, batch), abs=2e-5)
    assert load_metric(f"bi-encoder:{folder},max_length=8").limit() == 8


@pytest.mark.parametrize("name", ["roberta", "roberta-prelayernorm", "data2vec-text", "xmod", "luke", "mpnet"])
def test_positions_that_no_token_has_are_no_index_error(name: str, tmp_path: Path) -> None:
    """The library fails on a text that is longer than the positions, where the tokenizer has no lower limit."""
    folder = make_model(tmp_path / name, name, max_length=None)
    metric = load_metric(f"bi-encoder:{folder}")
    limit = 68 if name == "mpnet" else 69
    assert metric.limit() == limit
    library_limit = library_cosines(folder, BATCH, processor_kwargs={"model_max_length": limit})
    assert metric.score(BATCH) == pytest.approx(library_limit, abs=2e-5)


def test_a_model_that_fails_says_so_in_one_line(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "model", "bert", max_length=None)
    change(folder / "config.json", model_type="bert", vocab_size=900)
    change(folder / "tokenizer_config.json", model_max_length=64)
    with pytest.raises(UnavailableError) as caught:
        load_metric(f"bi-encoder:{folder}").score(BATCH)
    assert "\n" not in str(caught.value) and str(folder) in str(caught.value)


def test_every_setting_that_version_6_writes_is_in_a_layout(tmp_path: Path) -> None:
    """So that a field of a later version fails here until a layout has it."""
    import sentence_transformers
    from sentence_transformers.base import modules as base
    from sentence_transformers.sentence_transformer import modules as of_sentences

    written: dict[str, set[str]] = {}
    for make in [*LAYOUTS, *CROSS_LAYOUTS]:
        for path in make(tmp_path / make.__name__).rglob("*.json"):
            if path.name.startswith("tokenizer") or "base" in path.parts or "static" in path.parts:
                continue
            content = json.loads(path.read_text())
            if path.name == "router_config.json":
                content = content["parameters"]
            written.setdefault(path.name, set()).update(content if isinstance(content, dict) else ())
    model = sentence_transformers.SentenceTransformer(modules=list(parts_of(tmp_path / "last")), truncate_dim=3)
    assert set(model._get_model_config()) <= written["config_sentence_transformers.json"]
    covered = set()
    for name in [*base.__all__, *of_sentences.__all__]:
        module = getattr(base, name, None) or getattr(of_sentences, name)
        keys = set(getattr(module, "config_keys", ()))
        if keys and name not in ("CLIPModel", "InputModule", "Module"):
            # how a model of several vectors expands a query is no setting of a sentence encoder
            assert keys - {"query_expansion"} <= written[module.config_file_name], name
            covered.add(name)
    assert len(covered) >= 12


@pytest.mark.parametrize("make", LAYOUTS)
def test_a_layout_has_the_scores_of_the_library(make: Callable[[Path], Path], tmp_path: Path) -> None:
    folder = make(tmp_path)
    expected = library_cosines(folder, BATCH)
    assert expected.std() > 0.01
    metric = load_metric(f"bi-encoder:{folder}")
    metric.check_available()
    scores = open_session(metric.needs()).score([metric], BATCH)
    assert scores.values[:, 0] == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("name", ["pooled", "bertscore"])
@pytest.mark.parametrize("make", [static_and_normalize, router])
def test_what_has_no_token_embeddings_is_refused(make: Callable[[Path], Path], name: str, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError) as caught:
        load_metric(f"{name}:{make(tmp_path)}").score(BATCH)
    assert "\n" not in str(caught.value) and "bi-encoder:MODEL" in str(caught.value)


@pytest.mark.parametrize("make", OTHER_KINDS)
def test_a_model_of_another_kind_is_refused_as_a_bi_encoder(make: Callable[[Path], Path], tmp_path: Path) -> None:
    metric = load_metric(f"bi-encoder:{make(tmp_path)}")
    for ask in (metric.check_available, lambda: metric.score(BATCH)):
        with pytest.raises(
            UnavailableError, match=r"not a sentence encoder.*use (cross-encoder|pooled):MODEL"
        ) as caught:
            ask()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("limit_by", [renamed("xlnet"), in_subfolder, by_tokenizer])
def test_a_training_reads_as_many_tokens_as_a_run(limit_by: Callable[[Path, int], None], tmp_path: Path) -> None:
    from assay.training.models import load_bi_encoder, table_of_texts

    folder = make_bert(tmp_path / "model", pooling="mean")
    limit_by(folder, 12)
    model = load_bi_encoder(folder, "cpu")
    table = table_of_texts(model, [LONG, "water"])
    assert (int(table.lengths.max()), table.truncated) == (load_metric(f"bi-encoder:{folder}").limit(), 1)
    model.save(str(tmp_path / "trained"))
    metric = load_metric(f"bi-encoder:{tmp_path / 'trained'}")
    assert metric.limit() == 12
    assert metric.score(BATCH) == pytest.approx(load_metric(f"bi-encoder:{folder}").score(BATCH), abs=1e-6)


def test_a_training_reads_no_more_tokens_than_there_are_positions(tmp_path: Path) -> None:
    from assay.training.models import load_bi_encoder, table_of_texts

    folder = make_model(tmp_path / "model", "roberta", max_length=None)
    assert int(table_of_texts(load_bi_encoder(folder, "cpu"), ["water " * 100]).lengths.max()) == 69


def test_a_training_refuses_what_it_would_compute_otherwise(tmp_path: Path) -> None:
    from assay.training.models import load_bi_encoder

    for make in (pooling_without_prompt, static_and_normalize, calls_without_special_tokens):
        with pytest.raises(UnavailableError, match="cannot be trained because of") as caught:
            load_bi_encoder(make(tmp_path / make.__name__), "cpu")
        assert "\n" not in str(caught.value)
    folder = make_bert(tmp_path / "unpadded")
    change(folder / "tokenizer_config.json", pad_token=None)
    with pytest.raises(UnavailableError, match="no padding token: add one to tokenizer_config"):
        load_bi_encoder(folder, "cpu")


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean", "manhattan"])
@pytest.mark.parametrize("dimensions", [None, 7])
def test_dimensions_and_similarity_of_the_files(similarity: str, dimensions: int | None, tmp_path: Path) -> None:
    body, pooling = parts_of(tmp_path / "base")
    folder = saved(tmp_path / "model", body, pooling, similarity_fn_name=similarity, truncate_dim=dimensions)
    expected = library_cosines(folder, BATCH)
    metric = load_metric(f"bi-encoder:{folder},similarity={similarity}")
    assert metric.score(BATCH) == pytest.approx(expected, abs=2e-5, rel=1e-6)
    assert metric.signature().get("dimensions") == (None if dimensions is None else "7")
    said = load_metric(f"bi-encoder:{folder}").says()
    assert (f"similarity={similarity} uses it" in said) is (similarity != "cosine")
    assert "uses it" not in metric.says()


def test_dimensions_by_an_option(tmp_path: Path) -> None:
    folder = make_bert(tmp_path / "model", pooling="mean")
    expected = library_cosines(folder, BATCH, truncate_dim=5)
    assert load_metric(f"bi-encoder:{folder},truncate_dim=5").score(BATCH) == pytest.approx(expected, abs=2e-5)
    assert load_metric(f"bi-encoder:{folder},truncate_dim=99").score(BATCH) == pytest.approx(
        load_metric(f"bi-encoder:{folder}").score(BATCH)
    )


def test_the_prompts_of_a_cross_encoder(tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder

    from assay.training.models import load_cross_encoder, table_of_pairs

    base = make_bert(tmp_path / "base", labels=1)
    folder = tmp_path / "model"
    CrossEncoder(str(base), device="cpu", **PROMPTS).save(str(folder))
    plain, prompted = load_metric(f"cross-encoder:{base}").score(BATCH), library_logits(folder, BATCH)
    assert abs(plain - prompted).max() > 0.001
    metric = load_metric(f"cross-encoder:{folder}")
    assert metric.score(BATCH) == pytest.approx(prompted, abs=2e-5)
    assert metric.signature()["before"] == "water horse: "
    other = CrossEncoder(str(folder), device="cpu").predict(list(BATCH.pairs()), prompt_name="document", batch_size=1)
    assert load_metric(f"cross-encoder:{folder},prompt=document").score(BATCH) == pytest.approx(other, abs=2e-5)
    assert load_metric(f"cross-encoder:{folder},prefix=").score(BATCH) == pytest.approx(plain, abs=2e-5)
    with pytest.raises(InputError, match="no prompt 'x'"):
        load_metric(f"cross-encoder:{folder},prompt=x").score(BATCH)
    model = load_cross_encoder(folder, "cpu", outputs=1, activation=None, seed=0)
    lengths = table_of_pairs(model, ["water", "fire"], ["tree", "tree"]).lengths
    assert lengths.tolist() == [8, 8]
