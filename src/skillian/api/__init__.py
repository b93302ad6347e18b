"""The service over HTTP: chat, sessions, comparisons."""
