"""Another seed of a metric that draws at random."""

from assay.perturbations.base import Perturbation

OTHER_SEED = Perturbation(
    name="other-seed",
    summary="the same pairs with the metric's next seed",
    expected="same",
    option="seed",
    other=lambda seed: (seed or 0) + 1,
)
