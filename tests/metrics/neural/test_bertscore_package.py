"""BERTScore by the package bert-score: assay's own engine gives its numbers at every layer, options have effect."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.exceptions import UnavailableError
from assay.metrics import Batch, load_metric
from assay.metrics.scores import Flag
from assay.metrics.work import open_session
from tests.metrics.architectures import make_model
from tests.metrics.models.tiny import save_byte_tokenizer
from tests.metrics.neural.test_layouts import in_subfolder
from tests.metrics.neural.texts import pairs

pytest.importorskip("bert_score", reason="bert-score is absent: pip install assay[neural]")

SHORT = pairs(12)
BATCH = Batch([*SHORT.references, "water " * 90, "", "fire"], [*SHORT.candidates, "fire " * 80, "water", " \n"])
FAMILIES = ["albert", "bart", "bert", "distilbert", "electra", "mpnet", "roberta", "xlm", "xlnet"]
#: A normalisation behind the last layer, which the package applies to the layer that it ends at.
PRE_NORM = ["esm", "gemma3_text", "mbart", "modernbert", "mt5", "qwen3", "roberta-prelayernorm", "t5"]


def both(folder: Path, options: str = "") -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of BATCH by assay's engine and by the package."""
    own = load_metric(f"bertscore:{folder}{options}").score(BATCH)
    return own, load_metric(f"bertscore:{folder}{options},engine=bert-score").score(BATCH)


@pytest.mark.parametrize("name", FAMILIES + PRE_NORM)
def test_every_layer_of_a_family_has_the_numbers_of_the_package(name: str, tmp_path: Path) -> None:
    # the package takes any path with these letters for a T5
    folder = make_model(tmp_path / ("t5-like" if name == "bert" else "model"), name)
    layers = []
    for layer in (0, 1, 2):
        for output in ("precision", "recall"):
            own, package = both(folder, f",layer={layer},output={output}")
            assert own == pytest.approx(package, abs=1e-5), f"layer {layer}"
            assert own[-2:].tolist() == [0, 0]
            assert own.std() > 0.001
        layers.append(own)
    assert np.abs(layers[1] - layers[2]).max() > 0.001


@pytest.mark.parametrize("name", ["gpt2", "opt"])
def test_a_layer_is_the_end_of_the_model_where_the_package_has_no_such_family(name: str, tmp_path: Path) -> None:
    """As in a model with fewer layers."""
    size = "n_layer" if name == "gpt2" else "num_hidden_layers"
    whole = make_model(tmp_path / "whole", name)
    from transformers import AutoModel

    model = AutoModel.from_pretrained(whole)
    setattr(model.config, size, 1)
    model.get_submodule("h" if name == "gpt2" else "decoder.layers").pop(1)
    model.save_pretrained(tmp_path / "short")
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / "short" / file).write_bytes((whole / file).read_bytes())
    for metric in ("bertscore", "pooled"):
        expected = load_metric(f"{metric}:{tmp_path / 'short'}").score(BATCH)
        assert load_metric(f"{metric}:{whole},layer=1").score(BATCH) == pytest.approx(expected, abs=1e-5)
    with pytest.raises(UnavailableError, match=r"package bert-score at layer 1.*use engine=assay") as caught:
        both(whole, ",layer=1")
    assert "\n" not in str(caught.value)


def test_a_length_limit_has_effect_and_what_it_cuts_is_flagged(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "model", "bert")
    limited, whole = (
        load_metric(f"bertscore:{folder}{options},engine=bert-score") for options in (",max_length=6", "")
    )
    own, package = both(folder, ",max_length=6")
    assert own == pytest.approx(package, abs=1e-5)
    assert np.abs(package - whole.score(BATCH)).max() > 0.01
    for metric in (limited, whole):
        own_flags = load_metric(str(metric).replace(",engine=bert-score", ""))
        expected = open_session(own_flags.needs()).score([own_flags], BATCH).flags
        assert open_session(metric.needs()).score([metric], BATCH).flags.tolist() == expected.tolist()
    assert expected[:, 0][-3:].tolist() == [
        Flag.REFERENCE_CUT | Flag.CANDIDATE_CUT,
        Flag.REFERENCE_EMPTY,
        Flag.CANDIDATE_EMPTY,
    ]


def test_the_corpus_of_the_weights_is_cut_at_the_limit_as_well(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "model", "bert")
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(pairs(40, seed=3).references))
    own, package = both(folder, f",max_length=7,idf={corpus}")
    assert own == pytest.approx(package, abs=1e-5)
    assert np.abs(own - load_metric(f"bertscore:{folder},idf={corpus}").score(BATCH)).max() > 0.01


@pytest.mark.parametrize("name", ["bert", "t5", "xlnet"])
def test_a_tokenizer_without_a_limit(name: str, tmp_path: Path) -> None:
    own, package = both(make_model(tmp_path / "model", name, max_length=None))
    assert own == pytest.approx(package, abs=1e-5)


def test_the_first_word_of_roberta_has_a_space_before_it(tmp_path: Path) -> None:
    """The package asks the tokenizer for it at each call; transformers 5 listens only when it loads the tokenizer."""
    import bert_score
    from transformers import AutoTokenizer

    folder = make_model(tmp_path / "model", "roberta")
    save_byte_tokenizer(folder, 60)
    scores = []
    for spaced in (True, False):
        library = bert_score.BERTScorer(str(folder), num_layers=1, nthreads=0)
        library._tokenizer = AutoTokenizer.from_pretrained(folder, add_prefix_space=spaced)
        scores.append([library.score([candidate], [reference])[2].item() for reference, candidate in SHORT.pairs()])
    own, package = both(folder, ",layer=1")
    assert own == pytest.approx(package, abs=1e-5)
    assert own[: len(SHORT)] == pytest.approx(scores[0], abs=1e-5)
    assert own[: len(SHORT)] != pytest.approx(scores[1], abs=1e-3)


def test_the_transformer_may_have_a_folder_of_its_own(tmp_path: Path) -> None:
    from tests.metrics.models.tiny import make_bert

    folder = make_bert(tmp_path / "model", pooling="mean")
    in_subfolder(folder, 12)
    own, package = both(folder)
    assert own == pytest.approx(package, abs=1e-5)


def test_the_question_is_read(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "model", "bert")
    batch = Batch(["water", ""], ["fire", "tree"], ["which stone", "which house"])
    scores = [
        load_metric(f"bertscore:{folder},question=true{engine}").score(batch) for engine in ("", ",engine=bert-score")
    ]
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)
    assert scores[0] != pytest.approx(load_metric(f"bertscore:{folder}").score(batch), abs=1e-3)
