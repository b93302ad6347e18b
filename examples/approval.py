"""A tool that waits for a yes, called in the middle of a block of code.

The block stands still until the answer is there; a no is a PermissionError that it can catch.
Here a function answers; `tinyagent run` asks at the terminal.
"""

import asyncio

from tinyagent import Approval, Decision, ScriptedModel, TinyCodeAgent, ToolCall, tool

LIMIT = 1_000


@tool(requires_approval=True)
def pay(invoice: str, amount: int) -> str:
    """Pay an invoice."""
    return f"{invoice} is paid: {amount} EUR"


async def ask(call: ToolCall) -> Decision:
    amount = call.arguments["amount"]
    answer = Decision(approved=amount < LIMIT, reason=f"over {LIMIT} EUR the chief must sign")
    print(f"may it pay {amount}? {'yes' if answer.approved else f'no: {answer.reason}'}")
    return answer


MODEL = ScriptedModel(
    [
        """```python
for invoice, amount in {"A-1": 120, "A-2": 9_000, "A-3": 80}.items():
    try:
        print(pay(invoice, amount))
    except PermissionError as refusal:
        print(f"{invoice} is open: {refusal}")
```""",
        """```python
final_answer("A-1 and A-3 are paid, A-2 waits for the chief.")
```""",
    ]
)


async def main() -> None:
    result = await TinyCodeAgent(MODEL, [pay], middleware=[Approval(ask)]).run("Pay the invoices.")
    print(result.steps[0].observation)
    print(result)


if __name__ == "__main__":
    asyncio.run(main())
