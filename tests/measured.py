"""The labels of the default split of each built-in dataset, as its card shows them where the files are absent.

python -m tests.measured

writes src/assay/datasets/measured.json from the datasets whose files are on this machine; it keeps those of others.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from assay.datasets import list_datasets
from assay.datasets.card import Card
from assay.datasets.locate import files_are_local
from assay.datasets.measured import FILE, shipped_measures
from assay.datasets.show import describe_card

TABLE = Path(__file__).resolve().parents[1] / "src" / "assay" / "datasets" / FILE
#: What a card shows of the measures of labels.
SHOWN = ("split", "labels", "ceiling", "reliability")


def shown_measures(card: Card) -> dict[str, Any] | None:
    """Return what the card shows of its default split's labels, to six digits; None if there is nothing to show."""
    measured = describe_card(card).get("measured", {})
    if not measured.get("labels"):
        return None
    shown = {name: measured[name] for name in SHOWN if name in measured}
    rounded = json.loads(json.dumps(shown), parse_float=lambda text: float(f"{float(text):.6g}"))
    return {"version": card.version, **rounded}


def main() -> None:
    """Measure what is here and write the file."""
    found = {}
    for entry in list_datasets():
        card = entry.card
        if card is None or not entry.default or entry.origin != "assay":
            continue
        measures = shown_measures(card) if files_are_local(card, card.default_split) else shipped_measures(card)
        if measures is not None:
            found[card.name] = measures
    lines = [f"{json.dumps(name)}: {json.dumps(found[name], ensure_ascii=False)}" for name in sorted(found)]
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
