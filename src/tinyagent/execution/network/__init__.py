"""The network of sandboxed code: a list of hosts, reached through the host program only."""
