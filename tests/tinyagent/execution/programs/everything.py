"""All ordinary programs."""

from __future__ import annotations

from tests.tinyagent.execution.programs.cases import Program
from tests.tinyagent.execution.programs.data import DATA, TOOLS
from tests.tinyagent.execution.programs.flow import FLOW
from tests.tinyagent.execution.programs.language import LANGUAGE
from tests.tinyagent.execution.programs.library import LIBRARY

ALL: tuple[Program, ...] = LANGUAGE + FLOW + LIBRARY + DATA + TOOLS
