"""The names that `Tracing` gives to spans and attributes, all in one place.

Source: OpenTelemetry's semantic conventions for generative AI, repository
open-telemetry/semantic-conventions-genai, `docs/gen-ai` (client-inference, execute-tool,
gen-ai-agent-spans and non-normative/migration), read in November 2026, all at the stage
"Development". They are written out because the constants of `opentelemetry-semantic-conventions`
are of an older state and marked as deprecated.
"""

from __future__ import annotations

INVOKE_AGENT = "invoke_agent"
CHAT = "chat"
EXECUTE_TOOL = "execute_tool"

OPERATION_NAME = "gen_ai.operation.name"
PROVIDER_NAME = "gen_ai.provider.name"
AGENT_NAME = "gen_ai.agent.name"

REQUEST_MODEL = "gen_ai.request.model"
REQUEST_TEMPERATURE = "gen_ai.request.temperature"
REQUEST_MAX_TOKENS = "gen_ai.request.max_tokens"
REQUEST_STREAM = "gen_ai.request.stream"

RESPONSE_MODEL = "gen_ai.response.model"
RESPONSE_ID = "gen_ai.response.id"
RESPONSE_FINISH_REASONS = "gen_ai.response.finish_reasons"
RESPONSE_TIME_TO_FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"

USAGE_INPUT_TOKENS = "gen_ai.usage.input_tokens"
USAGE_OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
USAGE_CACHE_READ_INPUT_TOKENS = "gen_ai.usage.cache_read.input_tokens"
USAGE_CACHE_CREATION_INPUT_TOKENS = "gen_ai.usage.cache_creation.input_tokens"
USAGE_REASONING_OUTPUT_TOKENS = "gen_ai.usage.reasoning.output_tokens"

TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_TYPE_FUNCTION = "function"
TOOL_CALL_ID = "gen_ai.tool.call.id"

# Content: only where the program asks for it.
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_CALL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_CALL_RESULT = "gen_ai.tool.call.result"

# From the general conventions.
ERROR_TYPE = "error.type"
TOOL_ERROR = "tool_error"

# Not in the conventions: tinyagent's own.
RUN_ID = "tinyagent.run.id"
RUN_STATE = "tinyagent.run.state"
RUN_STEPS = "tinyagent.run.steps"
EXECUTE_CODE = "execute_code"
CODE = "tinyagent.code"
CODE_OUTPUT = "tinyagent.code.output"
CODE_ERROR = "code_error"
