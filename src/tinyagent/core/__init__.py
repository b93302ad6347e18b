"""The words that every other room uses; this room imports none of them."""
