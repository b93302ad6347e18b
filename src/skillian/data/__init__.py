"""Sources by logical names: what they are, asking one, and comparing two."""
