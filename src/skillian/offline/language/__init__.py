"""From the text of a question to what it says, by the grammar and the catalogue."""
