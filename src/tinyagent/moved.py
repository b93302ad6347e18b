"""Names that were in `tinyagent` itself, and the module that has each now.

They can be imported from `tinyagent` until 0.3, with a `DeprecationWarning`.
"""

_PLACES = {
    "adapters": (
        "NativeToolAdapter OpenAIStructuredAdapter ParsedAdapter ToolCallingAdapter get_adapter"
    ),
    "agents": "BaseAgent",
    "core": (
        "ArtifactError CallerError Cost ExecutionError ExecutionResult ExecutionTimeout"
        " FinalAnswer Finalizer MalformedReply ModelAuthenticationError ModelConnectionError"
        " ModelContextTooLong ModelDelta ModelFormatRefused ModelMayRetry ModelRateLimited"
        " ModelRefused ModelReplyError ModelRequest ModelRequested ModelResponded ModelResponse"
        " ModelServerError ModelTimeout ModelUse MultipleFinalAnswers Opaque RawToolCall ReactStep"
        " Reasoning RecordingMismatch ReplyRejected RequestFormat Signal SignalGiven SignalType"
        " ToolArgumentsError ToolServerError UnknownToolError collect_signals commit explore"
        " remembered set_signal_collector uncertain"
    ),
    "execution": "Guarantee ProcessExecutor",
    "memory": (
        "ActionStep AgentMemory MemoryItem MemoryManager ScratchpadStep Step Strategy"
        " SystemPromptStep TaskStep TokenEstimate keep_last_n_steps"
        " keep_system_and_recent no_pruning prune_old_observations step_from_dict summarize"
        " token_budget"
    ),
    "models": "OpenAIResponsesModel RecordedModel get_model",
    "prompts": "get_prompt_fallback",
    "tools": "ToolRegistry get_registry",
}
MOVED = {name: module for module, names in _PLACES.items() for name in names.split()}
