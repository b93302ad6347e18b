"""The sandbox as the host sees it: sessions, their engines and their messages."""
