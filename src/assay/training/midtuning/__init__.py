"""Mid-tuning: a sentence encoder aligned with the structured meaning of sentences (Umair and Ferraro)."""
