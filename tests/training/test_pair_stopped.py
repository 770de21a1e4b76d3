"""A training on labelled pairs that is killed, or finds no room on the disk, goes on from where it was."""

from __future__ import annotations

import pytest
from safetensors.numpy import load_file

from assay.exceptions import InputError
from tests.training.killed import assert_resumed, kill_in_training, start, wait_for_end
from tests.training.pair_run import RECIPES, curve, train_on
from tests.training.training_run import Slow


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_killed_training_continues_to_the_same_model_with_dropout(recipe, tiny_base, tmp_path, whole_training):
    complete, files = whole_training(recipe).out, whole_training(recipe).files
    out = tmp_path / "killed"
    kill_in_training(out, "pair_run.py", recipe, tiny_base, out, "0.2", *files)
    with pytest.raises(InputError, match=r"unfinished training with another request .*settings"):
        train_on(recipe, tiny_base, out, *files, epochs=4)
    progress, _ = train_on(recipe, tiny_base, out, *files)
    assert_resumed(progress.lines)
    whole, resumed = (load_file(folder / "model.safetensors") for folder in (complete, out))
    for name, values in whole.items():
        assert resumed[name] == pytest.approx(values, abs=1e-6), name
    assert [row["step"] for row in curve(out)] == [row["step"] for row in curve(complete)]


@pytest.mark.slow
def test_a_disk_without_room_is_one_line_and_what_was_done_goes_on(tiny_base, files, tmp_path):
    """The limit of a file's size stands in for a full disk: the same error at the same call."""
    out, stderr = tmp_path / "out", tmp_path / "stderr"
    size = (tiny_base / "model.safetensors").stat().st_size
    # the weights have room; weights and moments in the optimizer's file have none
    limits = {"largest_file": int(1.5 * size), "stderr": stderr}
    assert wait_for_end(start("pair_run.py", "bi-encoder", tiny_base, out, 0, *files, **limits)) == 1
    last = stderr.read_text().strip().splitlines()[-1]
    assert "InputError" in last
    assert "the disk is full" in last and "repeat the command" in last
    assert not out.exists()
    train_on("bi-encoder", tiny_base, out, *files)
    assert (out / "results.json").is_file()


class Stopped(Slow):
    """A progress that ends the training a moment after its second checkpoint."""

    done = 0

    def advance(self, units: int) -> None:
        if self._what.startswith("training"):
            self.done += units
            if self.done >= 12:
                raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.parametrize("name", ["optimizer.pt", "loss.safetensors", "model.safetensors"])
def test_a_checkpoint_that_was_truncated_is_named_and_the_one_before_resumes(name, tiny_base, tmp_path, whole_training):
    whole = whole_training("bi-encoder")
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        train_on("bi-encoder", tiny_base, out, *whole.files, progress=Stopped())
    (last,) = tmp_path.glob(".out.training/checkpoints-0/checkpoint-10")
    file = last / name
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    progress, _ = train_on("bi-encoder", tiny_base, out, *whole.files)
    said = "\n".join(progress.lines)
    assert f"{file}: is truncated; goes back to the checkpoint before" in said
    assert "resumes from step 5" in said
    made, resumed = (load_file(folder / "model.safetensors") for folder in (whole.out, out))
    for tensor, values in made.items():
        assert resumed[tensor] == pytest.approx(values, abs=1e-6), tensor
