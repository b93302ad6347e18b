"""The side inside the sandbox: the standard library and relative imports only.

It runs there as the top-level package `worker`, without tinyagent.
"""
