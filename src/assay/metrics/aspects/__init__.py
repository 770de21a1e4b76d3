"""S3BERT's sentence embeddings, split into aspects: the layout of a model, and its reference scores."""
