"""Who scores, made of the settings of a verb."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from assay.benchmark.executor import Executor
from assay.benchmark.workers import executor_of
from assay.metrics.neural.runtime import Runtime, device_of, use_runtime
from assay.progress import Silent
from assay.settings import Scoring


@contextmanager
def executor_for(settings: Scoring) -> Iterator[Executor]:
    """Give an executor, with the settings of the hardware in force; it is closed at the end.

    Raises:
        InputError: a device or a cluster that was named cannot be used.
    """
    if settings.executor is None and settings.engine == "ray":
        from assay.benchmark.distributed import RayExecutor

        say = (settings.progress or Silent()).say
        runtime = Runtime(settings.device, settings.threads)
        ray = RayExecutor(settings.address, runtime, most=settings.workers, keep_models=settings.keep_models, say=say)
        try:
            with use_runtime(ray.runtime):
                yield ray
        finally:
            ray.leave()
        return
    runtime = Runtime(settings.device, settings.model_threads)
    if settings.device not in ("auto", "cpu"):
        # before any work: a device that was named must be there
        device_of(runtime)
    with use_runtime(runtime):
        yield executor_of(settings)
