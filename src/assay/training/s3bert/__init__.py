"""S3BERT: sentence embeddings whose parts are trained to measure aspects of meaning (Opitz and Frank 2022)."""
