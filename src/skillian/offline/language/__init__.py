"""From the text of a question to what it says, by a table of phrases and one of clauses."""
