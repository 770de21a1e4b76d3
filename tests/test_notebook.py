"""What people from evaluate, mteb and sentence-transformers type in a notebook, run in a real one."""

from __future__ import annotations

from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason='needs pip install "assay[notebook]"')
nbclient = pytest.importorskip("nbclient", reason='needs pip install "assay[notebook]"')
pytest.importorskip("ipykernel", reason='needs pip install "assay[notebook]"')
pytest.importorskip("matplotlib")

DATA = """
import time, assay
gold = ["7 km", "a red car", "in Paris", "two", "the king", "blue"] * 10
cand = ["seven kilometres", "red car", "Paris", "2", "a queen", "green"] * 10
lab = [2, 2, 2, 1, 0, 0] * 10
"""
SLOW = """
def slow(reference, candidate):
    time.sleep(0.05)
    return float(reference == candidate)
assay.run(list(zip(gold[:6], [f"{i}" for i in range(60)], lab)), [slow], resamples=0).failures
"""
ROWS = """
rows = [(g, f'{c} {i}', l) for i, (g, c, l) in enumerate(zip(gold, cand, lab))]
done = assay.run(rows, [slow], resamples=0)
"""
#: A cell, and what its outputs have to hold: by kind of output, some texts; none of a kind that is None.
CELLS: list[tuple[str, dict[str, Any]]] = [
    (DATA, {}),
    (
        'result = assay.run({"references": gold, "predictions": cand, "labels": lab}, ["f1", "chrf"])\nresult',
        {
            "text/html": ["reference is references, candidate is predictions", "All pairs (n = 60)", "<details>"],
            "text/plain": ["candidate is predictions", "f1", ".show(explain=True)"],
        },
    ),
    ("print(assay.compare(result))", {"stdout": ["p jack.", "better"]}),
    ("assay.compare(result)", {"text/html": ["<summary>Method, notes and signatures", "p jack."]}),
    ('print(assay.thresholds(result, positive="label>=1"))', {"stdout": ["threshold", "precision"]}),
    ('result.show(explain=True)\nresult.to_dataframe()["value"].mean()', {"text/html": ["f1|assay:"]}),
    ("result.pairs.columns.tolist()", {"text/plain": ["'reference'", "'candidate'", "'label'", "'f1'", "'chrf'"]}),
    ("%matplotlib inline\nresult.plot()", {"image/png": [""]}),
    ('import matplotlib.pyplot as plt\nfigure, ax = plt.subplots()\nresult.plot("scores", metrics="f1", ax=ax) is ax',
     {"text/plain": ["True"], "image/png": [""]}),
    ('assay.load_metric("chrf").compute(predictions=cand[:2], references=gold[:2])', {"text/plain": ["'scores'"]}),
    (
        SLOW,
        {"stderr": []},
    ),
    (
        ROWS,
        {"stderr": ["slow on data, pairs"]},
    ),
    ("done = assay.run(rows, [slow], resamples=0, progress=False)", {"stderr": None}),
    ("assay.run(gold, cand, lab)", {"error": ["columns in hand are one dataset"]}),
    ("import tqdm\nassay.run(rows, ['f1'], progress=tqdm.tqdm)", {"error": ["expected True, False"]}),
]  # fmt: skip


def texts_of(cell: Any) -> dict[str, str]:
    """Return the outputs of a cell as text by kind: stdout, stderr, error, or a MIME type."""
    found: dict[str, str] = {}
    for output in cell.outputs:
        if output.output_type == "stream":
            found[output.name] = found.get(output.name, "") + output.text
        elif output.output_type == "error":
            found["error"] = output.evalue
        else:
            for kind, text in output.data.items():
                found[kind] = found.get(kind, "") + str(text)
    return found


@pytest.mark.slow
def test_a_notebook_shows_what_people_look_for(tmp_path: Any) -> None:
    cells = [nbformat.v4.new_code_cell(source) for source, _ in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = nbclient.NotebookClient(
        notebook, timeout=600, allow_errors=True, resources={"metadata": {"path": tmp_path}}
    )
    client.execute()
    for cell, (source, wanted) in zip(notebook.cells, CELLS, strict=True):
        found = texts_of(cell)
        if "error" not in wanted:
            assert "error" not in found, (source, found["error"])
        for kind, words in wanted.items():
            if words is None:
                assert kind not in found, (source, found[kind])
                continue
            for word in words:
                assert word in found.get(kind, ""), (source, kind, found)
