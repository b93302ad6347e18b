"""Endpoints for clients of other protocols: chat completions, AG-UI, MCP."""
