"""What a language model reads before a question, and of results."""
