"""Commands that compare whole tables and their schemas."""
