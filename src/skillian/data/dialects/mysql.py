"""MySQL and MariaDB: where their SQL differs from what sqlglot writes by itself.

A cast that fails gives 0 or NULL there and a warning with the value, on which the connector
raises. `CAST(x AS CHAR)` has the session's collation, which the connector sets to bytes.
"""

import re

from sqlglot import exp

_TEXTS = exp.DataType.TEXT_TYPES
_WHOLE = {exp.DataType.Type.BIGINT, exp.DataType.Type.INT128}
_TIMES = {exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPTZ}
_WIDEST = "DECIMAL(65, 0)"  # INT128 has 39 digits, a decimal here 65

_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?$"
# What strftime's codes stand for in a text; others mean something else to MySQL.
_READ = {
    "%Y": "[0-9]{4}",
    "%y": "[0-9]{2}",
    "%m": "[0-9]{1,2}",
    "%d": "[0-9]{1,2}",
    "%H": "[0-9]{1,2}",
    "%M": "[0-9]{1,2}",
    "%S": "[0-9]{1,2}",
    "%f": "[0-9]{1,6}",
    "%j": "[0-9]{1,3}",
    "%b": "[A-Za-z]{3}",
    "%B": "[A-Za-z]+",
}
_WRITTEN = {*_READ, "%a", "%A", "%G", "%I", "%p", "%T", "%U", "%w", "%W", "%%"} | {
    f"%-{code}" for code in "dmHI"
}
_CODES = re.compile(r"%-?.")
# There is no function for the Unicode form NFC. In these ranges no letter is a combining one, and
# none is written otherwise in that form: Latin, Cyrillic, punctuation, kana, Chinese, Hangul.
_COMPOSED = (
    r"^[\x{0}-\x{2FF}\x{400}-\x{482}\x{48A}-\x{52F}\x{2010}-\x{2027}\x{20A0}-\x{20BF}"
    r"\x{3041}-\x{3096}\x{30A1}-\x{30FA}\x{4E00}-\x{9FFF}\x{AC00}-\x{D7A3}]*$"
)
