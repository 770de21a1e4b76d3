"""A language model as judge of answers: prompts, verdicts, replies, and the endpoint that gives them."""
