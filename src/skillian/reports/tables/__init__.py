"""Reports on whole tables and their schemas."""
