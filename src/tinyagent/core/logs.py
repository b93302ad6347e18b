"""The library's one logger; it is silent until the program configures logging."""

import logging

logger = logging.getLogger("tinyagent")
logger.addHandler(logging.NullHandler())
