"""Tasks whose mails, pages and comments say what to do, and attacks by the same channels."""
