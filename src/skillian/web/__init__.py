"""The page: shows events, and calls the same functions as the API."""
