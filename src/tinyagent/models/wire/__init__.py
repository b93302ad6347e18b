"""The formats of model APIs: chat completions, OpenAI's Responses, Anthropic's Messages.

Each format has two modules: `*_request` turns a `ModelRequest` into the JSON body, `*_reply` reads
a whole reply or the events of a stream into a `ModelResponse`.
"""
