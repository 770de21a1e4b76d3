"""Neural metrics on a GPU against the libraries' own best settings; a script, pytest does not collect it.

    python -m tests.performance.gpu MODELS [--texts 1000000] [--out gpu.json]
    python -m tests.performance.gpu MODELS --texts 2000 --device cpu

MODELS holds the folders ``minilm`` (all-MiniLM-L6-v2) and ``cross-encoder`` (ms-marco-MiniLM-L-12-v2); a metric whose
folder is absent is left out. The data is STS-B test (``ASSAY_DATA``), its sentences made distinct by a running number.
Each metric scores all pairs through its session, in the units of a run. Then it takes turns with the library on the
first ``--baseline-texts`` texts: the library's batch size is the fastest of several, and the ratio is that of the
medians of the rounds. Nothing is loaded while the clock runs; both sides have run before it starts.

S3BERT's seventeen scores are of MiniLM with aspects declared, against the same parts of ``encode``'s embeddings.
Training is fine-tuning MiniLM on name pairs against sentence-transformers' trainer, both in bf16, by the steps after
the first ``WARM``. Where MODELS has the folder ``smollm2`` (SmolLM2-135M-Instruct), it judges all answers of
``evouna-tq`` as well, and ``JUDGED`` of them against a loop of ``generate``, answer by answer, one token each.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

#: Dense bf16 peak of cards in 10¹² operations a second, from NVIDIA's data sheets; the first name that fits counts.
PEAKS = {
    "GB200": 2500, "B200": 2250, "GH200": 989, "H200 NVL": 835, "H200": 989, "H100 NVL": 835, "H100 PCIe": 756,
    "H100": 989, "A100": 312, "A40": 150, "A10G": 70, "A10": 125, "L40S": 362, "L40": 181, "L4": 121,
    "RTX 6000 Ada": 364, "RTX A6000": 155, "RTX 4090": 165, "RTX 3090": 71,
}  # fmt: skip
BATCHES = {"cpu": (16, 64), "cuda": (512, 2048)}
#: Pairs on which sides warm up and batch sizes are tried, and texts on which the ratio is measured.
TRIED = {"cpu": 64, "cuda": 4096}
COMPARED = {"cpu": 300, "cuda": 100_000}
#: Answers that a loop of ``generate`` judges.
JUDGED = {"cpu": 25, "cuda": 200}
#: Pairs a step in training, and its steps; those at the start that are not timed.
TRAINED = {"cpu": ((8, 30),), "cuda": ((8, 110), (16, 110), (64, 70))}
WARM = {"cpu": 5, "cuda": 20}
LIBRARIES = ("torch", "transformers", "sentence-transformers", "bert-score")
KINDS = ("bi-encoder", "bertscore", "s3bert", "cross-encoder", "training", "judge")
Pair = tuple[str, str]
Scores = np.ndarray[Any, Any]
#: Scores pairs; a library's takes the size of a batch as well.
Way = Callable[..., Scores]


def main() -> None:
    given = arguments()
    torch = need_torch(given.device)
    card = torch.cuda.get_device_name(0) if given.device == "cuda" else platform.processor() or platform.machine()
    pairs = distinct_pairs(given.texts // 2)
    part = pairs[: max(1, given.baseline_texts // 2)]
    peak, source = peak_of(card, given.device)
    found: dict[str, Any] = {
        "card": card,
        "device": given.device,
        "precision": "bf16" if given.device == "cuda" else "fp32",
        "texts": 2 * len(pairs),
        "baseline_texts": 2 * len(part),
        "peak_tflops": round(peak, 3),
        "peak_from": source,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "versions": {"python": platform.python_version()} | {name: metadata.version(name) for name in LIBRARIES},
        "metrics": [],
        "training": [],
        "judge": {},
    }

    def keep() -> None:
        """Write what was found so far: time on a GPU is often short."""
        if given.out is not None:
            given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        gc.collect()
        if given.device == "cuda":
            torch.cuda.empty_cache()

    for kind, ours, library in kinds(given.models, given.device, given.only):
        say(f"{kind}: {len(pairs):,} pairs")
        row = measure(kind, ours, library, pairs, part, given)
        # S3BERT's pass is that of the bi-encoder
        found["metrics"].append(row if kind == "s3bert" else row | share(kind, given, pairs, peak))
        keep()
    for row in training(given):
        found["training"].append(row)
        keep()
    found["judge"] = judge(given)
    keep()
    print(markdown(found))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, help="the folder that holds minilm and cross-encoder")
    parser.add_argument("--texts", type=int, default=1_000_000, help="distinct texts, two a pair")
    parser.add_argument("--baseline-texts", type=int, help="texts for the ratio [default: 100000; cpu: 300]")
    parser.add_argument("--rounds", type=int, default=3, help="rounds in which both sides take turns")
    parser.add_argument("--only", action="append", choices=KINDS)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    given = parser.parse_args()
    given.baseline_texts = COMPARED[given.device] if given.baseline_texts is None else given.baseline_texts
    if given.texts < 2 or given.baseline_texts < 2 or given.rounds < 1:
        sys.exit("gpu.py: --texts and --baseline-texts must be at least 2, --rounds at least 1")
    given.baseline_texts = min(given.baseline_texts, given.texts)
    return given


def is_there(folder: Path) -> bool:
    """Tell whether a folder holds a model, and say so if it does not."""
    found = (folder / "config.json").is_file()
    if not found:
        say(f"gpu.py: {folder} is not a model folder: what needs it is left out")
    return found


def need_torch(device: str) -> Any:
    try:
        import torch
    except ImportError:
        sys.exit('gpu.py: torch is not installed: pip install "assay[neural]"')
    if device == "cuda" and not torch.cuda.is_available():
        sys.exit(f"gpu.py: torch {torch.__version__} sees no GPU; for a smoke test: --device cpu --texts 2000")
    if device == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        sys.exit(f"gpu.py: {torch.cuda.get_device_name(0)} has no bf16, in which both sides are measured")
    return torch


def distinct_pairs(n: int) -> list[Pair]:
    """Return n pairs of STS-B test, repeated with a running number, so that no text comes twice."""
    import assay

    references, candidates, _ = assay.load_dataset("stsb:test", offline=True).texts()
    return [(f"{references[i % len(references)]} {i}", f"{candidates[i % len(references)]} {i}") for i in range(n)]


def kinds(
    models: Path, device: str, only: list[str] | None
) -> list[tuple[str, Callable[[], Way], Callable[[], tuple[Way, str]]]]:
    """Return for each metric its name, what loads assay's way, and what loads the library's best way."""
    minilm, cross = models / "minilm", models / "cross-encoder"
    found = [
        ("bi-encoder", lambda: session(f"bi-encoder:{minilm}", device), lambda: sentence_library(minilm, device)),
        ("bertscore", lambda: session(f"bertscore:{minilm}", device), lambda: bertscore_library(minilm, device)),
        ("cross-encoder", lambda: session(f"cross-encoder:{cross}", device), lambda: cross_library(cross, device)),
        ("s3bert", lambda: session(f"s3bert:{with_aspects(minilm)}", device), lambda: aspects_library(minilm, device)),
    ]
    return [
        one for one in found if one[0] in (only or KINDS) and is_there(cross if one[0] == "cross-encoder" else minilm)
    ]


def with_aspects(folder: Path) -> Path:
    """Return a copy of a bi-encoder in which the aspects of S3BERT are declared; they cost the same untrained."""
    from assay.language.amr import ASPECTS
    from assay.metrics.aspects.layout import even_layout, write_layout

    copy = Path(shutil.copytree(folder, Path(tempfile.mkdtemp()) / folder.name))
    write_layout(even_layout(ASPECTS, 16, int(config_of(folder)["hidden_size"])), copy)
    return copy


def session(name: str, device: str) -> Way:
    """Return assay's scoring of pairs, its model loaded, in units as in a run; of several scores the first."""
    from assay.metrics import Batch, load_metric
    from assay.metrics.neural.runtime import Runtime, use_runtime
    from assay.metrics.work import open_session

    metrics = load_metric(f"{name},precision={'bf16' if device == 'cuda' else 'fp32'}").expand()
    with use_runtime(Runtime(device)):
        engine = metrics[0].needs()
        opened = open_session(engine)
    assert engine is not None

    def score(pairs: Sequence[Pair]) -> Scores:
        found = []
        with use_runtime(Runtime(device)):
            for start in range(0, len(pairs), engine.pairs):
                left, right = zip(*pairs[start : start + engine.pairs], strict=True)
                found.append(opened.score(metrics, Batch(left, right)).values[:, 0])
        return np.concatenate(found)

    return score


def dtype_kwargs(device: str) -> dict[str, Any]:
    import torch

    return {"dtype": torch.bfloat16 if device == "cuda" else torch.float32}


def numbers(tensor: Any) -> Scores:
    return np.asarray(tensor.float().cpu().numpy())


def sentence_library(folder: Path, device: str) -> tuple[Way, str]:
    from sentence_transformers import SentenceTransformer, util

    model = SentenceTransformer(str(folder), device=device, model_kwargs=dtype_kwargs(device))

    def score(pairs: Sequence[Pair], batch: int) -> Scores:
        texts = [text for column in zip(*pairs, strict=True) for text in column]
        found = model.encode(texts, batch_size=batch, convert_to_tensor=True, show_progress_bar=False)
        return numbers(util.pairwise_cos_sim(found[: len(pairs)], found[len(pairs) :]))

    return score, "SentenceTransformer.encode"


def aspects_library(folder: Path, device: str) -> tuple[Way, str]:
    from sentence_transformers import SentenceTransformer, util

    model = SentenceTransformer(str(folder), device=device, model_kwargs=dtype_kwargs(device))
    parts = [slice(None), *(slice(start, start + 16) for start in range(0, 240, 16)), slice(240, None)]

    def score(pairs: Sequence[Pair], batch: int) -> Scores:
        texts = [text for column in zip(*pairs, strict=True) for text in column]
        found = model.encode(texts, batch_size=batch, convert_to_tensor=True, show_progress_bar=False)
        left, right = found[: len(pairs)], found[len(pairs) :]
        cosines = [numbers(util.pairwise_cos_sim(left[:, part], right[:, part])) for part in parts]
        return cosines[0]

    return score, "SentenceTransformer.encode"


def cross_library(folder: Path, device: str) -> tuple[Way, str]:
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(folder), device=device, model_kwargs=dtype_kwargs(device))

    def score(pairs: Sequence[Pair], batch: int) -> Scores:
        found = model.predict(list(pairs), batch_size=batch, convert_to_tensor=True, show_progress_bar=False)
        return numbers(found)

    return score, "CrossEncoder.predict"


def bertscore_library(folder: Path, device: str) -> tuple[Way, str]:
    from bert_score import BERTScorer

    scorer = BERTScorer(model_type=str(folder), num_layers=config_of(folder)["num_hidden_layers"], device=device)
    # the package has no setting for it
    scorer._model.to(dtype_kwargs(device)["dtype"])

    def score(pairs: Sequence[Pair], batch: int) -> Scores:
        left, right = zip(*pairs, strict=True)
        return numbers(scorer.score(list(right), list(left), batch_size=batch)[2])

    return score, "BERTScorer.score"


def measure(
    kind: str,
    load_ours: Callable[[], Way],
    load_library: Callable[[], tuple[Way, str]],
    pairs: list[Pair],
    part: list[Pair],
    given: argparse.Namespace,
) -> dict[str, Any]:
    """Return pairs per second of both sides, and the ratio on the same pairs."""
    from assay.metrics.neural.runtime import without_cudnn_attention

    ours = load_ours()
    few = part[: TRIED[given.device]]
    ours(few)
    whole, seconds = timed(ours, pairs, given.device)
    say(f"{kind}: {len(pairs) / seconds:,.0f} pairs/s")
    theirs, called = load_library()
    batch = best_batch(theirs, few, given.device)
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    reference = np.empty(0)
    for _ in range(given.rounds):
        times["ours"].append(timed(ours, part, given.device)[1])
        reference, taken = timed(lambda some: theirs(some, batch), part, given.device)
        times["theirs"].append(taken)
    middle = {side: statistics.median(taken) for side, taken in times.items()}
    # what it would gain from the one setting of torch that ours changes
    with without_cudnn_attention():
        theirs(few, batch)
        changed = timed(lambda some: theirs(some, batch), few, given.device)[1]
    return {
        "metric": kind,
        "pairs": len(pairs),
        "seconds": round(seconds, 3),
        "pairs_per_second": round(len(pairs) / seconds, 1),
        "library": called,
        "library_batch": batch,
        "library_pairs_per_second": round(len(part) / middle["theirs"], 1),
        "library_without_cudnn_pairs_per_second": round(len(few) / changed, 1),
        "ratio": round(middle["theirs"] / middle["ours"], 3),
        "largest_difference": round(float(np.abs(whole[: len(part)] - reference).max()), 5),
    }


def training(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield for each number of pairs a step the steps per second of both sides, and the ratio."""
    folder = given.models / "minilm"
    if (given.only and "training" not in given.only) or not is_there(folder):
        return
    import torch

    from assay.training.data import load_examples
    from assay.training.models import load_bi_encoder, table_of_texts
    from tests.performance import test_finetuning_speed as finetuning

    device = "cuda:0" if given.device == "cuda" else "cpu"
    examples = load_examples(["name-pairs:train"], limit=None)
    texts = sorted(examples.texts)
    table = table_of_texts(load_bi_encoder(folder, "cpu"), texts)
    numbers = {text: number for number, text in enumerate(texts)}
    warm = WARM[given.device]

    def steps_per_second(losses: Any) -> float:
        torch.cuda.synchronize() if given.device == "cuda" else None
        return (len(losses.times) - 1 - warm) / (losses.times[-1] - losses.times[warm])

    for size, steps in TRAINED[given.device]:
        rows = np.random.default_rng(0).permutation(len(examples))[: size * steps]
        one = finetuning.ours(folder, numbers, table, examples, rows, size, device)
        ours = steps_per_second(one)
        other = finetuning.theirs(folder, examples, rows, size, device)
        theirs = steps_per_second(other)
        say(f"training, {size} pairs a step: {ours:.1f} steps/s, the library {theirs:.1f}")
        yield {
            "pairs_per_step": size,
            "steps": steps,
            "steps_per_second": round(ours, 2),
            "library_steps_per_second": round(theirs, 2),
            "ratio": round(ours / theirs, 3),
            "mean_loss": round(statistics.mean(one.values()), 5),
            "library_mean_loss": round(statistics.mean(other.values()), 5),
        }


def judge(given: argparse.Namespace) -> dict[str, Any]:
    """Return the verdicts per second of a language model on answers, and the ratio to a loop of ``generate``."""
    folder = given.models / "smollm2"
    if (given.only and "judge" not in given.only) or not is_there(folder):
        return {}
    import assay
    from assay.metrics import Batch, load_metric
    from assay.metrics.neural.runtime import Runtime, use_runtime
    from assay.metrics.work import open_session, release_sessions

    rows = assay.load_dataset("evouna-tq:all", offline=True).table.to_pylist()
    few = rows[: JUDGED[given.device]]
    precision = "bf16" if given.device == "cuda" else "fp32"
    metric: Any = load_metric(f"judge:{folder},prompt=correctness,verdict=probability,precision={precision}")

    def batch_of(some: Sequence[Any]) -> Batch:
        columns = {name: [row[name] for row in some] for name in ("reference", "candidate", "question")}
        golds = columns["reference"]
        return Batch([gold[0] for gold in golds], columns["candidate"], columns["question"], gold_answers=golds)

    def ours(some: Sequence[Any]) -> Scores:
        with use_runtime(Runtime(given.device)):
            units = [some[start : start + engine.pairs] for start in range(0, len(some), engine.pairs)]
            return np.concatenate([session.score([metric], batch_of(unit)).values[:, 0] for unit in units])

    with use_runtime(Runtime(given.device)):
        engine = metric.needs()
        session = open_session(engine)
    loop = loop_of_generate(folder, metric, batch_of, given.device)
    ours(few)
    loop(few[:5])
    everything = few if given.device == "cpu" else rows
    seconds = timed(ours, everything, given.device)[1]
    times: dict[str, list[float]] = {"ours": [], "loop": []}
    for _ in range(given.rounds):
        times["ours"].append(timed(ours, few, given.device)[1])
        times["loop"].append(timed(loop, few, given.device)[1])
    middle = {side: statistics.median(taken) for side, taken in times.items()}
    apart = np.abs(ours(few) - loop(few))
    release_sessions()
    return {
        "answers": len(everything),
        "verdicts_per_second": round(len(everything) / seconds, 1),
        "loop_answers": len(few),
        "loop_verdicts_per_second": round(len(few) / middle["loop"], 2),
        "ratio": round(middle["loop"] / middle["ours"], 2),
        "largest_difference": round(float(np.nanmax(apart)), 5),
    }


def loop_of_generate(folder: Path, metric: Any, batch_of: Callable[..., Any], device: str) -> Way:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, **dtype_kwargs(device)).to(device).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    scale = metric.scale_used
    pieces = enumerate(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))))
    begins = {number: piece for number, piece in pieces if scale.verdict_begun_by(piece) is not None}

    def score(rows: Sequence[Any]) -> Scores:
        found = []
        for (conversation,) in metric.conversations(batch_of(rows)):
            messages = [{"role": message.role, "content": message.content} for message in conversation]
            inputs = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt").to(device)
            output = model.generate(
                **inputs, max_new_tokens=1, do_sample=False, output_logits=True, return_dict_in_generate=True
            )
            tokens = output.logits[0][0].float().softmax(-1)[list(begins)].tolist()
            expected = scale.expected_score(dict(zip(begins.values(), tokens, strict=True)))
            found.append(np.nan if expected is None else expected)
        return np.array(found)

    return score


def best_batch(theirs: Way, few: list[Pair], device: str) -> int:
    """Return the fastest batch size; one that does not fit in memory is out."""
    import torch

    found = {}
    for batch in BATCHES[device]:
        try:
            theirs(few, batch)
            found[batch] = timed(lambda some, batch=batch: theirs(some, batch), few, device)[1]
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
    say("library by batch size: " + ", ".join(f"{size}: {len(few) / taken:,.0f}/s" for size, taken in found.items()))
    return min(found, key=lambda size: found[size])


def timed(way: Way, items: Sequence[Any], device: str) -> tuple[Scores, float]:
    """Return what came out, and wall seconds until the device was done."""
    import torch

    begun = time.perf_counter()
    found = way(items)
    if device == "cuda":
        torch.cuda.synchronize()
    return found, time.perf_counter() - begun


def share(kind: str, given: argparse.Namespace, pairs: list[Pair], peak: float) -> dict[str, Any]:
    """Return how near the encoder comes to the card's peak, on tokens that are ready: packing and passes only."""
    from assay.metrics.neural.body import TorchBody, TorchScorerBody
    from assay.metrics.neural.loading import load_encoder, load_scorer
    from assay.metrics.neural.runtime import Runtime, without_cudnn_attention
    from assay.metrics.neural.tokens import Packed, Packer, tokenize

    name = "cross-encoder" if kind == "cross-encoder" else "minilm"
    folder = given.models / name
    config = config_of(folder)
    load = load_scorer if kind == "cross-encoder" else load_encoder
    device = "cuda:0" if given.device == "cuda" else "cpu"
    loaded = load(folder, "bf16" if given.device == "cuda" else "fp32", device)
    left, right = ([*column] for column in zip(*pairs, strict=True))
    limit = int(config["max_position_embeddings"])
    lists = (
        tokenize(loaded.tokenizer, left, limit, right, with_types=True)
        if kind == "cross-encoder"
        else tokenize(loaded.tokenizer, [*left, *right], limit)
    )
    depth = int(config["num_hidden_layers"])
    body: Any = TorchScorerBody(loaded.model, device) if kind == "cross-encoder" else TorchBody(loaded.model, device)

    def step(batch: Packed) -> None:
        import torch

        with torch.inference_mode():
            body.logits(batch) if kind == "cross-encoder" else body.hidden_states(batch, {depth})

    def run(some: Sequence[Any]) -> Scores:
        Packer(int(loaded.tokenizer.pad_token_id or 0), Runtime().batch_tokens(given.device)).run(
            some, [(device, step)]
        )
        return np.empty(0)

    with without_cudnn_attention():
        timed(run, lists[: TRIED[given.device]], given.device)
        _, seconds = timed(run, lists, given.device)
    lengths = np.array([len(one.ids) for one in lists], dtype=np.float64)
    operations = encoder_flops(config, lengths)
    return {
        "tokens": int(lengths.sum()),
        "encoder_flops": operations,
        "encoder_seconds": round(seconds, 3),
        "encoder_tflops": round(operations / seconds / 1e12, 3),
        "share_of_peak": round(operations / seconds / 1e12 / peak, 4),
    }


def encoder_flops(config: dict[str, Any], lengths: Scores) -> float:
    """Return the multiplications and additions of the layers' matrices for inputs of these token counts, shape (n,).

    A layer takes, for a token, 2·4h² for query, key, value and output, 2·2hi for the two of the feed-forward part, and
    2·2hL for the scores of attention and their sum over an input of L tokens. Padding is not counted as work done;
    embeddings, norms and the head are left out.
    """
    width, inner, layers = (int(config[key]) for key in ("hidden_size", "intermediate_size", "num_hidden_layers"))
    per_token = 8 * width**2 + 4 * width * inner
    return float(layers * (per_token * lengths.sum() + 4 * width * (lengths**2).sum()))


def peak_of(card: str, device: str) -> tuple[float, str]:
    """Return the peak in 10¹² operations a second, and where it is from."""
    # a slice of a card has a part of its peak
    if device == "cuda" and " MIG " not in card:
        for name, peak in PEAKS.items():
            # whole words: "L4" is not in "L40S"
            if f" {name} " in f" {card.replace('-', ' ')} ":
                return float(peak), f"data sheet of {name}"
    return measured_peak(device), "a product of two large matrices"


def measured_peak(device: str) -> float:
    import torch

    size = 8192 if device == "cuda" else 1024
    kind = torch.bfloat16 if device == "cuda" else torch.float32
    left, right = (torch.randn(size, size, device=device, dtype=kind) for _ in range(2))

    def multiply(times: int) -> Scores:
        for _ in range(times):
            left @ right
        return np.empty(0)

    multiply(3)
    best = min(timed(lambda _: multiply(10), (), device)[1] for _ in range(20))
    return 10 * 2 * size**3 / best / 1e12


def config_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return found


def markdown(found: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    heads = ["metric", "pairs/s", "library", "its batch", "its pairs/s", "ratio", "largest difference"]
    heads += ["encoder TFLOP/s", "share of peak"]
    texts = f"{found['texts']:,} distinct texts of STS-B; ratio on the first {found['baseline_texts']:,}."
    lines = [
        f"{found['card']}, {found['cores']} cores, {found['precision']}; {versions}. {texts}",
        f"Peak {found['peak_tflops']:,.4g} TFLOP/s ({found['peak_from']}).",
        "",
        f"| {' | '.join(heads)} |",
        f"| --- {'| ---: ' * (len(heads) - 1)}|",
    ]
    for row in found["metrics"]:
        cells = [row["metric"], f"{row['pairs_per_second']:,.0f}", row["library"], str(row["library_batch"])]
        cells += [f"{row['library_pairs_per_second']:,.0f}", f"{row['ratio']:.2f}", f"{row['largest_difference']:.4f}"]
        cells += (
            [f"{row['encoder_tflops']:.3g}", f"{row['share_of_peak']:.1%}"] if "encoder_tflops" in row else ["", ""]
        )
        lines.append(f"| {' | '.join(cells)} |")
    for row in found["training"]:
        rates = f"{row['steps_per_second']} steps/s; the library {row['library_steps_per_second']}"
        losses = f"mean loss {row['mean_loss']} and {row['library_mean_loss']}"
        lines += ["", f"training, {row['pairs_per_step']} pairs a step: {rates}; ratio {row['ratio']:.2f}; {losses}."]
    if found["judge"]:
        row = found["judge"]
        speeds = (
            f"{row['verdicts_per_second']:,.1f} verdicts/s; a loop of generate {row['loop_verdicts_per_second']:,.1f}"
        )
        on = f"on {row['loop_answers']:,} ratio {row['ratio']:.2f}, largest difference {row['largest_difference']:.4f}"
        lines += ["", f"judge SmolLM2-135M, {row['answers']:,} answers: {speeds}; {on}."]
    return "\n".join(lines)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
