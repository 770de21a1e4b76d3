"""Yes/no decisions by scores: thresholds tuned on one part and tested on another, curves, and calibration."""
