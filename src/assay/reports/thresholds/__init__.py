"""A score made into a yes/no decision: thresholds found on one part and tested on another, curves, calibration."""
