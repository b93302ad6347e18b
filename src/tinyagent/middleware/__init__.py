"""Everything that stands around a call: limits now, each in a file of its own."""
