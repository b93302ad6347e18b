"""What each run of a saved comparison found, and which findings are new, open, known or fixed."""
