"""Files of SQLite databases, readable for this user only.

Whoever closes a descriptor of a file gives up all POSIX locks of the process on that file, those
of SQLite too (fcntl(2)). The next other program to close the database then takes itself for its
last user, and deletes the log with what was acknowledged. So nothing in this process but SQLite
opens a database that exists.
"""

import errno
import os
from contextlib import suppress
from pathlib import Path
from threading import Lock

_creating = Lock()


def create_private(path: Path) -> None:
    """Create the file of a database, unless it exists; one that exists is not opened.

    Args:
        path: The file; a link is followed.

    Raises:
        OSError: It cannot be created, or this user cannot read and write it.
    """
    file = path.resolve()
    # Another thread opens the file only when its descriptor here is closed.
    with _creating, suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    if file.is_dir():
        code = errno.EISDIR
    elif not os.access(file, os.R_OK | os.W_OK):
        code = errno.EACCES
    else:
        return
    raise OSError(code, os.strerror(code), str(path))
