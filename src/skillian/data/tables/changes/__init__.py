"""What a rule computes of cells before they are compared."""
