"""Packages for code in the sandbox: locked by hashes, unpacked once, imported in sessions."""
