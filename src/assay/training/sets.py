"""Training, development and test sets: held out from the training pairs, or named, and kept apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.common.messages import Setting
from assay.exceptions import InputError
from assay.language.texts import text_key
from assay.training.data import Examples, load_examples

# Held-out sets, for a training without named development or test sets.

#: The share of the training pairs that is held out, and the most pairs (Opitz and Frank 2022 hold out 2,500 each).
HELD_OUT_SHARE, MOST_HELD_OUT = 0.1, 2500


def split_off_held_out(examples: Examples, seed: int) -> tuple[Examples, Examples]:
    """Return the kept and the held-out pairs, both in their original order; see :func:`hold_out_rows`.

    Raises:
        InputError: the pairs or their groups are too few: fewer than two pairs would be held out.
    """
    kept_rows, held_out_rows = hold_out_rows(examples.groups, seed)
    if len(held_out_rows) < 2:
        groups = groups_note(examples.groups)
        raise InputError(
            f"{len(examples)} training pairs{groups} are too few to hold out a set; name one with ",
            Setting("dev"),
            " and ",
            Setting("test"),
        )
    return examples.take(kept_rows), examples.take(held_out_rows)


def groups_note(groups: NDArray[np.integer]) -> str:
    """Return a note for a message on the groups of n rows, with a space before it; empty if every row is its own group.

    Args:
        groups: the group number of each row, shape (n,).
    """
    group_count = len(np.unique(groups))
    return f" in groups that stay whole ({group_count:,})" if group_count < len(groups) else ""


def hold_out_rows(groups: NDArray[np.integer], seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split n rows into kept and held-out ones.

    Groups are never split. They are visited in random order, and each is held out if the held-out rows stay within a
    tenth of all rows and within 2,500. If every group is too large, the smallest one is held out; a single group is
    kept.

    Args:
        groups: the group number of each row, shape (n,).
        seed: the seed of the random order.

    Returns:
        The row numbers of the kept rows and those of the held-out rows, each in ascending order.
    """
    group_of_row, sizes = np.unique(groups, return_inverse=True, return_counts=True)[1:]
    order = np.random.default_rng(seed).permutation(len(sizes))
    rows_left = min(MOST_HELD_OUT, int(HELD_OUT_SHARE * len(group_of_row)))
    group_is_held_out = np.zeros(len(sizes), dtype=bool)
    for group in order:
        if rows_left == 0:
            break
        if sizes[group] <= rows_left:
            group_is_held_out[group] = True
            rows_left -= sizes[group]
    if not group_is_held_out.any() and len(sizes) > 1:
        # of several smallest groups, the first in the random order
        group_is_held_out[order[np.argmin(sizes[order])]] = True
    row_is_held_out = group_is_held_out[group_of_row]
    return np.flatnonzero(~row_is_held_out), np.flatnonzero(row_is_held_out)


# Sets that share no pairs.


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
    question: bool = False,
) -> tuple[dict[str, Examples], dict[str, int]]:
    """Load the sets ``train``, ``dev`` and ``test`` and remove pairs that occur in more than one of them.

    Args:
        train, dev, test: the datasets of each set. Without *dev*, a share of the training pairs is held out; without
            *test*, a share of the remaining ones; see :func:`hold_out_rows`.
        seed: the seed of the choice of held-out pairs.
        limit, graphs, classes, columns, question: see :func:`~assay.training.data.load_examples`.
        say: receives a line on each set that is held out, on each removal, and on pairs and texts that occur again.
        drop_shared: whether to remove training pairs that share a text with a held-out set.

    Returns:
        The sets by name, and counts of pairs for the model's card.

    Raises:
        InputError: a dataset cannot be read, or too few of its pairs are left.
        UnavailableError: no source has the files of a dataset.
    """

    def load(specs: Sequence[str]) -> Examples:
        return load_examples(specs, limit=limit, graphs=graphs, classes=classes, columns=columns, question=question)

    remaining = load(train)
    held_out: dict[str, Examples] = {}
    # Each set has a seed of its own, so that the draws of the two are independent.
    for set_seed, name, specs in ((seed, "dev", dev), (seed + 1, "test", test)):
        if specs:
            held_out[name] = load(specs)
        else:
            remaining, held_out[name] = split_off_held_out(remaining, set_seed)
            say(f"no {name} pairs are named: {len(held_out[name]):,} of the training pairs are held out")
    train_pairs, dev_pairs, counts = separate_sets(
        remaining, held_out["dev"], held_out["test"], say, drop_shared=drop_shared
    )
    sets = {"train": train_pairs, "dev": dev_pairs, "test": held_out["test"]}
    return sets, {f"{name}_pairs": len(examples) for name, examples in sets.items()} | counts


def _drop_pairs_of(examples: Examples, held_out: Sequence[Examples]) -> Examples:
    """Return the pairs of *examples* that occur in no held-out set, neither as texts nor as graphs."""
    keys: set[tuple[str, str]] = set()
    graph_keys: set[tuple[str, str]] = set()
    for other in held_out:
        keys.update(other.keys)
        graph_keys.update(other.graph_keys)
    is_repeated = np.array([key in keys for key in examples.keys], dtype=bool)
    if examples.graph_keys:
        is_repeated |= np.array([key in graph_keys for key in examples.graph_keys], dtype=bool)
    return examples.take(np.flatnonzero(~is_repeated))


def _drop_pairs_with_texts(examples: Examples, keys: set[str]) -> Examples:
    """Return the pairs of which neither text has one of *keys*, see :func:`~assay.language.texts.text_key`."""
    rows = []
    for row, texts in enumerate(zip(examples.references, examples.candidates, strict=True)):
        if keys.isdisjoint(map(text_key, texts)):
            rows.append(row)
    return examples.take(rows)


def separate_sets(
    train: Examples, dev: Examples, test: Examples, say: Callable[[str], None], *, drop_shared: bool = False
) -> tuple[Examples, Examples, dict[str, int]]:
    """Return the training pairs that are in no held-out set, and the development pairs that are not in the test set.

    Two texts are the same if they differ only in case or punctuation, see :mod:`assay.language.texts`. Two pairs are
    the same if their texts are, in either order, or if they have the same two graphs.

    Args:
        train, dev, test: the loaded sets, which stay as they are.
        say: receives a line on each removal, and on pairs and texts that occur again.
        drop_shared: whether to remove training pairs that share a text with a held-out set.

    Returns:
        The remaining training pairs, the remaining development pairs, and counts for the model's card.

    Raises:
        InputError: fewer than two training or development pairs remain.
    """
    kept_dev = _drop_pairs_of(dev, [test])
    without_repeated = _drop_pairs_of(train, [kept_dev, test])
    kept_train = without_repeated
    if drop_shared:
        held_out_keys = {text_key(text) for text in kept_dev.texts | test.texts}
        kept_train = _drop_pairs_with_texts(without_repeated, held_out_keys)
    for name, examples in (("training", kept_train), ("development", kept_dev)):
        if len(examples) < 2:
            raise InputError(
                f"the {name} set has {len(examples)} pairs that are not in the held-out sets; 2 are needed"
            )
    counts = {
        "train_pairs_left_out": len(train) - len(without_repeated),
        "train_pairs_with_shared_texts_left_out": len(without_repeated) - len(kept_train),
        "dev_pairs_left_out": len(dev) - len(kept_dev),
    }
    lines = {
        "train_pairs_left_out": "training pairs are in the held-out sets as well; they are not trained on",
        "train_pairs_with_shared_texts_left_out": "training pairs share a text with the held-out sets; they are not "
        "trained on",
        "dev_pairs_left_out": "development pairs are in the test set as well; they are left out",
    }
    for name, line in lines.items():
        if counts[name]:
            say(f"{counts[name]:,} {line}")
    counts |= count_repetitions({"train": kept_train, "dev": kept_dev, "test": test}, say)
    return kept_train, kept_dev, counts


def count_repetitions(sets: Mapping[str, Examples], say: Callable[[str], None]) -> dict[str, int]:
    """Return counts of repeated pairs within each set, and of texts of held-out sets that occur in training pairs.

    Args:
        sets: the set ``train`` and the held-out sets, by name.
        say: receives a line for each count that is not 0.

    Returns:
        The counts, by names for the model's card.
    """
    counts = {}
    for name, examples in sets.items():
        repeated = len(examples) - len(set(examples.keys))
        counts[f"{name}_pairs_more_than_once"] = repeated
        if repeated:
            say(f"{repeated:,} {name} pairs repeat another one of their set; they are kept")
    trained_keys = {text_key(text) for text in sets["train"].texts}
    for name, examples in sets.items():
        if name == "train":
            continue
        texts = examples.texts
        shared = sum(text_key(text) in trained_keys for text in texts)
        counts[f"{name}_texts_in_train"] = shared
        if shared:
            say(f"warning: {shared:,} of {len(texts):,} {name} texts also occur in training pairs, with others")
    return counts
