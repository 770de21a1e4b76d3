"""The share of right answers, or the mean label, of answers that nobody labelled; and which of them to label next."""
