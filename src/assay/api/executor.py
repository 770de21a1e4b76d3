"""Construction of the executor that scores pairs, from the settings of a verb."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from assay.benchmark.executor import Executor, executor_of
from assay.metrics.neural.runtime import Runtime, device_of, use_runtime
from assay.progress import Silent
from assay.settings import Scoring


@contextmanager
def executor_for(settings: Scoring) -> Iterator[Executor]:
    """Yield an executor for the settings, with their device and threads in effect inside the block.

    Raises:
        InputError: the device or the cluster cannot be used.
    """
    if settings.executor is None and settings.engine == "ray":
        from assay.benchmark.distributed import RayExecutor

        say = (settings.progress or Silent()).say
        runtime = Runtime(settings.device, settings.threads)
        ray_executor = RayExecutor(
            settings.address, runtime, most=settings.workers, keep_models=settings.keep_models, say=say
        )
        try:
            with use_runtime(ray_executor.runtime):
                yield ray_executor
        finally:
            ray_executor.leave()
        return
    runtime = Runtime(settings.device, settings.model_threads)
    if settings.device not in ("auto", "cpu"):
        # fails before any work if the named device is missing
        device_of(runtime)
    with use_runtime(runtime):
        yield executor_of(settings)
