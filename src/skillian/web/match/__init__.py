"""How the columns and rows of two tables are matched, with the effect of each choice."""
