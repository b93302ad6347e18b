"""The side inside the sandbox: the standard library and relative imports only.

It runs there as the package `worker` of its own, without tinyagent.
"""
