"""Databases by the vendor's own DB-API driver; one module for each vendor."""
