"""MySQL and MariaDB, by PyMySQL."""
