"""From a message to an answer."""
