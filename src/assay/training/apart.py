"""Training, development and test pairs kept apart, and what they share told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from assay.errors import InputError
from assay.lexicon.keys import text_key
from assay.training.cutting import cut_off
from assay.training.data import Examples, load_examples

__all__ = ["count_repeated", "keep_apart", "load_sets"]


def load_sets(
    train: Sequence[str],
    dev: Sequence[str],
    test: Sequence[str],
    *,
    seed: int,
    limit: int | None,
    say: Callable[[str], None],
    graphs: bool = False,
    classes: str | None = None,
    drop_shared: bool = False,
    columns: str | None = None,
) -> tuple[dict[str, Examples], dict[str, int]]:
    """Load the sets ``train``, ``dev`` and ``test``, apart from each other.

    Args:
        train, dev, test: datasets; without *dev* a share of the training pairs is cut off, then without *test* a share
            of what is left, see :func:`~assay.training.cutting.cut_rows`.
        seed: decides what is cut off.
        limit, graphs, classes, columns: see :func:`~assay.training.data.load_examples`.
        drop_shared: whether training pairs go that have a text in common with a held-out set.
        say: gets a line for everything that is left out, and for texts that are shared.

    Returns:
        The sets, and counts for the model's card.

    Raises:
        InputError: a dataset cannot be used, or nothing of it is left.
    """
    left = load_examples(train, limit=limit, graphs=graphs, classes=classes, columns=columns)
    held: dict[str, Examples] = {}
    for number, (name, specs) in enumerate((("dev", dev), ("test", test))):
        if specs:
            held[name] = load_examples(specs, limit=limit, graphs=graphs, classes=classes, columns=columns)
        else:
            left, held[name] = cut_off(left, seed + number)
            say(f"no --{name}: {len(held[name]):,} of the pairs are cut off for it")
    kept, kept_dev, counts = keep_apart(left, held["dev"], held["test"], say, drop_shared=drop_shared)
    sets = {"train": kept, "dev": kept_dev, "test": held["test"]}
    return sets, {f"{name}_pairs": len(one) for name, one in sets.items()} | counts


def _without(examples: Examples, held_out: Sequence[Examples]) -> Examples:
    """Return the pairs that stand in none of the other sets, by words and by graphs."""
    words = {key for one in held_out for key in one.keys}
    graphs = {key for one in held_out for key in one.graph_keys}
    out = np.array([key in words for key in examples.keys], dtype=bool)
    if examples.graph_keys:
        out |= np.array([key in graphs for key in examples.graph_keys], dtype=bool)
    return examples.take(np.flatnonzero(~out))


def keep_apart(
    train: Examples, dev: Examples, test: Examples, say: Callable[[str], None], *, drop_shared: bool = False
) -> tuple[Examples, Examples, dict[str, int]]:
    """Return training and development pairs without those of the test set, and training without development.

    A pair is the same with its texts exchanged, with other case or punctuation, and with the same two graphs.
    A text is the same with other case or punctuation; see :mod:`assay.lexicon.keys`.

    Args:
        train, dev, test: as they were loaded.
        say: gets a line for everything that is left out, and for texts that are shared.
        drop_shared: whether training pairs go that have a text in common with a held-out set.

    Returns:
        Training pairs, development pairs, and counts for the model's card.

    Raises:
        InputError: nothing is left.
    """
    kept_dev = _without(dev, [test])
    kept_train = apart = _without(train, [kept_dev, test])
    if drop_shared:
        taken = {text_key(text) for text in kept_dev.texts | test.texts}
        keys = zip(map(text_key, apart.references), map(text_key, apart.candidates), strict=True)
        kept_train = apart.take([row for row, both in enumerate(keys) if taken.isdisjoint(both)])
    for what, one in (("training", kept_train), ("development", kept_dev)):
        if len(one) < 2:
            raise InputError(f"the {what} set has {len(one)} pairs that are not in the held-out sets; 2 are needed")
    counts = {
        "train_pairs_left_out": len(train) - len(apart),
        "train_pairs_with_shared_texts_left_out": len(apart) - len(kept_train),
        "dev_pairs_left_out": len(dev) - len(kept_dev),
    }
    if left_out := counts["train_pairs_left_out"]:
        say(f"{left_out:,} training pairs stand in the held-out sets, too; they are not trained on")
    if shared := counts["train_pairs_with_shared_texts_left_out"]:
        say(f"{shared:,} training pairs share a text with the held-out sets; they are not trained on")
    if counts["dev_pairs_left_out"]:
        say(f"{counts['dev_pairs_left_out']:,} development pairs stand in the test set, too; they are left out")
    counts |= count_repeated({"train": kept_train, "dev": kept_dev, "test": test}, say)
    return kept_train, kept_dev, counts


def count_repeated(sets: Mapping[str, Examples], say: Callable[[str], None]) -> dict[str, int]:
    """Return and tell how many pairs stand twice in a set, and how many held-out texts in training pairs.

    Args:
        sets: ``train`` and held-out ones.
        say: gets a line for each count that is not 0.
    """
    counts = {f"{name}_pairs_more_than_once": len(one) - len(set(one.keys)) for name, one in sets.items()}
    for name in sets:
        if twice := counts[f"{name}_pairs_more_than_once"]:
            say(f"{twice:,} {name} pairs repeat another one of their set; they are kept")
    trained = {text_key(text) for text in sets["train"].texts}
    for name, one in sets.items():
        if name == "train":
            continue
        counts[f"{name}_texts_in_train"] = shared = sum(text_key(text) in trained for text in one.texts)
        if shared:
            say(f"warning: {shared:,} of {len(one.texts):,} {name} texts also occur in training pairs, with others")
    return counts
