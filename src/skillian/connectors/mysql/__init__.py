"""MySQL and MariaDB, by PyMySQL."""

from skillian.connectors import Engine

ENGINES = (
    Engine(
        title="MySQL, MariaDB",
        schemes=("mysql", "mariadb"),
        dialect="mysql",
        connector="mysql.connector:MySQLConnector",
        rules="mysql.dialect",
        extra="mysql",
        drivers=("pymysql",),
    ),
)
