"""``assay baseline``: keep a run to check later ones against."""

from __future__ import annotations

from pathlib import Path

from assay.analysis.check.baseline import continue_chain, has_other_pairs, read_baseline, take_baseline, to_text
from assay.analysis.check.settings import BaselineSettings
from assay.api.files import Run, open_runs
from assay.common.output import check_replaceable
from assay.exceptions import InputError
from assay.paths import user_path
from assay.reports.check import BASELINE, write_file
from assay.settings import verb


@verb(
    BaselineSettings,
    "Write the agreement and the scores of a run to one small file, for assay check.",
    "assay baseline runs/main --out baseline.json",
    "assay baseline runs/next --out baseline.json --baseline-of baseline.json",
    "assay baseline runs/main --out baseline.json --system model",
    next="check RUN --against {out}",
    run="A run folder.",
    out="The file to write, such as baseline.json; an earlier baseline is replaced.",
)
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

    Raises:
        InputError: the run or the earlier baseline cannot be read, the pairs of a dataset differ between them, or the
            file cannot be written or holds something else.
    """
    check_replaceable(user_path(out), BASELINE)
    with open_runs(run) as (opened,):
        new_baseline = take_baseline(opened, settings.system, settings.item)
    if settings.baseline_of is not None:
        earlier_baseline = read_baseline(user_path(settings.baseline_of))
        for name, dataset in new_baseline.datasets.items():
            if name in earlier_baseline.datasets and has_other_pairs(dataset, earlier_baseline.datasets[name]):
                raise InputError(
                    f"{name} has other pairs there, so that nothing can be compared with "
                    "the first baseline any more; leave it out to begin a new chain",
                    setting="baseline_of",
                    value=settings.baseline_of,
                )
        new_baseline = continue_chain(new_baseline, earlier_baseline)
    write_file(user_path(out), to_text(new_baseline))
    return user_path(out)
