"""Another temperature of a metric that samples."""

from assay.perturbations.base import Perturbation

OTHER_TEMPERATURE = Perturbation(
    name="other-temperature",
    summary="the same pairs at temperature 1, or 0 where it is not 0",
    expected="same",
    option="temperature",
    other=lambda temperature: 0.0 if temperature else 1.0,
)
