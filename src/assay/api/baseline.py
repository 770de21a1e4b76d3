"""``assay baseline``: keep a run to check later ones against."""

from __future__ import annotations

from pathlib import Path

from assay.analysis.check.baseline import (
    Baseline,
    continue_chain,
    has_other_pairs,
    read_baseline,
    take_baseline,
    to_text,
)
from assay.analysis.check.settings import BaselineSettings
from assay.api.files import Run, open_runs
from assay.common.output import check_replaceable
from assay.common.verbs import takes_settings
from assay.exceptions import InputError
from assay.paths import user_path
from assay.reports.check_files import BASELINE, write_file
from assay.reports.ci import CiFiles, ci_files


@takes_settings(BaselineSettings)
def baseline(run: Run, out: str | Path, settings: BaselineSettings) -> Path:
    """Write the agreement and the scores of a run to one small file, and return the path of that file.

    An existing file is replaced only if it is an earlier baseline.

    Args:
        run: a run folder, a file with a label and score columns, or a result.
        out: the path of the file to write.
        baseline_of: the baseline that the new one succeeds, which may be the file that is replaced. The new one also
            contains the first baseline of the chain, and :func:`assay.check` compares with that one, too. This way
            small losses, each within the margin, cannot add up unnoticed.
        system: the column that names the system of each answer, for checks of other answers to the same items; ``-``
            if all answers are those of one system. None to keep no answers of systems.
        item: the column of the items that systems answer; by default item, question, group or reference.
        ci: ``"github"`` to also write ``.github/workflows/assay.yml``, ``.pre-commit-config.yaml`` and
            ``tests/test_assay.py`` in the current folder, those that do not exist.

    Raises:
        InputError: the run or the earlier baseline cannot be read, the pairs of a dataset without answers of systems
            differ between them, there is no such column of systems or items, with *ci* the run cannot be repeated by a
            command or a file is not below the current folder, or the file cannot be written or holds something else.
    """
    path = user_path(out)
    check_replaceable(path, BASELINE)
    with open_runs(run) as (opened,):
        new_baseline = take_baseline(opened, settings.system, settings.item)
        planned = None if settings.ci is None else ci_files(opened, path, settings)
    if settings.baseline_of is not None:
        new_baseline = _succeeding(new_baseline, settings.baseline_of)
    write_file(path, to_text(new_baseline))
    if planned is not None:
        for file in planned.files:
            if not file.path.exists():
                write_file(file.path, file.text)
    return path


def planned_ci_files(run: Run, out: str | Path, settings: BaselineSettings) -> CiFiles:
    """Return the files that :func:`baseline` would write for continuous integration, without writing any.

    The arguments are those of :func:`baseline`.

    Raises:
        InputError: the run cannot be read or cannot be repeated by a command, or a file of it, or *out*, is not below
            the current folder.
    """
    with open_runs(run) as (opened,):
        return ci_files(opened, user_path(out), settings)


def _succeeding(new_baseline: Baseline, baseline_of: str | Path) -> Baseline:
    """Return a baseline that succeeds the one in a file.

    Args:
        new_baseline: the baseline of the run.
        baseline_of: the file of the earlier one.

    Raises:
        InputError: the file cannot be read or is no baseline, or the pairs of a dataset differ and one of the two has
            no answers of systems.
    """
    earlier_baseline = read_baseline(user_path(baseline_of))
    for name, dataset in new_baseline.datasets.items():
        earlier = earlier_baseline.datasets.get(name)
        if earlier is None:
            continue
        # where both have answers of systems, these are followed on other pairs
        follows_systems = dataset.answers is not None and earlier.answers is not None
        if not follows_systems and has_other_pairs(dataset, earlier):
            raise InputError(
                f"{name} has other pairs there, so that nothing can be compared with "
                "the first baseline any more; leave it out to begin a new chain",
                setting="baseline_of",
                value=baseline_of,
            )
    return continue_chain(new_baseline, earlier_baseline)
