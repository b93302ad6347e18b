"""The page (NiceGUI): builds views from events, and calls the same functions as the API."""
