"""Code in this process, held back by a compiler and guards: for code you would run anyway."""

from tinyagent.execution.local.executor import LocalExecutor

__all__ = ["LocalExecutor"]
