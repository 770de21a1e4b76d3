"""The command line answers at once: ``assay --help`` against a bare ``import typer``."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

HEAVY = ("pandas", "scipy", "torch", "transformers", "nltk", "numpy", "pyarrow", "pydantic")


def seconds(code):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    return time.perf_counter() - start


HELP = "import sys; sys.argv = ['assay', '--help']; from assay.cli import main; main()"


def test_help_imports_nothing_heavy():
    code = f"""
import sys
sys.argv = ["assay", "--help"]
from assay.cli import main
try:
    main()
except SystemExit:
    pass
print("HEAVY", [name for name in {HEAVY!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "HEAVY []"


def test_help_takes_at_most_twice_the_import_of_typer(capsys):
    ratios, taken = [], []
    for _ in range(11):
        ours, bare = seconds(HELP), seconds("import typer")
        ratios.append(ours / bare)
        taken.append(ours)
    ratio = statistics.median(ratios)
    with capsys.disabled():
        print(f"\nassay --help: {statistics.median(taken):.3f} s, {ratio:.2f} times `import typer`")
    assert ratio <= 2
