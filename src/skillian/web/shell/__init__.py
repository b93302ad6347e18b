"""What every view of the page shares, and the views that stand alone: sources, settings."""
