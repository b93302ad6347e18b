"""What a comparison finds: its result, and the parts that groups and rows have of their own."""
